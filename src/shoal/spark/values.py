"""The different values of every column and how often each occurs, in one reading of the table.

The driver holds the different values of quasi-identifiers, and of sensitive columns that something is asked of, so its
memory does not grow with the number of rows. A column with more than a million different values is refused.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.errors import DataError
from shoal.regions.books import carried_column
from shoal.schema import ColumnType, Role, Schema
from shoal.spark.arrow import as_tables, by_number, spark_schema
from shoal.spark.sessions import no_word_of_pandas

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

MOST_VALUES = 1_000_000  # of one column: code books hold them all, on the driver and on every executor
ROWS_AT_ONCE = 500_000
NUMBER, COUNT = "number", "n"


@dataclass(frozen=True)
class Values:
    """The different values of one column."""

    values: pa.ChunkedArray
    counts: NDArray[np.int64]


@dataclass(frozen=True)
class Found:
    """What one reading of the table tells."""

    columns: dict[str, Values]
    carried: pa.Schema  # of the columns that are published as they are
    rows: int


def read_values(df: DataFrame, arrow: pa.Schema, schema: Schema, wanted: list[str]) -> Found:
    """The values of the `wanted` columns; and the types that the columns have which are published as they are.

    `arrow`: the types of the frame's columns.
    """
    from pyspark.sql import functions as F

    kept = [name for name in arrow.names if name in schema.names(Role.SENSITIVE, Role.INSENSITIVE)]
    numeric = [name for name in kept if schema.columns[name].type == ColumnType.NUMERIC]
    types = [arrow.field(name).type for name in wanted]
    counted = pa.schema([(NUMBER, pa.int32()), (COUNT, pa.int64()), *((f"v{j}", t) for j, t in enumerate(types))])

    def count(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for numbered in as_tables(batches, ROWS_AT_ONCE):
            table = numbered.rename_columns(names)
            yield from _rows(-1, np.array([table.num_rows]), None).to_batches()
            for j, name in enumerate(wanted):
                found = table[name].combine_chunks().value_counts()
                yield from _rows(j, found.field("counts").to_numpy(), found.field("values")).to_batches()
            for j, name in enumerate(numeric):  # whole numbers here, fractions elsewhere: the column has one type
                fractions = carried_column(name, schema, table[name]).type == pa.float64()
                yield from _rows(-2 - j, np.array([int(fractions)]), None).to_batches()

    def _rows(number: int, counts: NDArray[np.int64], values: pa.Array | None) -> pa.Table:
        arrays = [pa.array(np.full(len(counts), number, np.int32)), pa.array(counts, pa.int64())]
        arrays += [values if j == number else pa.nulls(len(counts), kind) for j, kind in enumerate(types)]
        return pa.table(arrays, schema=counted)

    names = list(dict.fromkeys(wanted + numeric)) or arrow.names[:1]
    with no_word_of_pandas():
        parts = by_number(df, names).mapInArrow(count, spark_schema(counted))
        keys = [NUMBER, *(f"v{j}" for j in range(len(wanted)))]
        totals = parts.groupBy(*keys).agg(F.sum(COUNT).alias(COUNT)).persist()
        try:
            sizes = {row[0]: row[1] for row in totals.groupBy(NUMBER).count().collect()}
            for j, name in enumerate(wanted):
                _refuse_too_many(name, sizes.get(j, 0))
            table = totals.toArrow()
        finally:
            totals.unpersist()
    numbers, counts = table[NUMBER].to_numpy(), table[COUNT].to_numpy()
    found = {}
    for j, name in enumerate(wanted):
        rows = np.flatnonzero(numbers == j)
        found[name] = Values(table[f"v{j}"].take(pa.array(rows)), counts[rows])
    fractions = [name for j, name in enumerate(numeric) if counts[numbers == -2 - j].sum() > 0]
    fields = []
    for name in kept:
        empty = pa.chunked_array([pa.array([], arrow.field(name).type)])
        kind = carried_column(name, schema, empty).type
        fields.append((name, pa.float64() if name in fractions else kind))
    return Found(found, pa.schema(fields), int(counts[numbers == -1].sum()))


def _refuse_too_many(name: str, size: int) -> None:
    if size > MOST_VALUES:
        raise DataError(
            f"column {name!r} has {size:,} different values; on Spark at most {MOST_VALUES:,} are possible.",
            hint="Round numbers, or cut times to days.",
            column=name,
        )
