"""Regions on Spark: cuts of a sample, then exact counts of what they make; again where a region is too large.

The sample is of different combinations of codes, each with how many records have it, chosen by a hash of the codes: it
is the same however the table is partitioned. The driver holds the sample, a few numbers per region, and no record.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.regions.asked import Counts, Wanted
from shoal.regions.books import sensitive_codes
from shoal.regions.cuts import Cuts, along_the_widest
from shoal.regions.joining import joined
from shoal.regions.work import Asked
from shoal.spark.arrow import spark_schema
from shoal.spark.encoding import TIE, Layout
from shoal.spark.parcels import in_tables
from shoal.spark.sessions import no_word_of_pandas

if TYPE_CHECKING:
    from pyspark import Broadcast
    from pyspark.sql import DataFrame

Ints = NDArray[np.int32]
Floats = NDArray[np.float64]
SAMPLE = 100_000  # records
OF_EACH = 200  # records for each region, at least
FEW = 8  # times fewer combinations than that: most records are alike, and more of them must be looked at
SCALE = np.uint64(1 << 20)
ODD = np.uint64(0x9E3779B97F4A7C15)
COUNT = "n"
ROOM = 0.9  # of a region, where its size was told by a sample
TRIES = 4


@dataclass(frozen=True)
class Sample:
    """Points, and how many records of the table each stands for."""

    points: Ints
    weights: Floats
    whole: bool  # these are all


@dataclass(frozen=True)
class Regions:
    """Which region a record is in: the leaf that it lies in, and where regions are cut by chance, its hash."""

    cuts: Cuts
    region: Ints  # of each leaf, the first number of its region
    parts: Ints  # of each leaf: how many numbers its region has
    sizes: dict[int, int]

    def of(self, points: Ints, ties: NDArray[np.int64]) -> Ints:
        leaf = self.cuts.leaf_of(points)
        by_chance = (ties.astype(np.uint64) >> np.uint64(11)) % self.parts[leaf].astype(np.uint64)
        return self.region[leaf] + by_chance.astype(np.int32)


def take_sample(encoded: DataFrame, layout: Broadcast[Layout], rows: int, max_region: int, seed: int) -> Sample:
    """About 100 000 records of the table, or all of them; more where there are many regions."""
    from pyspark.sql import functions as F

    size = max(SAMPLE, OF_EACH * (rows // max_region))
    codes = layout.value.codes
    found = pa.schema([*((name, pa.int32()) for name in codes), (COUNT, pa.int64())])
    share = min(1.0, size / rows)
    while True:
        limit = np.uint64(share * SCALE)

        def choose(batches: Iterable[pa.RecordBatch], limit: np.uint64 = limit) -> Iterator[pa.RecordBatch]:
            for table in in_tables(batches, layout.value.encoded):
                points = layout.value.points(table)
                points = points[mixed(points, seed) % SCALE < limit]
                points, counts = np.unique(points, axis=0, return_counts=True)
                yield from pa.table([*points.T.copy(), counts], schema=found).to_batches()

        with no_word_of_pandas():
            chosen = encoded.mapInArrow(choose, spark_schema(found))
            table = chosen.groupBy(*codes).agg(F.sum(COUNT).alias(COUNT)).toArrow()
        if share >= 1 or table.num_rows >= size / FEW:
            break
        share = min(1.0, share * FEW)
    points = layout.value.points(table)
    order = np.lexsort(points.T)
    weights = table[COUNT].to_numpy()[order].astype(np.float64)
    return Sample(points[order], weights * (rows / weights.sum()), share >= 1)


def mixed(points: Ints, seed: int) -> NDArray[np.uint64]:
    """A number for each point that looks drawn by chance, and is the same wherever the point is."""
    found = np.full(len(points), np.uint64(seed % (1 << 64)))
    for column in points.T:
        found = (found ^ column.astype(np.uint64)) * ODD
        found ^= found >> np.uint64(29)
    return found >> np.uint64(8)


def find_regions(
    encoded: DataFrame, layout: Broadcast[Layout], sample: Sample, wanted: Wanted, asked: Asked, max_region: int
) -> Regions:
    """Regions of at most `max_region` records that all have what is asked, as far as there are such.

    Regions that lack something join a neighbour. What has become too large by that is cut by chance: so cut, a table
    is as diverse in every part as it is in all.
    """
    books = layout.value.books
    most = float(max_region) if sample.whole else ROOM * max_region
    for _ in range(TRIES):
        cuts = along_the_widest(sample.points, sample.weights, books, asked.measure, most)
        regions = Regions(cuts, np.arange(cuts.leaves, dtype=np.int32), np.ones(cuts.leaves, np.int32), {})
        counts = count_regions(encoded, layout, regions, wanted, asked)
        if max((one.records for one in counts), default=0) <= max_region or sample.whole:
            break
        most *= 0.8
    wanted.check_feasible(sum(counts[1:], counts[0]))
    number = joined(counts, cuts.neighbours(), wanted.has)
    by_chance = _parts_by_chance(number, counts, max_region)
    while True:
        first = np.concatenate([[0], np.cumsum(by_chance)])[:-1]
        regions = Regions(cuts, first[number].astype(np.int32), by_chance[number].astype(np.int32), {})
        if by_chance.max() == 1:
            sizes = np.bincount(number, [one.records for one in counts])
            return Regions(cuts, regions.region, regions.parts, dict(enumerate(sizes.astype(int).tolist())))
        again = count_regions(encoded, layout, regions, wanted, asked)
        whose = np.repeat(np.arange(len(by_chance)), by_chance)
        lacking = {int(whose[part]) for part, one in enumerate(again) if not wanted.has(one)}
        if not lacking:
            return Regions(cuts, regions.region, regions.parts, {i: one.records for i, one in enumerate(again)})
        for one in lacking:  # chance was not on our side: fewer parts are more alike
            by_chance[one] = max(1, by_chance[one] // 2)


def _parts_by_chance(number: Ints, counts: list[Counts], max_region: int) -> NDArray[np.int64]:
    """Into how many parts each region is cut by chance: more than one where leaves have joined, or cannot be cut."""
    sizes = np.bincount(number, [one.records for one in counts])
    return np.where(sizes > max_region, np.ceil(sizes / (ROOM * max_region)), 1).astype(np.int64)


def count_regions(
    encoded: DataFrame, layout: Broadcast[Layout], regions: Regions, wanted: Wanted, asked: Asked
) -> list[Counts]:
    """How many records each region has, and how many of them each sensitive value that a rule is about."""
    from pyspark.sql import functions as F

    names = list(dict.fromkeys(rule.column for rule in wanted.rules))
    sizes = {name: wanted.size(name) for name in names}
    found = pa.schema([("region", pa.int32()), ("column", pa.int32()), ("code", pa.int32()), ("n", pa.int64())])
    reference = asked.reference

    def count(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        here = layout.value
        for table in in_tables(batches, here.encoded):
            region = regions.of(here.points(table), table[TIE].to_numpy()).astype(np.int64)
            for j, name in enumerate(["", *names]):
                codes = np.zeros(len(region), np.int32)
                if name:
                    carried = table[here.passed[here.carried.get_field_index(name)]]
                    codes = sensitive_codes(name, here.schema, carried, reference[name])
                size = sizes.get(name, 1)
                pairs, counts = np.unique(region * size + codes, return_counts=True)
                column = np.full(len(pairs), j, np.int32)
                rows = [(pairs // size).astype(np.int32), column, (pairs % size).astype(np.int32), counts]
                yield from pa.table([pa.array(part) for part in rows], schema=found).to_batches()

    with no_word_of_pandas():
        counted = encoded.mapInArrow(count, spark_schema(found))
        table = counted.groupBy("region", "column", "code").agg(F.sum("n").alias("n")).toArrow()
    region, column, code, n = (table[name].to_numpy() for name in ("region", "column", "code", "n"))
    count_of = int((regions.region + regions.parts).max())
    counts = []
    for number in range(count_of):
        inside = region == number
        values = {}
        for j, name in enumerate(names, start=1):
            values[name] = np.zeros(sizes[name], np.int64)
            mine = inside & (column == j)
            values[name][code[mine]] = n[mine]
        counts.append(Counts(int(n[inside & (column == 0)].sum()), values))
    return counts
