"""Between Arrow's tables and Spark's frames."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

import pyarrow as pa

from shoal.spark.sessions import no_word_of_pandas

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType


def as_tables(batches: Iterable[pa.RecordBatch], rows: int) -> Iterator[pa.Table]:
    """Batches put together to tables of about so many rows: what is done once per table is done less often."""
    waiting: list[pa.RecordBatch] = []
    count = 0
    for batch in batches:
        waiting.append(batch)
        count += batch.num_rows
        if count >= rows:
            yield pa.Table.from_batches(waiting)
            waiting, count = [], 0
    if count:
        yield pa.Table.from_batches(waiting)


def arrow_schema(df: DataFrame) -> pa.Schema:
    """The types that a frame's columns have on executors. (No row is read: Spark sees that none is asked for.)"""
    with no_word_of_pandas():
        return df.limit(0).toArrow().schema


def spark_schema(schema: pa.Schema) -> StructType:
    from pyspark.sql.pandas.types import from_arrow_schema

    return from_arrow_schema(schema)


def by_number(df: DataFrame, names: Sequence[str]) -> DataFrame:
    """These columns, named `v0`, `v1`, …: what Spark calls by name in its own ways stumbles over dots and the like."""
    from pyspark.sql import functions as F

    return df.select(*[F.col(quoted(name)).alias(f"v{j}") for j, name in enumerate(names)])


def without_plan(df: DataFrame) -> DataFrame:
    """The same rows, by the same computation, as a frame that does not remember how they are made.

    Spark writes the plans of all that a frame is made of into that of the next, more than once: after a dozen rounds
    no memory is enough for the text. (A checkpoint would do as well, but an executor that is lost would take it along.)
    """
    from pyspark.sql.classic.dataframe import DataFrame

    session = df.sparkSession
    rows = df._jdf.queryExecution().toRdd()
    return DataFrame(session._jsparkSession.internalCreateDataFrame(rows, df._jdf.schema(), False), session)


def quoted(name: str) -> str:
    """A column's name as SQL takes it, whatever signs are in it."""
    return "`" + name.replace("`", "``") + "`"
