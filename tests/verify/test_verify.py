"""The verifier: from published rows alone, whoever published them."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from shoal.partition import Partition
from shoal.privacy import Privacy

pytestmark = pytest.mark.versions

SCHEMA = shoal.Schema(
    columns={
        "name": {"role": "identifier"},
        "age": {"role": "quasi-identifier", "type": "numeric"},
        "sex": {"role": "quasi-identifier", "type": "categorical"},
        "ill": {"role": "sensitive"},
    }
)


def table(*rows: tuple[str | None, str | None]) -> pa.Table:
    return pa.table(
        {
            "age": pa.array([row[0] for row in rows], pa.string()),
            "sex": pa.array([row[1] for row in rows], pa.string()),
            "ill": pa.array(["flu"] * len(rows)),
        }
    )


CELLS = st.sampled_from([None, "*", "[1..2]", "1", "", "1 ", "01"])


@given(rows=st.lists(st.tuples(CELLS, CELLS), min_size=1, max_size=30), k=st.integers(2, 5))
def test_the_verdict_equals_counting(rows: list[tuple[str | None, str | None]], k: int) -> None:
    counts = Counter(rows)
    verdict = shoal.verify(table(*rows), SCHEMA, k)
    assert verdict.k == min(counts.values())
    assert verdict.ok == bool(verdict) == (min(counts.values()) >= k)
    assert verdict.classes == len(counts)
    assert verdict.records == len(rows)
    assert verdict.offending.num_rows == sum(count < k for count in counts.values())
    assert verdict.suppressed == counts["*", "*"]


def test_text_that_looks_alike_is_not_alike_in_a_file(tmp_path: Path) -> None:
    """A reader that turns 07 into 7 or trims blanks would find classes larger than they are."""
    for pair in (("7", "07"), ("7", "7.0"), ("x", "x ")):
        file = tmp_path / "release.csv"
        file.write_text("age,sex,ill\n" + "".join(f"{age},f,flu\n" for age in pair))
        assert shoal.verify(file, SCHEMA).k == 1


def test_what_other_tools_write(tmp_path: Path) -> None:
    """Semicolons, quotes, dictionaries, no manifest, other intervals; a schema is not needed."""
    file = tmp_path / "arx.csv"
    file.write_text('age;sex;ill\n"[20, 30[";*;flu\n"[20, 30[";*;gout\n*;*;flu\n*;*;gout\n')
    assert shoal.verify(file, SCHEMA, 2).ok
    assert shoal.verify(file, quasi_identifiers=["age", "sex"], k=2).ok
    coded = table(("1", "f"), ("1", "f"))
    coded = coded.set_column(0, "age", coded["age"].dictionary_encode())
    pq.write_table(coded, tmp_path / "coded.parquet")
    assert shoal.verify(tmp_path / "coded.parquet", SCHEMA, 2).ok
    numbers = coded.set_column(0, "age", pa.array([30, 31]))
    assert shoal.verify(numbers, SCHEMA, 2).k == 1


def test_few_suppressed_rows_are_said(tmp_path: Path) -> None:
    verdict = shoal.verify(table(("1", "f"), ("1", "f"), ("*", "*")), SCHEMA, 2)
    assert not verdict.ok
    assert any("leave them out" in reason for reason in verdict.reasons)


def test_columns_that_must_not_be_published() -> None:
    published = table(("1", "f"), ("1", "f"))
    named = published.append_column("name", pa.array(["Eve", "Bob"]))
    assert shoal.verify(published, SCHEMA, 2).ok
    assert not shoal.verify(named, SCHEMA, 2).ok
    unknown = published.append_column("shoe", pa.array(["41", "42"]))
    assert not shoal.verify(unknown, SCHEMA, 2).ok
    assert shoal.verify(unknown, quasi_identifiers=["age", "sex"], k=2).ok


def test_bounds_count_as_quasi_identifiers() -> None:
    published = table(("[1..2]", "f"), ("[1..2]", "f")).append_column("age_lo", pa.array([1, 2]))
    assert shoal.verify(published, SCHEMA, 2).k == 1


def test_row_labels_of_a_frame_are_published_with_a_table() -> None:
    published = table(("1", "f"), ("1", "f")).append_column("__index_level_0__", pa.array([7, 9]))
    assert not shoal.verify(published, SCHEMA, 2).ok


def test_a_schema_may_be_given_by_its_file_and_k_by_any_integer(tmp_path: Path) -> None:
    (tmp_path / "schema.toml").write_text('[columns.age]\nrole = "quasi-identifier"\ntype = "numeric"\n')
    assert shoal.verify(pa.table({"age": ["1", "1"]}), tmp_path / "schema.toml", np.int64(2)).ok  # type: ignore[arg-type]
    assert shoal.anonymize(pa.table({"age": [1, 1]}), tmp_path / "schema.toml", k=np.int64(2)).k == 2  # type: ignore[arg-type]


def test_the_verdict_does_not_print_values() -> None:
    verdict = shoal.verify(table(("Rumpelstiltskin", "f")), SCHEMA, 2)
    assert "Rumpelstiltskin" not in repr(verdict) + str(verdict.facts()) + str(verdict.reasons)
    assert verdict.offending["age"].to_pylist() == ["Rumpelstiltskin"]


def test_a_release_that_fails_the_verifier_is_not_made(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the producer lie about its groups: the verifier finds out from the rows."""
    anonymize_module = sys.modules["shoal.anonymize"]  # the name in the package is the function

    def liar(records: object, k: int, *_: object, **__: object) -> Partition:
        codes = records.codes  # type: ignore[attr-defined]
        honest = Partition.from_labels(codes, np.zeros(len(codes), np.int32), Privacy.only_k(k, len(codes)))
        honest.labels[0] = 1
        lo = np.concatenate([honest.lo, codes[:1]])
        hi = np.concatenate([honest.hi, codes[:1]])
        return Partition(codes, honest.labels, lo, hi, np.array([len(codes), k]), honest.privacy)

    monkeypatch.setattr(anonymize_module, "cluster", liar)
    with pytest.raises(shoal.VerificationError, match="was not made"):
        shoal.anonymize(shoal.datasets.adult("test"), shoal.datasets.adult_schema(), k=5)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"source": pa.table({"age": ["1"]}), "schema": SCHEMA}, shoal.DataError, "no column 'sex'"),
        ({"source": table(), "schema": SCHEMA}, shoal.DataError, "no rows"),
        ({"source": table(("1", "f")), "schema": SCHEMA, "k": 1}, shoal.ParameterError, "at least 2"),
        ({"source": table(("1", "f"))}, shoal.ParameterError, "no quasi-identifier"),
        (
            {"source": table(("1", "f")), "schema": SCHEMA, "quasi_identifiers": ["age"]},
            shoal.ParameterError,
            "not both",
        ),
        ({"source": pa.table({"age": [[1]]}), "quasi_identifiers": ["age"]}, shoal.DataError, "cannot be compared"),
        (
            {
                "source": pa.Table.from_arrays([pa.array(["1"])] * 3, names=["age", "age_lo", "age_lo"]),
                "quasi_identifiers": ["age"],
            },
            shoal.DataError,
            "column 'age_lo' twice",
        ),
        ({"source": "nowhere.csv", "schema": SCHEMA}, shoal.DataError, "does not exist"),
    ],
)
def test_what_cannot_be_verified(arguments: dict[str, object], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        shoal.verify(**arguments)  # type: ignore[arg-type]
