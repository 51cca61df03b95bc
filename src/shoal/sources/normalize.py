"""One form per type, whatever the source: text, numbers (whole or not), days.

A frame, a Parquet file and a CSV of the same table give the same codes: blanks around a text are no part of it, whole
numbers lose their `.0`, days their time, and what the schema calls missing is missing in every dress.

Errors name column and rows; the values go into the error's sealed part only. Arrow's own messages quote values, so
none of its exceptions may be the context of ours.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from datetime import date, datetime

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from shoal.errors import DataError, row_list
from shoal.sources.numbers import POINT, NumberForm

EXACT = 2.0**53  # from here on a float no longer tells whole numbers apart
LARGEST = 1e300  # twice this is still finite
NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?|[+-]?(inf|infinity|nan)", re.IGNORECASE)
WHOLE_TEXT = r"^-?[0-9]+$"
SHORT_YEAR = re.compile(r"(?<!%)(?:%%)*%[yxD]")
EPOCH = date(1970, 1, 1).toordinal()
ROWS_KEPT = 20
NO_VALUE = "If it means no value, add it to `missing` in the schema."


def plain(name: str, column: pa.ChunkedArray | pa.Array) -> pa.Array:
    """One contiguous array without a dictionary: a dictionary may carry values that no row has."""
    try:
        array = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
        if isinstance(array, pa.ChunkedArray):  # combine_chunks keeps several chunks of very large text
            array = array.cast(pa.large_string()).combine_chunks()
        if pa.types.is_dictionary(array.type):
            values = array.dictionary
            values = values.cast(pa.string()) if is_text(values.type) else values  # views cannot be taken from
            array = values.take(array.indices)
        return array.cast(pa.string()) if is_text(array.type) else array
    except pa.ArrowException:
        pass
    raise DataError(f"column {name!r} cannot be read: it holds {column.type}.", column=name)


def as_text(name: str, column: pa.ChunkedArray | pa.Array, missing: Sequence[str]) -> pa.Array:
    """Strings, without blanks around them."""
    array = plain(name, column)
    if pa.types.is_floating(array.type) or pa.types.is_integer(array.type):
        array = as_numbers(name, array, missing)
    if pa.types.is_floating(array.type):
        return pa.array([None if value is None else number_text(value) for value in array.to_pylist()], pa.string())
    simple = is_text(array.type) or pa.types.is_integer(array.type) or pa.types.is_boolean(array.type)
    if not (simple or pa.types.is_temporal(array.type) or pa.types.is_decimal(array.type) or _is_null(array)):
        raise DataError(f"column {name!r} holds {array.type}, not values that can be compared.", column=name)
    try:
        return _without(pc.utf8_trim_whitespace(array.cast(pa.string())), missing)
    except pa.ArrowException:
        pass
    raise DataError(f"column {name!r} holds {array.type}, which cannot be written as text.", column=name)


def without_missing(array: pa.Array, missing: Sequence[str]) -> pa.Array:
    """Numbers and days as they are, but null where they are missing; NaN is, and −0 is 0."""
    if pa.types.is_floating(array.type):
        array = pc.if_else(pc.is_nan(array), pa.scalar(None, array.type), pc.add(array, pa.scalar(0.0, array.type)))
    if pa.types.is_floating(array.type) or pa.types.is_integer(array.type):
        return _without_numbers(array, missing)
    if pa.types.is_date(array.type):
        return pc.if_else(
            pc.is_in(array.cast(pa.string()), pa.array(missing, pa.string())), pa.scalar(None, array.type), array
        )
    return array


def number_text(number: float) -> str:
    """The shortest form that reads back as the same number: `39`, `0.5`, `1e+300`."""
    text = repr(number)
    return text[:-2] if text.endswith(".0") else text


def as_numbers(
    name: str, column: pa.ChunkedArray | pa.Array, missing: Sequence[str], form: NumberForm = POINT
) -> pa.Array:
    """int64 where every number is whole, else float64; NaN is missing, infinity is refused. Text is read by `form`."""
    array = plain(name, column)
    if is_text(array.type):
        array = _numbers_from_text(name, _without(pc.utf8_trim_whitespace(array), missing), form)
    elif pa.types.is_integer(array.type) or _is_null(array):
        array = _whole(name, array)
    elif pa.types.is_decimal(array.type):
        array = _numbers_from_text(name, array.cast(pa.string()))
    elif not pa.types.is_floating(array.type):
        raise DataError(
            f"column {name!r} is numeric in the schema, but holds {array.type}.",
            hint='Say type = "categorical" or "date", or convert it.',
            column=name,
        )
    if not pa.types.is_integer(array.type):
        array = _whole_if_possible(name, array.cast(pa.float64()))
    return _without_numbers(array, missing)


def as_days(name: str, column: pa.ChunkedArray | pa.Array, missing: Sequence[str], form: str | None) -> pa.Array:
    """date32; a time of day is dropped. Text is read as YYYY-MM-DD (a time may follow), or by the column's `format`."""
    array = plain(name, column)
    if is_text(array.type):
        array = _days_from_text(name, _without(pc.utf8_trim_whitespace(array), missing), form)
    elif pa.types.is_date(array.type) or pa.types.is_timestamp(array.type):
        # The day as the clock on the wall shows it: a plain cast would go by UTC.
        if pa.types.is_timestamp(array.type) and array.type.tz:
            array = pc.local_timestamp(array)
        array = without_missing(array.cast(pa.date32(), safe=False), missing)
    elif _is_null(array):
        array = array.cast(pa.date32())
    else:
        raise DataError(f"column {name!r} is a date in the schema, but holds {array.type}.", column=name)
    days = array.cast(pa.int32())
    known = pc.and_(pc.greater_equal(days, 1 - EPOCH), pc.less_equal(days, date.max.toordinal() - EPOCH))
    refuse(name, days, pc.invert(known), "outside the years 1 to 9999", "Mend the date.")
    return array


