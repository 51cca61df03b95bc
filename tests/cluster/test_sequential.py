"""Sequential and agglomerative clustering: every move and every merger is that of a full scan."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shoal.boxes.costs import MEASURES, cost_tables
from shoal.cluster import Task, cluster
from shoal.cluster.agglomerative import merged_with
from shoal.cluster.sequential.by_scan import ByScan, closest
from shoal.cluster.sequential.even_split import even_split
from shoal.cluster.sequential.through_tree import ThroughTree
from shoal.privacy import Privacy, make_rules
from shoal.progress import SILENT
from shoal.records.encode import Records, encode
from tests.reference import measures
from tests.reference.clustering import Cost, Record, group_loss
from tests.support.catalogs import WISHES, catalogs
from tests.support.costs import cell_cost
from tests.support.tables import MadeTable, tables


def task_of(records: Records, k: int, measure: str, asked: dict[str, object] | None = None) -> Task:
    rules = make_rules(["ill", "pay"], **(asked or {}))  # type: ignore[arg-type]
    privacy = Privacy.of(records, k, rules)
    return Task(records, measure, cost_tables(records.books, measure), privacy, np.random.default_rng(1), SILENT)


def plain(task: Task) -> tuple[list[Record], Cost]:
    return [tuple(row) for row in task.codes.tolist()], lambda j, lo, hi: float(cell_cost(task.costs, j, lo, hi))


@settings(max_examples=100)
@given(
    made=tables(min_rows=6),
    measure=st.sampled_from(MEASURES),
    asked=st.sampled_from([{}, {}, {"l": {"pay": 1.3}}, {"l": {"ill": 1.2}, "t": {"pay": 0.6}}]),
    wish=WISHES,
    data=st.data(),
)
def test_every_move_is_that_of_a_full_scan(
    made: MadeTable, measure: str, asked: dict[str, object], wish: int, data: st.DataObject
) -> None:
    """One pass, replayed: where the record goes costs no more than anywhere else that the rules allow."""
    task = task_of(encode(made.table, made.schema), 2, measure, asked)
    count = data.draw(st.integers(1, made.rows // 2))
    labels = np.array(data.draw(st.permutations([i % count for i in range(made.rows)])), np.int32)
    privacy = task.privacy

    def fine(members: list[int]) -> bool:
        if not members or not privacy.rules:
            return True
        inside = np.isin(np.arange(made.rows), members)
        return bool(privacy.facts_of((~inside).astype(np.int32), 2).fine[0].all())

    if not all(fine(np.flatnonzero(labels == group).tolist()) for group in range(count)):
        return
    codes, cost = plain(task)
    with catalogs(wish):
        after, moved, gained = ThroughTree(task).one_pass(labels, "")
    groups = [np.flatnonzero(labels == group).tolist() for group in range(count)]
    before = sum(group_loss([codes[i] for i in group], cost, False) for group in groups)
    moves = 0
    for record, went in enumerate(after.tolist()):  # a record is asked once, and stays where it went
        here = next(g for g, group in enumerate(groups) if record in group)
        rest = [i for i in groups[here] if i != record]
        changes = {
            g: group_loss([codes[i] for i in [*group, record]], cost, False)
            - group_loss([codes[i] for i in group], cost, False)
            for g, group in enumerate(groups)
            if g != here and group and fine(rest) and fine([*group, record])
        }
        saved = group_loss([codes[i] for i in groups[here]], cost, False) - group_loss(
            [codes[i] for i in rest], cost, False
        )
        least = min(changes.values(), default=np.inf)
        if went == here:
            assert (not rest and not changes) or least >= saved - 1e-9
        else:
            assert changes[went] == pytest.approx(least, abs=1e-9)
            assert not rest or least < saved
            groups[here] = rest
            groups[went].append(record)
            moves += 1
    assert moves == moved
    assert [next(g for g, group in enumerate(groups) if i in group) for i in range(made.rows)] == after.tolist()
    total = sum(group_loss([codes[i] for i in group], cost, False) for group in groups)
    assert gained == pytest.approx(before - total, abs=1e-8)


@settings(max_examples=60)
@given(made=tables(min_rows=6, max_rows=14), weight=st.sampled_from([0.0, 0.25, 1.0]), data=st.data())
def test_under_pmi_every_move_and_merger_is_that_of_the_measure(
    made: MadeTable, weight: float, data: st.DataObject
) -> None:
    """The costs differ from the measure by what depends on the record alone: changes are the same."""
    records = encode(made.table, made.schema)
    task = task_of(records, min(4, made.rows), "mi")
    count = data.draw(st.integers(2, made.rows // 2))
    labels = np.array(data.draw(st.permutations([i % count for i in range(made.rows)])), np.int32)
    columns = [made.columns[name].plain for name in made.schema.quasi_identifiers]
    values = [made.columns[name].values for name in made.schema.quasi_identifiers]
    private = made.table["ill"].to_pylist()
    weights = [made.schema.columns[name].weight for name in made.schema.quasi_identifiers]

    def loss(groups: list[list[int]]) -> float:
        groups = [group for group in groups if group]
        total = 0.0
        for column, cells, factor in zip(columns, values, weights, strict=True):
            mutual = measures.information([column], [cells], groups) * made.rows
            hidden = measures.private_information([column], [cells], groups, private)[0] * made.rows
            total += factor * (weight * mutual + (1 - weight) * hidden)
        return total

    engine = ByScan(task, weight)
    after, moved, gained = engine.one_pass(labels, "")
    groups = [np.flatnonzero(labels == group).tolist() for group in range(count)]
    start, moves = loss(groups), 0
    for record, went in enumerate(after.tolist()):
        here = next(g for g, group in enumerate(groups) if record in group)
        now = loss(groups)
        there = {}
        for g in range(count):
            if g != here and groups[g]:
                trial = [[i for i in group if i != record] for group in groups]
                trial[g].append(record)
                there[g] = loss(trial) - now
        least = min(there.values(), default=np.inf)
        if went == here:
            assert (groups[here] == [record] and not there) or least >= -1e-7
        else:
            assert there[went] == pytest.approx(least, abs=1e-7)
            assert groups[here] == [record] or least < 1e-7
            groups[here].remove(record)
            groups[went].append(record)
            moves += 1
    assert moves == moved
    assert gained == pytest.approx(start - loss(groups), abs=1e-7)
    assert engine.total(np.unique(labels, return_inverse=True)[1].astype(np.int32)) - engine.total(
        np.unique(after, return_inverse=True)[1].astype(np.int32)
    ) == pytest.approx(gained, abs=1e-7)
    singles = np.arange(made.rows, dtype=np.int32)
    merged = engine.merge_small(singles)
    assert np.bincount(merged)[np.unique(merged)].min() >= task.k
    pairs = {pair: loss([list(pair)] + [[i] for i in range(made.rows) if i not in pair]) for pair in _pairs(made.rows)}
    first = engine_first_pair(engine)
    assert pairs[first] == pytest.approx(min(pairs.values()), abs=1e-7)


def _pairs(rows: int) -> list[tuple[int, int]]:
    return list(itertools.combinations(range(rows), 2))


def engine_first_pair(engine: ByScan) -> tuple[int, int]:
    """Which two records would be merged first."""
    singles = np.arange(len(engine.task.codes), dtype=np.int32)
    scan = engine.scan(singles)
    everybody = np.ones(len(singles), bool)
    found = [(closest(scan, everybody, group, per_record=True), group) for group in range(len(singles))]
    (other, _), group = min(found, key=lambda entry: entry[0][1])
    return (min(group, other), max(group, other))


def test_pmi_and_its_mix_with_mi_lower_what_they_aim_at() -> None:
    table = shoal.datasets.adult("test", complete=True).slice(0, 1500)
    schema = shoal.datasets.adult_schema()

    def measured(measure: str, **options: Any) -> Mapping[str, float]:
        return shoal.anonymize(table, schema, k=20, method="sequential", measure=measure, seed=1, **options).measures()

    mi, pmi, mix = measured("mi"), measured("pmi"), measured("pmi", mi_weight=0.5)
    assert pmi["pmi"] < 0.9 * mi["pmi"]
    assert mi["mi"] < pmi["mi"]
    assert pmi["pmi"] < mix["pmi"] < mi["pmi"]
    assert pmi["cm"] < mi["cm"]  # the paper's Table 3: groups become uniform


def test_pmi_needs_a_sensitive_column() -> None:
    schema = shoal.Schema(columns={"q": {"role": "quasi-identifier", "type": "numeric"}})
    with pytest.raises(shoal.ParameterError, match="'pmi' needs a sensitive column"):
        shoal.anonymize(pa.table({"q": [1, 2, 3, 4]}), schema, k=2, method="sequential", measure="pmi")


def test_pmi_is_not_for_a_column_of_keys() -> None:
    rows = 1_200
    table = pa.table({"q": [i % 7 for i in range(rows)], "s": [str(i) for i in range(rows)]})
    schema = shoal.Schema(columns={"q": {"role": "quasi-identifier", "type": "numeric"}, "s": {"role": "sensitive"}})
    with pytest.raises(shoal.ParameterError, match="at most 1000 values, and 's' has 1200"):
        shoal.anonymize(table, schema, k=5, method="sequential", measure="pmi")
    some = shoal.anonymize(table.slice(0, 300), schema, k=5, method="sequential", measure="pmi", mi_weight=1)
    assert some.measures()["pmi"] >= 0


@settings(max_examples=100)
@given(
    counts=st.lists(st.integers(1, 12), min_size=2, max_size=5),
    groups=st.integers(1, 6),
    diversity=st.sampled_from([1.2, 1.5, 2.0, 3.0]),
)
def test_the_integer_split_is_the_most_even_one(counts: list[int], groups: int, diversity: float) -> None:
    values = np.repeat(np.arange(len(counts)), counts).astype(np.int32)
    groups = min(groups, len(values))
    labels = even_split(values, groups, diversity, np.random.default_rng(1))
    spread = brute_force_spread(tuple(counts), groups, diversity)
    if labels is None:
        assert spread is None
        return
    found = np.zeros((groups, len(counts)), int)
    np.add.at(found, (labels, values), 1)
    sizes = found.sum(axis=1)
    assert (found.max(axis=1) * diversity <= sizes + 1e-6).all()
    assert spread == sizes.max() - sizes.min()


def brute_force_spread(counts: tuple[int, ...], groups: int, diversity: float) -> int | None:
    """The least difference between the largest and the smallest group, over all splits; None if there is none."""
    total = sum(counts)

    @cache
    def possible(left: tuple[int, ...], remaining: int, smallest: int, largest: int) -> bool:
        if remaining == 0:
            return not any(left)
        if not remaining * smallest <= sum(left) <= remaining * largest:
            return False
        for size in range(smallest, largest + 1):
            most = math.floor(size / diversity + 1e-9)
            for part in itertools.product(*(range(min(most, have) + 1) for have in left)):
                if sum(part) == size and possible(
                    tuple(have - took for have, took in zip(left, part, strict=True)), remaining - 1, smallest, largest
                ):
                    return True
        return False

    for spread in range(total // groups + 1):
        for smallest in range(max(1, total // groups - spread), total // groups + 1):
            if possible(counts, groups, smallest, smallest + spread):
                return spread
    return None


def test_the_integer_split_starts_with_smaller_groups() -> None:
    """Random rounding fails at k0 = 5 on salary; the integer program does not."""
    schema = shoal.datasets.adult_schema()
    table = shoal.datasets.adult("test", complete=True).slice(0, 3000)
    records = encode(table.drop_columns(schema.names(shoal.Role.IDENTIFIER)), schema)
    rules = make_rules(records.schema.names(shoal.Role.SENSITIVE), l=1.2)
    plain_start = cluster(records, 10, rules, method="sequential", seed=1)
    even = cluster(records, 10, rules, method="sequential", seed=1, options={"integer_split": True})
    assert plain_start.publishable
    assert even.publishable
    with pytest.raises(shoal.ParameterError, match="integer_split is for"):
        cluster(records, 10, method="sequential", options={"integer_split": True})


@settings(max_examples=100)
@given(
    made=tables(min_rows=3, max_rows=24),
    k=st.integers(2, 6),
    measure=st.sampled_from(MEASURES),
    per_record=st.booleans(),
)
def test_every_merger_is_of_a_closest_pair(made: MadeTable, k: int, measure: str, per_record: bool) -> None:
    task = task_of(encode(made.table, made.schema), min(k, made.rows), measure)
    codes, cost = plain(task)
    _, work = merged_with(task, np.arange(made.rows, dtype=np.int32), per_record=per_record)
    groups = {i: [i] for i in range(made.rows)}

    def distance(one: int, other: int) -> float:
        parts = [[codes[i] for i in groups[g]] for g in (one, other)]
        added = group_loss(parts[0] + parts[1], cost, False) - sum(group_loss(part, cost, False) for part in parts)
        return added / len(parts[0] + parts[1]) if per_record else added

    for one, other in work.pairs[: work.state["mergers"][0]].tolist():
        pool = [g for g, members in groups.items() if len(members) < task.k]
        least = min(distance(a, b) for a, b in itertools.combinations(pool, 2))
        assert distance(one, other) == pytest.approx(least, abs=1e-9)
        groups[one] += groups.pop(other)
    assert sum(len(members) < task.k for members in groups.values()) <= 1


def test_more_starts_are_never_worse() -> None:
    schema = shoal.datasets.adult_schema()
    table = shoal.datasets.adult("test", complete=True).slice(0, 500)
    one, more = (
        shoal.anonymize(table, schema, k=5, method="sequential", seed=3, restarts=count).measures()["il"]
        for count in (1, 4)
    )
    assert more <= one


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"start_share": 0.0}, "start_share must be above 0"),
        ({"split_share": 1}, "split_share must be above 1"),
        ({"split_share": 2.5}, "at most 2"),
        ({"restarts": 0}, "restarts must be a whole number"),
    ],
)
def test_options_out_of_range(options: dict[str, object], message: str) -> None:
    schema = shoal.datasets.adult_schema()
    records = encode(
        shoal.datasets.adult("test").slice(0, 20).drop_columns(schema.names(shoal.Role.IDENTIFIER)), schema
    )
    with pytest.raises(shoal.ParameterError, match=message):
        cluster(records, 2, method="sequential", options=options)
