"""The group tree: what it finds has the value of a full scan, whatever has happened to the groups since."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.boxes.changes import new_grouping
from shoal.boxes.costs import MEASURES, cost_tables
from shoal.boxes.group_tree.catalog import ALWAYS, NEVER, OFF, ON, Query
from shoal.privacy.rules import no_rules
from shoal.records.encode import encode
from tests.support.costs import box_cost
from tests.support.group_trees import added, check, found_by, updated
from tests.support.tables import MadeTable, tables


@settings(max_examples=100)
@given(
    made=tables(min_rows=6, max_rows=60),
    seed=st.integers(0, 2**32),
    births=st.floats(0.1, 0.9),
    reshapes=st.booleans(),
    catalog=st.sampled_from([NEVER, ALWAYS]),
)
def test_the_tree_follows_groups_that_are_born_and_die(
    made: MadeTable, seed: int, births: float, reshapes: bool, catalog: int
) -> None:
    """A walk of 150 steps from one group: full leaves, empty leaves and stale nodes all come about."""
    records = encode(made.table, made.schema)
    costs = cost_tables(records.books, "il")
    rng = np.random.default_rng(seed)
    nobody = np.full(made.rows, -1, np.int32)
    g = new_grouping(records.codes, nobody, costs, no_rules(2), room=100, reshapes=reshapes, catalog=catalog)
    groups = g.groups
    for step in range(150):
        alive, dead = np.flatnonzero(groups.sizes), np.flatnonzero(groups.sizes == 0)
        first, second = records.codes[rng.integers(0, made.rows, 2)]
        birth = len(alive) == 0 or (len(dead) > 0 and rng.random() < births)
        group = rng.choice(dead if birth else alive)
        if birth or rng.random() < 0.5:
            groups.lo[group], groups.hi[group] = np.minimum(first, second), np.maximum(first, second)
            groups.sizes[group] = rng.integers(1, 5)
            groups.losses[group] = box_cost(costs, groups.lo[group], groups.hi[group])
        else:
            groups.sizes[group] = 0
        if birth:
            added(g, group)
        else:
            updated(g, group)
        if step % 10 == 9:
            check(g)


@settings(max_examples=200)
@given(
    made=tables(min_rows=6, max_rows=60),
    measure=st.sampled_from(MEASURES),
    catalog=st.sampled_from([NEVER, ALWAYS]),
    data=st.data(),
)
def test_the_value_is_that_of_a_full_scan(made: MadeTable, measure: str, catalog: int, data: st.DataObject) -> None:
    records = encode(made.table, made.schema)
    costs = cost_tables(records.books, measure)
    n_groups = data.draw(st.integers(1, made.rows // 2))
    labels = np.array(data.draw(st.permutations([i % n_groups for i in range(made.rows)])), np.int32)
    g = new_grouping(records.codes, labels, costs, no_rules(2), catalog=catalog)
    groups = g.groups
    assert g.tree.state["catalog"] == (ON if catalog == ALWAYS and len(costs.chains.columns) else OFF)

    def value(group: int, lo: np.ndarray, hi: np.ndarray, size: float, loss: float) -> float:
        joined = box_cost(costs, np.minimum(lo, groups.lo[group]), np.maximum(hi, groups.hi[group]))
        return size * (joined - loss) + groups.sizes[group] * (joined - groups.losses[group])

    for _ in range(5):
        group, kind = data.draw(st.integers(0, n_groups - 1)), data.draw(st.sampled_from(["grow", "shrink", "die"]))
        if kind == "die":
            groups.sizes[group] = 0
            updated(g, group)
        elif groups.sizes[group] > 0:
            row = records.codes[data.draw(st.integers(0, made.rows - 1))]
            if kind == "grow":
                groups.lo[group], groups.hi[group] = (
                    np.minimum(groups.lo[group], row),
                    np.maximum(groups.hi[group], row),
                )
                groups.sizes[group] += 1
            else:
                groups.lo[group] = groups.hi[group] = np.clip(row, groups.lo[group], groups.hi[group])
                groups.sizes[group] = 1
            groups.losses[group] = box_cost(costs, groups.lo[group], groups.hi[group])
            updated(g, group)
        first, second = records.codes[data.draw(st.integers(0, made.rows - 1))], records.codes[0]
        box = data.draw(st.booleans())
        lo, hi = (np.minimum(first, second), np.maximum(first, second)) if box else (first, first)
        size, loss = (2.0, float(box_cost(costs, lo, hi))) if box else (1.0, 0.0)
        but = data.draw(st.integers(-1, n_groups - 1))
        asked = [other for other in range(n_groups) if groups.sizes[other] > 0 and other != but]
        found = found_by(g, Query(lo, hi, size, loss, np.inf, but, -1))
        if not asked:
            assert found == -1
            continue
        least = min(value(other, lo, hi, size, loss) for other in asked)
        assert found in asked
        assert value(found, lo, hi, size, loss) == pytest.approx(least, abs=1e-9)
        assert found_by(g, Query(lo, hi, size, loss, least - 1e-6, but, -1)) == -1
