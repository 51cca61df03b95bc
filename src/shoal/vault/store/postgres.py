"""A vault in PostgreSQL: `postgresql://user@host/database?schema=NAME`, in a schema of its own ("shoal" if unsaid).

Readers see one moment (repeatable read). The writer holds an advisory lock on a connection of its own, which the server
takes back when the connection or its process ends.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy.exc import ArgumentError, DBAPIError, OperationalError

from shoal.errors import ParameterError, VaultBusy, VaultError
from shoal.vault.store import tables
from shoal.vault.store.head import Head
from shoal.vault.store.queries import Row

DEFAULT_SCHEMA = "shoal"
COPIED = 200  # rows from which on COPY is worth its beginning
LOST_CONNECTION = ("08", "57")  # classes of SQLSTATE: connection exceptions, operator intervention
ESCAPED = r"%[0-9A-Fa-f]{2}"
CLEAN = re.compile(
    rf"""
    postgres(ql)?(\+\w+)?://
    ( ([^\s@:/?\#\[\]%]|{ESCAPED})* (:([^\s@:/?\#\[\]%]|{ESCAPED})*)? @ )?  # user and password
    ( \[[0-9A-Fa-f:.]+\] | ([A-Za-z0-9._~-]|{ESCAPED})* ) (:[0-9]{{1,5}})?    # host and port
    ( / ([^\s@:/?\#\[\]%]|{ESCAPED})* )?                                    # database
    ( \? ([^\s@?\#\[\]%]|{ESCAPED})* )?                                    # the rest
    """,
    re.VERBOSE,
)
MEANINGS = {
    "53100": ("there is no room left on the server's disk; what the vault holds is as it was.", "Make room there."),
    "25006": ("the vault cannot be written to: the server is read-only.", None),
    "42501": ("the database does not let you do this.", "Ask for rights on the schema of the vault."),
    "42P01": ("is not a vault: it has other tables, or none.", None),
    "42703": ("is not a vault: its tables are different.", None),
    "3D000": ("the database does not exist.", "Create it first: shoal makes a schema in it, not the database."),
    "22021": ("a text holds a zero byte, which PostgreSQL cannot keep.", "Take it out, or use a vault in a file."),
}


class Postgres:
    in_memory = False
    file: Path | None = None
    keeps_head = False  # that a server loses no commit is its own matter

    def __init__(self, url: str) -> None:
        parsed = _parsed(url)
        schema = parsed.query.get("schema", DEFAULT_SCHEMA)
        if not isinstance(schema, str) or not re.fullmatch(r"[a-z_][a-z0-9_]{0,62}", schema):
            raise ParameterError("schema must be a name of small letters, digits and _, of the database's schema.")
        self.schema = schema
        self._made_schema = self._made_tables = False
        self.engine: sa.Engine
        self.where = _shown(parsed, schema)
        number = hashlib.blake2b(schema.encode(), digest_size=8, person=b"shoal vault").digest()
        self._lock = int.from_bytes(number, "big", signed=True)
        try:
            self.engine = sa.create_engine(
                parsed.difference_update_query(["schema"]),
                hide_parameters=True,
                isolation_level="REPEATABLE READ",
                pool_pre_ping=True,
                max_overflow=-1,
                connect_args={"application_name": "shoal", "connect_timeout": 10},
            ).execution_options(schema_translate_map={None: schema})
        except ModuleNotFoundError:
            raise ParameterError(
                "vaults in PostgreSQL need psycopg.", hint="Install it with: pip install 'shoal[postgres]'."
            ) from None

    def exists(self) -> bool:
        with self.engine.connect() as connection:
            return sa.inspect(connection).has_table(tables.vault.name, schema=self.schema)

    def create(self) -> None:
        with self.engine.connect() as connection, connection.begin():
            there = sa.inspect(connection).has_schema(self.schema)
            if there and sa.inspect(connection).get_table_names(self.schema):
                hint = "Choose another schema: ?schema=NAME."
                raise VaultError("exists already: the schema has tables.", hint=hint, file=self.where)
            if not there:
                connection.execute(sa.schema.CreateSchema(self.schema))
            self._made_schema, self._made_tables = not there, True

    def discard(self) -> None:
        """Tables mostly went with their transaction; a schema that was there before is somebody else's."""
        if self._made_tables:  # there were none before
            with self.engine.connect() as connection, connection.begin():
                tables.metadata.drop_all(connection)
                if self._made_schema:
                    connection.execute(sa.schema.DropSchema(self.schema, if_exists=True))

    @contextmanager
    def try_to_be_writer(self) -> Iterator[bool]:
        with self.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
            worked = bool(connection.scalar(sa.select(sa.func.pg_try_advisory_lock(self._lock))))
            try:
                yield worked
            finally:
                if worked and not connection.invalidated:
                    try:
                        connection.scalar(sa.select(sa.func.pg_advisory_unlock(self._lock)))
                    except DBAPIError:  # the server has gone, and the lock with it
                        connection.invalidate()

    def insert(self, connection: sa.Connection, table: sa.Table, names: Sequence[str], rows: Sequence[Row]) -> None:
        if len(rows) < COPIED:
            self.many(connection, sa.insert(table), names, rows)
            return
        columns = ", ".join(f'"{name}"' for name in names)
        statement = f'COPY "{self.schema}"."{table.name}" ({columns}) FROM STDIN'
        raw: Any = connection.connection.driver_connection
        try:
            with raw.cursor() as cursor, cursor.copy(statement) as copy:
                for row in rows:
                    copy.write_row(row)
        except raw_errors() as problem:
            raise DBAPIError(statement, None, problem, hide_parameters=True) from None

    def many(
        self, connection: sa.Connection, statement: sa.Executable, names: Sequence[str], rows: Sequence[Row]
    ) -> None:
        connection.execute(statement, [dict(zip(names, row, strict=True)) for row in rows])

    def explained(self, problem: DBAPIError) -> VaultError:
        state = getattr(problem.orig, "sqlstate", None)
        if state is None and type(problem.orig).__name__ == "DataError":  # said by the driver, before it sends anything
            message, hint = MEANINGS["22021"]
            return VaultError(message, hint=hint, file=self.where)
        if state is None and problem.statement is None and isinstance(problem, OperationalError):
            return self._not_connected(str(problem.orig))
        if state in MEANINGS:
            message, hint = MEANINGS[state]
            return VaultError(message, hint=hint, file=self.where)
        if state in ("40001", "55P03"):
            return VaultBusy("another process has changed the vault meanwhile.", hint="Do it again.", file=self.where)
        lost = state is None and isinstance(problem, OperationalError)
        if lost or (state or "").startswith(LOST_CONNECTION) or problem.connection_invalidated:
            return VaultError(
                "the database cannot be reached, or the connection to it was lost.",
                hint="A batch that was on its way is in the vault as a whole or not at all: shoal status tells.",
                file=self.where,
            )
        return VaultError(f"the database refused: {state or type(problem.orig).__name__}.", file=self.where)

    def _not_connected(self, text: str) -> VaultError:
        """The server's answer to a connection has no code, only words."""
        if "does not exist" in text and "database" in text:
            message, hint = MEANINGS["3D000"]
        elif "authentication" in text or "password" in text or "role" in text:
            message, hint = "the database does not let you in: user or password.", None
        else:
            message, hint = "the database cannot be reached.", "Is it running, and are host and port right?"
        return VaultError(message, hint=hint, file=self.where)

    def integrity(self) -> list[str]:
        return []  # the server's own matter; checksums are checked all the same

    def compact(self) -> None:
        with self.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
            for table in tables.ALL:
                connection.exec_driver_sql(f'VACUUM (FULL, ANALYZE) "{self.schema}"."{table.name}"')

    def size(self, connection: sa.Connection) -> int | None:
        names = [f'"{self.schema}"."{table.name}"' for table in tables.ALL]
        return sum(int(connection.scalar(sa.select(sa.func.pg_total_relation_size(name))) or 0) for name in names)

    def acknowledged(self) -> Head | None:
        return None

    def head_is_damaged(self) -> bool:
        return False

    def acknowledge(self, head: Head) -> None:
        """Nothing: see `keeps_head`."""

    def close(self) -> None:
        self.engine.dispose()


def raw_errors() -> type[Exception]:
    import psycopg

    return psycopg.Error


def _parsed(url: str) -> sa.URL:
    """The URL, if it can be read in one way only: otherwise part of a password might be taken for the host."""
    parsed = None
    if CLEAN.fullmatch(url):
        with suppress(ArgumentError, ValueError):  # its text may quote a password
            parsed = sa.make_url(re.sub(r"^postgres(ql)?(\+\w+)?:", "postgresql+psycopg:", url))
    if parsed is None:
        raise ParameterError(
            "this is not the URL of a database.",
            hint="Write postgresql://user@host/database. In a user's name, a password and a query, write @ as %40, "
            ": as %3A, / as %2F, ? as %3F, # as %23, [ as %5B, ] as %5D, % as %25 and a blank as %20.",
        )
    return parsed


def _shown(url: sa.URL, schema: str) -> str:
    """For messages: without user, password or anything else that opens doors."""
    host = f"{url.host or 'localhost'}{f':{url.port}' if url.port else ''}"
    return f"postgresql://{host}/{url.database or ''}?schema={schema}"
