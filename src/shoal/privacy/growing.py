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
from shoal.privacy.counts import count_all, recode_bag
from shoal.privacy.privacy import Privacy
from shoal.privacy.requirements import Rule
from shoal.privacy.rules import GroupCounts, Rules, new_counts, new_tally, records_of_room, rules_over, with_room
from shoal.privacy.sensitive import Distribution, SensitiveColumn, sensitive_column
from shoal.privacy.tables import PrivacyTables, RecordCodes, tables_over
from shoal.records.encode import Records

Ints = NDArray[np.int32]
Floats = NDArray[np.float64]


class LivePrivacy:
    """Rules, or people, over the records of a live partition. Kernels ask `rules`."""

    tables: PrivacyTables

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
        self.k, self._asked = k, tuple(rules)
        self.reference: dict[str, Distribution] = start.distributions()
        self._columns = [
            sensitive_column(column.name, records, self.reference[column.name], quiet=True) for column in start.columns
        ]
        tables = start.tables
        self._codes = RecordCodes(tables.by_people, tables.values, tables.whose, tables.pair_values)
        self._persons = None if persons is None else {name: number for number, name in enumerate(persons)}
        self._numbers = len(tables.pair_values)  # of persons and pairs, in use
        self._pairs: dict[tuple[int, int, int], int] = {}
        if self._persons is not None:
            for j in range(len(self._columns)):
                pairs = zip(tables.whose[:, 0].tolist(), tables.values[:, j].tolist(), strict=True)
                numbers = tables.whose[:, 1 + j].tolist()
                self._pairs.update({(j, *pair): number for pair, number in zip(pairs, numbers, strict=True)})
        self._rules: Rules | None = None
        self._make_tables()
        self._counts: GroupCounts = new_counts(self.tables, 0, 0)

    @property
    def rules(self) -> Rules:
        """What is asked and counted, for kernels. Whatever makes room makes it anew: do not keep it."""
        if self._rules is None:
            self._rules = rules_over(self.tables, self._counts, new_tally(self.tables))
        return self._rules

    def _make_tables(self) -> None:
        shares = [column.reference(np.zeros(0, np.int64)) for column in self._columns]
        self.tables = tables_over(self.k, self._asked, self._columns, shares, self._codes)
        self._rules = None

    def spread(self, slots: NDArray[np.int64], room: int) -> None:
        """Record i of those that this was made of has the number `places[i]`, and there is room for so many."""
        by_people, values, whose, pair_values = self._codes
        spread_values = np.zeros((room, values.shape[1]), np.int32)
        spread_values[slots] = values
        if by_people:
            spread_whose = np.zeros((room, whose.shape[1]), np.int32)
            spread_whose[slots] = whose
            whose, pair_values = spread_whose, grow(pair_values, self._numbers + room * whose.shape[1], -1)
        self._codes = RecordCodes(by_people, spread_values, whose, pair_values)
        self._make_tables()

    def count(self, labels: Ints, groups: int) -> None:
        """Count the groups from scratch. `labels`: of every record that there is room for; −1: in none."""
        self._counts, self._rules = new_counts(self.tables, groups, len(labels)), None
        count_all(self.rules, labels)

    def make_room(self, records: int, groups: int | None = None) -> None:
        """Room for so many records and groups."""
        by_people, values, whose, pair_values = self._codes
        if records > len(values):
            if by_people:
                most = self._numbers + (records * (1 + len(self._columns)))
                whose, pair_values = grow(whose, records), grow(pair_values, most, -1)
            self._codes = RecordCodes(by_people, grow(values, records), whose, pair_values)
            self._make_tables()
        counted = records_of_room(self._counts, self.tables)
        if groups is not None and (groups > len(self._counts.sizes) or records > counted):
            self._counts, self._rules = with_room(self._counts, self.tables, groups, records), None

    def append(self, arrivals: Records, people: Sequence[str] | None, first: int) -> None:
        """The sensitive values, and the persons, of records `first` and on. They join no group yet."""
        last = first + len(arrivals)
        reshaped = False
        for j, known in enumerate(self._columns):
            column = sensitive_column(known.name, arrivals, self.reference[known.name], quiet=True)
            if column.texts != known.texts or column.some_missing != known.some_missing:
                self._recode(j, known, column, first)
                reshaped = True
            self._codes.values[first:last, j] = column.codes
        if reshaped:
            self._make_tables()
        if people is not None:
            self._name(people, first)

    def _recode(self, j: int, known: SensitiveColumn, column: SensitiveColumn, records: int) -> None:
        """A column has values that were not there before; those that were get new codes."""
        code_of = {text: code for code, text in enumerate(column.texts, start=1)}
        moved = np.array([0, *(code_of[text] for text in known.texts)], np.int32)
        values: list[str | None] = [None, *column.texts] if column.some_missing else [*column.texts]
        known_shares = self.reference[column.name]
        self.reference = {**self.reference, column.name: {**dict.fromkeys(values, 0.0), **known_shares}}
        self._columns[j] = column
        codes = self._codes.values[:records, j]
        codes[:] = moved[codes]
        recode_bag(self.rules, j, moved)
        self._pairs = {
            (i, person, int(moved[value]) if i == j else value): number
            for (i, person, value), number in self._pairs.items()
        }
        for (i, _, value), number in self._pairs.items():
            if i == j:
                self._codes.pair_values[number] = value

    def _name(self, people: Sequence[str], first: int) -> None:
        """Numbers for persons and pairs."""
        assert self._persons is not None
        most, room = self._numbers + len(people) * (1 + len(self._columns)), len(self._codes.pair_values)
        if most > room:
            pair_values = grow(self._codes.pair_values, most + room // 2, -1)
            self._codes = self._codes._replace(pair_values=pair_values)
            self._make_tables()
        values, whose = self._codes.values, self._codes.whose
        for record, name in enumerate(people, start=first):
            person = self._persons.get(name)
            if person is None:
                person = self._persons[name] = self._next(-1)
            whose[record, 0] = person
            for j in range(len(self._columns)):
                value = int(values[record, j])
                pair = self._pairs.get((j, person, value))
                if pair is None:
                    pair = self._pairs[j, person, value] = self._next(value)
                whose[record, 1 + j] = pair

    def _next(self, value: int) -> int:
        number = self._numbers
        self._codes.pair_values[number] = value
        self._numbers += 1
        return number
