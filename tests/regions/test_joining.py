"""Regions from counts alone: who lacks something is known, and joins a neighbour."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from shoal.privacy import Privacy
from shoal.privacy.requirements import Requirements
from shoal.records.encode import Records, encode
from shoal.regions.asked import Counts, Wanted
from shoal.regions.books import distribution, sensitive_codes, sensitive_values
from shoal.regions.joining import joined

TREE = {"*": {"lungs": ["flu", "asthma"], "joints": ["gout", "arthrosis"]}}
COLUMNS: dict[str, Mapping[str, object]] = {
    "equal": {"role": "sensitive"},
    "ordered": {"role": "sensitive", "type": "numeric"},
    "hierarchical": {"role": "sensitive", "hierarchy": TREE},
}
VALUES: dict[str, list[Any]] = {
    "equal": list("abcde"),
    "ordered": [1, 2, 5, 9],
    "hierarchical": ["flu", "asthma", "gout", "arthrosis"],
}
ASKED: list[dict[str, Any]] = [
    {"l": 2.0}, {"l": 1.7, "diversity": "entropy"}, {"l": 3, "diversity": "distinct"},
    {"l": 2, "diversity": "recursive", "c": 1.5}, {"t": 0.25}, {"alpha": 0.5},
]  # fmt: skip


def table_of(kind: str, values: Sequence[object]) -> tuple[Records, shoal.Schema]:
    schema = shoal.Schema({"age": {"role": "quasi-identifier", "type": "numeric"}, "ill": COLUMNS[kind]})
    return encode(pa.table({"age": [1] * len(values), "ill": values}), schema), schema


@pytest.mark.parametrize("kind", COLUMNS)
@pytest.mark.parametrize("asked", ASKED, ids=str)
@given(data=st.data())
def test_counts_say_what_the_kernels_say(kind: str, asked: dict[str, Any], data: st.DataObject) -> None:
    """A region that has what is asked by its counts has it by its records; the other way round but for rounding."""
    some = st.lists(st.sampled_from([*VALUES[kind], None]), min_size=6, max_size=30)
    inside, outside = data.draw(some), data.draw(some)
    records, schema = table_of(kind, [*inside, *outside])
    nothing = {"l": None, "t": None, "diversity": None, "c": None, "alpha": None}
    rules = Requirements(2, **{**nothing, **asked}).rules(schema)
    different = pa.chunked_array([records.passthrough["ill"].unique()])
    column = sensitive_values("ill", schema, different)
    counts = np.array([records.passthrough["ill"].to_pylist().count(value) for value in different.to_pylist()])
    reference = {"ill": distribution(column, counts)}
    wanted = Wanted(2, rules, {"ill": column}, reference)

    codes = sensitive_codes("ill", schema, records.passthrough["ill"], reference["ill"])[: len(inside)]
    region = Counts(len(inside), {"ill": np.bincount(codes, minlength=wanted.size("ill"))})
    mask = np.arange(len(records)) < len(inside)
    privacy = Privacy.of(records.only(mask), 2, rules, reference=reference, quiet=True)
    facts = privacy.facts_of(np.zeros(len(inside), np.int32), 1)
    if wanted.has(region):
        assert facts.holds(2).all()
    elif facts.holds(2).all():
        assert np.isclose(facts.found[0, 0], rules[0].bound)


@given(st.lists(st.integers(0, 9), min_size=1, max_size=12), st.integers(1, 12), st.randoms())
def test_whoever_is_too_small_joins_a_neighbour(sizes: list[int], k: int, chance: object) -> None:
    counts = [Counts(size, {}) for size in sizes]
    neighbours = [[other for other in range(len(sizes)) if other != leaf] for leaf in range(len(sizes))]
    region = joined(counts, neighbours, lambda one: one.records >= k)
    assert set(region) == set(range(region.max() + 1))
    totals = np.bincount(region, sizes)
    if sum(sizes) >= k:
        assert totals.min() >= k
    for leaf, size in enumerate(sizes):  # nobody joins without need
        if size >= k and (region == region[leaf]).sum() > 1:
            assert any(sizes[other] < k for other in np.flatnonzero(region == region[leaf]))


def test_what_the_whole_table_lacks_is_refused() -> None:
    records, schema = table_of("equal", ["a"] * 9 + ["b"])
    rules = Requirements(2, 2.0, None, None, None, None).rules(schema)
    column = sensitive_values("ill", schema, records.passthrough["ill"])
    reference = {"ill": distribution(column, np.ones(10, np.int64))}
    wanted = Wanted(2, rules, {"ill": column}, reference)
    with pytest.raises(shoal.ParameterError, match="whole table does not have it"):
        wanted.check_feasible(Counts(10, {"ill": np.array([0, 9, 1])}))
    with pytest.raises(shoal.ParameterError, match="k must be at most the number of records, 1"):
        wanted.check_feasible(Counts(1, {"ill": np.array([0, 1, 0])}))
