"""Code books of an epoch, from the values that are stored."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import date

import numpy as np
import pyarrow as pa

from shoal.errors import ShoalWarning
from shoal.records.codebook import CodeBook, axis_tree, make_codebook
from shoal.records.growing import Grown, grow
from shoal.schema import Column, ColumnType, Schema
from shoal.sources.normalize import as_numbers
from shoal.vault.state.dictionary import MISSING_ID, Value
from shoal.vault.store.damage import damaged

NAMELESS = "\ue000"  # of private use


def books_of(
    schema: Schema, values: Iterable[Value], domains: Mapping[str, tuple[float, float]], where: str
) -> list[CodeBook]:
    """The code books of an epoch, from what is stored: those of its beginning, grown by what has come since."""
    by_name: dict[str, list[Value]] = {name: [] for name in schema.quasi_identifiers}
    for value in values:
        by_name.setdefault(value.name, []).append(value)
    books = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ShoalWarning)  # it was said when the values came
        for name in schema.quasi_identifiers:
            books.append(_book(name, schema, by_name[name], domains.get(name), where))
    return books


def _book(
    name: str, schema: Schema, values: Sequence[Value], domain: tuple[float, float] | None, where: str
) -> CodeBook:
    column = schema.columns[name]
    values = [_named(value, column) for value in values]
    first = [value for value in values if value.value is not None and value.frequency is not None]
    book, _ = make_codebook(name, column, typed(column, [value.value for value in first]), schema.missing)
    frequencies = {value.value: int(value.frequency or 0) for value in values if value.frequency is not None}
    counts = np.array([frequencies.get(text, 0) for text in (None, *book.texts)], np.int64)
    book = replace(book, counts=counts)
    if book.axis is not None:
        if domain is None:
            raise damaged(where, f"column {name!r} has no domain")
        book = replace(book, domain=domain, tree=axis_tree(column, book.axis, book.texts, domain, book.axis))
    since = [value.value for value in values if value.value is not None and value.frequency is None]
    return grow_by(book, column, since, schema).book


def _named(value: Value, column: Column) -> Value:
    """A leaf without a name gets one that nobody can have, for as long as the book is in memory."""
    if value.value is None and value.id != MISSING_ID and column.type != ColumnType.DATE:
        return value._replace(value=f"{NAMELESS}{value.id}")
    return value


def grow_by(book: CodeBook, column: Column, texts: Sequence[str | None], schema: Schema) -> Grown:
    """The book with these stored values."""
    return grow(book, typed(column, texts), schema.missing)


def typed(column: Column, texts: Sequence[str | None]) -> pa.ChunkedArray:
    """Stored values as a column of the type that the schema says: days are stored in one form, whatever it reads."""
    if column.type == ColumnType.DATE:
        return pa.chunked_array([pa.array([text and date.fromisoformat(text) for text in texts], pa.date32())])
    array = pa.array(texts, pa.string())
    return pa.chunked_array([as_numbers("", array, ()) if column.type == ColumnType.NUMERIC else array])
