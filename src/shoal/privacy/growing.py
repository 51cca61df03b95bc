"""What is asked of every group, over records that come and go: sensitive codes and counts that grow with them.

The distribution that closeness is measured against is that of the records as they are: `follow` brings it up to date
when those who go have left their groups. New sensitive values get codes by one monotone re-coding, as quasi-identifiers
do; lists of counts stay in order. New persons, and new pairs of person and value, get the next numbers.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from shoal.arrays import grow
from shoal.privacy.counts import count_all, recode_bag
from shoal.privacy.privacy import Privacy
from shoal.privacy.requirements import CLOSENESS, Rule
from shoal.privacy.rules import GroupCounts, Rules, new_counts, new_tally, records_of_room, rules_over, with_room
from shoal.privacy.sensitive import SensitiveColumn, sensitive_column, without_values
from shoal.privacy.tables import PrivacyTables, RecordCodes, shares_in, shares_of, tables_over
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
    ) -> None:
        """`persons`: the name of each person by number, where people are counted."""
        start = Privacy.of(records, k, rules, quiet=True)
        self.k, self._asked, self._schema = k, tuple(rules), records.schema
        self._columns = list(start.columns)
        tables = start.tables
        self._shares = [shares_in(tables, j) for j in range(len(self._columns))]  # of each code, in the whole table
        compared = {rule.column for rule in rules if rule.model == CLOSENESS}
        self._compared = [j for j, column in enumerate(self._columns) if column.name in compared]
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
        self.tables = tables_over(self.k, self._asked, self._columns, self._shares, self._codes)
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
            column = sensitive_column(known.name, arrivals, known.values, quiet=True)
            if column.texts != known.texts or column.some_missing != known.some_missing:
                self._recode(j, known, column, first)
                reshaped = True
            self._codes.values[first:last, j] = column.codes
        if reshaped:
            self._make_tables()
        if people is not None:
            self._name(people, first)

    @property
    def compares(self) -> bool:
        """Whether closeness is asked for: whoever changes the table lets `follow` know."""
        return bool(self._compared)

    def follow(self, slots: NDArray[np.int64]) -> None:
        """The records in these slots are the whole table: closeness is measured against them from here on.

        No group may have anybody else. Values that nobody has any more are places no longer, as for who looks at these
        records alone.
        """
        by_people, values, whose, _ = self._codes
        for j in self._compared:
            known, pairs = self._columns[j], whose[slots, 1 + j] if by_people else None
            shares = shares_of(values[slots, j], pairs, known.size)
            lost = np.flatnonzero((shares == 0) & (self._shares[j] > 0)).astype(np.int32)
            self._shares[j] = shares
            if len(lost):
                described = self._schema.columns[known.name]
                narrower = without_values(known, described, lost, self._schema.missing)
                self._recode(j, known, narrower, len(values))
        self._make_tables()

    def _recode(self, j: int, known: SensitiveColumn, column: SensitiveColumn, records: int) -> None:
        """A column has other values than before: each that stays gets its new code, those that nobody has get none."""
        code_of = {text: code for code, text in enumerate(column.texts, start=1)}
        moved = np.array([0, *(code_of.get(text, -1) for text in known.texts)], np.int32)
        kept = moved >= 0
        shares = np.zeros(column.size)
        shares[moved[kept]] = self._shares[j][kept]
        self._shares[j], self._columns[j] = shares, column
        codes = self._codes.values[:records, j]
        codes[:] = np.maximum(moved, 0)[codes]  # slots out of use may have had any
        recode_bag(self.rules, j, moved)
        self._pairs = {
            (i, person, int(moved[value]) if i == j else value): number
            for (i, person, value), number in self._pairs.items()
            if i != j or kept[value]
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
