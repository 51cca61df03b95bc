"""Records that differ in nothing but their sensitive value, and what may be asked of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import strategies as st

import shoal
from shoal.privacy import Privacy, make_rules
from shoal.records.encode import Records, encode


def schema(**ill: object) -> shoal.Schema:
    return shoal.Schema(
        columns={"q": {"role": "quasi-identifier", "type": "numeric"}, "ill": {"role": "sensitive", **ill}}
    )


def records(
    values: list[Any], people: list[int] | None = None, kind: pa.DataType | None = None, **ill: object
) -> Records:
    """Records that differ in nothing but their sensitive value and person."""
    columns: dict[str, dict[str, object]] = {"q": {"role": "quasi-identifier", "type": "numeric"}}
    columns["ill"] = {"role": "sensitive", **ill}
    data = {"q": [1] * len(values), "ill": pa.array(values, kind)}
    if people is not None:
        columns["who"] = {"role": "person"}
        data["who"] = people
    return encode(pa.table(data), shoal.Schema(columns=columns))


def found(made: Records, groups: list[int], **asked: Any) -> list[float]:
    """What each group reaches under the one rule that is asked."""
    rules = make_rules(["ill"], **asked)
    facts = Privacy.of(made, 2, rules).facts_of(np.array(groups, np.int32), max(groups) + 1)
    return [float(value) for value in facts.found[:, 0]]


NESTED = {"x": ["a", "b"], "y": {"z": ["c", "d"], "w": ["e"]}}
LEAVES = ["a", "b", "c", "d", "e"]


@st.composite
def groupings(draw: st.DrawFn) -> tuple[list[Any], list[int] | None, list[int]]:
    """Values, perhaps people, and groups without a gap."""
    rows = draw(st.integers(2, 24))
    values = draw(st.lists(st.sampled_from([*LEAVES, None]), min_size=rows, max_size=rows))
    people = draw(st.none() | st.lists(st.integers(0, 8), min_size=rows, max_size=rows))
    labels = draw(st.lists(st.integers(0, 3), min_size=rows, max_size=rows))
    _, numbered = np.unique(labels, return_inverse=True)
    return values, people, numbered.tolist()


ASKED: list[dict[str, Any]] = [
    {"l": 2},
    {"l": 2, "diversity": "distinct"},
    {"l": 1.5, "diversity": "entropy"},
    {"l": 2, "diversity": "recursive", "c": 1.5},
    {"l": 3, "diversity": "recursive", "c": 2},
    {"alpha": 0.5},
    {"alpha": {"ill": {"c": 0.4}}},
    {"t": 0.3},
]
