"""Frames and rows in memory as tables: pyarrow, pandas, polars, DuckDB, lists of dicts, dicts of lists.

A library that cannot export a frame quotes its values in what it says. So the columns are looked at here, one by one,
and the message names the column, the rows, the kinds of values that do not go together, and what to write.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import pyarrow as pa

from shoal.errors import DataError, row_list
from shoal.sources.unicode import checked, checked_names, names_of

ROWS_NAMED = 20
LEAST, LARGEST = -(2**63), 2**64 - 1  # of whole numbers in a column
INDEX = re.compile(r"__index_level_\d+__")
KIND_NAMES = {"str": "texts", "int": "whole numbers", "float": "numbers", "bool": "true and false", "bytes": "bytes"}


class Frame:
    """An Arrow table, or any frame that exports one (pandas, polars, DuckDB, …)."""

    file: str | None = None

    def __init__(
        self,
        table: pa.Table,
        index_names: Sequence[str] = (),
        rows: Sequence[Mapping[str, object]] | None = None,
    ) -> None:
        """`rows`: what the table was made of, if each had columns of its own."""
        self._table = table
        self._rows = rows
        self.index_names = index_names  # of pandas' row labels, which are no columns
        self.columns = checked_names(names_of(self._table), self.file)

    def load(self, columns: Sequence[str]) -> pa.Table:
        return checked(self._table.select(list(columns)), self.file)

    def each_has(self) -> Iterable[Collection[str]] | None:
        """The columns that each row has; None: all."""
        return self._rows


def frame_of(given: object) -> Frame:
    """The frame behind a Python object."""
    if isinstance(given, pa.Table):
        return Frame(given)
    if isinstance(given, Mapping):
        return Frame(_of_columns(given))
    if isinstance(given, list | tuple):
        return Frame(_of_rows(given), rows=given)
    if isinstance(given, pa.RecordBatch) or hasattr(given, "__arrow_c_stream__") or hasattr(given, "__dataframe__"):
        if hasattr(given, "to_frame") and not hasattr(given, "columns"):
            raise DataError(f"a {type(given).__name__} is one column, and no table.", hint="Say series.to_frame().")
        return Frame(_exported(given), _index_names(given))
    if hasattr(given, "collect") and hasattr(given, "lazy"):
        raise DataError(f"a {type(given).__name__} has no values yet.", hint="Say frame.collect().")
    raise DataError(
        "data must be a path, an address of a database, a frame (pyarrow, pandas, polars, DuckDB or whatever exports "
        f"Arrow), a list of dicts or a dict of lists. Got {type(given).__name__} instead."
    )


def series_of(given: object) -> pa.ChunkedArray | None:
    """A column without a table: a Series of pandas or polars, an array of pyarrow; None if it is something else."""
    if isinstance(given, pa.ChunkedArray):
        return given
    if isinstance(given, pa.Table | pa.RecordBatch) or not hasattr(given, "__arrow_c_stream__"):
        return None
    try:
        column = pa.chunked_array(given)
    except Exception:  # of whatever kind its values are
        return None
    return None if pa.types.is_struct(column.type) else column


def _of_rows(rows: Sequence[object]) -> pa.Table:
    """A list of dicts: one per record. A field that one lacks is missing."""
    strange = [number for number, row in enumerate(rows, start=1) if not isinstance(row, Mapping)]
    if strange or not rows:
        raise DataError(
            f"a list of records is a list of dicts; {row_list(strange)} {'is' if len(strange) == 1 else 'are'} none."
            if strange
            else "the list of records is empty.",
            rows=strange[:ROWS_NAMED],
        )
    records: list[Mapping[str, object]] = list(rows)  # type: ignore[arg-type]  # looked at above
    names = list(dict.fromkeys(name for row in records for name in row))
    return _of_columns({name: [row.get(name) for row in records] for name in names})


def _of_columns(columns: Mapping[str, object]) -> pa.Table:
    if not all(isinstance(name, str) for name in columns):
        raise DataError("the names of columns must be texts.")
    arrays = {name: _array(name, values) for name, values in columns.items()}
    lengths = {name: len(array) for name, array in arrays.items()}
    if len(set(lengths.values())) > 1:
        usual = Counter(lengths.values()).most_common(1)[0][0]
        odd = next(name for name, length in lengths.items() if length != usual)
        held = "1 value" if lengths[odd] == 1 else f"{lengths[odd]} values"
        raise DataError(f"column {odd!r} has {held}, others have {usual}.", column=odd)
    return pa.table(arrays)


def _array(name: str, values: object) -> pa.Array | pa.ChunkedArray:
    if isinstance(values, str | bytes) or not isinstance(values, Iterable):
        raise DataError(f"column {name!r} must be a list of values. Got {type(values).__name__} instead.", column=name)
    try:
        return pa.chunked_array(values) if isinstance(values, pa.ChunkedArray) else pa.array(values)
    except Exception:  # noqa: S110  # of whatever kind the values are: the message may quote them
        pass
    listed = list(values)
    refuse_beyond(name, listed)
    raise _mixed(name, listed, f"{name!r}: [None if value is None else str(value) for value in …]")


def refuse_beyond(name: str, values: Sequence[object]) -> None:
    """Raise DataError if whole numbers are among these that no column can hold."""
    rows = [
        row for row, value in enumerate(values, start=1) if isinstance(value, int) and not LEAST <= value <= LARGEST
    ]
    if rows:
        raise DataError(
            f"column {name!r}, {row_list(rows[:ROWS_NAMED], len(rows))}: beyond 64 bits.",
            hint="Use smaller numbers, or give the column as texts.",
            column=name,
            rows=rows[:ROWS_NAMED],
            values=[values[row - 1] for row in rows[:ROWS_NAMED]],
        )


def _exported(frame: Any) -> pa.Table:
    """What a frame exports; pandas sends its row labels along as a column, and they are no data of the table."""
    _refuse_twice(frame)
    try:
        table = pa.table(frame)
    except Exception:  # whatever the frame's own library raises: its message may quote the data
        table = None
    if table is None:
        raise _why_not(frame)
    names = checked_names(names_of(table), None)
    return table.drop_columns([name for name in names if INDEX.fullmatch(name)])


def _index_names(frame: Any) -> list[str]:
    names = getattr(getattr(frame, "index", None), "names", None)
    return [str(name) for name in names if name is not None] if isinstance(names, Sequence) else []


def _refuse_twice(frame: Any) -> None:
    """pandas allows two columns of one name; nothing else does."""
    names = [str(name) for name in _names(frame)]
    for name, times in Counter(names).items():
        if times > 1:
            raise DataError(
                f"the frame has {times} columns called {name!r}.",
                hint="Rename or drop all but one: frame = frame.loc[:, ~frame.columns.duplicated()].",
                column=name,
            )


def _names(frame: Any) -> list[object]:
    try:
        return list(frame.columns)
    except Exception:
        return []


def _why_not(frame: Any) -> DataError:
    """Which column cannot be exported, and why."""
    for name in _names(frame):
        try:
            column = frame[name]
        except Exception:  # noqa: S112  # then it is not this that is wrong
            continue
        try:
            pa.array(column)
        except Exception:  # its message quotes a value
            place = f"frame[{str(name)!r}]"  # `astype(str)` would make a text of what is missing
            return _mixed(str(name), list(column), f'{place} = {place}.map(str, na_action="ignore")')
    return DataError(
        f"a {type(frame).__name__} could not be read as a table.",
        hint="Does pyarrow.table(frame) work? What it says may quote the data.",
    )


def _mixed(name: str, values: list[object], fix: str) -> DataError:
    """A column of several kinds: which, and in which rows the rarer ones stand."""
    kinds = [None if _is_missing(value) else _kind(value) for value in values]
    counts = Counter(kind for kind in kinds if kind is not None)
    if len(counts) < 2:
        held = next(iter(counts), "nothing")
        return DataError(
            f"column {name!r} holds values that a table cannot hold ({held}).", hint=f"Write {fix}.", column=name
        )
    usual, _ = counts.most_common(1)[0]
    odd = [number for number, kind in enumerate(kinds, start=1) if kind not in (usual, None)]
    others = ", ".join(sorted({kind for kind in kinds if kind not in (usual, None)}))
    return DataError(
        f"column {name!r} mixes {usual} and {others} ({row_list(odd[:ROWS_NAMED], len(odd))}).",
        hint=f"Mend those rows, or make all of it text: {fix}. What means no value may be None.",
        column=name,
        rows=odd[:ROWS_NAMED],
        values=[values[row - 1] for row in odd[:ROWS_NAMED]],
    )


def _is_missing(value: object) -> bool:
    return value is None or value != value or type(value).__name__ in ("NAType", "NaTType")


def _kind(value: object) -> str:
    name = type(value.item()).__name__ if hasattr(value, "item") and not hasattr(value, "__len__") else ""
    name = name or type(value).__name__
    return KIND_NAMES.get(name, f"values of type {name}")