def day_numbers(bounds: Iterable[object]) -> list[float]:
    """Dates as days since 1970-01-01."""
    return [float(bound.toordinal() - EPOCH) for bound in bounds if isinstance(bound, date)]


def refuse(name: str, array: pa.Array, bad: pa.Array | NDArray[np.bool_], fault: str, hint: str) -> None:
    """Raise if any row is bad. Missing values are never bad."""
    flags = bad if isinstance(bad, np.ndarray) else pc.fill_null(bad, False).to_numpy(zero_copy_only=False)
    where = np.flatnonzero(flags)
    if len(where):
        error = DataError(
            f"column {name!r}, {row_list((where[:ROWS_KEPT] + 1).tolist(), len(where))}: {fault}.",
            hint=hint,
            column=name,
            rows=(where[:ROWS_KEPT] + 1).tolist(),
            values=array.take(pa.array(where[:ROWS_KEPT])).to_pylist(),
        )
        error.fault, error.every_row = fault, (where + 1).tolist()
        raise error


def is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def looks_like_a_number(text: str) -> bool:
    return NUMBER.fullmatch(text) is not None


def looks_like_a_day(text: str, form: str | None) -> bool:
    try:
        return bool(parse_day(text, form))
    except ValueError:
        return False


def has_short_year(form: str | None) -> bool:
    """Whether a format's years have two digits, and leave the century open."""
    return form is not None and SHORT_YEAR.search(form) is not None


def parse_day(text: str, form: str | None) -> date:
    """A day by its format, else ISO's. A year of two digits is of the last hundred years: nobody is born tomorrow.

    Raises ValueError.
    """
    if form:
        day = datetime.strptime(text, form).date()
        return day.replace(year=day.year - 100) if has_short_year(form) and day > date.today() else day
    return datetime.fromisoformat(text).date() if len(text) > len("YYYY-MM-DD") else date.fromisoformat(text)


def _is_null(array: pa.Array) -> bool:
    return bool(pa.types.is_null(array.type))


def _without(array: pa.Array, missing: Sequence[str]) -> pa.Array:
    return pc.if_else(pc.is_in(array, pa.array(missing, pa.string())), pa.scalar(None, pa.string()), array)


