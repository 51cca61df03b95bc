"""Records without near neighbours are noticed before the work is done; sums over many columns end when they may."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import shoal
from benchmarks.inputs import census_records
from benchmarks.tables import continuous, uniform
from shoal.boxes.changes import new_grouping
from shoal.boxes.costs import MEASURES, CostTables, cost_tables
from shoal.boxes.costs.kernels import WIDE
from shoal.boxes.group_tree.catalog import Query
from shoal.boxes.grouping import Grouping
from shoal.cluster import Task, cluster
from shoal.cluster import shoal as method
from shoal.cluster.shoal.neighbourhood import share_looked_at, without_neighbours
from shoal.measures import total_loss
from shoal.privacy import Privacy
from shoal.privacy.rules import no_rules
from shoal.progress import SILENT
from shoal.records.encode import Records, encode
from tests.reference.refining import best_step
from tests.support.adult import adult_records
from tests.support.costs import box_cost
from tests.support.group_trees import found_by
from tests.support.pools import build_in, near_in, search_in

WIDE_TABLE = (60, WIDE + 4, 6)


def task_of(records: Records, measure: str = "il", k: int = 5) -> Task:
    costs = cost_tables(records.books, measure)
    return Task(records, measure, costs, Privacy.only_k(k, len(records)), np.random.default_rng(1), SILENT)


def grouping_of(records: Records, costs: CostTables) -> Grouping:
    labels = (np.arange(len(records)) % (len(records) // 3)).astype(np.int32)
    return new_grouping(records.codes, labels, costs, no_rules(3))


@pytest.mark.parametrize("measure", ["il", "lm", "mi"])
def test_records_without_neighbours_are_noticed(measure: str) -> None:
    assert without_neighbours(task_of(encode(*continuous(1_500)), measure))
    assert without_neighbours(task_of(encode(*uniform(1_500, columns=30, values=5)), measure))


@pytest.mark.parametrize("measure", ["il", "lm", "mi"])
def test_records_with_neighbours_are_not_taken_for_others(measure: str) -> None:
    for records in (adult_records(4_000), census_records(4_000)):
        assert share_looked_at(task_of(records, measure)) < 0.2
        assert not without_neighbours(task_of(records, measure))


def test_a_small_table_is_not_asked() -> None:
    """All of its pairs are soon looked at."""
    task = task_of(encode(*continuous(400)))
    assert share_looked_at(task) > 1
    assert not without_neighbours(task)


@pytest.mark.parametrize("k", [2, 10])
def test_far_apart_loses_hardly_more_than_every_start_would(k: int, monkeypatch: pytest.MonkeyPatch) -> None:
    records = encode(*uniform(1_500, columns=30, values=5))
    found = cluster(records, k, method="shoal", seed=1)
    again = cluster(records, k, method="shoal", seed=1)
    assert np.array_equal(found.labels, again.labels)
    monkeypatch.setattr(method, "without_neighbours", lambda task: False)
    thorough = cluster(records, k, method="shoal", seed=1)
    assert total_loss(found, records.books) <= 1.01 * total_loss(thorough, records.books)


def test_parts_of_a_large_table_are_all_grouped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(method, "PART", 400)
    for k in (3, 300):
        partition = cluster(encode(*continuous(1_501)), k, method="shoal", seed=1)
        assert partition.publishable
        assert partition.sizes.min() >= k
        assert partition.sizes.max() < 2 * k


def test_rules_hold_where_nobody_has_neighbours() -> None:
    table, _ = continuous(1_500)
    names = table.column_names
    table = table.append_column("illness", pa.array(np.arange(1_500) % 3))
    columns: dict[str, dict[str, str]] = {name: {"role": "quasi-identifier", "type": "numeric"} for name in names}
    columns["illness"] = {"role": "sensitive", "type": "categorical"}
    release = shoal.anonymize(table, shoal.Schema(columns=columns), k=4, l=2, seed=1)
    found = release.table.group_by(names).aggregate([("illness", "count"), ("illness", "count_distinct")])
    assert min(found["illness_count"].to_pylist()) >= 4
    assert min(found["illness_count_distinct"].to_pylist()) >= 2


@pytest.mark.parametrize("measure", MEASURES)
def test_in_many_columns_the_best_group_is_that_of_a_full_scan(measure: str) -> None:
    records = encode(*uniform(*WIDE_TABLE))
    costs = cost_tables(records.books, measure)
    g = grouping_of(records, costs)
    groups = g.groups
    for point in records.codes:
        joined = [
            box_cost(costs, np.minimum(lo, point), np.maximum(hi, point))
            for lo, hi in zip(groups.lo, groups.hi, strict=True)
        ]
        values = np.array(joined) * (groups.sizes + 1) - groups.sizes * groups.losses
        found = found_by(g, Query(point, point, 1.0, 0.0, np.inf, -1, -1))
        assert values[found] == pytest.approx(values.min())


@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize("largest", [0.0, 4.0])
def test_in_many_columns_the_near_groups_are_the_nearest(measure: str, largest: float) -> None:
    records = encode(*uniform(*WIDE_TABLE))
    costs = cost_tables(records.books, measure)
    g = grouping_of(records, costs)
    groups = g.groups
    for group, (lo, hi) in enumerate(zip(groups.lo, groups.hi, strict=True)):
        size, loss = float(groups.sizes[group]), groups.losses[group]
        found, values = np.empty(3, np.int64), np.empty(3)
        near_in(g, group, largest, found, values)
        both = np.array(
            [
                box_cost(costs, np.minimum(lo, low), np.maximum(hi, high))
                for low, high in zip(groups.lo, groups.hi, strict=True)
            ]
        )
        added = size * (both - loss) + groups.sizes * (both - groups.losses)
        added = np.delete(added / (size + groups.sizes) if largest else added, group)
        assert values == pytest.approx(np.sort(added)[:3])


@pytest.mark.parametrize("measure", MEASURES)
def test_a_pool_of_many_columns_is_searched_until_no_step_helps(measure: str) -> None:
    records = encode(*uniform(14, *WIDE_TABLE[1:]))
    costs = cost_tables(records.books, measure)
    codes = [tuple(row) for row in records.codes.tolist()]

    def cost(j: int, lo: int, hi: int) -> float:
        ends = np.zeros((2, records.codes.shape[1]), np.int32)
        ends[:, j] = lo, hi
        rest = ends.copy()
        rest[:, j] = 0
        return float(box_cost(costs, ends[0], ends[1]) - box_cost(costs, rest[0], rest[1]))

    for first in range(14):
        labels = np.empty(14, np.int64)
        count, _ = build_in(costs, 3, records.codes, first, labels)
        search_in(costs, 3, records.codes, labels, count, np.inf)
        assert best_step(codes, labels.tolist(), cost, 3) == pytest.approx(0, abs=1e-6)
