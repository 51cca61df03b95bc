"""Store: how the tables of a vault are read and written, and who may write.

Readers see one moment of the vault, whatever others write meanwhile. Writers take turns: `writer()` is held by one
process (and one thread) at a time, and the system takes it back from a process that dies. Whatever is inserted,
deleted or updated takes its checksums with it: see `parts.py`.
"""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

import numpy as np
import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from shoal.errors import VaultBusy, VaultError
from shoal.vault.store.backend import Backend
from shoal.vault.store.checksums import Field
from shoal.vault.store.head import stored_head
from shoal.vault.store.parts import CHANGES, ChecksumChanges, changes_of, parts_of, summed_columns, transposed
from shoal.vault.store.queries import Ids, Row, among, rows_among
from shoal.vault.store.vault_row import update_vault_row

PAUSE = 0.05  # seconds between two attempts to become the writer


class Store:
    """The tables of one vault, in one of the backends."""

    def __init__(self, backend: Backend) -> None:
        self.backend = backend
        self.where = backend.where
        # A database in memory has one connection: its transactions come one after the other, whatever the thread.
        self._alone: AbstractContextManager[Any] = threading.RLock() if backend.in_memory else nullcontext()

    @contextmanager
    def read(self) -> Iterator[sa.Connection]:
        """One moment of the vault."""
        with self._alone, self.explaining(), self.backend.engine.connect() as connection, connection.begin():
            yield connection

    @contextmanager
    def write(self) -> Iterator[sa.Connection]:
        """A transaction of the writer: all of it lasts when this returns, with its checksums, or nothing."""
        with self._alone, self.explaining(), self.backend.engine.connect() as connection:
            connection = connection.execution_options(shoal_writes=True, **{CHANGES: ChecksumChanges()})
            with connection.begin():
                yield connection
                if changes_of(connection):  # otherwise they went with an update of the vault's row
                    update_vault_row(connection, self.where)
                head = stored_head(connection) if self.backend.keeps_head else None
            if head is not None:
                self.backend.acknowledge(head)

    @contextmanager
    def writer(self, wait: float) -> Iterator[None]:
        """Be the one writer, or wait for it so many seconds."""
        deadline = time.monotonic() + wait
        while True:
            with self.explaining(), self.backend.try_to_be_writer() as worked:
                if worked:
                    yield
                    return
            if time.monotonic() >= deadline:
                raise VaultBusy(
                    f"another process is changing the vault; waited {wait:g} s.",
                    hint="Try again, or wait longer (--wait; in Python, wait=…).",
                    file=self.where,
                )
            time.sleep(min(PAUSE, max(0.0, deadline - time.monotonic())))

    # Rows and their checksums, in a transaction of `write`

    def insert(self, connection: sa.Connection, table: sa.Table, names: Sequence[str], rows: Sequence[Row]) -> None:
        """Rows with values in the order of these columns."""
        columns = transposed(rows, len(names))
        for part in parts_of(table):
            changes_of(connection).add(part.name, part.checksum(names, columns))
        if rows:
            self.backend.insert(connection, table, names, rows)

    def delete(
        self, connection: sa.Connection, table: sa.Table, by: str, ids: Ids, *conditions: sa.ColumnElement[bool]
    ) -> list[Row]:
        """Delete the rows whose column `by` is one of `ids`, if they meet the conditions.

        Returns what they were, in the columns that are summed (`summed_columns`).
        """
        names = summed_columns(table)
        rows = rows_among(connection, table, names, by, ids, *conditions)
        if rows:
            columns = transposed(rows, len(names))
            for part in parts_of(table):
                changes_of(connection).remove(part.name, part.checksum(names, columns))
            for one_of_some in among(table.c[by], ids):
                connection.execute(sa.delete(table).where(one_of_some, *conditions))
        return rows

    def clear(self, connection: sa.Connection, table: sa.Table) -> None:
        """Delete all rows."""
        connection.execute(sa.delete(table))
        for part in parts_of(table):
            changes_of(connection).clear(part.name)

    def update(
        self, connection: sa.Connection, table: sa.Table, names: Sequence[str], rows: Sequence[Row]
    ) -> list[Row]:
        """Give rows new values in these columns, the first of which is the number that they are found by.

        Returns what they were, beginning with the same columns.
        """
        return self.update_columns(connection, table, names, transposed(rows, len(names)))

    def update_columns(
        self, connection: sa.Connection, table: sa.Table, names: Sequence[str], columns: Sequence[Field]
    ) -> list[Row]:
        """The same, with the new values column by column."""
        number, *changed = names
        parts = [part for part in parts_of(table) if not set(changed).isdisjoint(part.read)]
        read = tuple(dict.fromkeys([*names, *(name for part in parts for name in part.read)]))
        old = rows_among(connection, table, read, number, np.asarray(columns[0], np.int64))
        before = transposed(old, len(read))
        after = [*columns]
        if len(read) > len(names):  # a part has other columns, too: they stay as they are
            row_of = {row[0]: row for row in old}
            after += transposed([row_of[one] for one in columns[0]], len(read))[len(names) :]
        for part in parts:
            changes_of(connection).remove(part.name, part.checksum(read, before))
            changes_of(connection).add(part.name, part.checksum(read, after))
        if old:
            statement = sa.update(table).where(table.c[number] == sa.bindparam("this"))
            statement = statement.values({name: sa.bindparam(f"new_{name}") for name in changed})
            values = [column.tolist() if isinstance(column, np.ndarray) else column for column in columns]
            rows = list(zip(*values[1:], values[0], strict=True))
            self.backend.many(connection, statement, [*(f"new_{name}" for name in changed), "this"], rows)
        return old

    def integrity(self) -> list[str]:
        """What the database itself finds wrong with its files."""
        with self._alone, self.explaining():
            return self.backend.integrity()

    def compact(self) -> None:
        """Give back room, and forget what was overwritten."""
        with self._alone, self.explaining():
            self.backend.compact()

    def close(self) -> None:
        self.backend.close()

    @contextmanager
    def explaining(self) -> Iterator[None]:
        try:
            yield
            return
        except DBAPIError as problem:
            error = self.backend.explained(problem)
            _scrub(problem)
        except sqlite3.Error as problem:  # where we read with the driver itself: see `queries.chunks`
            error = self.backend.explained(DBAPIError(None, None, problem))
            problem.__traceback__ = problem.__context__ = None
        except SQLAlchemyError as problem:
            error = VaultError(f"the database cannot be used: {type(problem).__name__}.", file=self.where)
        raise error from None


def _scrub(problem: DBAPIError) -> None:
    """Python hangs the driver's error on ours; whoever looks there shall find no row of the data."""
    problem.params = problem.orig = None
    problem.args = (type(problem).__name__,)
    problem.__cause__ = problem.__context__ = problem.__traceback__ = None
