"""I3M: every choice against a look at every group, and batches against their records one by one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.boxes import splits
from shoal.boxes.costs import MEASURES, column_costs, cost_tables
from shoal.compiling import entered
from shoal.maintain.i3m import DELETE, I3M, INSERT, REFRESH
from shoal.maintain.live import LivePartition, Settings
from shoal.maintain.steps import follow_books
from shoal.records.changes import ChangeBatch, check
from shoal.records.encode import encode
from tests.reference.clustering import Cost, Record
from tests.reference.maintenance import best_rise, is_split, joining, total
from tests.support.catalogs import WISHES, catalogs
from tests.support.live_tables import as_table, make_row, schema
from tests.support.tables import MadeTable, tables

SEEDS = st.integers(0, 2**32)

order_of_going = entered(splits.order_of_going)


def live_partition(rng: np.random.Generator, rows: int, k: int, measure: str) -> LivePartition:
    table = as_table([make_row(rng, f"old {i}", wild=False) for i in range(rows)])
    return LivePartition.start(table, schema(), Settings(k=k, measure=measure, seed=1, maintainer="i3m"))


def cost_of(live: LivePartition) -> Cost:
    """The costs of the live partition's books, read one cell at a time."""
    columns = [column_costs(book, live.settings.measure) for book in live.books]
    weights = [book.column.weight for book in live.books]

    def cost(j: int, lo: int, hi: int) -> float:
        return weights[j] * float(columns[j].of(np.array([lo]), np.array([hi]))[0])

    return cost


def groups_of(live: LivePartition) -> dict[int, list[int]]:
    groups: dict[int, list[int]] = {}
    for record in live.alive().tolist():
        groups.setdefault(int(live.labels[record]), []).append(record)
    return groups


def checked_insert(live: LivePartition, engine: I3M, record: int) -> None:
    """Insert one record and hold the choice, and the split if there is one, to the reference."""
    cost = cost_of(live)

    def point(one: int) -> Record:
        return tuple(live.codes[one].tolist())

    before = {group: [point(one) for one in members] for group, members in groups_of(live).items()}
    members = groups_of(live)
    engine._follow(INSERT, np.array([record]))
    after = groups_of(live)
    new = set(after) - set(before)
    touched = [group for group in before if sorted(members[group]) != sorted(after.get(group, []))]
    assert len(touched) == 1
    (group,) = touched
    assert joining(point(record), before[group], cost) == pytest.approx(
        best_rise(point(record), before, cost), abs=1e-9
    )
    joined = sorted([*members[group], record])
    assert joined == sorted(one for part in (group, *new) for one in after[part])
    assert bool(new) == (len(joined) >= 2 * live.k)
    if new:
        (other,) = new
        assert len(after[other]) == live.k
        assert is_split([point(one) for one in joined], [point(one) for one in after[other]], cost)


@settings(max_examples=25)
@given(
    seed=SEEDS,
    rows=st.integers(8, 30),
    k=st.integers(2, 4),
    measure=st.sampled_from(MEASURES),
    wish=WISHES,
    data=st.data(),
)
def test_every_choice_is_that_of_a_full_scan(
    seed: int, rows: int, k: int, measure: str, wish: int, data: st.DataObject
) -> None:
    with catalogs(wish):
        check_every_choice(seed, rows, k, measure, data)


def check_every_choice(seed: int, rows: int, k: int, measure: str, data: st.DataObject) -> None:
    """Two live partitions: one takes the batch, the other its steps one by one, each held to the reference."""
    rng = np.random.default_rng(seed)
    live = live_partition(rng, rows, k, measure)
    slow = live_partition(np.random.default_rng(seed), rows, k, measure)
    leaving = [f"old {i}" for i in range(rows) if rng.random() < 0.25][: rows - k]
    coming = as_table([make_row(rng, f"new {i}", wild=True) for i in range(data.draw(st.integers(0, 8)))])
    batch = ChangeBatch.of(schema(), inserts=coming, deletes=leaving)
    live.apply(batch)

    # A code that is longer than all others, say, changes what everything costs: both know that when the first one goes.
    follow_books(slow, check(batch, slow.keys, slow.books, slow.table.passthrough, set()))
    engine = slow.engine
    assert isinstance(engine, I3M)
    gone = np.array([slow.keys[key] for key in leaving], np.int32)
    left = np.unique(slow.labels[gone]) if len(gone) else gone
    with slow.mending() as change:  # nothing is lacking: makes room
        change.accept()
    engine._follow(DELETE, gone)
    engine._follow(REFRESH, left)
    for key in leaving:
        del slow.keys[key]
    for group in left.tolist():
        members = [record for record in slow.alive().tolist() if slow.labels[record] == group]
        if not members or len(members) >= k or engine.n_groups() == 1:
            continue
        # Dispersing is taking all out, then inserting each: the same order as the lists of members have.
        listed, record = [], int(engine.grouping.members.heads[group])
        while record >= 0:
            listed.append(record)
            record = int(engine.grouping.members.nexts[record])
        engine._follow(DELETE, np.array(listed))
        engine._follow(REFRESH, np.array([group]))
        for record in listed:
            checked_insert(slow, engine, record)
    if slow.engine.n_groups() and slow.engine.publishable():
        for i in range(coming.num_rows):
            slow.apply(ChangeBatch.of(schema(), inserts=coming.slice(i, 1)))
    else:
        slow.apply(ChangeBatch.of(schema(), inserts=coming))
    assert sorted(slow.keys) == sorted(live.keys)
    pairs = {(int(live.labels[live.keys[key]]), int(slow.labels[slow.keys[key]])) for key in live.keys}
    assert len(pairs) == len({one for one, _ in pairs}) == len({other for _, other in pairs})


