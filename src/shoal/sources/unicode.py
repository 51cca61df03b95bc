"""Text is UTF-8. Arrow takes a file's or a frame's word for it, and whoever reads such a text later fails on it."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from shoal.errors import DataError, row_list

NOT_UTF8 = "not UTF-8 text, nor Latin-1; say its encoding in the schema, or convert it with iconv"
ROWS_NAMED = 20


def checked(table: pa.Table, file: str | None) -> pa.Table:
    """The table, if all of its texts are UTF-8 and its columns are whole.

    Guarantee: no text in it fails when it is read.
    """
    for name in table.column_names:
        if not _sound(table[name]):
            rows = _broken_rows(table[name])
            if not len(rows):
                raise DataError(f"column {name!r} is damaged: it cannot be read.", file=file, column=name)
            raise DataError(
                f"column {name!r}, {row_list(rows[:ROWS_NAMED], len(rows))}: {NOT_UTF8}.",
                file=file,
                column=name,
                rows=rows[:ROWS_NAMED],
            )
    return table


def checked_names(names: Iterable[str] | None, file: str | None) -> list[str]:
    """The names of columns as texts; None: they could not be read as such."""
    listed = None if names is None else list(names)
    if listed is None or any(broken(name) for name in listed):
        raise DataError(f"the name of a column is {NOT_UTF8}.", file=file)
    return listed


def names_of(named: pa.Table | pa.Schema) -> list[str] | None:
    """The names of the columns; None if one is not UTF-8."""
    try:
        return [str(name) for name in named.names] if isinstance(named, pa.Schema) else list(named.column_names)
    except UnicodeDecodeError:
        return None


def broken(text: str) -> bool:
    """Half of a surrogate pair, which JSON and Python can express and UTF-8 cannot."""
    return any("\ud800" <= sign <= "\udfff" for sign in text)


def _sound(column: pa.ChunkedArray) -> bool:
    try:
        column.validate(full=True)
    except pa.ArrowException:
        return False
    return True


def _broken_rows(column: pa.ChunkedArray) -> list[int]:
    """Which rows hold text that is not UTF-8, counted from 1; none if something else is wrong."""
    rows: list[int] = []
    before = 0
    for chunk in column.chunks:
        values, indices = chunk, None
        if pa.types.is_dictionary(chunk.type):
            values, indices = chunk.dictionary, chunk.indices
        try:
            bytes_of = values.cast(pa.large_binary()).to_pylist()
        except pa.ArrowException:
            return []
        bad = np.array([value is not None and not _decodes(value) for value in bytes_of], bool)
        if indices is not None:
            bad = pc.fill_null(pa.array(bad).take(indices), False).to_numpy(zero_copy_only=False)
        rows += (before + 1 + np.flatnonzero(bad)).tolist()
        before += len(chunk)
    return rows


def _decodes(value: bytes) -> bool:
    try:
        value.decode()
    except UnicodeDecodeError:
        return False
    return True
