"""A release is verified alike from memory and from a file."""

from __future__ import annotations

import datetime as dt
import math
import tempfile
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import shoal

pytestmark = pytest.mark.versions

TEXT = {"type": "categorical"}


def verified(values: pa.Array, asked: dict[str, Any], missing: tuple[str, ...] = ("",), **ill: object) -> shoal.Verdict:
    """Make a release of these values, and verify it again from memory and from a CSV: all must agree."""
    columns: dict[str, dict[str, object]] = {"q": {"role": "quasi-identifier", "type": "numeric"}}
    sch = shoal.Schema(columns={**columns, "ill": {"role": "sensitive", **ill}}, missing=missing)
    release = shoal.anonymize(pa.table({"q": range(len(values)), "ill": values}), sch, k=2, **asked)
    with tempfile.TemporaryDirectory() as folder:
        written = shoal.verify(release.write(Path(folder) / "release.csv"), sch, 2, **asked)
    verdict = shoal.verify(release.table, sch, 2, **asked)
    assert verdict.ok
    assert written.ok
    assert [rule.found for rule in written.rules] == pytest.approx([rule.found for rule in verdict.rules])
    return verdict


@pytest.mark.parametrize(
    ("values", "asked", "more"),
    [
        (pa.array([2**53, 2**53 + 1] * 4), {"l": 2}, {"type": "numeric"}),
        (pa.array([dt.date(1900, 1, 1), None] * 4 + [dt.date(2000, 1, 1)] * 4), {"l": 1.5}, {"type": "date"}),
        (pa.array(["5.0", "5.0", "5", "x", "5.0", "5.0", "w", "u"]), {"alpha": {"ill": {"5.0": 0.5}}}, TEXT),
        (pa.array(["5", "5", "5.0", "x", "y", "z", "5", "5.0"]), {"alpha": {"ill": {"5.0": 0.3}}}, TEXT),
        (pa.array([-9.0, None, 1.5, 2.5] * 3), {"t": 0.2}, {}),
        (pa.array([None] * 18 + [math.nan] * 18 + [36.5, 37.5, 38.5, 39.5]), {"t": 0.2}, {}),
        (pa.array([1e20, 0.1, 1.0, 1e16] * 3), {"alpha": {"ill": {"1e20": 0.5, "1.0": 0.5}}}, {}),
        (pa.array([True, False] * 4), {"l": 2}, {}),
    ],
)  # fmt: skip
def test_memory_and_file_agree(values: pa.Array, asked: dict[str, Any], more: dict[str, Any]) -> None:
    verified(values, asked, missing=("1900-01-01", "-9.0"), **more)


def test_minus_zero_is_zero() -> None:
    with pytest.raises(shoal.ParameterError, match=r"can reach is 1\."):
        verified(pa.array([0.0, -0.0] * 4), {"l": 2})
