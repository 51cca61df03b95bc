"""Parcels: what goes in comes out, in order, and every part has a partition of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pytest

from shoal.spark.parcels import ADDRESS, PARCEL, PART, ROWS_AT_ONCE, addresses, closed, in_tables, opened, packed

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROWS = 1_000


def some_rows() -> pa.Table:
    rng = np.random.default_rng(1)
    texts = pa.array([None if number % 7 == 0 else "é" * (number % 5) for number in range(ROWS)])
    numbers = pa.array(rng.integers(-5, 5, ROWS), pa.int32())
    return pa.table({"text": texts, "number": numbers, "place": pa.array(range(ROWS))})


def test_rows_come_out_as_they_went_in() -> None:
    rows = some_rows()
    assert opened(pa.array([closed(rows)]), rows.schema).equals(rows)
    assert opened(pa.array([closed(rows.slice(0, 0))]), rows.schema).num_rows == 0
    assert opened([], rows.schema).num_rows == 0


def test_every_part_gets_its_rows_in_order() -> None:
    rows = some_rows()
    parts = np.random.default_rng(2).integers(0, 9, ROWS)
    parts[parts == 4] = 5
    sent = packed(rows, parts, addresses(9))
    assert sent[PART].to_pylist() == [0, 1, 2, 3, 5, 6, 7, 8]
    assert sent[ADDRESS].to_pylist() == addresses(9)[sent[PART].to_numpy()].tolist()
    for part, parcel in zip(sent[PART].to_pylist(), sent[PARCEL], strict=True):
        assert opened([parcel], rows.schema).equals(rows.take(pa.array(np.flatnonzero(parts == part))))


def test_parcels_are_opened_some_at_a_time() -> None:
    rows = pa.table({"place": pa.array(range(ROWS_AT_ONCE // 2 + 1))})
    parcels = pa.table({PARCEL: pa.array([closed(rows)] * 5, pa.binary())})
    sizes = [len(table) for table in in_tables(parcels.to_batches(max_chunksize=3), rows.schema)]
    assert sizes == [2 * len(rows), 2 * len(rows), len(rows)]


@pytest.mark.versions
@pytest.mark.parametrize("parts", [1, 7, 100])
def test_no_two_parts_have_the_same_partition(spark: SparkSession, parts: int) -> None:
    """By Spark's own dealing: it is its hash that is foretold here."""
    from pyspark.sql import functions as F

    rows = pa.table({PART: pa.array(range(parts)), ADDRESS: pa.array(addresses(parts))})
    dealt = spark.createDataFrame(rows).repartition(parts, ADDRESS).select(F.spark_partition_id())
    assert sorted(row[0] for row in dealt.collect()) == list(range(parts))
