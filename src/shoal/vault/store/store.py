"""Store: where a vault's tables are, how they are read and written, and who may write.

Readers see one moment of the vault, whatever others write meanwhile. Writers take turns: `writer()` is held by one
process (and one thread) at a time, and the system takes it back from a process that dies.
"""

from __future__ import annotations

import gc
import re
import sqlite3
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import sqlalchemy as sa
from numpy.typing import NDArray
from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from shoal.addresses import may_be_address
from shoal.errors import ParameterError, VaultBusy, VaultError
from shoal.vault.store.head import Head, stored_head

Row = tuple[Any, ...]

AT_ONCE = 5_000  # numbers in one statement
ROWS_AT_ONCE = 50_000
PAUSE = 0.05  # seconds between two attempts to become the writer


class Backend(Protocol):
    """What SQLite and PostgreSQL do differently."""

    where: str  # for messages: no password in it
    in_memory: bool
    file: Path | None  # the vault's own, where it has one
    keeps_head: bool  # the last commit is remembered apart from the database
    engine: sa.Engine

    def exists(self) -> bool:
        """Whether there is anything at all; if so, it may still be no vault."""

    def create(self) -> None:
        """The place for the tables. Raises VaultError if it is taken."""

    def discard(self) -> None:
        """Undo `create`."""

    def try_to_be_writer(self) -> AbstractContextManager[bool]:
        """Be the one writer, if nobody else is: yields whether it has worked."""

    def insert(self, connection: sa.Connection, table: sa.Table, names: Sequence[str], rows: Sequence[Row]) -> None:
        """Rows with values in the order of these columns."""

    def many(
        self, connection: sa.Connection, statement: sa.Executable, names: Sequence[str], rows: Sequence[Row]
    ) -> None:
        """Execute a statement for each row: the values of its parameters, in the order of these names."""

    def explained(self, problem: DBAPIError) -> VaultError:
        """What an error of the driver means. Its own text may quote data, and is never passed on."""

    def integrity(self) -> list[str]:
        """What the database itself finds wrong with its files."""

    def compact(self) -> None:
        """Give back room, and forget what was overwritten."""

    def size(self, connection: sa.Connection) -> int | None:
        """Bytes on disk."""

    def acknowledged(self) -> Head | None:
        """The last commit that was acknowledged, where that is remembered."""

    def acknowledge(self, head: Head) -> None:
        """Remember that, before anybody is told of the commit."""

    def head_is_damaged(self) -> bool:
        """Whether that is remembered, and cannot be read."""

    def close(self) -> None: ...


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
        """A transaction of the writer: all of it lasts when this returns, or nothing."""
        with self._alone, self.explaining(), self.backend.engine.connect() as connection:
            connection = connection.execution_options(shoal_writes=True)
            with connection.begin():
                yield connection
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

    def insert(self, connection: sa.Connection, table: sa.Table, names: Sequence[str], rows: Sequence[Row]) -> None:
        """Rows with values in the order of these columns."""
        if rows:
            self.backend.insert(connection, table, names, rows)

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
        except sqlite3.Error as problem:  # where we read with the driver itself: see `chunks`
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


def open_backend(where: object) -> Backend:
    """The backend that a path or URL means."""
    if re.match(r"postgres(ql)?(\+\w+)?://", str(where)):
        from shoal.vault.store.postgres import Postgres  # psycopg is an extra

        return Postgres(str(where))
    if may_be_address(where):
        raise ParameterError(
            "a vault is a file or a PostgreSQL database.",
            hint="Give a path (./ before it, if it looks like a URL), or postgresql://user@host/database.",
        )
    from shoal.vault.store.sqlite import Sqlite

    return Sqlite(str(where))


def among(column: sa.Column[Any], ids: NDArray[np.integer] | Sequence[Any]) -> Iterator[sa.ColumnElement[bool]]:
    """Conditions that together say: the column is one of these. Numbers are written out, others are parameters."""
    numbers = isinstance(ids, np.ndarray)
    for first in range(0, len(ids), AT_ONCE):
        some = ids[first : first + AT_ONCE]
        if numbers:
            yield column.in_(sa.bindparam("some", some.tolist(), expanding=True, literal_execute=True))  # type: ignore[union-attr]
        else:
            yield column.in_(some)


def rows_among(
    connection: sa.Connection,
    table: sa.Table,
    columns: Sequence[str],
    by: str,
    ids: NDArray[np.integer] | Sequence[Any],
) -> list[tuple[Any, ...]]:
    """These columns of the rows whose column `by` is one of `ids`."""
    found: list[tuple[Any, ...]] = []
    for condition in among(table.c[by], ids):
        found.extend(map(tuple, connection.execute(sa.select(*(table.c[name] for name in columns)).where(condition))))
    return found


def delete_among(connection: sa.Connection, table: sa.Table, by: str, ids: NDArray[np.integer] | Sequence[Any]) -> None:
    for condition in among(table.c[by], ids):
        connection.execute(sa.delete(table).where(condition))


def chunks(
    connection: sa.Connection, table: sa.Table, columns: Sequence[str], *conditions: sa.ColumnElement[bool]
) -> Iterator[list[tuple[Any, ...]]]:
    """All rows in the order of their primary key, some at a time: a tuple for each column."""
    statement = sa.select(*(table.c[name] for name in columns)).where(*conditions).order_by(*table.primary_key.columns)
    at_once = table.info.get("rows_at_once", ROWS_AT_ONCE)
    with _uncollected():
        if connection.dialect.name == "sqlite":
            # The driver's own rows: a million objects of SQLAlchemy's take as long as all the rest. Texts, bytes and
            # whole numbers need no conversion, and whoever comes here has nothing else.
            cursor = connection.execute(statement).cursor
            while rows := cursor.fetchmany(at_once):
                yield list(zip(*rows, strict=True))
            return
        streaming = {"stream_results": True, "max_row_buffer": at_once}
        for some in connection.execute(statement, execution_options=streaming).partitions(at_once):
            yield list(zip(*some, strict=True))


@contextmanager
def _uncollected() -> Iterator[None]:
    """Rows by the million make the garbage collector look at all of them again and again; none of them is garbage."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.enable()


def row_of(connection: sa.Connection, statement: sa.Select[Any]) -> dict[str, Any] | None:
    """The first row that is selected."""
    found = connection.execute(statement).mappings().first()
    return None if found is None else dict(found)


def rows_of(connection: sa.Connection, statement: sa.Select[Any]) -> list[dict[str, Any]]:
    return [dict(row) for row in connection.execute(statement).mappings()]
