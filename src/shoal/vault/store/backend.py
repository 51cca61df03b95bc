"""What SQLite and PostgreSQL do differently, and which of them a path or URL means."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Protocol

import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError

from shoal.addresses import may_be_address
from shoal.errors import ParameterError, VaultError
from shoal.vault.store.head import Head
from shoal.vault.store.queries import Row


class Backend(Protocol):
    """A database that holds the tables of a vault."""

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
