"""What is asked of every group, over records that come and go: sensitive codes and counts that grow with them.

The distribution that closeness is measured against is frozen when this is made, for the epoch. New sensitive values
get codes by one monotone re-coding, as quasi-identifiers do; lists of counts stay in order. New persons, and new pairs
of person and value, get the next numbers.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from shoal.arrays import grow
from shoal.privacy.counts import GroupCounts, count_all, new_counts, recode_bag, with_room
from shoal.privacy.privacy import Privacy
from shoal.privacy.requirements import Rule
from shoal.privacy.sensitive import Distribution, SensitiveColumn, sensitive_column
from shoal.privacy.tables import PrivacyTables, tables_over
from shoal.privacy.tally import Tally, new_tally
from shoal.records.encode import Records

Ints = NDArray[np.int32]
Floats = NDArray[np.float64]


class LivePrivacy:
    """Rules, or people, over the records of a live partition. Kernels ask `tables`, `counts` and `tally`."""

    tables: PrivacyTables
    counts: GroupCounts
    tally: Tally

    def __init__(
        self,
        records: Records,
        persons: Sequence[str] | None,
        k: int,
        rules: Sequence[Rule],
        reference: dict[str, Distribution] | None = None,
    ) -> None:
        """`persons`: the name of each person by number, where people are counted."""
        start = Privacy.of(records, k, rules, reference=reference, quiet=True)
        self.k, self.rules = k, tuple(rules)
        self.reference: dict[str, Distribution] = start.distributions()
        self._columns = [
            sensitive_column(column.name, records, self.reference[column.name], quiet=True) for column in start.columns
        ]
        tables = start.tables
        self._values, self._whose, self._pair_values = tables.values, tables.whose, tables.pair_values
        self._persons = None if persons is None else {name: number for number, name in enumerate(persons)}
        self._numbers = len(tables.pair_values)  # of persons and pairs, in use
        self._pairs: dict[tuple[int, int, int], int] = {}
        if self._persons is not None:
            for j in range(len(self._columns)):
                pairs = zip(tables.whose[:, 0].tolist(), tables.values[:, j].tolist(), strict=True)
                numbers = tables.whose[:, 1 + j].tolist()
                self._pairs.update({(j, *pair): number for pair, number in zip(pairs, numbers, strict=True)})
        self._make_tables()

    @property
    def by_people(self) -> bool:
        return self._persons is not None

    def _make_tables(self) -> None:
        shares = [column.reference(np.zeros(0, np.int64)) for column in self._columns]
        self.tables = tables_over(
            self.k, self.rules, self._columns, shares, self.by_people, self._values, self._whose, self._pair_values
        )
        self.tally = new_tally(self.tables)

    def spread(self, places: NDArray[np.int64], room: int) -> None:
        """Record i of those that this was made of has the number `places[i]`, and there is room for so many."""
        values, whose = self._values, self._whose
        self._values = np.zeros((room, values.shape[1]), np.int32)
        self._values[places] = values
        if self.by_people:
            self._whose = np.zeros((room, whose.shape[1]), np.int32)
            self._whose[places] = whose
            self._pair_values = grow(self._pair_values, self._numbers + room * whose.shape[1], -1)
        self._make_tables()

    def count(self, labels: Ints, groups: int) -> None:
        """Count the groups from scratch. `labels`: of every record that there is room for; −1: in none."""
        self.counts = new_counts(self.tables, groups, len(labels))
        count_all(self.tables, self.counts, labels)

    def make_room(self, records: int, groups: int | None = None) -> None:
        """Room for so many records and groups."""
        if records > len(self._values):
            self._values = grow(self._values, records)
            if self.by_people:
                self._whose = grow(self._whose, records)
                most = self._numbers + (records * (1 + len(self._columns)))
                self._pair_values = grow(self._pair_values, most, -1)
            self._make_tables()
        if groups is not None and (groups > len(self.counts.sizes) or records > self.counts.room[0]):
            self.counts = with_room(self.counts, self.tables, groups, records)

    def append(self, arrivals: Records, people: Sequence[str] | None, first: int) -> None:
        """The sensitive values, and the persons, of records `first` and on. They join no group yet."""
        last = first + len(arrivals)
        reshaped = False
        for j, known in enumerate(self._columns):
            column = sensitive_column(known.name, arrivals, self.reference[known.name], quiet=True)
            if column.texts != known.texts or column.some_missing != known.some_missing:
                self._recode(j, known, column, first)
                reshaped = True
            self._values[first:last, j] = column.codes
        if reshaped:
            self._make_tables()
            self.counts = with_room(self.counts, self.tables, len(self.counts.sizes), self.counts.room[0])
        if people is not None:
            self._name(people, first)

    def _recode(self, j: int, known: SensitiveColumn, column: SensitiveColumn, records: int) -> None:
        """A column has values that were not there before; those that were get new codes."""
        places = {text: code for code, text in enumerate(column.texts, start=1)}
        moved = np.array([0, *(places[text] for text in known.texts)], np.int32)
        values: list[str | None] = [None, *column.texts] if column.some_missing else [*column.texts]
        known_shares = self.reference[column.name]
        self.reference = {**self.reference, column.name: {**dict.fromkeys(values, 0.0), **known_shares}}
        self._columns[j] = column
        self._values[:records, j] = moved[self._values[:records, j]]
        recode_bag(self.counts, j, moved)
        self._pairs = {
            (i, person, int(moved[value]) if i == j else value): number
            for (i, person, value), number in self._pairs.items()
        }
        for (i, _, value), number in self._pairs.items():
            if i == j:
                self._pair_values[number] = value

    def _name(self, people: Sequence[str], first: int) -> None:
        """Numbers for persons and pairs."""
        assert self._persons is not None
        most = self._numbers + len(people) * (1 + len(self._columns))
        if most > len(self._pair_values):
            self._pair_values = grow(self._pair_values, most + len(self._pair_values) // 2, -1)
            self._make_tables()
        for record, name in enumerate(people, start=first):
            person = self._persons.get(name)
            if person is None:
                person = self._persons[name] = self._next(-1)
            self._whose[record, 0] = person
            for j in range(len(self._columns)):
                value = int(self._values[record, j])
                pair = self._pairs.get((j, person, value))
                if pair is None:
                    pair = self._pairs[j, person, value] = self._next(value)
                self._whose[record, 1 + j] = pair

    def _next(self, value: int) -> int:
        number = self._numbers
        self._pair_values[number] = value
        self._numbers += 1
        return number
