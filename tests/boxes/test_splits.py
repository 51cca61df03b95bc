"""Splitting a group where rules are asked: of all cuts that keep them the one that loses least."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.boxes import changes, splits
from shoal.boxes.changes import new_grouping
from shoal.boxes.costs import cost_tables
from shoal.compiling import entered
from shoal.privacy.counts import count_all
from shoal.privacy.rules import rules_of
from shoal.records.encode import encode
from tests.reference.refining import group_loss
from tests.support.costs import cell_cost
from tests.support.rules import asked_of
from tests.support.tables import MadeTable, tables

best_allowed_split, order_along = entered(changes.best_allowed_split), entered(splits.order_along)


@pytest.mark.parametrize("rules", ["l", "t"])
@given(made=tables(min_rows=6, max_rows=20), k=st.integers(2, 3))
@settings(max_examples=60)
def test_no_allowed_cut_along_a_column_loses_less(rules: str, made: MadeTable, k: int) -> None:
    records, privacy = asked_of(made, k, rules)
    size, codes = len(records), records.codes
    costs = cost_tables(records.books, "il")
    labels = np.zeros(size, np.int32)
    asked = rules_of(privacy.tables, size)
    count_all(asked, labels)
    g = new_grouping(codes, labels, costs, asked, room=size)

    def cost(j: int, lo: int, hi: int) -> float:
        return cell_cost(costs, j, lo, hi)

    def loss(part: np.ndarray) -> float:
        return group_loss([tuple(row) for row in codes[part].tolist()], cost)

    def allowed(first: np.ndarray) -> bool:
        return bool(privacy.facts_of(first.astype(np.int32), 2).holds(k).all())

    order = np.arange(size, dtype=np.int32)
    going = best_allowed_split(g, order)
    assert sorted(order.tolist()) == list(range(size))
    found = np.inf
    if going:
        found = loss(order[:going]) + loss(order[going:])
        assert allowed(np.isin(np.arange(size), order[:going]))
    for j in range(codes.shape[1]):
        for code in np.unique(codes[:, j])[1:]:
            below = codes[:, j] < code
            if allowed(below):
                assert found <= loss(np.flatnonzero(below)) + loss(np.flatnonzero(~below)) + 1e-9


@given(made=tables(min_rows=4, max_rows=20), data=st.data())
@settings(max_examples=60)
def test_along_a_column_both_parts_lose_what_their_boxes_do(made: MadeTable, data: st.DataObject) -> None:
    records = encode(made.table, made.schema)
    codes, costs, size = records.codes, cost_tables(records.books, "il"), len(records)
    column, steps = data.draw(st.integers(0, codes.shape[1] - 1)), data.draw(st.integers(1, size - 1))
    order, losses = np.random.default_rng(1).permutation(size).astype(np.int32), np.empty(steps)
    order_along(codes, costs, order, column, losses)
    assert (np.diff(codes[order, column]) >= 0).all()
    for i in range(steps):
        parts = [[tuple(row) for row in codes[part].tolist()] for part in (order[: i + 1], order[i + 1 :])]
        wanted = sum(group_loss(part, lambda j, lo, hi: cell_cost(costs, j, lo, hi)) for part in parts)
        assert losses[i] == pytest.approx(wanted)
