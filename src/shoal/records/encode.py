"""From a table and its schema to points: one row of codes per record."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.errors import DataError, SchemaError, row_list
from shoal.records.codebook import CodeBook, Codes, make_codebook
from shoal.schema import Column, ColumnType, Role, Schema
from shoal.sources.normalize import as_days, as_numbers, as_text, plain, without_missing
from shoal.workers import mapped


@dataclass(frozen=True)
class Records:
    """A table ready for clustering.

    `codes[i, j]` is the code of record i in quasi-identifier j; `passthrough` has the columns that are published as
    they are; `order` is the order of the published columns.
    """

    codes: Codes
    books: list[CodeBook]
    passthrough: pa.Table
    order: list[str]
    schema: Schema
    people: Codes | None = None  # a number for the person of each record, where the schema says whose it is

    def __len__(self) -> int:
        return len(self.codes)

    def only(self, mask: NDArray[np.bool_]) -> Records:
        """Some of the records, in the same codes."""
        return replace(
            self,
            codes=np.ascontiguousarray(self.codes[mask]),
            passthrough=self.passthrough.filter(pa.array(mask)) if self.passthrough.num_columns else self.passthrough,
            people=None if self.people is None else self.people[mask],
        )


def encode(table: pa.Table, schema: Schema, file: str | None = None) -> Records:
    """Encode the quasi-identifiers; check keys; carry the sensitive and insensitive columns along.

    Guarantee: what is returned holds no identifier and no key, and `codes` has one row per row of the table.
    """
    names = schema.quasi_identifiers
    if not names:
        raise SchemaError(
            "the schema has no quasi-identifier: there is nothing to anonymize.",
            hint='Give the columns that an attacker may know the role "quasi-identifier".',
            file=schema.source,
        )
    people = None
    try:
        for name in schema.names(Role.KEY):
            _check_key(name, as_text(name, table[name], schema.missing))
        for name in schema.names(Role.PERSON):
            people = _people(name, as_text(name, table[name], schema.missing))
        codes = np.empty((table.num_rows, len(names)), np.int32)

        def encoded(j: int) -> CodeBook:
            book, codes[:, j] = make_codebook(names[j], schema.columns[names[j]], table[names[j]], schema.missing)
            return book

        def carried(name: str) -> pa.Array:
            return carry(name, schema.columns[name], table[name], schema.missing)

        books = mapped(encoded, range(len(names)))
        others = schema.names(Role.SENSITIVE, Role.INSENSITIVE)
        passthrough = pa.table(dict(zip(others, mapped(carried, others), strict=True)))
    except DataError as error:
        error.file = error.file or file
        raise
    order = [name for name in table.column_names if name in schema.published]
    return Records(codes, books, passthrough, order, schema, people)


def _refuse_missing(name: str, handles: pa.Array, role: Role) -> None:
    empty = np.flatnonzero(handles.is_null().to_numpy(zero_copy_only=False)) + 1
    if len(empty):
        raise DataError(
            f"column {name!r}, {row_list(empty.tolist())}: the {role} is missing.",
            hint=f"Every record needs a {role}.",
            column=name,
            rows=empty[:20].tolist(),
        )


def _people(name: str, handles: pa.Array) -> Codes:
    """The person of each record as a number, which says no more than who is the same."""
    _refuse_missing(name, handles, Role.PERSON)
    numbers: Codes = handles.dictionary_encode().indices.to_numpy().astype(np.int32)
    return numbers


def _check_key(name: str, keys: pa.Array) -> None:
    _refuse_missing(name, keys, Role.KEY)
    coded = keys.dictionary_encode()
    if len(coded.dictionary) == len(keys):
        return
    indices = coded.indices.to_numpy()
    rows = np.flatnonzero(np.bincount(indices)[indices] > 1) + 1
    raise DataError(
        f"column {name!r}, {row_list(rows.tolist())}: the key is not unique.",
        hint="Remove the duplicates, or choose another key.",
        column=name,
        rows=rows[:20].tolist(),
        values=keys.take(pa.array(rows[:20] - 1)).to_pylist(),
    )


def carry(name: str, column: Column, data: pa.ChunkedArray, missing: tuple[str, ...]) -> pa.Array:
    """A column that is published as it is: decoded (no dictionary comes along), typed if the schema says how."""
    missing = column.texts_missing(missing)
    match column.type:
        case ColumnType.NUMERIC:
            return as_numbers(name, data, missing, column.number_form)
        case ColumnType.DATE:
            return as_days(name, data, missing, column.format)
        case ColumnType.CATEGORICAL | ColumnType.PREFIX:
            return as_text(name, data, missing)
    array = plain(name, data)
    if _hides_a_dictionary(array.type):
        raise DataError(
            f"column {name!r} holds {array.type}, which may carry values that no row has.",
            hint="Make it a plain column.",
            column=name,
        )
    if array.type == pa.string():
        return as_text(name, array, missing)
    return without_missing(array, missing)


def _hides_a_dictionary(kind: pa.DataType) -> bool:
    """Nested dictionaries, run-end encodings and extension types cannot be taken apart here: what is in them?"""
    if pa.types.is_nested(kind):
        return any(_hides_a_dictionary(kind.field(i).type) for i in range(kind.num_fields))
    return pa.types.is_dictionary(kind) or pa.types.is_run_end_encoded(kind) or isinstance(kind, pa.BaseExtensionType)
