"""The records of a live partition: what each is, whose it is, and in which group.

A record has a slot as long as it lives. Codes, labels and ids lie in arrays with room to grow, so a few records more
cost what they are, not what there is.

What `snapshot` notes, `restore` brings back. Arrays that a batch replaces are kept as they were; what it changes in
place is copied (the labels) or noted (the keys that it names). Slots beyond those in use may hold anything.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.arrays import grow
from shoal.errors import DataError
from shoal.records.changes import Arrivals
from shoal.records.codebook import CodeBook, Codes
from shoal.records.encode import Records

Ints = NDArray[np.int32]
SPARE_SLOTS = 1024


class Snapshot(NamedTuple):
    """A table at a moment, but for what nobody changes."""

    used: int
    next_id: int
    books: list[CodeBook]
    codes: Codes
    labels: Ints
    ids: NDArray[np.int64]
    passthrough: list[pa.Table]
    groups: Ints  # a copy of the labels in use
    slots: dict[str, int | None]  # of the keys that a batch names; None: nobody has it


class LiveTable:
    """Records in slots, by key."""

    def __init__(
        self,
        records: Records,
        keys: Sequence[str],
        labels: NDArray[np.integer],
        people: Sequence[str] | None,
        ids: NDArray[np.int64] | None,
    ) -> None:
        self.schema, self.order = records.schema, records.order
        self.books: list[CodeBook] = records.books
        self.used = len(records)  # slots that are or were a record's
        self.keys: dict[str, int] = {key: slot for slot, key in enumerate(keys)}
        self.persons = None if people is None else list(people)  # whose the record of each slot is, by name
        self.passthrough = [records.passthrough]  # columns that are published as they are, in parts
        room = _with_spare(self.used)
        self.ids = grow(np.arange(1, self.used + 1) if ids is None else ids.astype(np.int64), room)
        self.next_id = int(self.ids[: self.used].max(initial=0)) + 1
        self.codes: Codes = grow(records.codes, room)
        self.labels: Ints = grow(labels.astype(np.int32), room, -1)  # −1: no record, or one that is in no group yet

    def __len__(self) -> int:
        """How many records there are."""
        return len(self.keys)

    # What it holds

    def alive(self) -> NDArray[np.int64]:
        """The slots of the records that there are, in ascending order."""
        return np.flatnonzero(self.labels[: self.used] >= 0)

    def slots_of(self, keys: Iterable[str]) -> Ints:
        return np.array([self.keys[key] for key in keys], np.int32)

    def records(self) -> Records:
        """The records as they are now, in the order of their slots."""
        alive = self.alive()
        passthrough = _together(self.passthrough)
        if len(alive) < self.used and passthrough.num_columns:
            passthrough = passthrough.take(pa.array(alive))
        whose = self.people()
        people = None
        if whose is not None:
            numbers = {name: i for i, name in enumerate(dict.fromkeys(whose))}
            people = np.array([numbers[name] for name in whose], np.int32)
        return Records(self.codes[alive], self.books, passthrough.combine_chunks(), self.order, self.schema, people)

    def people(self) -> list[str] | None:
        """Whose each record is, in the order of their slots; None where people are not counted."""
        return None if self.persons is None else [self.persons[slot] for slot in self.alive()]

    def passthrough_column(self, name: str) -> pa.ChunkedArray:
        """A column that is published as it is, of the records that there are."""
        column = _together([part.select([name]) for part in self.passthrough])[name]
        return column.take(pa.array(self.alive()))

    def codes_of(self, j: int, keys: Sequence[str]) -> Ints:
        """Of quasi-identifier j, of the records with these keys."""
        codes: Ints = self.codes[self.slots_of(keys), j]
        return codes

    def carried_of(self, name: str, keys: Sequence[str]) -> pa.Array:
        """A column that is published as it is, of the records with these keys."""
        return self.carried_in(name, self.slots_of(keys))

    def carried_in(self, name: str, slots: NDArray[np.integer]) -> pa.Array:
        """The same, of the records in these slots."""
        column = _together([part.select([name]) for part in self.passthrough])[name]
        taken = column.take(pa.array(slots))
        return taken.combine_chunks() if isinstance(taken, pa.ChunkedArray) else taken

    def people_of(self, keys: Sequence[str]) -> list[str]:
        """Whose the records with these keys are."""
        return [] if self.persons is None else [self.persons[slot] for slot in self.slots_of(keys)]

    # How it changes

    def snapshot(self, arrivals: Arrivals) -> Snapshot:
        """What `restore` needs after a batch has changed the table, in part or as a whole."""
        named = (*arrivals.deleted, *arrivals.updated, *arrivals.inserted)
        return Snapshot(
            self.used,
            self.next_id,
            self.books,
            self.codes,
            self.labels,
            self.ids,
            self.passthrough,
            self.labels[: self.used].copy(),
            {key: self.keys.get(key) for key in named},
        )

    def restore(self, before: Snapshot) -> None:
        self.used, self.next_id, self.books = before.used, before.next_id, before.books
        self.codes, self.labels, self.ids = before.codes, before.labels, before.ids
        self.passthrough = before.passthrough
        if self.persons is not None:
            del self.persons[self.used :]
        self.labels[: self.used] = before.groups
        self.labels[self.used :] = -1
        for key, slot in before.slots.items():
            if slot is None:
                self.keys.pop(key, None)
            else:
                self.keys[key] = slot

    def recode(self, moved: Sequence[Ints | None]) -> None:
        """Codes have new names, in the same order: those of each column that has any."""
        from shoal.boxes.group_tree.recode import new_names, renamed  # loads Numba

        codes = np.empty_like(self.codes)  # a snapshot has the old ones
        renamed(new_names(moved), self.codes, self.used, codes)
        self.codes = codes

    def add(self, arrivals: Arrivals) -> Ints:
        """Slots and ids for the records that come, those inserted first. They are in no group, and have no key yet."""
        first, count = self.used, len(arrivals.inserted) + len(arrivals.updated)
        last = first + count
        if last > len(self.labels):
            room = _with_spare(last)
            self.codes, self.labels = grow(self.codes, room), grow(self.labels, room, -1)
            self.ids = grow(self.ids, room)
        if count:
            self.codes[first:last] = arrivals.codes
            self.ids[first:last] = np.arange(self.next_id, self.next_id + count)
            self.next_id += count
            self.used = last
            if self.persons is not None:
                self.persons.extend(arrivals.people or ())
            self.passthrough = _with_part(self.passthrough, arrivals.passthrough)
        return np.arange(first, last, dtype=np.int32)

    def rename(self, arrivals: Arrivals, come: Ints) -> None:
        """Keys of the records that have gone are free; those of the records that have come lead to their slots."""
        for key in arrivals.deleted:
            del self.keys[key]
        self.keys.update(zip((*arrivals.inserted, *arrivals.updated), come.tolist(), strict=True))

    @property
    def is_sparse(self) -> bool:
        """Whether most slots are out of use."""
        return self.used >= 2 * len(self) + SPARE_SLOTS

    def compacted(self) -> tuple[LiveTable, Ints]:
        """The same records in slots without gaps, as a table of its own; and the new slot of each old one, or −1."""
        alive = self.alive()
        slots = np.full(self.used, -1, np.int32)
        slots[alive] = np.arange(len(alive))
        room = _with_spare(len(alive))
        passthrough = _together(self.passthrough)
        table = copy.copy(self)
        table.used = len(alive)
        table.codes, table.ids = grow(self.codes[alive], room), grow(self.ids[alive], room)
        table.labels = grow(self.labels[alive], room, -1)
        if passthrough.num_columns:
            passthrough = passthrough.take(pa.array(alive)).combine_chunks()
        table.passthrough = [passthrough]
        table.keys = {key: int(slots[slot]) for key, slot in self.keys.items()}
        table.persons = self.people()
        return table, slots


def _with_spare(slots: int) -> int:
    return slots + slots // 8 + SPARE_SLOTS


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
