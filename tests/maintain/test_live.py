"""Live partitions: whatever happens to the table, the partition stays what it claims to be."""

from __future__ import annotations

import copy
from collections import Counter
from contextlib import ExitStack
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from shoal.boxes.costs import box_costs
from shoal.boxes.geometry import group_boxes
from shoal.errors import BatchError
from shoal.maintain.live import LivePartition, Settings
from shoal.privacy import Rule, make_rules
from shoal.progress import Progress
from shoal.records.changes import ChangeBatch
from shoal.schema import Schema
from tests.support.catalogs import WISHES, catalogs
from tests.support.group_trees import check as check_tree
from tests.support.live_tables import Row, as_table, make_row, schema

ASKED: dict[str, dict[str, Any]] = {
    "k alone": {},
    "l": {"l": {"diagnosis": 2}, "diversity": "distinct"},
    "l and t": {"l": {"diagnosis": 1.3}, "t": {"cost": 0.5}},
    "alpha": {"alpha": {"diagnosis": 0.8}},
}
QUASI = ("age", "height", "income", "born", "zip", "country", "colour")


def rules_of(asked: str) -> tuple[Rule, ...]:
    return make_rules(
        ["diagnosis", "cost"],
        **{"l": None, "t": None, "diversity": None, "c": None, "alpha": None, **ASKED[asked]},
        others=[],
    )