def _without_numbers(array: pa.Array, missing: Sequence[str]) -> pa.Array:
    """`missing = ["-9"]` holds for a column of numbers too."""
    for text in missing:
        if looks_like_a_number(text) and abs(float(text)) < EXACT:
            array = pc.if_else(pc.equal(pc.cast(array, pa.float64(), safe=False), float(text)), None, array)
    return array


def _whole(name: str, array: pa.Array) -> pa.Array:
    if pa.types.is_unsigned_integer(array.type):
        too_large = pc.greater(array.cast(pa.uint64()), pa.scalar(2**63 - 1, pa.uint64()))
        refuse(name, array, too_large, "beyond 64 bits", "Use smaller numbers, or read it as text.")
    return array.cast(pa.int64())


def _whole_if_possible(name: str, array: pa.Array) -> pa.Array:
    array = without_missing(array, ())
    refuse(name, array, pc.is_inf(array), "infinite", "Replace it, or leave it empty.")
    refuse(name, array, pc.greater(pc.abs(array), LARGEST), "larger than 1e300", "Use another unit.")
    values = array.drop_null().to_numpy()
    if len(values) and (np.abs(values) < EXACT).all() and (values == np.rint(values)).all():
        return array.cast(pa.int64())
    return array


def _numbers_from_text(name: str, text: pa.Array, form: NumberForm = POINT) -> pa.Array:
    if form != POINT:
        unreadable = _failures(text, form.fits)
        refuse(name, text, unreadable, f"not a number of the form {form}", f"Mend it, or the form. {NO_VALUE}")
        text = _each(text, form.plain)
    text = pc.replace_substring_regex(text, r"^\+", "")
    unreadable = _failures(text, looks_like_a_number)
    commas = bool(pc.any(pc.match_substring_regex(text, r"^-?[0-9. ]+,[0-9]+$")).as_py())
    hint = 'Say decimal = "," in the schema.' if commas else "Mend it, or change the column's type."
    refuse(name, text, unreadable, "not a number", f"{hint} {NO_VALUE}")
    plain_decimals = pc.replace_substring_regex(text, r"\.0*$", "")
    if pc.all(pc.match_substring_regex(plain_decimals, WHOLE_TEXT)).as_py():
        beyond = _failures(plain_decimals, lambda value: -(2**63) <= int(value) < 2**63)
        refuse(name, text, beyond, "beyond 64 bits", "Use smaller numbers, or read it as text.")
        return plain_decimals.cast(pa.int64())
    numbers = text.cast(pa.float64())
    inexact = pc.and_(pc.greater_equal(pc.abs(numbers), EXACT), pc.is_finite(numbers))
    inexact = pc.and_(inexact, pc.match_substring_regex(plain_decimals, WHOLE_TEXT))
    refuse(name, text, inexact, "too many digits to be kept beside fractions", "Round it, or read it as text.")
    return numbers


def _each(text: pa.Array, change: Callable[[str], str]) -> pa.Array:
    """Every text changed; each distinct one once."""
    coded = text.dictionary_encode()
    return pa.array([change(value) for value in coded.dictionary.to_pylist()], pa.string()).take(coded.indices)


def _days_from_text(name: str, text: pa.Array, form: str | None) -> pa.Array:
    wanted = f"of the form {form}" if form else "a date of the form YYYY-MM-DD"
    hint = "Mend it." if form else 'Mend it, or give the column a format such as "%d.%m.%Y".'
    hint = f"{hint} {NO_VALUE}"
    refuse(name, text, _failures(text, lambda value: looks_like_a_day(value, form)), f"not {wanted}", hint)
    coded = text.dictionary_encode()
    days = pa.array([parse_day(value, form) for value in coded.dictionary.to_pylist()], pa.date32())
    return days.take(coded.indices)


def _failures(text: pa.Array, fits: Callable[[str], bool]) -> pa.Array:
    """Where a text does not fit; each distinct value is tried once."""
    coded = text.dictionary_encode()
    bad = [not fits(value) for value in coded.dictionary.to_pylist()]
    return pa.array(bad, pa.bool_()).take(coded.indices)
