"""Passthrough columns, which are published as they are, as JSON: one text per record, every value in it a text.

Arrow writes a value of any plain type as text and reads it back; the types are kept with the epoch.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

import pyarrow as pa
import pyarrow.json as pa_json

from shoal.errors import DataError
from shoal.vault.store.damage import damaged

MOST_AT_ONCE = 2**28  # characters that Arrow reads at once
encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


def check_types(table: pa.Table) -> None:
    """Refuse columns whose values do not come back as they were."""
    for name in table.column_names:
        column = table[name].combine_chunks()
        try:
            same = pa.types.is_null(column.type) or column.cast(pa.string()).cast(column.type).equals(column)
            if pa.types.is_floating(column.type):  # no two NaNs are equal
                same = column.cast(pa.string()).cast(column.type).cast(pa.string()).equals(column.cast(pa.string()))
        except pa.ArrowException:
            same = False
        if not same:
            raise DataError(
                f"column {name!r} holds {column.type}, which a vault cannot keep.",
                hint="Make it a column of texts, numbers or dates.",
                column=name,
            )


def to_texts(table: pa.Table, rows: int) -> list[str]:
    """A text for each record."""
    if not table.num_columns:
        return ["{}"] * rows
    names = table.column_names
    columns = [table[name].cast(pa.string()).to_pylist() for name in names]
    return [encode(dict(zip(names, values, strict=True))) for values in zip(*columns, strict=True)]


def from_texts(texts: Sequence[str], types: pa.Schema, where: str) -> pa.Table:
    """The columns of these records, typed."""
    if not len(types):
        return pa.table({})
    if not texts:
        return types.empty_table()
    if len(texts) > 1 and sum(map(len, texts)) > MOST_AT_ONCE:
        middle = len(texts) // 2
        return pa.concat_tables(from_texts(some, types, where) for some in (texts[:middle], texts[middle:]))
    content = "\n".join(texts).encode()
    options = pa_json.ParseOptions(
        explicit_schema=pa.schema([(name, pa.string()) for name in types.names]), unexpected_field_behavior="ignore"
    )
    try:
        table = pa_json.read_json(
            pa.BufferReader(content), pa_json.ReadOptions(use_threads=False, block_size=len(content) + 1), options
        )
        if table.num_rows == len(texts):
            return pa.table({field.name: _typed(table[field.name], field.type) for field in types}, schema=types)
    except pa.ArrowException:
        pass
    raise damaged(where, "stored records cannot be read")


def typed_by_values(table: pa.Table) -> pa.Table:
    """With types that follow from the values alone, whatever a vault holds besides.

    A column becomes one of fractions when somebody brings the first, who may not be shown yet: whole numbers are
    published as such as long as no other is shown.
    """
    for i, field in enumerate(table.schema):
        column = table.column(i)
        if column.null_count == len(column):
            table = table.set_column(i, field.name, pa.nulls(len(column)))
        elif pa.types.is_floating(field.type):
            try:
                table = table.set_column(i, field.name, column.cast(pa.int64()))
            except pa.ArrowInvalid:
                continue  # there are fractions
    return table


def _typed(column: pa.ChunkedArray, kind: pa.DataType) -> pa.Array | pa.ChunkedArray:
    """Arrow has no way from texts to a column in which nobody has had a value yet."""
    if pa.types.is_null(kind):
        return pa.nulls(len(column))
    try:
        return column.cast(kind)
    except pa.ArrowInvalid:
        if not pa.types.is_integer(kind):
            raise
        return column.cast(pa.float64()).cast(kind)  # 1e+14
