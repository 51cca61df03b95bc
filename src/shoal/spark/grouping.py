"""Groups on Spark: every region by itself, then rounds in which the groups are divided anew and refined.

A round is one shuffle of the encoded rows. Each task gets one part, sorts its rows by their hash (so that their order
does not depend on who sent them first), and gives them back with their groups, and with the part that each group is in
in the next round. What the groups lose in all is added up before it is decided whether there is another round.

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
from shoal.spark.arrow import as_tables, spark_schema
from shoal.spark.cutting import Regions, Sample
from shoal.spark.encoding import TIE, Layout
from shoal.spark.kernels import receive
from shoal.spark.sessions import no_word_of_pandas
from shoal.workers import using

if TYPE_CHECKING:
    from pyspark import Broadcast
    from pyspark.sql import DataFrame

PART, LABEL, LOSS = "part", "label", "loss"
PRECISION = 1 << 16  # losses are added up as whole numbers: in any order the sum is the same
ROWS_AT_ONCE = 100_000
MOST_PARTITIONS = 20_000


@dataclass(frozen=True)
class Kept:
    """Rows in groups, and what was lost at the start and after each round."""

    rows: DataFrame
    losses: list[float]


def group_all(
    encoded: DataFrame,
    layout: Broadcast[Layout],
    sample: Sample,
    regions: Regions,
    asked: Asked,
    max_region: int,
    rounds: int | None,
    kernels: str | None,
    progress: Progress = SILENT,
) -> Kept:
    """The rows with the number of their group. Numbers are unique in the table: the part is in them."""
    from pyspark import StorageLevel
    from pyspark.sql import functions as F

    costs = encoded.sparkSession.sparkContext.broadcast(cost_tables(layout.value.books, asked.measure))
    fields = [(PART, pa.int32()), (LABEL, pa.int64()), (LOSS, pa.int64()), *layout.value.fields]
    out = spark_schema(pa.schema(fields))
    before = [regions.cuts]
    losses: list[float] = []
    now, kept = _in_regions(encoded, layout, regions), None
    parts = int((regions.region + regions.parts).max())
    while True:
        turn = len(losses)
        progress.stage(f"round {turn}" if turn else "grouping")
        before.append(cuts_of_round(sample.points, sample.weights, max_region, asked, before))
        work = _work(layout, costs, asked, turn, before[-1], kernels)
        with no_word_of_pandas():
            divided = now.repartition(min(parts, MOST_PARTITIONS), PART)
            after = divided.groupBy(PART).applyInArrow(work, out).persist(StorageLevel.DISK_ONLY)
        losses.append(after.agg(F.sum(LOSS)).collect()[0][0] / PRECISION)
        progress.note(f"loss {losses[-1]:,.0f}".replace(",", " "))
        if kept is not None:
            kept.unpersist()
        now = kept = after
        parts = before[-1].leaves
        if enough(losses, rounds):
            return Kept(kept, losses)


def _in_regions(encoded: DataFrame, layout: Broadcast[Layout], regions: Regions) -> DataFrame:
    """The encoded rows, each with its region."""
    fields = pa.schema([(PART, pa.int32()), *layout.value.fields])

    def place(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for table in as_tables(batches, ROWS_AT_ONCE):
            points = np.stack([table[name].to_numpy() for name in layout.value.codes], axis=1)
            region = regions.of(points, table[TIE].to_numpy())
            yield from table.add_column(0, PART, pa.array(region)).to_batches()

    with no_word_of_pandas():
        return encoded.mapInArrow(place, spark_schema(fields))


def _work(
    layout: Broadcast[Layout], costs: Broadcast[CostTables], asked: Asked, turn: int, after: Cuts, kernels: str | None
) -> Any:
    """What a task does with its part: a function of its number and its rows."""

    def work(key: tuple[pa.Scalar, ...], table: pa.Table) -> pa.Table:
        receive(kernels)
        with using(1):  # Spark has a task for every core
            part = int(key[0].as_py())
            ties = table[TIE].to_numpy()
            if turn:
                order = np.lexsort((ties, table[LABEL].to_numpy()))  # neighbours together: see `starts.py`
                records = layout.value.records(table, order)
                labels = refined(records, table[LABEL].to_numpy()[order], costs.value, asked, turn, part)
            else:
                order = np.argsort(ties, kind="stable")
                records = layout.value.records(table, order)
                labels = grouped(records, asked, part)
            loss = np.zeros(len(labels), np.int64)
            loss[0] = round(lost(records.codes, labels, costs.value) * PRECISION)
            going = after.leaf_of(middles(records.codes, labels))[labels]
            together = np.argsort(labels, kind="stable")
            columns = [pa.array(going), pa.array(labels.astype(np.int64) + (part << 32)), pa.array(loss)]
            made = pa.table(columns, names=[PART, LABEL, LOSS])
            for name, _ in layout.value.fields:
                made = made.append_column(name, table[name].take(pa.array(order)))
            return made.take(pa.array(together)).combine_chunks()

    return work
