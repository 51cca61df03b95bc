"""What readers hold: some columns of the records, as they were when somebody last asked for them.

Who asks again gets what is stored now: of the records only those are read that batches have touched meanwhile, and
what is held then is compared with the checksums of what is stored.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import sqlalchemy as sa

from shoal.vault.state.follow import MOST_FOLLOWED, touched_since
from shoal.vault.store import tables
from shoal.vault.store.checksums import adjusted, checksum
from shoal.vault.store.integrity import compare_checksum, in_order, stored_sums
from shoal.vault.store.parts import PARTS
from shoal.vault.store.queries import chunks, rows_among
from shoal.vault.store.vault_row import vault_row

TYPES = {
    "id": pa.int64(),
    "key": pa.string(),
    "person": pa.string(),
    "cells": pa.binary(),
    "carried": pa.string(),
    "group_id": pa.int64(),
    "since": pa.int64(),
}


class RecordCache:
    """The columns of some parts of the records, by rising number; each version is read once. For one thread."""

    def __init__(self, *parts: str) -> None:
        self._parts = parts
        self._schema = pa.schema(
            [(name, TYPES[name]) for name in dict.fromkeys(sum((PARTS[part].columns for part in parts), ()))]
        )
        self._version, self._epoch = -1, -1
        self._rows = self._schema.empty_table()
        self._checksums: dict[str, int] = {}

    def now(self, connection: sa.Connection, where: str) -> pa.Table:
        """As stored now, checked."""
        row = vault_row(connection, where)
        sums = stored_sums(row)
        if row["version"] != self._version or row["epoch"] != self._epoch:
            self._version, held = -1, self._version  # nothing is held if this fails
            if held < 0 or row["epoch"] != self._epoch or not self._follow(connection, held, row, sums):
                self._read_all(connection, where)
        for part in self._parts:
            compare_checksum(where, sums, part, self._checksums[part], part)
        self._version, self._epoch = row["version"], row["epoch"]
        return self._rows

    def _read_all(self, connection: sa.Connection, where: str) -> None:
        self._checksums = dict.fromkeys(self._parts, 0)
        self._rows = self._schema.empty_table()  # the memory is needed
        found = []
        for columns in in_order(chunks(connection, tables.records, self._schema.names), where):
            some = dict(zip(self._schema.names, columns, strict=True))
            self._count(some, added=True)
            found.append(self._table(columns))
        self._rows = pa.concat_tables(found).combine_chunks() if found else self._schema.empty_table()

    def _follow(self, connection: sa.Connection, version: int, row: Mapping[str, Any], sums: Mapping[str, int]) -> bool:
        """Read what has been touched since; False if that is not known, or leads elsewhere than to what is stored."""
        touched = touched_since(connection, version, row["version"]) if version < row["version"] else None
        if touched is None or len(touched) * MOST_FOLLOWED > len(self._rows):
            return False
        stale = np.isin(self._rows["id"].to_numpy(), touched)
        rows = rows_among(connection, tables.records, self._schema.names, "id", touched)
        self._count(self._rows.filter(pa.array(stale)).to_pydict(), added=False)
        fresh = self._table(list(zip(*rows, strict=True)) if rows else [()] * len(self._schema))
        self._count(fresh.to_pydict(), added=True)
        together = pa.concat_tables([self._rows.filter(pa.array(~stale)), fresh]).combine_chunks()
        order = np.argsort(together["id"].to_numpy(), kind="stable")
        self._rows = together.take(pa.array(order)).combine_chunks()
        return all(sums.get(part, 0) == self._checksums[part] for part in self._parts)

    def _table(self, columns: Sequence[Iterable[Any]]) -> pa.Table:
        arrays = [pa.array(column, field.type) for column, field in zip(columns, self._schema, strict=True)]
        return pa.table(arrays, schema=self._schema)

    def _count(self, columns: Mapping[str, Sequence[Any]], *, added: bool) -> None:
        """Let the checksums follow rows that come or go."""
        for part in self._parts:
            found = checksum(*(columns[name] for name in PARTS[part].columns)) if len(columns["id"]) else 0
            change = {"added": found} if added else {"removed": found}
            self._checksums[part] = adjusted(self._checksums[part], **change)
