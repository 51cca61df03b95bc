"""The values of quasi-identifiers, by number: what records refer to, and codes do not outlive.

Codes change when values come; a value's number in the vault does not. A value that nobody has any more is taken out, so
that nothing is left of a record that is deleted but the counts that the epoch froze: a category stays as a leaf without
a name, with the frequency that it had. (A number, a day or a prefix has no place without its value; it goes altogether,
and costs that go by frequencies, mi, are a little different when the vault is next loaded.)
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.arrays import grow
from shoal.hierarchies import FlatValues
from shoal.hierarchies.declared import DeclaredTree
from shoal.records.codebook import CodeBook, Codes
from shoal.schema import Column, Schema

MISSING_ID = 0
Cells = NDArray[np.int32]  # numbers of values, one column for each quasi-identifier


class Value(NamedTuple):
    """A row of the table `dictionary`."""

    id: int
    name: str
    value: str | None
    frequency: int | None


@dataclass
class Numbered:
    """The values of one column."""

    name: str
    declared: frozenset[str] = frozenset()  # values that the schema itself names: they are never forgotten
    ids: dict[str, int] = field(default_factory=dict)
    texts: dict[int, str] = field(default_factory=dict)
    uses: NDArray[np.int64] = field(default_factory=lambda: np.zeros(16, np.int64))  # how many records have each
    next_id: int = 1

    def know(self, values: Iterable[Value]) -> None:
        for value in values:
            if value.value is not None:
                self.ids[value.value], self.texts[value.id] = value.id, value.value
                self.next_id = max(self.next_id, value.id + 1)
        self.uses = grow(self.uses, self.next_id)

    def count(self, come: NDArray[np.integer], gone: NDArray[np.integer]) -> None:
        """Records with these values come and go; what nobody has any more is forgotten."""
        np.add.at(self.uses, come, 1)
        np.add.at(self.uses, gone, -1)
        for number in np.unique(gone).tolist():
            if number != MISSING_ID and self.uses[number] == 0 and self.texts[number] not in self.declared:
                text = self.texts.pop(number)
                if self.ids[text] == number:  # it may have come back under another number
                    del self.ids[text]

    def ids_of(self, book: CodeBook, codes: Codes) -> Cells:
        """The numbers of known values, by their codes in the book."""
        found = np.unique(codes)
        lookup = np.zeros(int(found.max(initial=0)) + 1, np.int32)
        lookup[found] = [self.ids[book.texts[code - 1]] if code else MISSING_ID for code in found.tolist()]
        return lookup[codes]


@dataclass(frozen=True)
class Turnover:
    """What a batch does to the values of one column."""

    new: list[Value]
    gone: list[int]  # numbers of values that nobody has any more
    come_ids: Cells
    gone_ids: Cells


class Dictionary:
    """The values of all quasi-identifiers."""

    def __init__(self, schema: Schema) -> None:
        self.columns = [Numbered(name, declared_values(schema.columns[name])) for name in schema.quasi_identifiers]

    def next_ids(self, turnovers: Sequence[Turnover]) -> dict[str, int]:
        """The first number of each column that nobody has had, after these turnovers.

        A number is never used again, though its value is forgotten: whoever followed the vault up to an earlier version
        may still know it by another value.
        """
        return {
            column.name: column.next_id + len(turnover.new)
            for column, turnover in zip(self.columns, turnovers, strict=True)
        }

    def continue_at(self, next_ids: Mapping[str, int]) -> None:
        for column in self.columns:
            column.next_id = next_ids[column.name]
            column.uses = grow(column.uses, column.next_id)

    def know(self, values: Iterable[Value]) -> None:
        by_name: dict[str, list[Value]] = {}
        for value in values:
            by_name.setdefault(value.name, []).append(value)
        for column in self.columns:
            column.know(by_name.get(column.name, ()))

    def turnover(self, books: Sequence[CodeBook], come: Codes, gone: Codes) -> list[Turnover]:
        """What records with these codes, which come and go, do. Nothing has changed yet: see `take`."""
        return [
            _turnover(column, book, come[:, j], gone[:, j])
            for j, (column, book) in enumerate(zip(self.columns, books, strict=True))
        ]

    def take(self, turnovers: Sequence[Turnover]) -> None:
        for column, turnover in zip(self.columns, turnovers, strict=True):
            column.know(turnover.new)
            column.count(turnover.come_ids, turnover.gone_ids)

    def frequencies(self, books: Sequence[CodeBook], turnovers: Sequence[Turnover]) -> list[Value]:
        """Every value after these turnovers, with its frequency in the epoch that these books have begun."""
        rows = []
        for column, book, turnover in zip(self.columns, books, turnovers, strict=True):
            rows.append(Value(MISSING_ID, column.name, None, int(book.counts[0])))
            counts = dict(zip(book.texts, book.counts[1:].tolist(), strict=True))
            ids = {**column.ids, **{str(value.value): value.id for value in turnover.new}}
            gone = set(turnover.gone)
            rows += [
                Value(number, column.name, text, counts[text]) for text, number in ids.items() if number not in gone
            ]
        return rows


def _turnover(column: Numbered, book: CodeBook, come: Codes, gone: Codes) -> Turnover:
    found = np.unique(come)
    new: list[Value] = []
    lookup = np.zeros(int(found.max(initial=0)) + 1, np.int32)
    for code in found.tolist():
        if code:
            text = book.texts[code - 1]
            known = column.ids.get(text)
            if known is None:
                known = column.next_id + len(new)
                fresh = book.fresh is not None and bool(book.fresh[code - 1])
                new.append(Value(known, column.name, text, None if fresh else int(book.counts[code])))
            lookup[code] = known
    come_ids, gone_ids = lookup[come], column.ids_of(book, gone)
    room = column.next_id + len(new)
    left = np.bincount(come_ids, minlength=room) - np.bincount(gone_ids, minlength=room)
    left[: column.next_id] += column.uses[: column.next_id]
    maybe = np.unique(gone_ids)
    unused = maybe[(left[maybe] == 0) & (maybe != MISSING_ID)].tolist()
    return Turnover(
        new, [number for number in unused if column.texts[number] not in column.declared], come_ids, gone_ids
    )


def declared_values(column: Column) -> frozenset[str]:
    """The values that a hierarchy lists."""
    rule = column.grower.rule if column.grower is not None else None
    if isinstance(rule, DeclaredTree):
        return frozenset(path[-1] for path in rule.paths)
    return frozenset(rule.values or ()) if isinstance(rule, FlatValues) else frozenset()


def keeps_leaves(column: Column) -> bool:
    """Whether a value that nobody has any more stays as a leaf without a name: where leaves have no order."""
    rule = column.grower.rule if column.grower is not None else None
    return isinstance(rule, DeclaredTree | FlatValues)
