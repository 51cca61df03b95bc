"""Published rows, from groups: recoded where they lie, then shuffled in an order that tells nothing.

Every row draws a number from a cryptographic source that only the driver has the key of; the number says in which
partition the row is written, and where in it. No region, group, hash or order of the input is left.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.partition import Partition
from shoal.privacy import Privacy
from shoal.release.recode import plain_table, recode
from shoal.spark.arrow import spark_schema
from shoal.spark.encoding import Layout
from shoal.spark.grouping import LABEL, dense_labels, in_groups
from shoal.spark.parcels import ADDRESS, PARCEL, SCHEMA, addresses, in_tables, packed
from shoal.spark.sessions import no_word_of_pandas

if TYPE_CHECKING:
    from pyspark import Broadcast
    from pyspark.sql import DataFrame

DRAW = 0  # the number's column in a parcel
ROWS_IN_A_BATCH = 50_000


def published(grouped: DataFrame, layout: Broadcast[Layout], k: int, key: bytes, partitions: int) -> DataFrame:
    """The released rows, shuffled. `key`: see `release/shuffle.py`; whoever has it can tell the order."""
    here = layout.value
    kinds = dict(zip(here.carried.names, here.carried.types, strict=True))
    rows = pa.schema([(name, kinds.get(name, pa.string())) for name in here.order])
    drawn = rows.insert(DRAW, pa.field("", pa.uint64()))
    going = addresses(partitions)

    def recoded(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for table in in_tables(batches, in_groups(layout.value)):
            records = layout.value.records(table)
            partition = Partition.from_labels(records.codes, dense_labels(table), Privacy.only_k(k, len(records)))
            made = plain_table(recode(records, partition, np.arange(len(records)))).cast(rows)
            draw = draws(key, table[LABEL].to_numpy())
            to = (draw % np.uint64(partitions)).astype(np.int32)
            yield from packed(made.add_column(DRAW, drawn.field(DRAW), pa.array(draw)), to, going).to_batches()

    def in_new_order(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        tables = list(in_tables(batches, drawn))
        if tables:
            table = pa.concat_tables(tables)
            order = np.argsort(table[DRAW].to_numpy(), kind="stable")
            yield from table.remove_column(DRAW).take(pa.array(order)).to_batches(max_chunksize=ROWS_IN_A_BATCH)

    with no_word_of_pandas():
        parcels = grouped.select(PARCEL).mapInArrow(recoded, spark_schema(SCHEMA)).repartition(partitions, ADDRESS)
        return parcels.mapInArrow(in_new_order, spark_schema(rows))


def draws(key: bytes, labels: NDArray[np.int64]) -> NDArray[np.uint64]:
    """A number for each row, from those of the groups: the same if an executor has to make the rows again."""
    starts = np.flatnonzero(np.diff(labels, prepend=-1))
    sizes = np.diff(starts, append=len(labels))
    digests = [
        hashlib.shake_256(key + label.to_bytes(8, "little")).digest(8 * size)
        for label, size in zip(labels[starts].tolist(), sizes.tolist(), strict=True)
    ]
    return np.frombuffer(b"".join(digests), "<u8")
