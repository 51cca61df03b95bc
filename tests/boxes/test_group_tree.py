"""The group tree: what it finds has the value of a full scan, whatever has happened to the groups since."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.boxes.catalog import ALWAYS, NEVER, OFF, ON
from shoal.boxes.costs import MEASURES, cost_tables
from shoal.boxes.geometry import group_boxes
from shoal.boxes.group_changes import add, settle
from shoal.boxes.group_tree import best_group, build, new_group_tree, new_groups, weigh
from shoal.boxes.kernels import box_cost
from shoal.boxes.layout import CATALOG
from shoal.records.encode import encode
from tests.support.group_trees import check
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
    """A walk of 150 steps from one group: full leaves, empty leaves and worn nodes all come about."""
    records = encode(made.table, made.schema)
    costs = cost_tables(records.books, "il")
    rng = np.random.default_rng(seed)
    groups = new_groups(100, records.codes.shape[1])
    tree = new_group_tree(groups, reshapes=reshapes, catalog=catalog)
    build(tree, costs, groups)
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
            add(tree, costs, groups, group)
        else:
            settle(tree, costs, groups, group)
        if step % 10 == 9:
            check(tree, costs, groups)


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
    several = data.draw(st.integers(1, made.rows // 2))
    labels = np.array(data.draw(st.permutations([i % several for i in range(made.rows)])), np.int32)
    groups = new_groups(several, records.codes.shape[1])
    groups.lo[:], groups.hi[:], groups.sizes[:] = group_boxes(records.codes, labels, several)
    weigh(costs, groups)
    tree = new_group_tree(groups, catalog=catalog)
    build(tree, costs, groups)
    assert tree.state[CATALOG] == (ON if catalog == ALWAYS and len(costs.chains.columns) else OFF)

    def value(group: int, lo: np.ndarray, hi: np.ndarray, size: float, loss: float) -> float:
        joined = box_cost(costs, np.minimum(lo, groups.lo[group]), np.maximum(hi, groups.hi[group]))
        return size * (joined - loss) + groups.sizes[group] * (joined - groups.losses[group])

    for _ in range(5):
        group, kind = data.draw(st.integers(0, several - 1)), data.draw(st.sampled_from(["grow", "shrink", "die"]))
        if kind == "die":
            groups.sizes[group] = 0
            settle(tree, costs, groups, group)
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
            settle(tree, costs, groups, group)
        first, second = records.codes[data.draw(st.integers(0, made.rows - 1))], records.codes[0]
        box = data.draw(st.booleans())
        lo, hi = (np.minimum(first, second), np.maximum(first, second)) if box else (first, first)
        size, loss = (2.0, float(box_cost(costs, lo, hi))) if box else (1.0, 0.0)
        but = data.draw(st.integers(-1, several - 1))
        asked = [g for g in range(several) if groups.sizes[g] > 0 and g != but]
        found = best_group(tree, costs, lo, hi, size, loss, np.inf, but, None, None, -1)
        if not asked:
            assert found == -1
            continue
        least = min(value(g, lo, hi, size, loss) for g in asked)
        assert found in asked
        assert value(found, lo, hi, size, loss) == pytest.approx(least, abs=1e-9)
        assert best_group(tree, costs, lo, hi, size, loss, least - 1e-6, but, None, None, -1) == -1
