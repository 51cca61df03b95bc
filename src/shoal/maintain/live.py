"""LivePartition: records in groups, following every insert, delete and update of the table behind them.

A record's slot stays as long as it lives, a group's number as long as the group does; what lies in the slots is in
`table.py`. A small batch costs what it changes, not what there is.

All or nothing: a batch is checked and encoded before anything is touched. What it then does is taken back where it
fails, is interrupted or is not accepted; what follows from the labels is made anew when it is next needed.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.boxes.costs import CostTables, box_costs, cost_tables
from shoal.boxes.geometry import group_boxes, without_gaps
from shoal.cluster import check_parameters
from shoal.errors import ParameterError, one_of
from shoal.maintain import DEFAULT_MAINTAINER, MAINTAINERS, steps
from shoal.maintain.ageing import Ageing
from shoal.maintain.change import Applied, Change
from shoal.maintain.engine import Engine
from shoal.maintain.steps import NOBODY
from shoal.maintain.table import LiveTable
from shoal.optimize import DEFAULT_OPTIMIZER, check_optimizer, check_seconds
from shoal.partition import Partition
from shoal.privacy import Privacy, Rule
from shoal.progress import SILENT, Progress, announced
from shoal.records.changes import Arrivals, ChangeBatch, check, key_of
from shoal.records.codebook import CodeBook, Codes
from shoal.records.encode import Records, encode
from shoal.schema import Role, Schema
from shoal.sources.normalize import as_text

Ints = NDArray[np.int32]
NO_ARRIVALS = Arrivals([], [], [], [], pa.table({}), None)


class Standing(NamedTuple):
    """How a live partition stands."""

    groups: int
    smallest: int | None  # group: records, or people where they are counted; None: there is none
    loss: float
    publishable: bool


@dataclass(frozen=True)
class Settings:
    """What a live partition is held to."""

    k: int
    rules: tuple[Rule, ...] = ()
    measure: str = "il"
    maintainer: str = DEFAULT_MAINTAINER
    method: str | None = None  # the static method for the first groups; None: the maintainer's own
    seed: int | None = None

    def __post_init__(self) -> None:
        if self.maintainer not in MAINTAINERS:
            raise ParameterError(one_of("maintainer", self.maintainer, MAINTAINERS))
        check_parameters(self.k, self.static_method, self.measure, {}, self.seed)
        if self.measure == "pmi":
            raise ParameterError("a maintainer cannot aim at 'pmi'. Choose il, lm, tree or mi.")
        if self.rules and not MAINTAINERS[self.maintainer].keeps_rules:
            able = ", ".join(name for name, known in MAINTAINERS.items() if known.keeps_rules)
            raise ParameterError(f"maintainer {self.maintainer!r} keeps k records alone. These keep rules: {able}.")

    @property
    def static_method(self) -> str:
        return self.method or MAINTAINERS[self.maintainer].method


class LivePartition:
    """A partition that follows its data."""

    def __init__(
        self,
        records: Records,
        keys: Sequence[str],
        labels: NDArray[np.integer],
        settings: Settings,
        *,
        people: Sequence[str] | None = None,
        ids: NDArray[np.int64] | None = None,
    ) -> None:
        """Records that are in groups already. `people`: whose each is, by name, where people are counted.

        `ids`: a number for each record that it keeps for ever, in ascending order; a later one gets a higher one.
        """
        self.schema, self.order, self.settings, self.k = records.schema, records.order, settings, settings.k
        self.table = LiveTable(records, keys, labels, people, ids)
        self.costs: CostTables = cost_tables(records.books, settings.measure)
        self.ageing = Ageing()  # in this epoch
        self.epoch = 0  # how many have begun since this was made
        self.rng = np.random.default_rng(secrets.randbits(128) if settings.seed is None else settings.seed)
        self.privacy: Any = None  # LivePrivacy where more is asked than k records; made with the engine
        self._engine: Engine | None = None

    @classmethod
    def start(cls, table: pa.Table, schema: Schema, settings: Settings, progress: Progress = SILENT) -> LivePartition:
        """The partition that the static method makes of a table, ready to follow it."""
        key = key_of(schema)
        records = encode(table, schema)
        keys = as_text(key, table[key], schema.missing).to_pylist()
        people = None
        for name in schema.names(Role.PERSON):
            if not MAINTAINERS[settings.maintainer].keeps_rules:
                raise ParameterError(f"maintainer {settings.maintainer!r} counts records, and the schema names people.")
            people = as_text(name, table[name], schema.missing).to_pylist()
        live = cls(records, keys, np.zeros(len(records), np.int32), settings, people=people)
        with announced(progress):
            steps.begin(live, progress)
        live.note_standing()
        return live

    def __len__(self) -> int:
        """How many records there are."""
        return len(self.table)

    def __repr__(self) -> str:
        return f"<LivePartition of {len(self)} records, k = {self.k}, {self.settings.maintainer}>"

    # Its records, by their slots

    @property
    def keys(self) -> dict[str, int]:
        return self.table.keys

    @property
    def ids(self) -> NDArray[np.int64]:
        return self.table.ids

    @property
    def books(self) -> list[CodeBook]:
        return self.table.books

    @property
    def codes(self) -> Codes:
        return self.table.codes

    @property
    def labels(self) -> Ints:
        """The group of each record; −1: there is none, or it is in no group yet."""
        return self.table.labels

    def alive(self) -> NDArray[np.int64]:
        """The slots of the records that there are, in ascending order."""
        return self.table.alive()

    def records(self) -> Records:
        """The records as they are now, in the order of their slots."""
        return self.table.records()

    # What it is now

    @property
    def engine(self) -> Engine:
        """The maintainer at work."""
        self.prepare()
        assert self._engine is not None
        return self._engine

    def prepare(self) -> None:
        """Make the maintainer from the labels, where it is not there yet. Some split large groups as they are made."""
        if self._engine is not None:
            return
        whose = self.table.people()
        if self.settings.rules or whose is not None:
            from shoal.privacy.growing import LivePrivacy  # loads Numba

            persons = None if whose is None else list(dict.fromkeys(whose))
            privacy = LivePrivacy(self.records(), persons, self.k, self.settings.rules)
            privacy.spread(self.alive(), len(self.labels))
            self.privacy = privacy
        self._engine = MAINTAINERS[self.settings.maintainer].engine(self)

    def forget_engine(self) -> None:
        """The maintainer does not fit the labels any more: it is made anew from them when it is next needed."""
        self._engine = self.privacy = None

    def take_books(self, books: list[CodeBook], moved: Sequence[Ints | None] = ()) -> None:
        """Other code books, and what they cost. `moved`: the new codes of each column in which codes have moved."""
        if any(names is not None for names in moved):
            self.table.recode(moved)
            if self._engine is not None:
                self._engine.recoded(moved)
        self.table.books, self.costs = books, cost_tables(books, self.settings.measure)

    def partition(self, records: Records | None = None) -> Partition:
        """The partition as it is now, over `records()`; groups without gaps, in the order of their numbers."""
        records = self.records() if records is None else records
        return Partition.from_labels(records.codes, self.labels[self.alive()], self.privacy_of(records))

    def feasible(self) -> bool:
        """Whether the whole table, as one group, has what is asked: if not, no partition has."""
        records = self.records()
        if len(records) < self.k:
            return False
        return bool(self.privacy_of(records).facts_of(np.zeros(len(records), np.int32), 1).holds(self.k).all())

    def refuse_infeasible(self) -> None:
        """Raise ParameterError if no partition of these records has what is asked, and say what one can have."""
        self.privacy_of(self.records()).check_feasible()

    def note_standing(self) -> None:
        """What a batch has left, for those that come after it."""
        self.ageing.note(len(self), self.engine.loss() if len(self) else 0.0)

    def standing(self) -> Standing:
        """Without a look at every record, where the maintainer knows."""
        if not len(self):
            return Standing(0, None, 0.0, False)
        engine = self.engine
        sizes = np.bincount(self.labels[self.labels >= 0])
        if self.privacy is not None:
            sizes = self.privacy.rules.counts.people[: len(sizes)][sizes > 0]
        return Standing(engine.n_groups(), int(sizes[sizes > 0].min()), engine.loss(), engine.publishable())

    def drift(self) -> float | None:
        """The loss as a multiple of what starting again would lose: an estimate; None where it cannot be told."""
        from shoal.maintain.drift import estimated_drift  # loads Numba

        return estimated_drift(self)

    def loss(self) -> float:
        """What all records lose together, by the measure and the columns' weights."""
        alive = self.alive()
        labels = without_gaps(self.labels[alive])
        lo, hi, sizes = group_boxes(self.codes[alive], labels, int(labels.max(initial=-1)) + 1)
        weights = np.array([book.column.weight for book in self.books])
        return float(sizes @ (box_costs(self.books, self.settings.measure, lo, hi) @ weights))

    def privacy_of(self, records: Records) -> Privacy:
        """What is asked of these records; closeness is measured against the distribution that they have."""
        return Privacy.of(records, self.k, self.settings.rules, quiet=True)

    # How it changes

    def apply(self, batch: ChangeBatch, progress: Progress = SILENT) -> Applied:
        """Apply a batch of changes.

        Guarantee: that of `changing`: all of it is applied, or an error is raised and the partition is as it was.
        """
        with self.changing(batch, progress) as change:
            change.accept()
        return change.applied

    @contextmanager
    def changing(self, batch: ChangeBatch, progress: Progress = SILENT) -> Iterator[Change]:
        """A batch of changes, applied for the length of a block, and for good if the block accepts it.

        Guarantee: all of it is applied; or, where it fails, is interrupted or is not accepted, the partition is as it
        was, bit for bit. In the block every group has what is asked, or `partition().obstacles()` says why it cannot be
        published. A batch without changes leaves the groups as they are.
        """
        progress.stage("checking the batch")
        if batch.schema is not self.schema and batch.schema.columns != self.schema.columns:
            raise ParameterError("the batch was made for another schema.")
        sensitive = {rule.column for rule in self.settings.rules}
        arrivals = check(batch, self.keys, self.books, self.table.passthrough, sensitive, self.table)
        steps.compact(self)
        with self._provisional(arrivals) as change:
            if arrivals.any():
                self._maintain(change, arrivals, progress)
            else:
                change.applied = steps.nothing_applied(arrivals)
            yield change
        if change.accepted:
            self.note_standing()

    @contextmanager
    def mending(self, progress: Progress = SILENT) -> Iterator[Change]:
        """The same records, with what is asked of groups now: those that do not have it are mended.

        For the length of a block, and for good if the block accepts it.
        """
        batch = ChangeBatch.of(self.schema)
        arrivals = check(batch, self.keys, self.books, self.table.passthrough, set(), self.table)
        with self._provisional(arrivals) as change:
            self._maintain(change, arrivals, progress)
            yield change

    def _maintain(self, change: Change, arrivals: Arrivals, progress: Progress) -> None:
        with announced(progress):
            gone, come = steps.maintain(self, arrivals, progress)
        change.applied = steps.applied(self, change.before, arrivals, gone, come)

    def optimize(
        self, how: str = DEFAULT_OPTIMIZER, progress: Progress = SILENT, max_seconds: float | None = None
    ) -> float:
        """Lower the loss as far as one way to do it can; by how much the total has fallen.

        Guarantee: that of `optimizing`.
        """
        before = self.loss()
        with self.optimizing(how, progress, max_seconds) as change:
            change.accept()
        return before - self.loss()

    @contextmanager
    def optimizing(
        self, how: str = DEFAULT_OPTIMIZER, progress: Progress = SILENT, max_seconds: float | None = None
    ) -> Iterator[Change]:
        """The groups with a lower loss, for the length of a block, and for good if the block accepts them.

        `max_seconds`: time that there is for it, and all that is taken unless nothing is left to gain.

        Guarantee: groups that have what is asked still have it. Some may have 2k records and more: the next batch
        splits those.
        """
        check_optimizer(how, needed=True)
        check_seconds("max_seconds", max_seconds)
        with self._provisional() as change:
            with announced(progress):
                steps.optimize(self, how, max_seconds, progress)
            change.applied = steps.applied(self, change.before, NO_ARRIVALS, NOBODY, NOBODY)
            yield change
        if change.accepted:
            self.note_standing()

    def follow(self, arrivals: Arrivals, ids: NDArray[np.int64], labels: Ints, moved: Ints, to: Ints) -> None:
        """Take over what another has applied to the same records, without deciding anything.

        Those of `arrivals` come with these `ids` and `labels` (and those named as deleted go); the records in the slots
        `moved` are now in the groups `to`.
        """
        with self._provisional(arrivals) as change:
            self.forget_engine()
            steps.follow_books(self, arrivals)
            gone, come, _ = steps.admit(self, arrivals)
            self.table.ids[come] = ids
            self.table.next_id = max(self.table.next_id, int(ids.max(initial=0)) + 1)
            self.labels[moved] = to
            self.labels[gone] = -1
            self.labels[come] = labels
            self.table.rename(arrivals, come)
            change.accept()

    @contextmanager
    def _provisional(self, arrivals: Arrivals = NO_ARRIVALS) -> Iterator[Change]:
        """Whatever the block does is taken back when it ends, unless it has been accepted by then."""
        table, chance = self.table.snapshot(arrivals), self.rng.bit_generator.state
        costs, epoch, ageing = self.costs, self.epoch, self.ageing
        change = Change(table.groups)
        try:
            yield change
        finally:
            if not change.accepted:
                self.forget_engine()
                self.table.restore(table)
                self.rng.bit_generator.state = chance
                self.costs, self.epoch, self.ageing = costs, epoch, ageing