@settings(max_examples=25)
@given(seed=SEEDS, rows=st.integers(6, 30), k=st.integers(2, 4), measure=st.sampled_from(MEASURES))
def test_inserting_one_by_one(seed: int, rows: int, k: int, measure: str) -> None:
    """Every insert is held to the reference, and for I3M+ the batch is the same as its records one by one."""
    rng = np.random.default_rng(seed)
    live = live_partition(rng, rows, k, measure)
    coming = as_table([make_row(rng, f"new {i}", wild=False) for i in range(10)])
    batch = ChangeBatch.of(schema(), inserts=coming)
    again = live_partition(np.random.default_rng(seed), rows, k, measure)
    for i in range(coming.num_rows):
        again.apply(ChangeBatch.of(schema(), inserts=coming.slice(i, 1)))
    live.apply(batch)
    assert live.labels[: live.table.used].tolist() == again.labels[: again.table.used].tolist()

    third = live_partition(np.random.default_rng(seed), rows, k, measure)
    third.apply(ChangeBatch.of(schema(), inserts=coming.slice(0, 0)))
    engine = third.engine
    assert isinstance(engine, I3M)
    arrivals = again.codes[rows : rows + 10]
    third.table.books, third.codes[: rows + 10] = again.books, again.codes[: rows + 10]
    third.table.used = rows + 10
    third.costs = again.costs
    third.forget_engine()
    engine = third.engine
    assert isinstance(engine, I3M)
    engine._make_room(32)
    for record in range(rows, rows + len(arrivals)):
        checked_insert(third, engine, record)


@settings(max_examples=150)
@given(made=tables(min_rows=4, max_rows=12), measure=st.sampled_from(MEASURES), data=st.data())
def test_the_order_of_going(made: MadeTable, measure: str, data: st.DataObject) -> None:
    """Each record that goes over leaves both parts with the least loss that any would."""
    records = encode(made.table, made.schema)
    columns = [column_costs(book, measure) for book in records.books]
    weights = [book.column.weight for book in records.books]

    def cost(j: int, lo: int, hi: int) -> float:
        return weights[j] * float(columns[j].of(np.array([lo]), np.array([hi]))[0])

    steps = data.draw(st.integers(1, made.rows - 1))
    order = np.arange(made.rows, dtype=np.int32)
    losses = np.empty(steps)
    order_of_going(records.codes, cost_tables(records.books, measure), order, steps, losses)
    assert sorted(order.tolist()) == list(range(made.rows))
    left: list[Record] = [tuple(row) for row in records.codes.tolist()]
    gone: list[Record] = []
    for step in range(steps):
        going = tuple(records.codes[order[step]].tolist())
        values = [total([*left[:i], *left[i + 1 :]], cost) + total([*gone, one], cost) for i, one in enumerate(left)]
        assert losses[step] == pytest.approx(min(values), abs=1e-9)
        assert values[left.index(going)] == pytest.approx(min(values), abs=1e-9)
        left.remove(going)
        gone.append(going)


def test_dispersing_when_there_is_nobody_else() -> None:
    """The only group falls below k: it stays, the partition says so, and recovers."""
    rng = np.random.default_rng(1)
    live = live_partition(rng, 5, 4, "il")
    live.apply(ChangeBatch.of(schema(), deletes=["old 0", "old 1"]))
    assert live.partition().obstacles() == ["1 of 1 groups have fewer than k = 4 records (the smallest 3)"]
    live.apply(ChangeBatch.of(schema(), inserts=as_table([make_row(rng, f"new {i}", wild=True) for i in range(9)])))
    assert live.partition().publishable
    assert len(live.partition()) > 1
    live.apply(ChangeBatch.of(schema(), deletes=list(live.keys)))
    assert live.partition().obstacles() == ["there are no records"]
