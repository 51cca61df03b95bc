"""Groups of a live partition where it is tight: dispersed, found again, small, and never piling up."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import shoal
from shoal.boxes.changes import new_grouping
from shoal.boxes.costs import cost_tables
from shoal.boxes.group_tree.catalog import Query
from shoal.maintain import MAINTAINERS
from shoal.maintain.live import LivePartition, Settings
from shoal.privacy.rules import no_rules
from shoal.records.changes import ChangeBatch
from shoal.records.encode import encode
from tests.support.group_trees import added, found_by, updated
from tests.support.group_trees import check as check_tree
from tests.support.live_partitions import PERSON, rows, rules, schema


@pytest.mark.parametrize("spread", [0, 1])
def test_a_group_of_few_people_with_many_records_is_dispersed(spread: int) -> None:
    """Rules refuse most of them, who are alone for the moment: more groups, and a deeper tree, than anywhere else."""
    people = schema(who=PERSON, s={"role": "sensitive"})
    made = [(f"g{g}p{i}", 1000 * g + i, "ab"[i % 2]) for g in range(8) for i in range(4)]
    made += [(f"B{i}", 50_000 + spread * (4 * r + i), "ab"[i % 2]) for i in range(4) for r in range(100)]
    labels = [g for g in range(8) for _ in range(4)] + [8] * 400
    keys = [str(i) for i in range(len(made))]
    table = pa.table({"id": keys, "who": [r[0] for r in made], "age": [r[1] for r in made], "s": [r[2] for r in made]})
    settings = Settings(k=4, seed=1, rules=rules(["s"], alpha={"s": 0.5}))
    live = LivePartition(encode(table, people), keys, np.array(labels), settings, people=[r[0] for r in made])
    first = [str(i) for i, r in enumerate(made) if r[0] == "B0"]
    live.apply(ChangeBatch.of(people, deletes=first[:-1]))
    live.forget_engine()
    live.apply(ChangeBatch.of(people, deletes=first[-1:]))
    partition = live.partition()
    partition.check()
    assert partition.publishable or not live.feasible()


def test_a_group_that_comes_again_is_found_again() -> None:
    """A leaf that takes the place of one that was alike: the nodes above must hear of it all the same."""
    census = shoal.datasets.census_schema()
    table = shoal.datasets.census(400, 1).drop_columns(census.names(shoal.Role.IDENTIFIER))
    records = encode(table, census)
    costs = cost_tables(records.books, "il")
    g = new_grouping(records.codes, np.arange(400, dtype=np.int32), costs, no_rules(1), reshapes=False)
    groups = g.groups
    rng = np.random.default_rng(1)
    for group in rng.permutation(400)[:300].tolist():
        groups.sizes[group] = 0
        updated(g, group)
    for group in np.flatnonzero(groups.sizes).tolist():
        groups.sizes[group] = 0
        updated(g, group)
        groups.sizes[group] = 1
        added(g, group)
    check_tree(g)
    for point in records.codes[np.flatnonzero(groups.sizes)]:
        found = found_by(g, Query(point, point, 1.0, 0.0, np.inf, -1, -1))
        assert np.array_equal(records.codes[found], point)


def test_groups_that_nothing_sets_apart() -> None:
    """Equal records in many groups, then a value below theirs: codes get new names, numbers of groups do not."""
    plain = schema()
    live = LivePartition.start(rows(0, 300, age=lambda _: 5), plain, Settings(k=2, seed=1))
    for batch in range(6):
        live.apply(ChangeBatch.of(plain, inserts=rows(300 + 150 * batch, 450 + 150 * batch, age=lambda _: 5)))
    live.apply(ChangeBatch.of(plain, inserts=rows(5000, 5001, age=lambda _: 1)))
    engine: Any = live.engine
    check_tree(engine.grouping.replace(costs=live.costs))
    live.partition().check()


@pytest.mark.parametrize("maintainer", MAINTAINERS)
def test_groups_are_small_from_the_first_batch_on(maintainer: str) -> None:
    plain = schema()
    settings = Settings(k=2, seed=1, method="mondrian", maintainer=maintainer)
    live = LivePartition.start(rows(0, 0), plain, settings)
    live.apply(ChangeBatch.of(plain, inserts=rows(0, 41, age=lambda _: 5)))
    assert live.partition().sizes.max() < 4
    assert live.partition().publishable


def test_whoever_comes_may_fill_a_group_before_it_is_dispersed() -> None:
    """One of (40, 50, 60) goes, and one of 50 comes: I3M has sent the other two elsewhere by then."""
    plain, ages = schema(), [20, 20, 20, 40, 50, 60, 80, 80, 80]
    losses = {}
    for maintainer in ("shoal", "i3m"):
        table, groups = rows(0, 9, age=ages.__getitem__), np.repeat(np.arange(3), 3)
        keys = table["id"].to_pylist()
        live = LivePartition(encode(table, plain), keys, groups, Settings(k=3, seed=1, maintainer=maintainer))
        before = live.loss()
        live.apply(ChangeBatch.of(plain, deletes=["4"], inserts=rows(9, 10, age=lambda _: 50)))
        losses[maintainer] = live.loss() / before
        assert live.partition().publishable
        live.partition().check()
    assert losses["shoal"] == pytest.approx(1)
    assert losses["i3m"] > 1


def test_people_who_come_after_most_have_gone() -> None:
    people = schema(who=PERSON)
    name = "p{}".format
    live = LivePartition.start(rows(0, 5, who=name), people, Settings(k=2, seed=1))
    live.apply(ChangeBatch.of(people, inserts=rows(5, 1028, who=name)))
    live.apply(ChangeBatch.of(people, deletes=[str(i) for i in range(2, 1028)]))
    live.apply(ChangeBatch.of(people, inserts=rows(2000, 3024, who=name)))
    assert live.partition().publishable
    live.partition().check()


def test_nothing_to_optimize() -> None:
    plain = schema()
    live = LivePartition.start(rows(0, 0), plain, Settings(k=2, seed=1))
    assert live.optimize() == 0.0


def test_thousands_of_small_batches() -> None:
    """Numbers of records and groups are used again, and nothing piles up."""
    plain = schema(n={"role": "insensitive"})
    live = LivePartition.start(rows(0, 60, n=str), plain, Settings(k=3, seed=1))
    for i in range(1500):
        live.apply(ChangeBatch.of(plain, inserts=rows(60 + i, 61 + i, n=str), deletes=[str(i)]))
    engine: Any = live.engine
    assert len(live) == 60
    assert live.table.used < 1500
    assert len(engine.grouping.groups.sizes) < 100
    assert len(live.table.passthrough) < 15
    live.partition().check()
    assert live.partition().publishable
