"""Code books of a table that nobody holds: from the different values of each column, and how often each occurs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.errors import DataError
from shoal.privacy.sensitive import Distribution, SensitiveColumn, sensitive_column
from shoal.records.codebook import CodeBook, axis_domain, axis_tree, make_codebook
from shoal.records.encode import Records, carry
from shoal.schema import Column, Schema

Longs = NDArray[np.int64]


def book_of(name: str, column: Column, values: pa.ChunkedArray, counts: Longs, missing: tuple[str, ...]) -> CodeBook:
    """The book that the whole column would have. `counts`: how many records have each of the values."""
    try:
        book, codes = make_codebook(name, column, values, missing)
    except DataError as error:
        raise without_rows(error) from None
    totals = _summed(codes, counts, book.size)
    if book.axis is None:
        return replace(book, counts=totals)
    domain = axis_domain(column, book.axis, totals[1:])
    return replace(book, counts=totals, domain=domain, tree=axis_tree(column, book.axis, book.texts, domain, book.axis))


def sensitive_values(name: str, schema: Schema, values: pa.ChunkedArray) -> SensitiveColumn:
    """The codes of different sensitive values. Several may have one code: spellings, bins."""
    column = carried_column(name, schema, values)
    return sensitive_column(name, _alone(name, schema, column), quiet=True)


def carried_column(name: str, schema: Schema, values: pa.ChunkedArray) -> pa.Array:
    """Values of a column that is published as it is. Which rows have a wrong one is not said: they are some task's."""
    try:
        return carry(name, schema.columns[name], values, schema.missing)
    except DataError as error:
        raise without_rows(error) from None


def distribution(column: SensitiveColumn, counts: Longs) -> Distribution:
    """The share of each value among all records. `counts`: how many have each of those that the codes are of."""
    shares = (_summed(column.codes, counts, column.size) / max(1, int(counts.sum()))).tolist()
    return dict(zip(column.values, shares if column.some_missing else shares[1:], strict=True))


def sensitive_codes(name: str, schema: Schema, carried: pa.ChunkedArray, reference: Distribution) -> NDArray[np.int32]:
    """The codes of some records' values, as `sensitive_values` has them for the whole table."""
    return sensitive_column(name, _alone(name, schema, carried), list(reference), quiet=True).codes


def without_rows(error: DataError) -> DataError:
    """The same fault without row numbers: those of different values are nobody's rows."""
    fault = error.fault.rstrip(".")
    where = f"column {error.column!r}: " if error.column is not None and not fault.startswith("column") else ""
    return type(error)(f"{where}{fault}.", hint=error.hint, column=error.column, values=error.sealed())


def _alone(name: str, schema: Schema, carried: pa.Array | pa.ChunkedArray) -> Records:
    table = pa.table({name: carried})
    return Records(np.zeros((table.num_rows, 0), np.int32), [], table, [name], schema)


def _summed(codes: NDArray[np.int32], counts: Longs, size: int) -> Longs:
    totals = np.zeros(size, np.int64)
    np.add.at(totals, codes, counts)
    return totals
