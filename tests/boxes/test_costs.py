"""Cost tables and their kernels against the definitions, on made tables; and that costs grow with the interval."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from shoal.boxes.costs import MEASURES, column_costs, cost_tables
from shoal.boxes.costs.tables import DENSE, DENSE_SIZE, NODES, STEPS
from shoal.boxes.geometry import group_boxes
from shoal.boxes.points import cover_points, point_tree, weigh_boxes
from shoal.records.encode import encode
from tests.reference.costs import cell_cost as plain_cost
from tests.support.costs import box_cost, cell_cost
from tests.support.tables import MadeTable, tables


@given(made=tables(), measure=st.sampled_from(MEASURES), data=st.data())
def test_every_form_of_a_cost_equals_the_definition(made: MadeTable, measure: str, data: st.DataObject) -> None:
    records = encode(made.table, made.schema)
    dense, computed = (cost_tables(records.books, measure, dense_size=size) for size in (DENSE_SIZE, 0))
    assert (dense.columns["kind"] == DENSE).all()
    assert (computed.columns["kind"] != DENSE).all()
    group = data.draw(st.lists(st.integers(0, made.rows - 1), min_size=1, max_size=6))
    lo, hi = records.codes[group].min(axis=0), records.codes[group].max(axis=0)
    total = 0.0
    for j, (name, column) in enumerate(made.columns.items()):
        expected = plain_cost(column.plain, measure, [column.values[i] for i in group], column.values)
        weight = made.schema.columns[name].weight
        assert column_costs(records.books[j], measure).of(lo[j : j + 1], hi[j : j + 1])[0] == pytest.approx(expected)
        assert cell_cost(dense, j, lo[j], hi[j]) == pytest.approx(weight * expected)
        assert cell_cost(computed, j, lo[j], hi[j]) == pytest.approx(weight * expected)
        total += weight * expected
    assert box_cost(dense, lo, hi) == pytest.approx(total)


@given(made=tables(), measure=st.sampled_from(MEASURES))
def test_costs_are_never_negative_and_grow_with_the_interval(made: MadeTable, measure: str) -> None:
    records = encode(made.table, made.schema)
    for book in records.books:
        costs = column_costs(book, measure)
        lo, hi = (bounds.astype(np.int32) for bounds in np.triu_indices(book.size))
        table = np.full((book.size, book.size), np.nan)
        table[lo, hi] = costs.of(lo, hi)
        assert (table[lo, hi] >= 0).all()
        assert (table[lo, hi] <= costs.full + 1e-12).all()
        for a, b in zip(lo, hi, strict=True):
            if a > 0:
                assert table[a, b] <= table[a - 1, b] + 1e-12
            if b + 1 < book.size:
                assert table[a, b] <= table[a, b + 1] + 1e-12


@given(made=tables(), data=st.data())
def test_boxes_are_the_smallest_around_their_groups(made: MadeTable, data: st.DataObject) -> None:
    codes = encode(made.table, made.schema).codes
    groups = data.draw(st.integers(1, made.rows))
    labels = np.array(
        [
            *range(groups),
            *data.draw(st.lists(st.integers(0, groups - 1), min_size=made.rows - groups, max_size=made.rows - groups)),
        ],
        np.int32,
    )
    lo, hi, sizes = group_boxes(codes, labels, groups)
    for group in range(groups):
        members = [codes[i].tolist() for i in range(made.rows) if labels[i] == group]
        assert lo[group].tolist() == [min(column) for column in zip(*members, strict=True)]
        assert hi[group].tolist() == [max(column) for column in zip(*members, strict=True)]
        assert sizes[group] == len(members)


@pytest.mark.parametrize("measure", MEASURES)
def test_a_large_domain_needs_no_square_table(measure: str) -> None:
    leaves = 50_000
    schema = shoal.Schema(
        columns={
            "code": {"role": "quasi-identifier", "type": "prefix"},
            "amount": {"role": "quasi-identifier", "type": "numeric"},
        }
    )
    table = {"code": [f"{i:05d}" for i in range(leaves)], "amount": list(range(leaves))}
    records = encode(pa.table(table), schema)
    costs = cost_tables(records.books, measure)
    kinds = costs.columns["kind"]
    assert kinds[0] == NODES
    assert kinds[1] == (STEPS if measure != "mi" else kinds[1]) != DENSE
    arrays = (*costs, *costs.chains)
    assert sum(array.nbytes for array in arrays if isinstance(array, np.ndarray)) < 20_000_000
    assert cell_cost(costs, 0, 1, leaves) == pytest.approx(column_costs(records.books[0], measure).full)
    assert cell_cost(costs, 0, 1, 1) == 0
    if measure in ("il", "tree"):
        assert cell_cost(costs, 0, 1, 10) == pytest.approx(1 / 5)  # 00000 … 00009 are 0000*
    if measure == "lm":
        assert cell_cost(costs, 0, 1, 10) == pytest.approx(9 / (leaves - 1))


def test_values_outside_a_declared_domain_are_clamped_at_full_cost() -> None:
    schema = shoal.Schema(columns={"age": {"role": "quasi-identifier", "type": "numeric", "domain": [20, 30]}})
    with pytest.warns(shoal.ShoalWarning, match="2 values lie outside"):
        books = encode(pa.table({"age": [0, 25, 100]}), schema).books
    costs = cost_tables(books, "il", dense_size=0)
    assert cell_cost(costs, 0, 1, 3) == 1.0
    assert cell_cost(costs, 0, 2, 2) == 0.0


@given(
    points=st.lists(st.tuples(*[st.integers(0, 9)] * 3), min_size=1, max_size=80),
    corners=st.lists(st.tuples(*[st.integers(0, 9)] * 6), min_size=1, max_size=10),
)
def test_the_tree_of_points_finds_what_a_look_at_each_finds(
    points: list[tuple[int, ...]], corners: list[tuple[int, ...]]
) -> None:
    boxes = np.sort(np.array(corners, np.int32).reshape(-1, 2, 3), axis=1)
    lo, hi = np.ascontiguousarray(boxes[:, 0]), np.ascontiguousarray(boxes[:, 1])
    data = np.array(points, np.int32)
    inside = ((data >= lo[:, None]) & (data <= hi[:, None])).all(axis=2)  # (boxes, points)
    point_weights, box_weights = np.arange(1.0, len(data) + 1), np.arange(1.0, len(lo) + 1)
    tree = point_tree(data)
    assert weigh_boxes(tree, point_weights, lo, hi) == pytest.approx(inside @ point_weights)
    assert cover_points(tree, lo, hi, box_weights) == pytest.approx(box_weights @ inside)
