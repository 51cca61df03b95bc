"""LivePartition: records in groups, following every insert, delete and update of the table behind them.

Records have numbers (slots) that stay as long as they live; a group's number stays as long as the group does. Codes,
labels and everything else lie in arrays with room to grow, so a small batch costs what it changes, not what there is.

All or nothing: a batch is checked and encoded before anything is touched; if it then fails or is interrupted halfway,
labels, books and keys are put back as they were, and what follows from them is made anew when it is next needed.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.boxes.costs import CostTables, box_costs, cost_tables, same_costs
from shoal.boxes.geometry import group_boxes, without_gaps
from shoal.cluster import Task, check_parameters, cluster
from shoal.errors import DataError, ParameterError, one_of
from shoal.maintain import DEFAULT_MAINTAINER, MAINTAINERS
from shoal.optimize import DEFAULT_OPTIMIZER, check_optimizer, optimized
from shoal.partition import Partition
from shoal.privacy import Privacy, Rule
from shoal.privacy.sensitive import Distribution
from shoal.progress import SILENT, Progress
from shoal.records.changes import Arrivals, ChangeBatch, check, key_of
from shoal.records.codebook import CodeBook, Codes
from shoal.records.encode import Records, encode
from shoal.records.growing import restart
from shoal.rooms import roomier
from shoal.schema import Role, Schema
from shoal.sources.normalize import as_text

Ints = NDArray[np.int32]
SPARE_RECORDS = 1024


class Applied(NamedTuple):
    """What a batch has done."""

    inserted: int
    updated: int
    deleted: int
    groups: NDArray[np.int64]  # numbers of the groups that have changed, come or gone
    moved: NDArray[np.int64]  # records that are in another group than before, or have come; by number
    gone: NDArray[np.int32]  # records that were deleted, and those that an update has replaced
    come: NDArray[np.int32]  # records that were inserted, then those that have replaced others
    arrivals: Arrivals


# Called with what a batch has done, before it counts as done: if this raises, all is as it was.
Keep = Callable[[Applied], None]


class Engine(Protocol):
    """What a maintainer does. It is made from a live partition's labels, and changes them."""

    def __init__(self, live: LivePartition) -> None: ...

    def apply(self, gone: Ints, come: Ints, replaced: Ints, progress: Progress) -> None:
        """Records go and come. `replaced[i]`: the record of `gone` that `come[i]` is the new version of, or −1."""

    def publishable(self) -> bool: ...

    def several(self) -> int:
        """How many groups there are."""

    def recoded(self, moved: Sequence[Ints | None]) -> None: ...

    def renumbered(self, places: Ints) -> None: ...


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
        reference: dict[str, Distribution] | None = None,
        ids: NDArray[np.int64] | None = None,
    ) -> None:
        """Records that are in groups already. `people`: whose each is, by name, where people are counted.

        `ids`: a number for each record that it keeps for ever, in ascending order; a later one gets a higher one.
        """
        self.schema, self.settings, self.k = records.schema, settings, settings.k
        self.order = records.order
        self.books: list[CodeBook] = records.books
        self.keys: dict[str, int] = {key: record for record, key in enumerate(keys)}
        self._people = None if people is None else list(people)
        self._carried = [records.carried]
        self.rng = np.random.default_rng(secrets.randbits(128) if settings.seed is None else settings.seed)
        self._used = len(records)
        room = self._used + self._used // 8 + SPARE_RECORDS
        self.ids = roomier(np.arange(1, self._used + 1) if ids is None else ids.astype(np.int64), room)
        self.next_id = int(self.ids[: self._used].max(initial=0)) + 1
        self.epoch = 0  # how many have begun since this was made
        self.codes: Codes = roomier(records.codes, room)
        self.labels: Ints = roomier(labels.astype(np.int32), room, -1)
        self.costs: CostTables = cost_tables(self.books, settings.measure)
        self._reference = reference
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
        live._begin(progress)
        return live

    def __len__(self) -> int:
        """How many records there are."""
        return len(self.keys)

    def __repr__(self) -> str:
        return f"<LivePartition of {len(self)} records, k = {self.k}, {self.settings.maintainer}>"

    # What it is now

    @property
    def engine(self) -> Engine:
        """The maintainer at work; made from the labels where it is not there yet."""
        if self._engine is None:
            if self.settings.rules or self._people is not None:
                from shoal.privacy.growing import LivePrivacy  # loads Numba

                records, alive = self.records(), self.alive()
                persons = None
                if self._people is not None:
                    persons = list(dict.fromkeys(self._people[record] for record in alive))
                privacy = LivePrivacy(records, persons, self.k, self.settings.rules, self._reference)
                privacy.spread(alive, len(self.labels))
                self.privacy, self._reference = privacy, privacy.reference
            self._engine = MAINTAINERS[self.settings.maintainer].engine(self)
        return self._engine

    def records(self) -> Records:
        """The records as they are now, in the order of their numbers."""
        alive = self.alive()
        carried = _together(self._carried)
        if len(alive) < self._used and carried.num_columns:
            carried = carried.take(pa.array(alive))
        people = None
        if self._people is not None:
            numbers = {name: i for i, name in enumerate(dict.fromkeys(self._people[record] for record in alive))}
            people = np.array([numbers[self._people[record]] for record in alive], np.int32)
        return Records(self.codes[alive], self.books, carried.combine_chunks(), self.order, self.schema, people)

    def partition(self, records: Records | None = None) -> Partition:
        """The partition as it is now, over `records()`; groups without gaps, in the order of their numbers."""
        records = self.records() if records is None else records
        return Partition.from_labels(records.codes, self.labels[self.alive()], self._privacy(records))

    def feasible(self) -> bool:
        """Whether the whole table, as one group, has what is asked: if not, no partition has."""
        records = self.records()
        if len(records) < self.k:
            return False
        return bool(self._privacy(records).facts_of(np.zeros(len(records), np.int32), 1).holds(self.k).all())

    def carried_column(self, name: str) -> pa.ChunkedArray:
        """A column that is published as it is, of the records that there are."""
        column = _together([part.select([name]) for part in self._carried])[name]
        return column.take(pa.array(self.alive()))

    def people(self) -> list[str] | None:
        """Whose each record is, in the order of their numbers; None where people are not counted."""
        return None if self._people is None else [self._people[record] for record in self.alive()]

    def refuse_infeasible(self) -> None:
        """Raise ParameterError if no partition of these records has what is asked, and say what one can have."""
        self._privacy(self.records()).check_feasible()

    @property
    def reference(self) -> dict[str, Distribution] | None:
        """What closeness is measured against in this epoch, by column; None: nobody has asked yet."""
        return self._reference

    def alive(self) -> NDArray[np.int64]:
        """The numbers of the records that there are, in ascending order."""
        return np.flatnonzero(self.labels[: self._used] >= 0)

    def standing(self) -> Standing:
        """Without a look at every record, where the maintainer knows."""
        if not len(self):
            return Standing(0, None, 0.0, False)
        engine = self.engine
        loss = getattr(engine, "loss", self.loss)()
        sizes = np.bincount(self.labels[self.labels >= 0])
        if self.privacy is not None:
            sizes = self.privacy.counts.people[: len(sizes)][sizes > 0]
        return Standing(engine.several(), int(sizes[sizes > 0].min()), loss, engine.publishable())

    def _privacy(self, records: Records) -> Privacy:
        """What is asked. What closeness is measured against is frozen when it is first asked for, in an epoch."""
        if self._reference is None and self.settings.rules:
            first = Privacy.of(records, self.k, self.settings.rules, quiet=True)
            self._reference = first.distributions()
        return Privacy.of(records, self.k, self.settings.rules, reference=self._reference, quiet=True)

    # How it changes

    def apply(self, batch: ChangeBatch, progress: Progress = SILENT, keep: Keep | None = None) -> Applied:
        """Apply a batch of changes. `keep` makes it last, and may refuse.

        Guarantee: all of it is applied, or an error is raised and the partition is as it was, bit for bit. Afterwards
        every group has what is asked, or `partition().obstacles()` says why it cannot be published.
        """
        progress.stage("checking the batch")
        if batch.schema is not self.schema and batch.schema.columns != self.schema.columns:
            raise ParameterError("the batch was made for another schema.")
        sensitive = {rule.column for rule in self.settings.rules}
        arrivals = check(batch, self.keys, self.books, self._carried, sensitive)
        self._compact()
        before = self.labels[: self._used].copy()
        with self._all_or_nothing(arrivals, before):
            begun = self._has_begun()
            self._take_books(arrivals)
            if begun:
                self.engine  # noqa: B018  # made anew where costs have changed, before there is anybody without a group
            gone, come, replaced = self._admit(arrivals)
            if begun:
                self.engine.apply(gone, come, replaced, progress)
                self._mend(progress)
            else:
                self.labels[gone], self.labels[come] = -1, 0
                self._begin(progress)
            self._name(arrivals, come)
            applied = self._applied(before, arrivals, gone, come)
            if keep is not None:
                keep(applied)
        return applied

    def _applied(self, before: Ints, arrivals: Arrivals, gone: Ints, come: Ints) -> Applied:
        if len(self):
            self.engine  # noqa: B018  # some split large groups as soon as they are made: before it is told who moved
        changed = np.flatnonzero(self.labels[: self._used] != roomier(before, self._used, -1))
        groups = np.unique(np.concatenate([before[changed[changed < len(before)]], self.labels[changed]]))
        counts = len(arrivals.inserted), len(arrivals.updated), len(arrivals.deleted)
        moved = changed[self.labels[changed] >= 0]
        return Applied(*counts, groups[groups >= 0], moved, gone, come, arrivals)

    def follow(self, arrivals: Arrivals, ids: NDArray[np.int64], labels: Ints, moved: Ints, to: Ints) -> None:
        """Take over what another has applied to the same records, without deciding anything.

        Those of `arrivals` come with these `ids` and `labels` (and those named as deleted go); the records with the
        numbers `moved` are now in the groups `to`.
        """
        before = self.labels[: self._used].copy()
        with self._all_or_nothing(arrivals, before):
            self._engine = self.privacy = None
            self._take_books(arrivals)
            gone, come, _ = self._admit(arrivals)
            self.ids[come], self.next_id = ids, max(self.next_id, int(ids.max(initial=0)) + 1)
            self.labels[moved] = to
            self.labels[gone] = -1
            self.labels[come] = labels
            self._name(arrivals, come)

    def optimize(self, how: str = DEFAULT_OPTIMIZER, progress: Progress = SILENT, keep: Keep | None = None) -> float:
        """Lower the loss as far as one way to do it can; by how much the total has fallen.

        Guarantee: groups that have what is asked still have it. Some may have 2k records and more: the next batch
        splits those.
        """
        check_optimizer(how)
        alive, records = self.alive(), self.records()
        if not len(alive):
            return 0.0
        labels = self.labels[alive]
        before = self.labels[: self._used].copy()
        with self._all_or_nothing(NO_ARRIVALS, before):
            better = optimized(how, records.codes, without_gaps(labels), self.costs, self._privacy(records), progress)
            self.labels[alive] = _as_before(better, labels)
            self._engine = self.privacy = None
            self._mend(progress)
            if keep is not None:
                nobody = np.zeros(0, np.int32)
                keep(self._applied(before, NO_ARRIVALS, nobody, nobody))
        return self._loss(records.codes, labels) - self._loss(records.codes, self.labels[alive])

    def loss(self) -> float:
        """What all records lose together, by the measure and the columns' weights."""
        alive = self.alive()
        return self._loss(self.codes[alive], self.labels[alive])

    def _loss(self, codes: Codes, labels: Ints) -> float:
        dense = without_gaps(labels)
        lo, hi, sizes = group_boxes(codes, dense, int(dense.max(initial=-1)) + 1)
        weights = np.array([book.column.weight for book in self.books])
        return float(sizes @ (box_costs(self.books, self.settings.measure, lo, hi) @ weights))

    @contextmanager
    def _all_or_nothing(self, arrivals: Arrivals, before: Ints) -> Iterator[None]:
        """Whatever goes wrong inside, all is as it was afterwards."""
        kept = {name: getattr(self, name) for name in KEPT}
        chance = self.rng.bit_generator.state
        carried, people = list(self._carried), None if self._people is None else len(self._people)
        numbers = {key: self.keys[key] for key in (*arrivals.deleted, *arrivals.updated)}
        try:
            yield
        except BaseException:
            self._engine = self.privacy = None  # made anew from the labels when it is needed
            for name, value in kept.items():
                setattr(self, name, value)
            self._carried = carried
            self.rng.bit_generator.state = chance
            if self._people is not None:
                del self._people[people:]
            self.labels[: len(before)] = before
            self.labels[len(before) :] = -1
            for key in arrivals.inserted:
                self.keys.pop(key, None)
            self.keys.update(numbers)
            raise

    def _has_begun(self) -> bool:
        """Whether there are groups to maintain: more than one, or one that has what is asked."""
        if len(self) == 0:
            return False
        several = self.engine.several()
        return several > 1 or (several == 1 and self.engine.publishable())

    def _admit(self, arrivals: Arrivals) -> tuple[Ints, Ints, Ints]:
        """Give new records numbers and codes. They are in no group yet. Who goes, who comes, and instead of whom."""
        first, coming = self._used, len(arrivals.inserted) + len(arrivals.updated)
        if first + coming > len(self.labels):
            room = first + coming + (first + coming) // 8 + SPARE_RECORDS
            self.codes, self.labels = roomier(self.codes, room), roomier(self.labels, room, -1)
            self.ids = roomier(self.ids, room)
        if coming:
            self.codes[first : first + coming] = arrivals.codes
            self.ids[first : first + coming] = np.arange(self.next_id, self.next_id + coming)
            self.next_id += coming
            self._used += coming
            if self._people is not None:
                self._people.extend(arrivals.people or ())
            self._carried = _with_part(self._carried, arrivals.carried)
            if self.privacy is not None:
                batch = Records(arrivals.codes, self.books, arrivals.carried, self.order, self.schema)
                self.privacy.make_room(len(self.labels))
                self.privacy.append(batch, arrivals.people, first)
                self._reference = self.privacy.reference
        replaced = np.full(coming, -1, np.int32)
        replaced[len(arrivals.inserted) :] = [self.keys[key] for key in arrivals.updated]
        leaving = [self.keys[key] for key in (*arrivals.deleted, *arrivals.updated)]
        return np.array(leaving, np.int32), np.arange(first, first + coming, dtype=np.int32), replaced

    def _take_books(self, arrivals: Arrivals) -> None:
        """Code books that know the new values: one monotone re-coding of each column in which codes have moved."""
        if all(new is old for new, old in zip(arrivals.books, self.books, strict=True)):
            return
        moved = [grown.moved for grown in arrivals.grown]
        if any(names is not None for names in moved):
            from shoal.boxes.recoding import new_names, renamed  # loads Numba

            codes = np.empty_like(self.codes)  # the old ones stay until the batch is through
            renamed(new_names(moved), self.codes, self._used, codes)
            self.codes = codes
            if self._engine is not None:
                self._engine.recoded(moved)
        same = same_costs(self.books, arrivals.books, moved, self.settings.measure)
        self.books = arrivals.books
        self.costs = cost_tables(self.books, self.settings.measure)
        if not same:
            self._engine = self.privacy = None

    def _name(self, arrivals: Arrivals, come: Ints) -> None:
        for key in arrivals.deleted:
            del self.keys[key]
        self.keys.update(zip((*arrivals.inserted, *arrivals.updated), come.tolist(), strict=True))

    def _begin(self, progress: Progress) -> None:
        """The first groups: an epoch begins. As long as there are too few records, they are one group."""
        alive = self.alive()
        self.epoch += 1
        self.books = [restart(book, self.codes[alive, j]) for j, book in enumerate(self.books)]
        self.costs = cost_tables(self.books, self.settings.measure)
        self._engine = self.privacy = self._reference = None
        self.labels[alive] = 0
        if self.feasible():
            self.labels[alive] = cluster(
                self.records(),
                self.k,
                self.settings.rules,
                method=self.settings.static_method,
                measure=self.settings.measure,
                seed=int(self.rng.integers(2**32)),
                progress=progress,
            ).labels
            nobody = np.zeros(0, np.int32)
            self.engine.apply(nobody, nobody, nobody, progress)  # splits what the maintainer wants smaller

    def _mend(self, progress: Progress) -> None:
        """Groups that are published alike are one class, in which a person of two of them counts once: `repair.py`."""
        if not self.settings.rules or self._people is None or not self.feasible():
            return
        from shoal.cluster.repair import mended  # loads Numba

        records, alive = self.records(), self.alive()
        task = Task(records, self.settings.measure, self.costs, self._privacy(records), self.rng, progress)
        labels = self.labels[alive]
        better = _as_before(mended(task, without_gaps(labels)), labels)
        if not np.array_equal(better, labels):
            self.labels[alive] = better
            self._engine = self.privacy = None

    def _compact(self) -> None:
        """Give records new numbers, without gaps, where most numbers are out of use."""
        if self._used < 2 * len(self) + SPARE_RECORDS:
            return
        alive, engine = self.alive(), self.engine
        places = np.full(self._used, -1, np.int32)
        places[alive] = np.arange(len(alive))
        room = len(alive) + len(alive) // 8 + SPARE_RECORDS
        carried = _together(self._carried)
        compact = {
            "_carried": [carried.take(pa.array(alive)).combine_chunks() if carried.num_columns else carried],
            "codes": roomier(self.codes[alive], room),
            "labels": roomier(self.labels[alive], room, -1),
            "ids": roomier(self.ids[alive], room),
            "keys": {key: int(places[record]) for key, record in self.keys.items()},
            "_people": None if self._people is None else [self._people[record] for record in alive],
            "_used": len(alive),
        }
        before = {name: getattr(self, name) for name in compact}
        try:
            self.__dict__.update(compact)
            engine.renumbered(places)
            if self.privacy is not None:
                self._engine = self.privacy = None  # made anew, without those who are no more
        except BaseException:
            self._engine = self.privacy = None
            self.__dict__.update(before)
            raise


