"""Tables for Spark, and how to compare what came of them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq

import shoal

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SERIAL = "serial"


def numbered_census(rows: int) -> tuple[pa.Table, shoal.Schema]:
    """People with a column that is published as it is and tells where each stood."""
    table = shoal.datasets.census(rows, seed=1)
    table = table.append_column(SERIAL, pa.array(range(rows)))
    schema = shoal.datasets.census_schema()
    return table, shoal.Schema({**schema.columns, SERIAL: shoal.Column(role="insensitive")})


def frame(spark: SparkSession, table: pa.Table, folder: Path, rows_in_a_group: int = 1_000) -> DataFrame:
    path = folder / "table.parquet"
    pq.write_table(table, path, row_group_size=rows_in_a_group)
    return spark.read.parquet(str(path))


def groups_of(released: pa.Table, names: list[str]) -> set[frozenset[int]]:
    """Which serial numbers are published alike: the groups, whatever the order of the rows."""
    found: dict[tuple[object, ...], list[int]] = {}
    cells = zip(*(released[name].to_pylist() for name in names), strict=True)
    for cell, serial in zip(cells, released[SERIAL].to_pylist(), strict=True):
        found.setdefault(cell, []).append(serial)
    return {frozenset(members) for members in found.values()}
