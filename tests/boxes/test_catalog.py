"""The catalog: what it says of groups that cover a record, and of all others; when there is one, and when a new one."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shoal.boxes.catalog import ALWAYS, ENOUGH, OFF, ON, STALE, best_covering
from shoal.boxes.chains import CELL, LAST
from shoal.boxes.costs import MEASURES, CostTables, cost_tables
from shoal.boxes.geometry import group_boxes
from shoal.boxes.group_changes import add, settle, tend
from shoal.boxes.group_tree import (
    Groups,
    GroupTree,
    best_group,
    build,
    groups_with_room,
    new_group_tree,
    new_groups,
    tree_with_room,
    weigh,
)
from shoal.boxes.kernels import cell_cost
from shoal.boxes.layout import CATALOG, DRAWERS
from shoal.cluster import cluster
from shoal.compiling import ZERO, kernel
from shoal.records.encode import Records, encode
from shoal.schema import Role
from tests.support.group_trees import check
from tests.support.tables import MadeTable, tables


@settings(max_examples=100)
@given(made=tables(min_rows=6, max_rows=40), measure=st.sampled_from(MEASURES))
def test_a_cell_covers_a_code_exactly_if_the_code_costs_nothing_more(made: MadeTable, measure: str) -> None:
    books = encode(made.table, made.schema).books
    costs = cost_tables(books, measure)
    chains = costs.chains
    assert sorted(chains.columns[:, 0].tolist()) == [j for j, book in enumerate(books) if book.tree is not None]
    for j, start in chains.columns.tolist():
        size = int(costs.sizes[j])
        rows = [
            [
                (int(cell), int(last), *map(float, price))
                for (cell, last), price in zip(chains.cells[start + code], chains.prices[start + code], strict=True)
                if cell >= 0
            ]
            for code in range(size)
        ]
        for lo, hi in {(min(pair), max(pair)) for pair in np.ndindex(size, size)}:
            cell, _, cost, _ = next(row for row in rows[lo] if row[LAST] >= hi)
            assert cost == pytest.approx(cost_of(costs, j, lo, hi), abs=1e-12)
            for code in range(size):
                joined = cost_of(costs, j, min(lo, code), max(hi, code))
                covers = cell in [row[CELL] for row in rows[code]]
                assert covers == (joined <= cost + 1e-12)
                if not covers:
                    price, step = next(row[2:] for row in rows[code] if row[2] >= joined - 1e-12)
                    assert price == pytest.approx(joined, abs=1e-12)
                    assert joined - cost >= step - 1e-12


@kernel
def cost_of(costs: CostTables, j: int, lo: int, hi: int) -> float:
    return cell_cost(costs, j, lo, hi)


def census(rows: int) -> Records:
    schema = shoal.datasets.census_schema()
    return encode(shoal.datasets.census(rows, 1).drop_columns(schema.names(Role.IDENTIFIER)), schema)


def grouped(records: Records, k: int) -> tuple[CostTables, Groups, GroupTree]:
    partition = cluster(records, k, method="k-member", seed=1)
    costs = cost_tables(records.books, "il")
    groups = new_groups(len(partition.sizes), records.codes.shape[1])
    groups.lo[:], groups.hi[:], groups.sizes[:] = group_boxes(records.codes, partition.labels, len(partition.sizes))
    weigh(costs, groups)
    tree = new_group_tree(groups)
    build(tree, costs, groups)
    return costs, groups, tree


def ask(tree: GroupTree, costs: CostTables, records: Records, times: int) -> list[int]:
    return [
        best_group(tree, costs, point, point, 1.0, 0.0, np.inf, ZERO - 1, None, None, ZERO - 1)
        for point in records.codes[:times]
    ]


@kernel
def tend_to(tree: GroupTree, costs: CostTables, groups: Groups) -> None:
    tend(tree, costs, groups)


@kernel
def found_by_it_alone(tree: GroupTree, costs: CostTables, codes: np.ndarray) -> int:
    """Of how many records the catalog knows that no other group is better."""
    found = 0
    for point in codes:
        answer = best_covering(tree, costs, point, point, 1.0, 0.0, np.inf, ZERO - 1, None, None, ZERO - 1)
        found += 1 if answer[3] == np.inf else 0
    return found


def test_many_groups_with_hierarchies_have_a_catalog_and_few_or_plain_ones_have_none() -> None:
    records = census(12_000)
    costs, groups, tree = grouped(records, 5)
    assert len(groups.sizes) > ENOUGH
    assert tree.state[CATALOG] == ON
    check(tree, costs, groups)
    assert found_by_it_alone(tree, costs, records.codes) > len(records) // 4
    assert grouped(census(2_000), 5)[2].state[CATALOG] == STALE  # too few yet
    rng = np.random.default_rng(1)
    numbers = {name: rng.integers(0, 100, 6_000) for name in "abc"}
    schema = shoal.Schema(columns={name: {"role": "quasi-identifier", "type": "numeric"} for name in numbers})
    assert grouped(encode(pa.table(numbers), schema), 5)[2].state[CATALOG] == OFF


def test_a_catalog_that_is_stale_is_made_anew_when_it_has_been_missed() -> None:
    records = census(8_000)
    costs, groups, tree = grouped(records, 5)
    assert tree.state[CATALOG] == ON
    expected = ask(tree, costs, records, 200)
    other = costs._replace(chains=costs.chains._replace(edition=costs.chains.edition + 1))
    assert ask(tree, other, records, 200) == expected  # the tree alone
    assert tree.state[CATALOG] == STALE
    tend_to(tree, other, groups)
    assert tree.state[CATALOG] == ON
    assert ask(tree, other, records, 200) == expected
    check(tree, other, groups)


def test_a_catalog_grows_with_its_groups() -> None:
    records = census(8_000)
    costs, groups, tree = grouped(records, 5)
    several, room = len(groups.sizes), 3 * len(groups.sizes)
    groups, tree = groups_with_room(groups, room), tree_with_room(tree, room)
    assert tree.state[CATALOG] == STALE
    ask(tree, costs, records, 200)
    tend_to(tree, costs, groups)
    assert tree.state[CATALOG] == ON
    for group in range(several, room):
        groups.lo[group] = groups.hi[group] = records.codes[group]
        groups.sizes[group] = 5
        add(tree, costs, groups, group)
    assert tree.state[CATALOG] in (ON, STALE)
    check(tree, costs, groups)
    joined = ask(tree, costs, records, room)
    assert [groups.losses[group] for group in joined[several:room]] == [0.0] * (room - several)


def test_groups_that_come_and_go_leave_no_empty_drawers_behind() -> None:
    """Forty groups in one cell: their numbers change, and they go to another cell and come back."""
    rng = np.random.default_rng(1)
    table = pa.table({"age": rng.integers(20, 80, 200), "sex": ["f", "m"] * 100})
    schema = shoal.Schema(
        columns={
            "age": {"role": "quasi-identifier", "type": "numeric"},
            "sex": {"role": "quasi-identifier", "type": "categorical", "hierarchy": {"*": {"f": None, "m": None}}},
        }
    )
    records = encode(table, schema)
    costs = cost_tables(records.books, "il")
    groups = new_groups(1_000, 2)
    groups.lo[:40] = groups.hi[:40] = records.codes[:80:2]
    groups.sizes[:40] = 2
    weigh(costs, groups)
    tree = new_group_tree(groups, reshapes=False, catalog=ALWAYS)
    build(tree, costs, groups)
    drawers = int(tree.state[DRAWERS])
    for turn in range(1_000):
        group, row = turn % 40, rng.integers(0, 200)
        groups.lo[group] = groups.hi[group] = records.codes[row]
        settle(tree, costs, groups, group)
    check(tree, costs, groups)
    assert tree.state[CATALOG] == ON
    assert drawers <= tree.state[DRAWERS] <= 2 * drawers + 2