class Follows(RuleBasedStateMachine):
    """A live partition beside a plain dictionary of rows."""

    maintainer = "i3m"
    person = False
    asked = st.sampled_from(sorted(ASKED))

    live: LivePartition

    def __init__(self) -> None:
        super().__init__()
        self.meanwhile = ExitStack()

    def teardown(self) -> None:
        self.meanwhile.close()

    @initialize(data=st.data(), seed=st.integers(0, 2**32), rows=st.integers(0, 40), k=st.integers(2, 4))
    def begin(self, data: st.DataObject, seed: int, rows: int, k: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.rows: dict[str, Row] = {}
        self.next = 0
        self.large = False
        self.schema: Schema = schema(person=self.person)
        self.asked_rules = rules_of(data.draw(self.asked))
        self.meanwhile.enter_context(catalogs(data.draw(WISHES)))
        measure = data.draw(st.sampled_from(["il", "lm", "tree", "mi"]))
        first = self.fresh(rows, wild=False)
        settings = Settings(k=k, rules=self.asked_rules, measure=measure, maintainer=self.maintainer, seed=seed)
        self.live = LivePartition.start(as_table(list(first.values()), person=self.person), self.schema, settings)
        self.rows = first

    def fresh(self, count: int, *, wild: bool) -> dict[str, Row]:
        keys = [f"key {self.next + i}" for i in range(count)]
        self.next += count
        return {key: make_row(self.rng, key, wild=wild, person=self.person) for key in keys}

    def some(self, share: float) -> list[str]:
        return [key for key in self.rows if self.rng.random() < share]

    def batch(self, inserts: dict[str, Row], updates: dict[str, Row], deletes: list[str]) -> ChangeBatch:
        return ChangeBatch.of(
            self.schema,
            inserts=as_table(list(inserts.values()), person=self.person),
            updates=as_table(list(updates.values()), person=self.person),
            deletes=deletes,
        )

    @rule(wild=st.booleans(), inserts=st.integers(0, 12), share=st.sampled_from([0.0, 0.05, 0.2, 0.9]))
    def change(self, wild: bool, inserts: int, share: float) -> None:
        coming, leaving = self.fresh(inserts, wild=wild), self.some(share)
        changing = [key for key in self.some(0.1) if key not in leaving]
        updates = {key: make_row(self.rng, key, wild=wild, person=self.person) for key in changing}
        before = self.groups()
        applied = self.live.apply(self.batch(coming, updates, leaving))
        self.large = False
        self.rows = {key: row for key, row in self.rows.items() if key not in leaving} | coming | updates
        assert (applied.inserted, applied.updated, applied.deleted) == (len(coming), len(updates), len(leaving))
        after = self.groups()
        changed = {group for group in before.keys() | after.keys() if before.get(group) != after.get(group)}
        # A group whose members are the same by name may have new versions of them.
        assert changed <= set(applied.groups.tolist())

    @rule()
    def optimize(self) -> None:
        """Groups of 2k and more may come of it, until the next batch."""
        before = self.live.loss()
        self.live.optimize("breaking")
        assert self.live.loss() <= before + 1e-9 or self.person
        self.large = True

    @rule()
    def delete_all(self) -> None:
        self.live.apply(self.batch({}, {}, list(self.rows)))
        self.rows = {}

    @rule(wild=st.booleans())
    def bring_back(self, wild: bool) -> None:
        """Keys that were used before."""
        gone = [f"key {i}" for i in range(self.next) if f"key {i}" not in self.rows][:5]
        back = {key: make_row(self.rng, key, wild=wild, person=self.person) for key in gone}
        self.live.apply(self.batch(back, {}, []))
        self.rows |= back

    @rule(fault=st.sampled_from(["unknown", "twice", "type", "there"]))
    def refuse(self, fault: str) -> None:
        before = self.everything()
        coming = self.fresh(3, wild=True)
        leaving = self.some(0.2)
        table = as_table(list(coming.values()), person=self.person)
        if fault == "unknown":
            leaving.append("nobody")
        elif fault == "type":
            table = table.set_column(table.column_names.index("age"), "age", pa.array(["1", "x", "3"]))
        elif fault == "there" and self.rows:
            coming |= {key: make_row(self.rng, key, wild=True, person=self.person) for key in list(self.rows)[:1]}
            table = as_table(list(coming.values()), person=self.person)
        else:
            table = pa.concat_tables([table, table.slice(0, 1)])
        with pytest.raises(BatchError):
            self.live.apply(ChangeBatch.of(self.schema, inserts=table, deletes=leaving))
        assert self.everything() == before

    @rule(wild=st.booleans(), after=st.integers(0, 4))
    def interrupt(self, wild: bool, after: int) -> None:
        before = self.everything()
        coming, leaving = self.fresh(4, wild=wild), self.some(0.3)
        progress = Interrupting(after)
        try:
            self.live.apply(self.batch(coming, {}, leaving), progress)
        except KeyboardInterrupt:
            assert self.everything() == before
        else:  # it was through before it could be interrupted
            self.rows = {key: row for key, row in self.rows.items() if key not in leaving} | coming

    def groups(self) -> dict[int, Counter[str]]:
        groups: dict[int, Counter[str]] = {}
        for key, record in self.live.keys.items():
            groups.setdefault(int(self.live.labels[record]), Counter())[key] += 1
        return groups

    def everything(self) -> object:
        live, records = self.live, self.live.records()
        return copy.deepcopy(
            (
                sorted(live.keys.items()),
                self.live.labels[: live.table.used].tolist(),
                records.codes.tolist(),
                records.passthrough.to_pylist(),
                [(book.texts, book.domain, book.counts.tolist()) for book in live.books],
            )
        )

    @invariant()
    def records_are_those_of_the_table(self) -> None:
        live, records = self.live, self.live.records()
        assert sorted(live.keys) == sorted(self.rows)
        names = {record: key for key, record in live.keys.items()}
        for j, book in enumerate(records.books):
            texts = book.decode(records.codes[:, j])
            for record, text in zip(live.alive().tolist(), texts, strict=True):
                assert text == published(self.rows[names[record]][book.name])
        kept = records.passthrough.to_pylist()
        for record, row in zip(live.alive().tolist(), kept, strict=True):
            assert row == {name: self.rows[names[record]][name] for name in row}

    @invariant()
    def every_group_has_what_is_asked(self) -> None:
        partition = self.live.partition()
        partition.check()
        assert partition.publishable == self.live.engine.publishable() or not len(self.rows)
        if self.live.feasible():
            assert partition.obstacles() == []
        elif not self.person:  # groups that share people may have what all of them together do not
            assert partition.obstacles()
        if (
            self.maintainer != "similar-b-tree"
            and not self.large
            and not self.asked_rules
            and not self.person
            and len(self.rows) >= self.live.k
        ):
            assert partition.sizes.max() < 2 * self.live.k

    @invariant()
    def what_is_kept_of_groups_is_what_they_are(self) -> None:
        engine: Any = self.live.engine
        if self.maintainer == "similar-b-tree":
            engine.check()
            return
        g, alive = engine.grouping, self.live.alive()
        numbers, labels = np.unique(self.live.labels[alive], return_inverse=True)
        lo, hi, sizes = group_boxes(self.live.codes[alive], labels.astype(np.int32), len(numbers))
        assert np.flatnonzero(g.groups.sizes).tolist() == numbers.tolist()
        assert np.array_equal(g.groups.lo[numbers], lo)
        assert np.array_equal(g.groups.hi[numbers], hi)
        assert np.array_equal(g.groups.sizes[numbers], sizes)
        weights = [book.column.weight for book in self.live.books]
        losses = box_costs(self.live.books, self.live.settings.measure, lo, hi) @ np.array(weights)
        assert g.groups.losses[numbers] == pytest.approx(losses, abs=1e-9)
        check_tree(g.replace(costs=self.live.costs))
        spare = g.spare[: g.state["n_spare"][0]].tolist()
        assert sorted([*spare, *numbers.tolist()]) == list(range(len(g.groups.sizes)))
        if self.live.privacy is not None:
            counts, facts = self.live.privacy.rules.counts, self.live.partition().facts
            assert counts.people[numbers].tolist() == facts.people.tolist()


class Interrupting(Progress):
    """Ctrl-C at a certain point."""

    def __init__(self, after: int) -> None:
        self.left = after

    def stage(self, name: str, total: int | None = None) -> None:
        self.left -= 1
        if self.left < 0:
            raise KeyboardInterrupt

    def advance(self, steps: int) -> None:
        self.stage("")


def published(value: object) -> str | None:
    if value is None:
        return None
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


class FollowsPeople(Follows):
    person = True


class FollowsAndRefines(Follows):
    maintainer = "shoal"


class FollowsAndRefinesPeople(FollowsAndRefines):
    person = True


class FollowsInSimilarBTree(Follows):
    maintainer = "similar-b-tree"
    asked = st.just("k alone")


def machine(follows: type[Follows], examples: int, steps: int) -> Any:
    """A test class that runs a state machine so often, for so many steps each."""
    copied: Any = type(follows.__name__, (follows,), {})
    test = copied.TestCase
    test.settings = settings(
        max_examples=examples, stateful_step_count=steps, deadline=None, suppress_health_check=list(HealthCheck)
    )
    return test


TestI3M = machine(Follows, 20, 12)
TestPeople = machine(FollowsPeople, 15, 10)
TestShoal = machine(FollowsAndRefines, 20, 12)
TestShoalPeople = machine(FollowsAndRefinesPeople, 10, 10)
TestSimilarBTree = machine(FollowsInSimilarBTree, 20, 12)
TestI3MForLong = pytest.mark.slow(machine(Follows, 150, 40))
TestShoalForLong = pytest.mark.slow(machine(FollowsAndRefines, 150, 40))
TestShoalPeopleForLong = pytest.mark.slow(machine(FollowsAndRefinesPeople, 80, 30))
TestPeopleForLong = pytest.mark.slow(machine(FollowsPeople, 80, 30))
TestSimilarBTreeForLong = pytest.mark.slow(machine(FollowsInSimilarBTree, 150, 40))
