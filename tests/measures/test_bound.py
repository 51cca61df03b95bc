"""The certificate: the kernels equal a full scan, and no partition, by whatever method, loses less than the bound."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shoal.boxes.costs import MEASURES, CostTables, box_costs, cost_tables
from shoal.boxes.record_tree import company
from shoal.boxes.record_tree.bounds import neighbour_costs
from shoal.boxes.record_tree.build import record_tree
from shoal.cluster import METHODS, cluster
from shoal.measures import bound, least_loss, total_loss
from shoal.records.encode import Records, encode
from tests.reference import bounds as plain
from tests.reference.clustering import Cost, Record, loss
from tests.support.costs import cell_cost
from tests.support.tables import MadeTable, tables


def cost_of(tables_of_costs: CostTables) -> Cost:
    return lambda j, lo, hi: float(cell_cost(tables_of_costs, j, lo, hi))


def rows_of(records: Records) -> list[Record]:
    return [tuple(row) for row in records.codes.tolist()]


def pairs_of(records: Records, costs: CostTables) -> list[list[float]]:
    rows, cost = rows_of(records), cost_of(costs)
    return [[loss([one, other], cost) for other in rows] for one in rows]


class Found(NamedTuple):
    """What the kernels find, for each record: from pairs, from boxes, and from company on top of that."""

    pairs: list[float]
    boxes: list[float]
    company: list[float]


def found_by_kernels(
    records: Records, costs: CostTables, k: int, own_weight: float, effort: int = company.EFFORT
) -> Found:
    points, back, counts = np.unique(records.codes, axis=0, return_inverse=True, return_counts=True)
    tree = record_tree(points, np.zeros(len(points)), costs, far=False)
    pairs = boxes = more = neighbour_costs(tree, counts, k)
    if k > 1:
        boxes = company.company_costs(tree, counts, k, np.zeros(len(points)), 1.0, effort)
        more = company.company_costs(tree, counts, k, boxes, own_weight, effort)
    back = back.reshape(-1)
    return Found(pairs[back].tolist(), boxes[back].tolist(), more[back].tolist())


MADE = {
    "k": st.integers(1, 5),
    "measure": st.sampled_from(MEASURES),
    "dense": st.sampled_from([0, 256]),
    "own_weight": st.sampled_from([0.0, 0.2, 1.0]),
}


def encoded(made: MadeTable, again: int) -> Records:
    return encode(pa.concat_tables([made.table, *[made.table.slice(0, 3)] * again]), made.schema)


@settings(max_examples=150)
@given(made=tables(max_rows=9), again=st.integers(0, 2), **MADE)
def test_the_kernels_equal_trying_all_sets(
    made: MadeTable, k: int, measure: str, dense: int, own_weight: float, again: int
) -> None:
    records = encoded(made, again)
    k = min(k, len(records))
    costs = cost_tables(records.books, measure, dense_size=dense)
    pairs, rows, cost = pairs_of(records, costs), rows_of(records), cost_of(costs)
    found = found_by_kernels(records, costs, k, own_weight)
    for r in range(len(rows)):
        assert found.pairs[r] == pytest.approx(plain.neighbour_cost(pairs, r, k))
        if k > 1:
            wanted = plain.company_cost(rows, r, k, [0.0] * len(rows), 1.0, cost)
            assert found.boxes[r] == pytest.approx(wanted, abs=1e-9)
            wanted = plain.company_cost(rows, r, k, found.boxes, own_weight, cost)
            assert found.company[r] == pytest.approx(wanted, abs=1e-9)


@settings(max_examples=150)
@given(made=tables(max_rows=9), again=st.integers(0, 2), effort=st.integers(0, 60), room=st.integers(-4, 3), **MADE)
def test_who_gives_up_stays_below(
    made: MadeTable, k: int, measure: str, dense: int, own_weight: float, again: int, effort: int, room: int
) -> None:
    """With little effort and room less is found, never more; and never less than pairs say."""
    records = encoded(made, again)
    k = min(k, len(records))
    costs = cost_tables(records.books, measure, dense_size=dense)
    rows, cost = rows_of(records), cost_of(costs)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(company, "ROOM", max(1 - k, room))
        found = found_by_kernels(records, costs, k, own_weight, effort)
    for r in range(len(rows) if k > 1 else 0):
        wanted = plain.company_cost(rows, r, k, [0.0] * len(rows), 1.0, cost)
        assert found.pairs[r] - 1e-9 <= found.boxes[r] <= wanted + 1e-9
        wanted = plain.company_cost(rows, r, k, found.boxes, own_weight, cost)
        assert 0 <= found.company[r] <= wanted + 1e-9


@pytest.mark.parametrize("k", [2, 5, 30])
def test_the_neighbours_equal_a_full_scan_of_adult(k: int) -> None:
    """Enough records for a tree of several levels, and for equal ones."""
    records = encode(shoal.datasets.adult("test").slice(0, 300), shoal.datasets.adult_schema())
    one, other = (
        np.ascontiguousarray(side.reshape(300 * 300, -1))
        for side in np.broadcast_arrays(records.codes[:, None, :], records.codes[None, :, :])
    )
    pairs = box_costs(records.books, "il", np.minimum(one, other), np.maximum(one, other)).sum(axis=1).reshape(300, 300)
    found = found_by_kernels(records, cost_tables(records.books, "il", weighted=False), k, 0.2)
    for r in range(300):
        assert found.pairs[r] == pytest.approx(plain.neighbour_cost(pairs.tolist(), r, k))
        assert found.boxes[r] >= found.pairs[r] - 1e-9


def test_the_kernels_equal_trying_all_sets_of_adult() -> None:
    records = encode(shoal.datasets.adult("test").slice(0, 60), shoal.datasets.adult_schema())
    costs = cost_tables(records.books, "il", weighted=False)
    rows, cost, found = rows_of(records), cost_of(costs), found_by_kernels(records, costs, 3, 0.2)
    for r in range(0, 60, 4):
        assert found.boxes[r] == pytest.approx(plain.company_cost(rows, r, 3, [0.0] * 60, 1.0, cost))
        wanted = plain.company_cost(rows, r, 3, found.boxes, 0.2, cost)
        assert found.company[r] == pytest.approx(wanted, abs=1e-9)


@settings(max_examples=150)
@given(made=tables(min_rows=2, max_rows=8), k=st.integers(2, 4), again=st.booleans())
def test_no_partition_loses_less(made: MadeTable, k: int, again: bool) -> None:
    table = pa.concat_tables([made.table, made.table.slice(0, 2)]).slice(0, 8) if again else made.table
    records = encode(table, made.schema)
    k = min(k, len(records))
    best = plain.best_loss(rows_of(records), k, cost_of(cost_tables(records.books, "il", weighted=False)))
    assert least_loss(records, k) <= best * (1 + 1e-9) + 1e-12


@settings(max_examples=60)
@given(made=tables(min_rows=6, max_rows=14), k=st.integers(2, 4))
def test_no_partition_of_more_records_loses_less(made: MadeTable, k: int) -> None:
    records = encode(made.table, made.schema)
    best = plain.best_loss_by_program(rows_of(records), k, cost_of(cost_tables(records.books, "il", weighted=False)))
    assert least_loss(records, k) <= best * (1 + 1e-6) + 1e-6  # the solver rounds


@pytest.mark.parametrize("k", [2, 3, 4])
def test_no_partition_of_some_of_adult_loses_less(k: int) -> None:
    """And the two ways to the best agree, where both can be had."""
    schema = shoal.datasets.adult_schema()
    for first in range(0, 300, 30):
        records = encode(shoal.datasets.adult("test").slice(first, 16), schema)
        cost = cost_of(cost_tables(records.books, "il", weighted=False))
        best = plain.best_loss_by_program(rows_of(records), k, cost)
        assert 0 < least_loss(records, k) <= best * (1 + 1e-6)
        some = rows_of(records)[:8]
        assert plain.best_loss_by_program(some, k, cost) == pytest.approx(plain.best_loss(some, k, cost))


@settings(max_examples=60)
@given(made=tables(max_rows=30), k=st.integers(2, 5))
def test_no_method_loses_less(made: MadeTable, k: int) -> None:
    k = min(k, made.rows)
    records = encode(made.table, made.schema)
    least = least_loss(records, k)
    assert least >= 0
    for method in METHODS:
        lost = total_loss(cluster(records, k, method=method, seed=1), records.books)
        assert least <= lost * (1 + 1e-9) + 1e-12
    release = shoal.anonymize(made.table, made.schema, k=k)
    found = release.measures()
    assert found["il_bound"] == least
    if least > 0:
        assert found["il_gap"] == found["il"] / least
    elif found["il"] == 0:
        assert found["il_gap"] == 1
    else:
        assert "il_gap" in release.report().omitted


def adult() -> Records:
    return encode(shoal.datasets.adult("train", complete=True), shoal.datasets.adult_schema())


def test_the_bound_on_adult_is_pinned(monkeypatch: pytest.MonkeyPatch) -> None:
    records = adult()
    assert least_loss(records, 5) == pytest.approx(6_396.5, abs=0.1)
    assert least_loss(records, 10) == pytest.approx(9_375.2, abs=0.1)
    monkeypatch.setattr(bound, "MOST_COMPANY", 0)  # neighbours alone
    assert least_loss(records, 10) == pytest.approx(6_089.7, abs=0.1)


def test_the_gap_on_adult_is_pinned() -> None:
    table, schema = shoal.datasets.adult("train", complete=True), shoal.datasets.adult_schema()
    release = shoal.anonymize(table, schema, k=10, method="sequential", seed=1)
    found = release.measures()
    assert found["il_gap"] == pytest.approx(1.8456, abs=0.0005)
    assert release.measures(by="share")["il_bound"] == pytest.approx(found["il_bound"] / (30_162 * 8))
    assert not {"il_bound", "il_gap"} & set(release.measures(public=True))
    assert not {"il_bound", "il_gap"} & set(release.manifest["measures"])  # type: ignore[call-overload]


NUMBER = {"role": "quasi-identifier", "type": "numeric"}


def test_where_the_bound_is_reached() -> None:
    """Pairs that lie far apart: the two of a pair are each other's neighbours, and any method finds them."""
    schema = shoal.Schema(columns={"x": {**NUMBER, "weight": 3}})
    table = pa.table({"x": [0, 1, 50, 51, 99, 100]})
    found = shoal.anonymize(table, schema, k=2, method="agglomerative").measures()
    assert found["il_bound"] == pytest.approx(0.06)  # unweighted, as Total-IL is
    assert found["il_gap"] == pytest.approx(1)


