"""Rows of Python values, as workbooks and databases give them, gathered into columns batch by batch.

A column that has numbers here and texts there becomes text: what its cells mean is the schema's business. Dates whose
times are all midnight are days.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from itertools import islice

import pyarrow as pa
import pyarrow.compute as pc

from shoal.errors import DataError
from shoal.sources.normalize import number_text

BATCH = 50_000
NOTHING = pa.null()


def table_of(names: Sequence[str], rows: Iterable[Sequence[object]], file: str | None) -> pa.Table:
    """Rows as a table. In memory there is one batch of Python objects at a time; the rest is Arrow's."""
    parts: list[list[pa.Array]] = [[] for _ in names]
    moving = iter(rows)
    while batch := list(islice(moving, BATCH)):
        for j, part in enumerate(parts):
            part.append(_array([row[j] for row in batch]))
    return pa.table({name: joined(name, part, file) for name, part in zip(names, parts, strict=True)})


def joined(name: str, parts: list[pa.Array], file: str | None) -> pa.ChunkedArray:
    """Arrays of one column as one column, of the kind that holds all of them."""
    kinds = {part.type for part in parts} - {NOTHING}
    if not kinds:
        return pa.chunked_array(parts or [pa.array([], NOTHING)])
    kind = _common(kinds)
    try:
        return pa.chunked_array([_cast(part, kind) for part in parts])
    except pa.ArrowException:
        pass
    raise DataError(f"column {name!r} cannot be read.", file=file, column=name)


def text_of(value: object) -> str | None:
    """A value as people write it."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return None if value != value else number_text(value)  # NaN
    if isinstance(value, datetime):
        return value.date().isoformat() if value.time() == time() else value.isoformat(" ")
    if isinstance(value, bytes | memoryview):
        return bytes(value).hex()
    return str(value)


def _array(values: list[object]) -> pa.Array:
    kinds = {type(value) for value in values if value is not None}
    if kinds <= {int, float} and float in kinds:
        values = [None if value is None else float(value) for value in values]  # type: ignore[arg-type]
    elif kinds and kinds <= {date, datetime}:
        moments = [_moment(value) for value in values]
        if all(moment is None or moment.time() == time() for moment in moments):
            return pa.array([None if moment is None else moment.date() for moment in moments], pa.date32())
        values = list(moments)
    elif len(kinds) > 1 or kinds & {Decimal, time, timedelta, bytes, memoryview}:
        values = [text_of(value) for value in values]
    try:
        return pa.array(values)
    except (pa.ArrowException, OverflowError, ValueError, TypeError):  # numbers beyond 64 bits, kinds of its own
        return pa.array([text_of(value) for value in values], pa.string())


def _moment(value: object) -> datetime | None:
    if isinstance(value, datetime):
        return value
    return datetime(value.year, value.month, value.day) if isinstance(value, date) else None


def _common(kinds: set[pa.DataType]) -> pa.DataType:
    if len(kinds) == 1:
        return next(iter(kinds))
    if all(pa.types.is_integer(kind) or pa.types.is_floating(kind) for kind in kinds):
        return pa.float64()
    if all(pa.types.is_date(kind) or pa.types.is_timestamp(kind) for kind in kinds):
        return next(kind for kind in kinds if pa.types.is_timestamp(kind))
    return pa.string()


def _cast(part: pa.Array, kind: pa.DataType) -> pa.Array:
    if pa.types.is_floating(part.type) and pa.types.is_string(kind):
        return pa.array([text_of(value) for value in part.to_pylist()], pa.string())
    if pa.types.is_nested(part.type) and pa.types.is_string(kind):
        return pa.array([text_of(value) for value in part.to_pylist()], pa.string())
    return pc.cast(part, kind, safe=not pa.types.is_floating(kind))
