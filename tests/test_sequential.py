"""Sequential and agglomerative clustering: every move and every merger is that of a full scan."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shoal.boxes.costs import MEASURES, cost_tables
from shoal.boxes.kernels import cell_cost
from shoal.cluster import Task, cluster, sequential
from shoal.cluster.agglomerative import merged_with
from shoal.privacy import Privacy, make_rules
from shoal.progress import SILENT
from shoal.records.encode import Records, encode
from tests.reference.clustering import Cost, Record, group_loss
from tests.tables import MadeTable, tables


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
    data=st.data(),
)
def test_every_move_is_that_of_a_full_scan(
    made: MadeTable, measure: str, asked: dict[str, object], data: st.DataObject
) -> None:
    """One pass, replayed: where the record goes costs no more than anywhere else that the rules allow."""
    task = task_of(encode(made.table, made.schema), 2, measure, asked)
    several = data.draw(st.integers(1, made.rows // 2))
    labels = np.array(data.draw(st.permutations([i % several for i in range(made.rows)])), np.int32)
    privacy = task.privacy

    def fine(members: list[int]) -> bool:
        if not members or not privacy.rules:
            return True
        inside = np.isin(np.arange(made.rows), members)
        return bool(privacy.facts_of((~inside).astype(np.int32), 2).fine[0].all())

    if not all(fine(np.flatnonzero(labels == group).tolist()) for group in range(several)):
        return
    codes, cost = plain(task)
    trace: list[int] = []
    after, moved, gained = sequential._one_pass(task, labels, 0, trace)
    groups = [np.flatnonzero(labels == group).tolist() for group in range(several)]
    before = sum(group_loss([codes[i] for i in group], cost, False) for group in groups)
    moves = 0
    for record, went in enumerate(trace):
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


@settings(max_examples=100)
@given(made=tables(min_rows=3, max_rows=24), k=st.integers(2, 6), measure=st.sampled_from(MEASURES))
def test_every_merger_is_of_a_closest_pair(made: MadeTable, k: int, measure: str) -> None:
    task = task_of(encode(made.table, made.schema), min(k, made.rows), measure)
    codes, cost = plain(task)
    _, work = merged_with(task, np.arange(made.rows, dtype=np.int32))
    groups = {i: [i] for i in range(made.rows)}

    def distance(one: int, other: int) -> float:
        parts = [[codes[i] for i in groups[g]] for g in (one, other)]
        return group_loss(parts[0] + parts[1], cost, False) - sum(group_loss(part, cost, False) for part in parts)

    for one, other in work.pairs[: work.mergers[0]].tolist():
        pool = [g for g, members in groups.items() if len(members) < task.k]
        least = min(distance(a, b) for a, b in itertools.combinations(pool, 2))
        assert distance(one, other) == pytest.approx(least, abs=1e-9)
        groups[one] += groups.pop(other)
    assert sum(len(members) < task.k for members in groups.values()) <= 1


def test_more_starts_are_never_worse() -> None:
    schema = shoal.datasets.adult_schema()
    table = shoal.datasets.adult("test", complete=True).slice(0, 500)
    one, more = (
        shoal.anonymize(table, schema, k=5, method="sequential", seed=3, restarts=several).measures()["il"]
        for several in (1, 4)
    )
    assert more <= one


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"alpha": 0.0}, "alpha must be above 0"),
        ({"omega": 1.0}, "omega must be above 1"),
        ({"omega": 2.5}, "at most 2"),
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
