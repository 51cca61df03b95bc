"""Hilbert: the paper's toy, the curve's own properties, and runs that are the best for their order."""

from __future__ import annotations

from functools import cache

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shoal.boxes.costs import MEASURES, cost_tables
from shoal.cluster import cluster
from shoal.cluster.hilbert import coordinates, curve_digits, curve_order
from shoal.measures import total_loss
from shoal.records.encode import encode
from tests.reference.clustering import group_loss
from tests.support.costs import cell_cost
from tests.support.tables import MadeTable, tables

pytestmark = pytest.mark.versions

# Goldberger & Tassa, Table 1.
TOY = [(0, 0, 0, 0), (1, 1, 1, 0), (0, 0, 0, 2), (1, 1, 1, 2)]


def number(points: np.ndarray) -> list[int]:
    digits = curve_digits(points.astype(np.int64))
    return [sum(int(digit) << (points.shape[1] * i) for i, digit in enumerate(row[::-1])) for row in digits]


def test_the_papers_toy() -> None:
    codes = np.array(TOY, np.int32)
    assert number(coordinates(codes, rescale=False)) == [0, 9, 118, 123]
    assert number(coordinates(codes, rescale=True)) == [0, 220, 118, 162]


@pytest.mark.parametrize(("rescale", "suppressed"), [(False, 6), (True, 2)])
def test_the_toy_costs_what_the_paper_says(rescale: bool, suppressed: int) -> None:
    """Each record k/2 times: 6k suppressed cells without rescaling, 2k with it."""
    k = 6
    rows = [row for row in TOY for _ in range(k // 2)]
    values = {f"q{j}": [str(row[j]) for row in rows] for j in range(4)}
    domain = {f"q{j}": shoal.Hierarchy.flat(["0", "1", "2"] if j == 3 else ["0", "1"]) for j in range(4)}
    specs = {name: {"role": "quasi-identifier", "hierarchy": tree} for name, tree in domain.items()}
    records = encode(pa.table(values), shoal.Schema(columns=specs))
    partition = cluster(records, k, method="hilbert", measure="tree", options={"rescale": rescale})
    assert total_loss(partition, records.books, "tree") == suppressed * k


@given(bits=st.integers(1, 3), axes=st.integers(1, 4))
def test_the_curve_visits_every_point_by_single_steps(bits: int, axes: int) -> None:
    grid = np.stack(np.meshgrid(*[np.arange(2**bits)] * axes), axis=-1).reshape(-1, axes)
    numbers = number(grid)
    assert sorted(numbers) == list(range(len(grid)))
    walked = grid[np.argsort(numbers)]
    assert (np.abs(np.diff(walked, axis=0)).sum(axis=1) == 1).all()


@settings(max_examples=100)
@given(made=tables(min_rows=3, max_rows=20), k=st.integers(2, 5), measure=st.sampled_from(MEASURES))
def test_no_runs_of_the_same_order_lose_less(made: MadeTable, k: int, measure: str) -> None:
    records = encode(made.table, made.schema)
    k = min(k, made.rows)
    costs = cost_tables(records.books, measure)
    order = curve_order(records.codes, rescale=True)
    codes = [tuple(row) for row in records.codes[order].tolist()]

    def loss(first: int, last: int) -> float:
        return group_loss(codes[first:last], lambda j, lo, hi: float(cell_cost(costs, j, lo, hi)), False)

    @cache
    def least(end: int) -> float:
        if end == 0:
            return 0.0
        return min(
            (least(end - size) + loss(end - size, end) for size in range(k, min(end, 2 * k - 1) + 1)), default=np.inf
        )

    partition = cluster(records, k, method="hilbert", measure=measure)
    groups = [np.flatnonzero(partition.labels[order] == g) for g in range(len(partition))]
    assert sum(loss(int(group[0]), int(group[-1]) + 1) for group in groups) == pytest.approx(least(made.rows))
    for group in groups:
        assert (np.diff(group) == 1).all()
        assert k <= len(group) < 2 * k


def test_more_columns_than_bits() -> None:
    specs = {f"q{j}": {"role": "quasi-identifier", "type": "numeric"} for j in range(63)}
    table = pa.table({name: [1, 2, 3] for name in specs})
    with pytest.raises(shoal.ParameterError, match="up to 62"):
        cluster(encode(table, shoal.Schema(columns=specs)), 2, method="hilbert")
