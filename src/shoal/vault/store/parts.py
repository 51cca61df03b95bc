"""The parts of the tables that have a checksum each, kept in the column `sums` of the vault's row.

What a transaction does to them is added up, and brought into that row once: see `Store.write`.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import compress
from operator import itemgetter
from typing import Any, NamedTuple

import sqlalchemy as sa

from shoal.vault.store import tables
from shoal.vault.store.checksums import Field, adjusted, checksum
from shoal.vault.store.queries import Row
from shoal.vault.store.rows import as_json

CHANGES = "shoal_checksum_changes"  # the option of a connection that writes


class Part(NamedTuple):
    """Some columns of a table; the first is a number."""

    name: str  # in `sums`
    table: sa.Table
    columns: tuple[str, ...]
    what: str  # for people
    only: str | None = None  # a column: rows where it is false do not count

    @property
    def read(self) -> tuple[str, ...]:
        """The columns that are needed to sum rows up."""
        return self.columns if self.only is None else (*self.columns, self.only)

    def checksum(self, names: Sequence[str], columns: Sequence[Field]) -> int:
        """Of rows that are given column by column, with the names of the columns."""
        summed = [columns[names.index(name)] for name in self.columns]
        if self.only is not None:
            counts = columns[names.index(self.only)]
            summed = [list(compress(column, counts)) for column in summed]
        return checksum(*summed) if len(summed[0]) else 0


PARTS = {
    part.name: part
    for part in (
        Part("keys", tables.records, ("id", "key"), "keys"),
        Part("values", tables.records, ("id", "person", "cells", "carried"), "records"),
        Part("groups", tables.records, tables.GROUP, "groups"),
        Part("dictionary", tables.dictionary, tables.VALUE, "values"),
        Part("past", tables.past_records, tables.PAST_RECORD, "past records"),
        Part("memberships", tables.memberships, tables.MEMBERSHIP, "memberships"),
        Part("classes", tables.classes, tables.CLASSES, "classes"),
        Part("batches", tables.batches, tables.BATCH, "the log"),
        Part("touches", tables.touches, tables.TOUCH, "the log"),
        Part("events", tables.events, tables.EVENT, "the log", only="summed"),
        Part("releases", tables.releases, tables.RELEASE, "releases", only="done"),
        Part("places", tables.places, tables.PLACE, "places"),
        Part("waiting", tables.waiting, tables.WAITING, "who waits"),
        Part("formers", tables.formers, tables.FORMER, "who has left a place"),
    )
}


def parts_of(table: sa.Table) -> list[Part]:
    return [part for part in PARTS.values() if part.table is table]


def summed_columns(table: sa.Table) -> tuple[str, ...]:
    """Of a record, these are tables.RECORD, of a value tables.VALUE, and so on."""
    return tuple(dict.fromkeys(name for part in parts_of(table) for name in part.read))


def transposed(rows: Sequence[Row], width: int) -> list[list[Any]]:
    """So many columns of rows. (`zip` is slow where there are a million.)"""
    return [list(map(itemgetter(j), rows)) for j in range(width)]


class ChecksumChanges:
    """What a transaction has done to the checksums so far."""

    def __init__(self) -> None:
        self._changes: dict[str, tuple[bool, int]] = {}  # of each part: whether it was cleared, and the sum since

    def __bool__(self) -> bool:
        return any(cleared or found for cleared, found in self._changes.values())

    def add(self, part: str, found: int) -> None:
        cleared, before = self._changes.get(part, (False, 0))
        self._changes[part] = cleared, adjusted(before, added=found)

    def remove(self, part: str, found: int) -> None:
        if found:
            cleared, before = self._changes.get(part, (False, 0))
            self._changes[part] = cleared, adjusted(before, removed=found)

    def clear(self, part: str) -> None:
        self._changes[part] = True, 0

    def applied_to(self, stored: str) -> str:
        """The column `sums` with these changes."""
        sums = {part: int(found, 16) for part, found in json.loads(stored).items()}
        for part, (cleared, found) in self._changes.items():
            sums[part] = adjusted(0 if cleared else sums.get(part, 0), added=found)
        return as_json({part: f"{found:x}" for part, found in sums.items()})

    def forget(self) -> None:
        """They are in the vault's row."""
        self._changes = {}


def changes_of(connection: sa.Connection) -> ChecksumChanges:
    """Of the transaction that a connection is in."""
    changes: ChecksumChanges = connection.get_execution_options()[CHANGES]
    return changes
