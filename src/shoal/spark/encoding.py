"""Rows to codes, on the executors: what travels from here on, in parcels (`parcels.py`).

| column of a parcel's rows | |
| --- | --- |
| `c0`, `c1`, … | the codes of the quasi-identifiers |
| `p0`, `p1`, … | the columns that are published as they are |
| `tie` | a hash of the whole row: an order of records that does not depend on how they were read |

Identifiers, keys and original values of quasi-identifiers do not travel.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.records.codebook import CodeBook
from shoal.records.encode import Records
from shoal.records.growing import grow
from shoal.regions.books import carried_column
from shoal.schema import Schema
from shoal.spark.arrow import as_tables, by_number, spark_schema
from shoal.spark.parcels import SCHEMA, packed
from shoal.spark.sessions import no_word_of_pandas

if TYPE_CHECKING:
    from pyspark import Broadcast
    from pyspark.sql import DataFrame

ROWS_AT_ONCE = 100_000
TIE = "tie"


@dataclass(frozen=True)
class Layout:
    """What rows are made of: broadcast once."""

    schema: Schema
    books: list[CodeBook]
    carried: pa.Schema  # of the columns that are published as they are
    order: list[str]  # of the published columns

    @cached_property
    def codes(self) -> list[str]:
        return [f"c{j}" for j in range(len(self.books))]

    @cached_property
    def passed(self) -> list[str]:
        return [f"p{j}" for j in range(len(self.carried))]

    @cached_property
    def encoded(self) -> pa.Schema:
        """Of an encoded row."""
        carried = zip(self.passed, self.carried.types, strict=True)
        return pa.schema([*((name, pa.int32()) for name in self.codes), *carried, (TIE, pa.int64())])

    def points(self, table: pa.Table) -> NDArray[np.int32]:
        """The codes of encoded rows."""
        return np.stack([table[name].to_numpy() for name in self.codes], axis=1)

    def records(self, table: pa.Table, order: NDArray[np.int64] | None = None) -> Records:
        """Encoded rows as records, in this order."""
        codes = self.points(table)
        passthrough = pa.table([table[name].combine_chunks() for name in self.passed], schema=self.carried)
        if order is not None:
            codes = codes[order]
            passthrough = passthrough.take(pa.array(order)) if passthrough.num_columns else passthrough
        return Records(np.ascontiguousarray(codes), self.books, passthrough, self.order, self.schema)


def encode(df: DataFrame, layout: Broadcast[Layout]) -> DataFrame:
    """The encoded rows of a table whose values are all in the books, as parcels that stay where they are."""
    from pyspark.sql import functions as F

    def run(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        here = layout.value
        schema = here.schema
        for numbered in as_tables(batches, ROWS_AT_ONCE):
            table = numbered.select(range(len(names))).rename_columns(names)
            arrays = [pa.array(grow(book, table[book.name], schema.missing).codes) for book in here.books]
            for field in here.carried:
                array = carried_column(field.name, schema, table[field.name])
                arrays.append(array.cast(field.type))
            arrays.append(numbered.column(len(names)).combine_chunks())
            rows = pa.table(arrays, schema=here.encoded)
            yield from packed(rows, np.zeros(len(rows), np.int32), nowhere).to_batches()

    nowhere = np.zeros(1, np.int32)
    names = [book.name for book in layout.value.books] + layout.value.carried.names
    places = [df.columns.index(name) for name in names]
    rows = by_number(df, df.columns)
    tie = F.xxhash64(*rows.columns)
    with no_word_of_pandas():
        return rows.select(*[f"v{j}" for j in places], tie).mapInArrow(run, spark_schema(SCHEMA))
