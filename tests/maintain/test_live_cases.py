"""Live partitions where it is tight: each of these has gone wrong once."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import shoal
from shoal.boxes.costs import cost_tables
from shoal.boxes.group_changes import add, settle
from shoal.boxes.group_tree import best_group, build, new_group_tree, new_groups, weigh
from shoal.errors import BatchError, ParameterError
from shoal.maintain import MAINTAINERS
from shoal.maintain import table as table_module
from shoal.maintain.live import LivePartition, Settings
from shoal.privacy import Rule, make_rules
from shoal.progress import Progress
from shoal.records.changes import ChangeBatch
from shoal.records.encode import encode
from shoal.schema import Schema
from tests.support.group_trees import check as check_tree

KEY: dict[str, object] = {"role": "key"}
AGE: dict[str, object] = {"role": "quasi-identifier", "type": "numeric"}
PERSON: dict[str, object] = {"role": "person"}


def schema(**columns: dict[str, object]) -> Schema:
    return shoal.Schema(columns={"id": KEY, "age": AGE, **columns})


def rules(columns: list[str], **asked: Any) -> tuple[Rule, ...]:
    return make_rules(
        columns, **{"l": None, "t": None, "diversity": None, "c": None, "alpha": None, **asked}, others=[]
    )


def rows(first: int, last: int, age: Any = None, **columns: Any) -> pa.Table:
    """Rows with these keys; `age` and others as functions of the number."""
    numbers = range(first, last)
    given = {"age": age or (lambda i: i % 50), **columns}
    return pa.table({"id": [str(i) for i in numbers], **{name: [of(i) for i in numbers] for name, of in given.items()}})


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
    groups = new_groups(400, records.codes.shape[1])
    groups.lo[:] = groups.hi[:] = records.codes
    groups.sizes[:] = 1
    weigh(costs, groups)
    tree = new_group_tree(groups, reshapes=False)
    build(tree, costs, groups)
    rng = np.random.default_rng(1)
    for group in rng.permutation(400)[:300].tolist():
        groups.sizes[group] = 0
        settle(tree, costs, groups, group)
    for group in np.flatnonzero(groups.sizes).tolist():
        groups.sizes[group] = 0
        settle(tree, costs, groups, group)
        groups.sizes[group] = 1
        add(tree, costs, groups, group)
    check_tree(tree, costs, groups)
    for point in records.codes[np.flatnonzero(groups.sizes)]:
        found = best_group(tree, costs, point, point, 1.0, 0.0, np.inf, -1, None, None, -1)
        assert np.array_equal(records.codes[found], point)


def test_running_out_of_memory_while_numbers_are_given_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = schema(n={"role": "insensitive"})
    live = LivePartition.start(rows(0, 3000, n=str), plain, Settings(k=3, seed=1))
    live.apply(ChangeBatch.of(plain, deletes=[str(i) for i in range(2500)]))
    before = live.records().carried.to_pylist()

    def fails(*_: object) -> None:
        raise MemoryError

    with monkeypatch.context() as patched:
        patched.setattr(table_module, "grow", fails)
        with pytest.raises(MemoryError):
            live.apply(ChangeBatch.of(plain, deletes=["2600"]))
    assert live.records().carried.to_pylist() == before
    live.apply(ChangeBatch.of(plain, deletes=["2600"]))
    assert live.table.used < 1000
    live.partition().check()
    assert live.partition().publishable


def test_numbers_with_many_digits_beside_fractions_in_a_carried_column() -> None:
    paid = schema(c={"role": "insensitive", "type": "numeric"})
    live = LivePartition.start(rows(0, 50, c=lambda i: 2**60 + i), paid, Settings(k=3, seed=1))
    with pytest.raises(BatchError, match="too many digits"):
        live.apply(ChangeBatch.of(paid, inserts=rows(90, 91, c=lambda _: 0.5)))
    live.apply(ChangeBatch.of(paid, inserts=rows(91, 92, c=lambda _: 7)))
    assert 7 in live.records().carried["c"].to_pylist()


def test_large_whole_numbers_are_told_apart() -> None:
    paid = schema(s={"role": "sensitive", "type": "numeric"})
    settings = Settings(k=2, seed=1, rules=rules(["s"], l=2, diversity="distinct"))
    live = LivePartition.start(rows(0, 20, s=lambda i: 2**60 + 1 + 2 * (i % 2)), paid, settings)
    live.apply(ChangeBatch.of(paid, inserts=rows(20, 30, s=lambda i: 2**60 + 2 * i)))
    assert live.partition().publishable


class Interrupting(Progress):
    def stage(self, name: str, total: int | None = None) -> None:
        if name == "inserting":
            raise KeyboardInterrupt

    def advance(self, steps: int) -> None:
        pass


def test_what_closeness_is_measured_against_survives_a_batch_that_did_not() -> None:
    paid = schema(s={"role": "sensitive", "type": "numeric"})
    settings = Settings(k=3, seed=1, rules=rules(["s"], t={"s": 0.4}))
    live = LivePartition.start(rows(0, 40, s=lambda i: i % 4), paid, settings)
    before = live.partition().facts.found
    with pytest.raises(KeyboardInterrupt):
        live.apply(ChangeBatch.of(paid, inserts=rows(90, 91, s=lambda _: 99)), Interrupting())
    assert np.array_equal(live.partition().facts.found, before)


def test_groups_that_nothing_sets_apart() -> None:
    """Equal records in many groups, then a value below theirs: codes get new names, numbers of groups do not."""
    plain = schema()
    live = LivePartition.start(rows(0, 300, age=lambda _: 5), plain, Settings(k=2, seed=1))
    for batch in range(6):
        live.apply(ChangeBatch.of(plain, inserts=rows(300 + 150 * batch, 450 + 150 * batch, age=lambda _: 5)))
    live.apply(ChangeBatch.of(plain, inserts=rows(5000, 5001, age=lambda _: 1)))
    engine: Any = live.engine
    check_tree(engine.work.tree, live.costs, engine.work.groups)
    live.partition().check()


@pytest.mark.parametrize("maintainer", MAINTAINERS)
def test_groups_are_small_from_the_first_batch_on(maintainer: str) -> None:
    plain = schema()
    settings = Settings(k=2, seed=1, method="mondrian", maintainer=maintainer)
    live = LivePartition.start(rows(0, 0), plain, settings)
    live.apply(ChangeBatch.of(plain, inserts=rows(0, 41, age=lambda _: 5)))
    assert live.partition().sizes.max() < 4
    assert live.partition().publishable


def test_values_far_outside_the_domain_in_the_similar_b_tree() -> None:
    plain = schema()
    live = LivePartition.start(rows(0, 20), plain, Settings(k=3, seed=1, maintainer="similar-b-tree"))
    far = pa.table({"id": ["far", "further"], "age": [1e200, -1e250]})
    live.apply(ChangeBatch.of(plain, inserts=far))
    assert live.partition().publishable


def test_people_who_come_after_most_have_gone() -> None:
    people = schema(who=PERSON)
    name = "p{}".format
    live = LivePartition.start(rows(0, 5, who=name), people, Settings(k=2, seed=1))
    live.apply(ChangeBatch.of(people, inserts=rows(5, 1028, who=name)))
    live.apply(ChangeBatch.of(people, deletes=[str(i) for i in range(2, 1028)]))
    live.apply(ChangeBatch.of(people, inserts=rows(2000, 3024, who=name)))
    assert live.partition().publishable
    live.partition().check()


def test_a_batch_for_another_schema() -> None:
    plain = schema()
    live = LivePartition.start(rows(0, 20), plain, Settings(k=2, seed=1))
    with pytest.raises(ParameterError, match="another schema"):
        live.apply(ChangeBatch.of(schema(who=PERSON), deletes=["1"]))


def test_views_of_texts_and_columns_that_were_empty() -> None:
    noted = schema(n={"role": "insensitive"})
    table = rows(0, 10).append_column("n", pa.nulls(10))
    live = LivePartition.start(table, noted, Settings(k=2, seed=1))
    new = pa.table({"id": pa.array(["x"], pa.string_view()), "age": [3], "n": pa.array(["hello"], pa.string_view())})
    live.apply(ChangeBatch.of(noted, inserts=new))
    assert "hello" in live.records().carried["n"].to_pylist()
    assert live.partition().publishable


def test_a_sensitive_value_outside_its_hierarchy_is_a_fault_of_the_batch() -> None:
    ill = schema(s={"role": "sensitive", "hierarchy": {"A": ["a1", "a2"], "B": ["b1", "b2"]}})
    settings = Settings(k=3, seed=1, rules=rules(["s"], t={"s": 0.5}))
    live = LivePartition.start(rows(0, 20, s=lambda i: ("a1", "b1")[i % 2]), ill, settings)
    batch = ChangeBatch.of(ill, updates=rows(3, 4, s=lambda _: "NEW"), inserts=rows(30, 31, s=lambda _: "a2"))
    with pytest.raises(BatchError) as caught:
        live.apply(batch)
    assert [str(offence) for offence in caught.value.offences] == ["updates, row 1, column 's': not in the hierarchy"]


def test_nothing_to_optimize() -> None:
    plain = schema()
    live = LivePartition.start(rows(0, 0), plain, Settings(k=2, seed=1))
    assert live.optimize() == 0.0


def test_keys_of_other_types() -> None:
    plain = schema()
    live = LivePartition.start(rows(0, 20), plain, Settings(k=2, seed=1))
    live.apply(ChangeBatch.of(plain, deletes=[1, 2]))
    assert len(live) == 18
    with pytest.raises(BatchError, match="the key is missing"):
        live.apply(ChangeBatch.of(plain, deletes=[None]))
    with pytest.raises(ParameterError, match="a list of keys"):
        ChangeBatch.of(plain, deletes="17")


def test_thousands_of_small_batches() -> None:
    """Numbers of records and groups are used again, and nothing piles up."""
    plain = schema(n={"role": "insensitive"})
    live = LivePartition.start(rows(0, 60, n=str), plain, Settings(k=3, seed=1))
    for i in range(1500):
        live.apply(ChangeBatch.of(plain, inserts=rows(60 + i, 61 + i, n=str), deletes=[str(i)]))
    engine: Any = live.engine
    assert len(live) == 60
    assert live.table.used < 1500
    assert len(engine.work.groups.sizes) < 100
    assert len(live.table.carried) < 15
    live.partition().check()
    assert live.partition().publishable


def test_what_is_not_accepted_is_taken_back() -> None:
    noted = schema(n={"role": "insensitive"})
    live, twin = (LivePartition.start(rows(0, 60, n=str), noted, Settings(k=3, seed=1)) for _ in range(2))

    def state(live: LivePartition) -> object:
        used = live.table.used
        return live.labels[:used].tolist(), live.records().carried.to_pylist(), sorted(live.keys.items()), live.books

    before = state(live)
    batch = ChangeBatch.of(noted, inserts=rows(60, 2000, age=lambda i: i, n=str), deletes=["1", "2"])
    with live.changing(batch) as change:
        assert (change.applied.inserted, change.applied.deleted, len(live)) == (1940, 2, 1998)
    assert state(live) == before
    with pytest.raises(KeyError), live.changing(batch):
        raise KeyError
    assert state(live) == before
    with live.optimizing("breaking"):
        pass
    assert state(live) == before
    with live.changing(batch) as change:
        change.accept()
    twin.forget_engine()  # as taking back does
    twin.apply(batch)
    assert live.labels.tolist() == twin.labels.tolist()
    live.partition().check()
