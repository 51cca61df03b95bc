"""Parcels: all rows that go from one task to one part travel as one value.

Spark moves rows one by one, and at every exchange each costs Java some microseconds. What is done with rows is done in
Python, by whole tables; so Spark gets a few large values to move instead, with tables in Arrow's own format:

| column | |
| --- | --- |
| `part` | the part that the rows go to |
| `address` | a number that Spark's hash brings to the partition of that part: see `addresses` |
| `parcel` | the rows, compressed |
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

Ints = NDArray[np.int32]
PART, ADDRESS, PARCEL = "part", "address", "parcel"
SCHEMA = pa.schema([(PART, pa.int32()), (ADDRESS, pa.int32()), (PARCEL, pa.binary())])
MOST_PARTITIONS = 20_000
ROWS_AT_ONCE = 100_000
BYTES = 8  # bytes before a parcel that tell how large it is when opened


def closed(rows: pa.Table) -> bytes:
    """Rows as one parcel."""
    (batch,) = rows.combine_chunks().to_batches() or [pa.RecordBatch.from_pylist([], rows.schema)]
    buffer = batch.serialize()
    return bytes(buffer.size.to_bytes(BYTES, "little") + pa.compress(buffer, "lz4", asbytes=True))


def packed(table: pa.Table, parts: NDArray[np.integer], addresses: Ints) -> pa.Table:
    """Rows as parcels, one for each part that some of them go to. In a parcel they stay in order."""
    order = np.argsort(parts, kind="stable")
    going = np.asarray(parts)[order].astype(np.int32)
    starts = np.flatnonzero(np.diff(going, prepend=-1))
    ends = np.append(starts[1:], len(going))
    rows = table.take(pa.array(order)).combine_chunks()
    parcels = [closed(rows.slice(start, end - start)) for start, end in zip(starts, ends, strict=True)]
    going = going[starts]
    return pa.table([going, addresses[going], pa.array(parcels, pa.binary())], schema=SCHEMA)


def opened(parcels: Iterable[pa.BinaryScalar], schema: pa.Schema) -> pa.Table:
    """The rows of parcels, in order. `schema`: the rows' own."""
    batches = []
    for parcel in parcels:
        buffer = parcel.as_buffer()
        size = int.from_bytes(buffer[:BYTES], "little")
        batches.append(pa.ipc.read_record_batch(pa.decompress(buffer[BYTES:], size, "lz4"), schema))
    return pa.Table.from_batches(batches, schema)


def in_tables(batches: Iterable[pa.RecordBatch], schema: pa.Schema) -> Iterator[pa.Table]:
    """The rows of a task's parcels, in tables of about 100 000. No parcel is in two of them."""
    waiting: list[pa.Table] = []
    count = 0
    for batch in batches:
        for parcel in batch.column(PARCEL):
            waiting.append(opened([parcel], schema))
            count += len(waiting[-1])
            if count >= ROWS_AT_ONCE:
                yield pa.concat_tables(waiting)
                waiting, count = [], 0
    if waiting:
        yield pa.concat_tables(waiting)


def addresses(parts: int) -> Ints:
    """Of each part its address. No two parts have the same partition, as long as there are no more than 20 000.

    Parts that were sent by their own numbers would leave a third of the partitions empty, and give others three.
    """
    partitions = min(parts, MOST_PARTITIONS)
    found = np.full(partitions, -1, np.int32)
    numbers = 4 * partitions
    while (found < 0).any():
        numbers *= 4
        where, first = np.unique(sparks_hash(np.arange(numbers)) % partitions, return_index=True)
        found[where] = first
    return np.resize(found, parts)


def sparks_hash(numbers: NDArray[np.int64]) -> NDArray[np.int64]:
    """Of each number below 2³¹, as an integer column: murmur3 with the seed 42, by which Spark's `repartition` goes."""
    low = np.uint64(0xFFFFFFFF)

    def turned(words: NDArray[np.uint64], bits: int) -> NDArray[np.uint64]:
        return (words << np.uint64(bits) | words >> np.uint64(32 - bits)) & low

    words = turned(numbers.astype(np.uint64) * np.uint64(0xCC9E2D51) & low, 15) * np.uint64(0x1B873593) & low
    words = (turned(words ^ np.uint64(42), 13) * np.uint64(5) + np.uint64(0xE6546B64)) & low ^ np.uint64(4)
    for shift, factor in ((16, 0x85EBCA6B), (13, 0xC2B2AE35)):
        words = (words ^ words >> np.uint64(shift)) * np.uint64(factor) & low
    return (words ^ words >> np.uint64(16)).astype(np.uint32).astype(np.int32).astype(np.int64)
