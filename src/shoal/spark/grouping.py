"""Groups on Spark: every region by itself, then rounds in which the groups are divided anew and refined.

A round is one shuffle of the encoded rows. Each task gets one part, sorts its rows by their hash (so that their order
does not depend on who sent them first), and gives them back with their groups. It also tells what they lose, and where
some of the groups lie; from that the driver finds the parts of the next round, if there is to be one.

Rows of a round are kept on the executors' disks until the next one is done. Whoever loses an executor computes its
parts again: the same rows come out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from shoal.boxes.costs import CostTables, cost_tables
from shoal.progress import SILENT, Progress
from shoal.regions.cuts import Cuts
from shoal.regions.rounds import cuts_of_round, enough
from shoal.regions.work import Asked, grouped, lost, middles, refined
from shoal.spark.arrow import spark_schema, without_plan
from shoal.spark.cutting import Regions
from shoal.spark.encoding import TIE, Layout
from shoal.spark.kernels import receive, settle
from shoal.spark.parcels import (
    ADDRESS,
    MOST_PARTITIONS,
    PARCEL,
    PART,
    SCHEMA,
    Ints,
    addresses,
    closed,
    in_tables,
    opened,
    packed,
)
from shoal.spark.sessions import no_word_of_pandas
from shoal.workers import using

if TYPE_CHECKING:
    from pyspark import Broadcast
    from pyspark.sql import DataFrame

LABEL, LOSS, PLACES = "label", "loss", "places"
MADE = pa.schema([(PARCEL, pa.binary()), (LOSS, pa.int64()), (PLACES, pa.binary())])  # of each part
PRECISION = 1 << 16  # losses are added up as whole numbers: in any order the sum is the same
SAMPLE = 100_000  # groups that the driver hears of, or more:
OF_EACH = 200  # for each part
SIZE = "size"


@dataclass(frozen=True)
class Kept:
    """Parcels of rows in groups, and what was lost at the start and after each round."""

    parcels: DataFrame
    losses: list[float]


def group_all(
    encoded: DataFrame,
    layout: Broadcast[Layout],
    regions: Regions,
    asked: Asked,
    max_region: int,
    rounds: int | None,
    kernels: str | None,
    progress: Progress = SILENT,
) -> Kept:
    """The rows with the number of their group. Numbers are unique in the table: the part is in them."""
    from pyspark import StorageLevel

    costs = encoded.sparkSession.sparkContext.broadcast(cost_tables(layout.value.books, asked.measure))
    rows = sum(regions.sizes.values())
    share = min(1.0, max(SAMPLE, OF_EACH * (rows // max_region)) * asked.k / rows)
    before = [regions.cuts]
    losses: list[float] = []
    parts = int((regions.region + regions.parts).max())
    now, kept = _in_regions(encoded, layout, regions), None
    while True:
        turn = len(losses)
        progress.stage(f"round {turn}" if turn else "grouping")
        work = _work(layout, costs, asked, turn, max_region, share, rounds == 0, kernels)
        with no_word_of_pandas():
            divided = now.repartition(min(parts, MOST_PARTITIONS), ADDRESS)
            after = without_plan(divided.groupBy(ADDRESS, PART).applyInArrow(work, spark_schema(MADE)))
            after.persist(StorageLevel.DISK_ONLY)
            told = after.select(LOSS, PLACES).toArrow()
        losses.append(sum(told[LOSS].to_pylist()) / PRECISION)
        progress.note(f"loss {losses[-1]:,.0f}".replace(",", " "))
        if kept is not None:
            kept.unpersist()
        kept = after
        if enough(losses, rounds, asked.effort):
            return Kept(kept, losses)
        places = opened(told[PLACES], places_of(layout.value))
        order = np.lexsort([column.to_numpy() for column in places.columns])  # parts come in any order
        points, weights = layout.value.points(places)[order], places[SIZE].to_numpy()[order]
        before.append(cuts_of_round(points, weights * (rows / weights.sum()), max_region, asked, before))
        parts = before[-1].leaves
        now = _divided(after, layout, before[-1])


def _in_regions(encoded: DataFrame, layout: Broadcast[Layout], regions: Regions) -> DataFrame:
    """The encoded rows in parcels for their regions."""
    to = addresses(int((regions.region + regions.parts).max()))

    def place(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        here = layout.value
        for table in in_tables(batches, here.encoded):
            region = regions.of(here.points(table), table[TIE].to_numpy())
            yield from packed(table, region, to).to_batches()

    with no_word_of_pandas():
        return encoded.mapInArrow(place, spark_schema(SCHEMA))


def _divided(grouped: DataFrame, layout: Broadcast[Layout], cuts: Cuts) -> DataFrame:
    """The groups in parcels for the parts that they lie in."""
    to = addresses(cuts.leaves)

    def divide(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for table in in_tables(batches, in_groups(layout.value)):
            labels = dense_labels(table)
            part = cuts.leaf_of(middles(layout.value.points(table), labels))[labels]
            yield from packed(table, part, to).to_batches()

    with no_word_of_pandas():
        return grouped.select(PARCEL).mapInArrow(divide, spark_schema(SCHEMA))


def in_groups(layout: Layout) -> pa.Schema:
    """Of an encoded row that has a group."""
    return pa.schema([(LABEL, pa.int64()), *layout.encoded])


def dense_labels(table: pa.Table) -> Ints:
    """The groups of rows whose groups are together, numbered from 0."""
    return (np.cumsum(np.diff(table[LABEL].to_numpy(), prepend=-1) != 0) - 1).astype(np.int32)


def places_of(layout: Layout) -> pa.Schema:
    """Of a group that is told of: where it lies, and how many records it has."""
    return pa.schema([*((name, pa.int32()) for name in layout.codes), (SIZE, pa.int64())])


def _work(
    layout: Broadcast[Layout],
    costs: Broadcast[CostTables],
    asked: Asked,
    turn: int,
    max_region: int,
    share: float,
    to_the_end: bool,
    kernels: str | None,
) -> Any:
    """What a task does with its part: a function of its number and its parcels."""

    def work(key: tuple[pa.Scalar, ...], parcels: pa.Table) -> pa.Table:
        receive(kernels)
        with using(1):  # Spark has a task for every core
            here, part = layout.value, int(key[1].as_py())
            table = opened(parcels[PARCEL], in_groups(here) if turn else here.encoded)
            ties = table[TIE].to_numpy()
            if turn:
                order = np.lexsort((ties, table[LABEL].to_numpy()))  # neighbours together: see `starts.py`
                records = here.records(table, order)
                labels = refined(records, table[LABEL].to_numpy()[order], costs.value, asked, (turn, part), max_region)
            else:
                order = np.argsort(ties, kind="stable")
                records = here.records(table, order)
                labels = grouped(records, asked, part, to_the_end=to_the_end)
            loss = round(lost(records.codes, labels, costs.value) * PRECISION)
            together = np.argsort(labels, kind="stable")
            numbers = labels[together].astype(np.int64) + (part << 32)
            rows = (
                table.select(here.encoded.names).take(pa.array(order[together])).add_column(0, LABEL, pa.array(numbers))
            )
            some = _some_places(records.codes, labels, share, asked.chance(turn, part), places_of(here))
            settle()
            return pa.table([[closed(rows)], [loss], [closed(some)]], schema=MADE)

    return work


def _some_places(codes: Ints, labels: Ints, share: float, seed: int, schema: pa.Schema) -> pa.Table:
    """Where a share of the groups lie, by chance, and how large they are."""
    places, sizes = middles(codes, labels), np.bincount(labels)
    some = np.random.default_rng(seed).random(len(sizes)) < share
    return pa.table([*places[some].T.copy(), sizes[some]], schema=schema)
