"""Mending: one record that moves, where that is enough; else groups take in others."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from shoal.boxes.changes import new_grouping
from shoal.boxes.costs import cost_tables
from shoal.boxes.geometry import without_gaps
from shoal.maintain.i3m import find_offending
from shoal.maintain.mending import mend_some
from shoal.partition import Partition
from shoal.privacy import Privacy
from shoal.privacy.counts import count_all
from shoal.privacy.rules import rules_of
from shoal.records.encode import Records
from tests.support.group_trees import check as check_tree
from tests.support.rules import asked_of
from tests.support.tables import MadeTable, tables

Ints = NDArray[np.int32]


def loss_of_best_move(records: Records, privacy: Privacy, labels: Ints, k: int, group: int) -> float | None:
    """What all lose after the best move of one record after which no group lacks anything; None: there is none."""
    costs, best = cost_tables(records.books, "il"), None
    count = int(labels.max()) + 1
    for record, there in product(range(len(labels)), range(count)):
        if labels[record] != there and group in (labels[record], there):
            after = labels.copy()
            after[record] = there
            if privacy.facts_of(after, count).holds(k).all():
                groups = new_grouping(records.codes, after, costs, rules_of(privacy.tables, count)).groups
                loss = float(groups.sizes @ groups.losses)
                best = loss if best is None else min(best, loss)
    return best


@pytest.mark.parametrize("rules", ["l", "t"])
@given(made=tables(min_rows=8, max_rows=16), k=st.integers(2, 3), seed=st.integers(0, 99), alone=st.booleans())
@settings(max_examples=150)
def test_a_group_that_lacks_something_is_mended_at_the_least_loss(
    rules: str, made: MadeTable, k: int, seed: int, alone: bool
) -> None:
    records, privacy = asked_of(made, k, rules)
    size = len(records)
    count = size // (k + 1)
    labels = (np.random.default_rng(seed).permutation(size) % count).astype(np.int32)
    if alone:  # as newcomers are whom no group may take
        labels[0] = count
        labels = without_gaps(labels)
        count = int(labels.max()) + 1
    lacking = np.flatnonzero(~privacy.facts_of(labels, count).holds(k))
    feasible = bool(privacy.facts_of(np.zeros(size, np.int32), 1).holds(k).all())
    wanted = None
    if len(lacking) == 1:
        wanted = loss_of_best_move(records, privacy, labels, k, int(lacking[0]))
    asked = rules_of(privacy.tables, size)
    count_all(asked, labels)
    g = new_grouping(records.codes, labels.copy(), cost_tables(records.books, "il"), asked, room=size)
    assert np.array_equal(find_offending(g), lacking)
    if not mend_some(g, lacking.astype(np.int32), feasible):
        assert not feasible
        return
    check_tree(g)
    assert Partition.from_labels(records.codes, g.members.labels, privacy).publishable
    if wanted is not None:  # what is large may have been split as well
        assert np.count_nonzero(g.groups.sizes) >= count
        assert g.groups.sizes @ g.groups.losses <= wanted + 1e-9
    fresh = rules_of(privacy.tables, size)
    count_all(fresh, g.members.labels)
    assert np.array_equal(fresh.counts.people, g.rules.counts.people)
    assert np.array_equal(fresh.counts.sizes, g.rules.counts.sizes)