NO_ARRIVALS = Arrivals([], [], [], [], pa.table({}), None)
# What a batch replaces, and failure brings back.
KEPT = ("_used", "codes", "labels", "ids", "next_id", "epoch", "books", "costs", "_reference")


def _with_part(parts: list[pa.Table], new: pa.Table) -> list[pa.Table]:
    """One part more; parts of like size become one, so that there are never many."""
    parts = [*parts, new]
    while len(parts) > 1 and parts[-2].num_rows <= 2 * parts[-1].num_rows:
        parts[-2:] = [_together(parts[-2:]).combine_chunks()]
    return parts


def _together(parts: list[pa.Table]) -> pa.Table:
    """One table; a column of whole numbers takes in fractions."""
    try:
        return pa.concat_tables(parts, promote_options="permissive")
    except pa.ArrowException:
        pass
    raise DataError(
        "a column of whole numbers with more than 15 digits cannot take in fractions.",
        hint="Give the column the type categorical.",
    )


def _as_before(labels: Ints, before: Ints) -> Ints:
    """The same groups, each with the number that its first record's group had before, if no other has it."""
    _, firsts, dense = np.unique(labels, return_index=True, return_inverse=True)
    numbers = before[firsts].astype(np.int64)
    again = np.ones(len(numbers), bool)
    again[np.unique(numbers, return_index=True)[1]] = False
    numbers[again] = int(before.max()) + 1 + np.arange(int(again.sum()))
    return numbers[dense].astype(np.int32)
