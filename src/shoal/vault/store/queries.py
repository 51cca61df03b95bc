"""Reading rows: some of them by number, or all of them a chunk at a time."""

from __future__ import annotations

import gc
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import sqlalchemy as sa
from numpy.typing import NDArray

Row = tuple[Any, ...]
Ids = NDArray[np.integer] | Sequence[Any]

AT_ONCE = 5_000  # numbers in one statement
ROWS_AT_ONCE = 50_000


def among(column: sa.Column[Any], ids: Ids) -> Iterator[sa.ColumnElement[bool]]:
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
    ids: Ids,
    *conditions: sa.ColumnElement[bool],
) -> list[Row]:
    """These columns of the rows whose column `by` is one of `ids`, if they meet the conditions."""
    found: list[Row] = []
    wanted = sa.select(*(table.c[name] for name in columns)).where(*conditions)
    for one_of_some in among(table.c[by], ids):
        found.extend(map(tuple, connection.execute(wanted.where(one_of_some))))
    return found


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
