"""The catalog: what it says of groups that cover a record, and of all others; when there is one, and when a new one."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shoal.boxes.changes import grow_groups, new_grouping
from shoal.boxes.costs import MEASURES, cost_tables
from shoal.boxes.group_tree.catalog import ALWAYS, ENOUGH, OFF, ON, STALE, Query, best_covering
from shoal.boxes.grouping import Grouping
from shoal.cluster import cluster
from shoal.compiling import ZERO, kernel
from shoal.privacy.rules import no_rules
from shoal.records.encode import Records, encode
from shoal.schema import Role
from tests.support.costs import cell_cost
from tests.support.group_trees import added, check, found_by, rebuilt, updated
from tests.support.tables import MadeTable, tables


@settings(max_examples=100)
@given(made=tables(min_rows=6, max_rows=40), measure=st.sampled_from(MEASURES))
def test_a_cell_covers_a_code_exactly_if_the_code_costs_nothing_more(made: MadeTable, measure: str) -> None:
    books = encode(made.table, made.schema).books
    costs = cost_tables(books, measure)
    chains = costs.chains
    assert sorted(chains.columns["column"].tolist()) == [j for j, book in enumerate(books) if book.tree is not None]
    for j, start in chains.columns.tolist():
        size = int(costs.columns["n_codes"][j])
        rows = [
            [
                (int(cell), int(last), *price.item())
                for (cell, last), price in zip(chains.cells[start + code], chains.prices[start + code], strict=True)
                if cell >= 0
            ]
            for code in range(size)
        ]
        for lo, hi in {(min(pair), max(pair)) for pair in np.ndindex(size, size)}:
            cell, _, cost, _ = next(row for row in rows[lo] if row[1] >= hi)
            assert cost == pytest.approx(cell_cost(costs, j, lo, hi), abs=1e-12)
            for code in range(size):
                joined = cell_cost(costs, j, min(lo, code), max(hi, code))
                covers = cell in [row[0] for row in rows[code]]
                assert covers == (joined <= cost + 1e-12)
                if not covers:
                    price, step = next(row[2:] for row in rows[code] if row[2] >= joined - 1e-12)
                    assert price == pytest.approx(joined, abs=1e-12)
                    assert joined - cost >= step - 1e-12


def census(rows: int) -> Records:
    schema = shoal.datasets.census_schema()
    return encode(shoal.datasets.census(rows, 1).drop_columns(schema.names(Role.IDENTIFIER)), schema)


def grouped(records: Records, k: int) -> Grouping:
    partition = cluster(records, k, method="k-member", seed=1)
    return new_grouping(records.codes, partition.labels.copy(), cost_tables(records.books, "il"), no_rules(k))


def ask(g: Grouping, times: int) -> list[int]:
    return [found_by(g, Query(point, point, 1.0, 0.0, np.inf, -1, -1)) for point in g.codes[:times]]


@kernel
def found_by_it_alone(g: Grouping) -> int:
    """Of how many records the catalog knows that no other group is better."""
    found = 0
    for point in g.codes:
        _, step, _ = best_covering(g, Query(point, point, 1.0, 0.0, np.inf, ZERO - 1, ZERO - 1), False)
        found += 1 if step == np.inf else 0
    return found


def test_many_groups_with_hierarchies_have_a_catalog_and_few_or_plain_ones_have_none() -> None:
    records = census(12_000)
    g = grouped(records, 5)
    assert len(g.groups.sizes) > ENOUGH
    assert g.tree.state["catalog"] == ON
    check(g)
    assert found_by_it_alone(g) > len(records) // 4
    assert grouped(census(2_000), 5).tree.state["catalog"] == STALE  # too few yet
    rng = np.random.default_rng(1)
    numbers = {name: rng.integers(0, 100, 6_000) for name in "abc"}
    schema = shoal.Schema(columns={name: {"role": "quasi-identifier", "type": "numeric"} for name in numbers})
    assert grouped(encode(pa.table(numbers), schema), 5).tree.state["catalog"] == OFF


def test_a_catalog_that_is_stale_is_made_anew_when_it_has_been_missed() -> None:
    records = census(8_000)
    g = grouped(records, 5)
    assert g.tree.state["catalog"] == ON
    expected = ask(g, 200)
    chains = g.costs.chains
    other = g.replace(costs=g.costs._replace(chains=chains._replace(edition=chains.edition + 1)))
    assert ask(other, 200) == expected  # the tree alone
    rebuilt(other, 0)
    assert g.tree.state["catalog"] == STALE
    rebuilt(other, 200)
    assert g.tree.state["catalog"] == ON
    assert ask(other, 200) == expected
    check(other)


def test_a_catalog_grows_with_its_groups() -> None:
    records = census(8_000)
    g = grouped(records, 5)
    n_groups = len(g.groups.sizes)
    room = 3 * n_groups
    g = grow_groups(g, room - n_groups)
    assert g.tree.state["catalog"] == STALE
    rebuilt(g, 200)
    assert g.tree.state["catalog"] == ON
    for group in range(n_groups, room):
        g.groups.lo[group] = g.groups.hi[group] = records.codes[group]
        g.groups.sizes[group] = 5
        added(g, group)
    assert g.tree.state["catalog"] in (ON, STALE)
    check(g)
    joined = ask(g, room)
    assert [g.groups.losses[group] for group in joined[n_groups:room]] == [0.0] * (room - n_groups)


def test_groups_that_come_and_go_leave_no_empty_buckets_behind() -> None:
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
    labels = np.full(200, -1, np.int32)
    labels[:80] = np.arange(80) // 2  # two equal records each
    codes = np.concatenate([np.repeat(records.codes[:80:2], 2, axis=0), records.codes[80:]])
    g = new_grouping(codes, labels, costs, no_rules(2), room=1_000, reshapes=False, catalog=ALWAYS)
    n_buckets = int(g.tree.state["n_buckets"][0])
    for turn in range(1_000):
        group, row = turn % 40, rng.integers(0, 200)
        g.groups.lo[group] = g.groups.hi[group] = records.codes[row]
        updated(g, group)
    check(g)
    assert g.tree.state["catalog"] == ON
    assert n_buckets <= g.tree.state["n_buckets"][0] <= 2 * n_buckets + 2
