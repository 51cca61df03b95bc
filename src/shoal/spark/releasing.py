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
from shoal.spark.grouping import LABEL
from shoal.spark.sessions import no_word_of_pandas

if TYPE_CHECKING:
    from pyspark import Broadcast
    from pyspark.sql import DataFrame

DRAW = "draw"


def published(grouped: DataFrame, layout: Broadcast[Layout], k: int, key: bytes, partitions: int) -> DataFrame:
    """The released rows, shuffled. `key`: see `release/shuffle.py`; whoever has it can tell the order."""
    here = layout.value
    kinds = dict(zip(here.carried.names, here.carried.types, strict=True))
    draw = _free(here.order)
    fields = pa.schema([*((name, kinds.get(name, pa.string())) for name in here.order), (draw, pa.int64())])

    def run(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for part, table in whole_parts(batches):
            records = layout.value.records(table)
            labels = (table[LABEL].to_numpy() & 0xFFFFFFFF).astype(np.int32)
            partition = Partition.from_labels(records.codes, labels, Privacy.only_k(k, len(records)))
            rows = plain_table(recode(records, partition, np.arange(len(records))))
            yield from rows.append_column(draw, pa.array(draws(key, part, len(records)))).to_batches()

    with no_word_of_pandas():
        recoded = grouped.mapInArrow(run, spark_schema(fields))
    return recoded.repartition(partitions, draw).sortWithinPartitions(draw).drop(draw)


def whole_parts(batches: Iterable[pa.RecordBatch]) -> Iterator[tuple[int, pa.Table]]:
    """The rows of one part after the other, as a task gave them; its groups are whole."""
    waiting: list[pa.RecordBatch] = []
    now = -1
    for batch in batches:
        parts = batch.column(batch.schema.get_field_index(LABEL)).to_numpy() >> 32
        ends = [*np.flatnonzero(np.diff(parts)) + 1, len(parts)]
        start = 0
        for end in ends:
            if end == start:
                continue
            if waiting and int(parts[start]) != now:
                yield now, pa.Table.from_batches(waiting)
                waiting = []
            now = int(parts[start])
            waiting.append(batch.slice(start, end - start))
            start = end
    if waiting:
        yield now, pa.Table.from_batches(waiting)


def draws(key: bytes, part: int, rows: int) -> NDArray[np.int64]:
    """A number for each row of a part; the same if an executor has to make the part again."""
    digest = hashlib.shake_256(key + part.to_bytes(8, "little")).digest(8 * rows)
    return np.frombuffer(digest, dtype="<i8")


def _free(names: list[str]) -> str:
    name = DRAW
    while name in names:
        name += "_"
    return name
