"""Where the method `shoal` begins: equal records together, and straight cuts where those are not far behind."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.tables import Made, distinct, uniform
from shoal.boxes.costs import cost_tables
from shoal.cluster import Task, cluster
from shoal.cluster.shoal import starts
from shoal.cluster.shoal.starts import cut_straight, equal_together
from shoal.measures import total_loss
from shoal.privacy import Privacy
from shoal.progress import SILENT
from shoal.records.encode import Records, encode
from tests.support.adult import adult_records
from tests.support.tables import MadeTable, tables


def task_of(records: Records, k: int) -> Task:
    costs, privacy = cost_tables(records.books, "il"), Privacy.only_k(k, len(records))
    return Task(records, "il", costs, privacy, np.random.default_rng(1), SILENT)


@given(made=tables(min_rows=1, max_rows=60), k=st.integers(1, 5))
@settings(max_examples=60)
def test_equal_records_are_together_k_at_a_time(made: MadeTable, k: int) -> None:
    codes = encode(made.table, made.schema).codes
    labels = equal_together(codes, k)
    kinds = np.unique(codes, axis=0, return_inverse=True)[1].reshape(-1)
    for kind in range(kinds.max() + 1):
        alike = labels[kinds == kind]
        sizes = np.unique(alike, return_counts=True)[1]
        assert not np.isin(alike, labels[kinds != kind]).any()
        assert sizes.max() <= k
        assert len(sizes) == -(-len(alike) // k)
    firsts = np.unique(labels, return_index=True)[1]
    assert np.array_equal(firsts, np.sort(firsts))  # numbered by their first records
    assert labels.min() == 0
    assert labels.max() + 1 == len(firsts)


def test_straight_cuts_are_refined_only_where_they_are_not_far_behind() -> None:
    records = adult_records(6_000)
    assert not list(cut_straight(task_of(records, 25), total_loss(cluster(records, 25, seed=1), records.books), bool))
    records = encode(*distinct(6_000))
    loss = total_loss(cluster(records, 50, seed=1), records.books)
    assert len(list(cut_straight(task_of(records, 50), loss, bool))) == 2
    assert not list(cut_straight(task_of(records, 50), loss, lambda: True))


@pytest.mark.parametrize("made", [distinct, uniform])
def test_a_large_table_begins_with_straight_cuts_as_well(
    made: Callable[[int], Made], monkeypatch: pytest.MonkeyPatch
) -> None:
    records = encode(*made(6_000))
    losses = {k: total_loss(cluster(records, k, seed=1), records.books) for k in (25, 100)}
    for k, loss in losses.items():
        for other in ("mondrian", "hilbert"):
            assert loss < total_loss(cluster(records, k, method=other, seed=1), records.books)
    monkeypatch.setattr(starts, "FAR_BEHIND", 0.0)
    monkeypatch.setattr(starts, "RIVAL", 0.0)
    alone = {k: total_loss(cluster(records, k, seed=1), records.books) for k in losses}
    assert all(losses[k] <= alone[k] for k in losses)
    assert losses != alone
