"""One form per type, whatever the source: text, numbers (whole or not), days.

A frame, a Parquet file and a CSV of the same table must give the same codes. Errors name column and rows; the values
go into the error's sealed part only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import date, datetime

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from shoal.errors import DataError, row_list

EXACT = 2.0**53  # beyond it a float no longer tells whole numbers apart
WHOLE_TEXT = r"^-?[0-9]+$"
EPOCH = date(1970, 1, 1).toordinal()


def plain(column: pa.ChunkedArray | pa.Array) -> pa.Array:
    """One contiguous array without a dictionary: a dictionary may carry values that no row has."""
    array = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    if isinstance(array, pa.ChunkedArray):  # combine_chunks keeps several chunks of very large text
        raise DataError("a column holds more than 2 GiB of text.")
    if pa.types.is_dictionary(array.type):
        values = array.dictionary
        values = values.cast(pa.string()) if _is_text(values.type) else values  # views cannot be taken from
        array = values.take(array.indices)
    if _is_text(array.type) and array.type != pa.string():
        array = array.cast(pa.string())
    return array


def as_text(name: str, column: pa.ChunkedArray | pa.Array, missing: Sequence[str]) -> pa.Array:
    """Strings; numbers that are whole lose their `.0`."""
    array = plain(column)
    if pa.types.is_floating(array.type):
        array = as_numbers(name, array, missing)
    if pa.types.is_floating(array.type):
        array = pa.array([None if value is None else repr(value) for value in array.to_pylist()], pa.string())
    if pa.types.is_nested(array.type) or pa.types.is_binary(array.type) or pa.types.is_large_binary(array.type):
        raise DataError(f"column {name!r} holds {array.type}, not values that can be compared.", column=name)
    return _without(array.cast(pa.string()), missing)


def as_numbers(name: str, column: pa.ChunkedArray | pa.Array, missing: Sequence[str]) -> pa.Array:
    """int64 where every number is whole, else float64; NaN is missing, infinity is refused."""
    array = plain(column)
    if _is_text(array.type):
        array = _numbers_from_text(name, _without(pc.utf8_trim_whitespace(array), missing))
    elif pa.types.is_integer(array.type) or pa.types.is_null(array.type):
        try:
            return array.cast(pa.int64())
        except pa.ArrowInvalid:
            raise DataError(f"column {name!r} has whole numbers beyond 64 bits.", column=name) from None
    elif not (pa.types.is_floating(array.type) or pa.types.is_decimal(array.type)):
        raise DataError(
            f"column {name!r} is numeric in the schema, but holds {array.type}.",
            hint='Say type = "categorical" or "date", or convert it.',
            column=name,
        )
    if pa.types.is_integer(array.type):
        return array
    array = array.cast(pa.float64())
    array = pc.if_else(pc.is_nan(array), pa.scalar(None, pa.float64()), array)
    _refuse(name, array, pc.is_inf(array), "infinite", "Replace it, or leave it empty.")
    values = array.drop_null().to_numpy()
    if len(values) and (np.abs(values) < EXACT).all() and (values == np.rint(values)).all():
        return array.cast(pa.int64())
    return array


def as_days(name: str, column: pa.ChunkedArray | pa.Array, missing: Sequence[str], form: str | None) -> pa.Array:
    """date32; a time of day is dropped. Text is read as YYYY-MM-DD, or by the column's `format`."""
    array = plain(column)
    if _is_text(array.type):
        array = _days_from_text(name, _without(pc.utf8_trim_whitespace(array), missing), form)
    elif pa.types.is_temporal(array.type) and not (pa.types.is_time(array.type) or pa.types.is_duration(array.type)):
        # The day as the clock on the wall shows it: a plain cast would go by UTC.
        if pa.types.is_timestamp(array.type) and array.type.tz:
            array = pc.local_timestamp(array)
        array = array.cast(pa.date32(), safe=False)
    elif pa.types.is_null(array.type):
        array = array.cast(pa.date32())
    else:
        raise DataError(f"column {name!r} is a date in the schema, but holds {array.type}.", column=name)
    days = array.cast(pa.int32())
    known = pc.and_(pc.greater_equal(days, 1 - EPOCH), pc.less_equal(days, date.max.toordinal() - EPOCH))
    _refuse(name, days, pc.invert(known), "outside the years 1 to 9999", "Mend the date.")
    return array


def day_numbers(bounds: Iterable[object]) -> list[float]:
    """Dates as days since 1970-01-01."""
    return [float(bound.toordinal() - EPOCH) for bound in bounds if isinstance(bound, date)]


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def _without(array: pa.Array, missing: Sequence[str]) -> pa.Array:
    return pc.if_else(pc.is_in(array, pa.array(missing, pa.string())), pa.scalar(None, pa.string()), array)


def _numbers_from_text(name: str, text: pa.Array) -> pa.Array:
    text = pc.replace_substring_regex(text, r"^\+", "")
    try:
        if pc.all(pc.match_substring_regex(text, WHOLE_TEXT)).as_py():
            return text.cast(pa.int64())
        return text.cast(pa.float64())
    except pa.ArrowInvalid:
        bad = _failures(text, float)
        _refuse(name, text, bad, "not a number", "Mend it, or change the column's type.")
        raise DataError(f"column {name!r} has whole numbers beyond 64 bits.", column=name) from None


def _days_from_text(name: str, text: pa.Array, form: str | None) -> pa.Array:
    if form is None:
        try:
            return text.cast(pa.date32())
        except pa.ArrowInvalid:
            pass

    def parse(value: str) -> date:
        return datetime.strptime(value, form).date() if form else date.fromisoformat(value)

    wanted = f"of the form {form}" if form else "a date of the form YYYY-MM-DD"
    _refuse(
        name,
        text,
        _failures(text, parse),
        f"not {wanted}",
        'Mend it, or give the column a format such as "%d.%m.%Y".',
    )
    coded = text.dictionary_encode()
    days = pa.array([parse(value) for value in coded.dictionary.to_pylist()], pa.date32())
    return days.take(coded.indices)


def _failures(text: pa.Array, parse: Callable[[str], object]) -> pa.Array:
    """Where `parse` raises; each distinct value is tried once."""
    coded = text.dictionary_encode()
    bad = []
    for value in coded.dictionary.to_pylist():
        try:
            parse(value)
            bad.append(False)
        except (ValueError, OverflowError):
            bad.append(True)
    return pa.array(bad, pa.bool_()).take(coded.indices)


def _refuse(name: str, array: pa.Array, bad: pa.Array, fault: str, hint: str) -> None:
    """Raise if any row is bad. Missing values are never bad."""
    where = np.flatnonzero(pc.fill_null(bad, False).to_numpy(zero_copy_only=False))
    if len(where):
        rows = (where + 1).tolist()
        raise DataError(
            f"column {name!r}, {row_list(rows)}: {fault}.",
            hint=hint,
            column=name,
            rows=rows[:20],
            values=array.take(pa.array(where[:20])).to_pylist(),
        )
