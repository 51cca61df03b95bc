"""Tables of a database, and what a query gives: `postgresql://…?table=people`, `sqlite:///people.db?query=SELECT …`.

Nothing is written there: connections are read-only, and a query stands where a table would. An address may hold a
password, so no message shows it. Rows come in batches; only the columns that are asked for are fetched.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, unquote, urlencode, urlsplit, urlunsplit

import pyarrow as pa

from shoal.errors import DataError, ShoalError
from shoal.sources.extras import needed
from shoal.sources.gathering import BATCH, table_of
from shoal.sources.naming import some
from shoal.sources.unicode import checked, checked_names

KNOWN = {
    "postgresql": "PostgreSQL",
    "postgres": "PostgreSQL",
    "postgresql+psycopg": "PostgreSQL",
    "sqlite": "SQLite",
    "duckdb": "DuckDB",
}
SQLITE = (".sqlite", ".sqlite3", ".db")
DUCKDB = (".duckdb", ".ddb")
WHICH = "Say ?table=NAME or ?query=SELECT … at the end of its address."
ALIAS = "shoal_source"


@dataclass(frozen=True)
class Address:
    """Where a table is. `place`: what reaches the database; it may hold a password."""

    kind: str
    place: str
    table: str | None = None
    query: str | None = None

    @property
    def shown(self) -> str:
        """For messages."""
        if self.kind != "PostgreSQL":
            return f"{self.place} ({self.kind})"
        return "the PostgreSQL database" if self.table is None else f"table {self.table!r} of the PostgreSQL database"


def is_table_address(given: object) -> bool:
    """Whether this is a URL of a kind of database that tables are read from."""
    scheme, found, _ = str(given).partition("://")
    return bool(found) and scheme.lower() in KNOWN


def parsed(url: str) -> Address:
    """An address, taken apart."""
    try:
        parts = urlsplit(url)
        options = parse_qsl(parts.query, keep_blank_values=True, strict_parsing=bool(parts.query))
    except ValueError:
        raise DataError("the address of the database cannot be read.", hint=WHICH) from None
    kind = KNOWN[parts.scheme.lower()]
    own = {name: value for name, value in options if name in ("table", "query")}
    if len(own) > 1:
        raise DataError("the address names a table and a query.", hint="Say one of them.")
    rest = urlencode([(name, value) for name, value in options if name not in own])
    if kind == "PostgreSQL":
        if not own:
            raise DataError("the address of the database does not say which table is meant.", hint=WHICH)
        place = urlunsplit(("postgresql+psycopg", parts.netloc, parts.path, rest, parts.fragment))
    else:
        if parts.netloc or not parts.path.strip("/"):
            raise DataError(
                f"the address of a {kind} file has three slashes before its path.",
                hint=f"As in {parts.scheme}:///folder/people.db?table=people.",
            )
        place = unquote(parts.path[1:])
    return Address(kind, place, own.get("table"), own.get("query"))


class DatabaseTable:
    """A table or a query of a database."""

    def __init__(self, address: Address) -> None:
        self.file: str | None = address.shown
        self._address = address
        if address.kind != "PostgreSQL" and not Path(address.place).is_file():
            raise DataError("the file does not exist.", file=address.place)
        with self._connected() as door:
            self._from = self._source(door)
            names = door.names(f"SELECT * FROM {self._from} LIMIT 0")  # noqa: S608  # quoted, or the user's own query
            self.columns = checked_names(names, self.file)

    def load(self, columns: Sequence[str]) -> pa.Table:
        listed = ", ".join(map(_quoted, columns)) or "NULL"
        with self._connected() as door:
            return checked(door.table(f"SELECT {listed} FROM {self._from}", columns, self.file), self.file)  # noqa: S608

    def _source(self, door: _Door) -> str:
        """What stands behind FROM: the table, or the query in brackets, which only a query survives."""
        if self._address.query is not None:
            query = self._address.query.strip().rstrip(";")
            if not re.match(r"(?i)(select|with|values|table|from)\b", query):
                raise DataError("the query of the address is not one that only reads.", hint="It begins with SELECT.")
            return f"({query}\n) AS {ALIAS}"
        name = self._address.table
        tables = door.tables()
        if name is None:
            if len(tables) != 1:
                found = f"It has {some(tables)}." if tables else "It has none."
                raise DataError(
                    f"the database does not say which of its {len(tables)} tables is meant.",
                    hint=f"{found} Say which one with {self._address.kind.lower()}:///FILE?table=NAME.",
                    file=self.file,
                )
            name = tables[0]
        if name in tables:
            return _quoted(name)
        schema, dot, inside = name.partition(".")
        return f"{_quoted(schema)}.{_quoted(inside)}" if dot else _quoted(name)

    @contextmanager
    def _connected(self) -> Iterator[_Door]:
        """A read-only connection. What a driver says of a failure may quote the data, or the address."""
        opened: list[_Door] = []
        fault = ""
        try:
            opened.append(_DuckDoor(self._address) if self._address.kind == "DuckDB" else _SqlDoor(self._address))
            yield opened[0]
            return
        except ShoalError:
            raise
        except Exception:
            fault = "cannot be read" if opened else "cannot be reached or opened"
        finally:
            for door in opened:
                door.close()
        hint = "Does the table exist, and does the query run by itself?" if opened else "Is it there, and may you read?"
        raise DataError(f"{fault}.", hint=hint, file=self.file) from None


class _Door:
    """A connection, whatever the database."""

    def names(self, statement: str) -> list[str]:
        raise NotImplementedError

    def tables(self) -> list[str]:
        raise NotImplementedError

    def table(self, statement: str, columns: Sequence[str], file: str | None) -> pa.Table:
        raise NotImplementedError

    def close(self) -> None:
        raise NotImplementedError


class _SqlDoor(_Door):
    """SQLite and PostgreSQL, through SQLAlchemy."""

    def __init__(self, address: Address) -> None:
        if address.kind == "PostgreSQL":
            needed("psycopg", "postgres", "PostgreSQL")
        import sqlalchemy as sa  # when a database is read, and not before

        self._sa = sa
        url: Any = sa.make_url(address.place) if address.kind == "PostgreSQL" else _sqlite_url(sa, address.place)
        self._engine = sa.create_engine(url, poolclass=sa.NullPool)
        options: dict[str, Any] = {"postgresql_readonly": True} if address.kind == "PostgreSQL" else {}
        self._connection = self._engine.connect().execution_options(**options)

    def names(self, statement: str) -> list[str]:
        return list(self._run(statement).keys())

    def tables(self) -> list[str]:
        inspector = self._sa.inspect(self._connection)
        return [*inspector.get_table_names(), *inspector.get_view_names()]

    def table(self, statement: str, columns: Sequence[str], file: str | None) -> pa.Table:
        rows = self._run(statement, stream_results=True, yield_per=BATCH)
        return table_of(columns, (tuple(row) for row in rows), file)

    def _run(self, statement: str, **options: Any) -> Any:
        # exec_driver_sql: a colon in a query is its own, and so is a percent sign, which psycopg wants twice.
        if self._engine.dialect.name == "postgresql":
            statement = statement.replace("%", "%%")
        return self._connection.execution_options(**options).exec_driver_sql(statement)

    def close(self) -> None:
        self._connection.close()
        self._engine.dispose()


class _DuckDoor(_Door):
    """DuckDB, which speaks Arrow."""

    def __init__(self, address: Address) -> None:
        duckdb = needed("duckdb", "duckdb", "A DuckDB file", address.place)
        self._connection = duckdb.connect(address.place, read_only=True)

    def names(self, statement: str) -> list[str]:
        return [str(column[0]) for column in self._connection.execute(statement).description]

    def tables(self) -> list[str]:
        rows = self._connection.execute("SELECT table_name FROM information_schema.tables ORDER BY 1").fetchall()
        return [str(row[0]) for row in rows]

    def table(self, statement: str, columns: Sequence[str], file: str | None) -> pa.Table:
        found = self._connection.sql(statement)
        reader = (
            found.fetch_arrow_reader(BATCH) if not hasattr(found, "to_arrow_reader") else found.to_arrow_reader(BATCH)
        )
        return reader.read_all()

    def close(self) -> None:
        self._connection.close()


def _sqlite_url(sa: Any, path: str) -> Any:
    """Read-only, whatever signs the path has."""
    return sa.URL.create("sqlite", database=f"file:{_percent(path)}", query={"mode": "ro", "uri": "true"})


def _percent(path: str) -> str:
    return re.sub(r"[%?#]", lambda found: f"%{ord(found[0]):02x}", path)


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