def test_a_record_far_away_makes_its_company_lose() -> None:
    """Its two companions lose what it loses: neighbours alone would not know."""
    records = encode(pa.table({"x": [0, 0, 0, 0, 0, 0, 100]}), shoal.Schema(columns={"x": NUMBER}))
    assert plain.best_loss(rows_of(records), 3, cost_of(cost_tables(records.books, "il"))) == 3
    assert 1 < least_loss(records, 3) <= 3


def test_a_bound_of_nothing() -> None:
    schema = shoal.Schema(columns={"x": NUMBER})
    same = shoal.anonymize(pa.table({"x": [7] * 5}), schema, k=3).measures()
    assert (same["il"], same["il_bound"], same["il_gap"]) == (0, 0, 1)
    assert least_loss(encode(pa.table({"x": [1, 1, 2, 2]}), schema), 2) == 0


def test_people_have_a_record_each_at_least() -> None:
    schema = shoal.Schema(columns={"who": {"role": "person"}, "x": NUMBER})
    table = pa.table({"who": ["a", "a", "b", "b", "c", "c", "d", "d"], "x": [0, 0, 1, 1, 9, 9, 10, 10]})
    found = shoal.anonymize(table, schema, k=2, method="agglomerative").measures()
    assert found["il_bound"] == 0  # whoever has two records has a neighbour
    assert found["il"] > 0
    assert "il_gap" not in found
