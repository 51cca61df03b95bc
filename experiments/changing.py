"""A table that changes: made anew by a static method, or followed by a maintainer from the groups before.

Times are those of the algorithms alone, on data in memory. Losses are Total-IL on the domains of the whole table.
"""

from __future__ import annotations

import time
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from experiments.trials import some, trial
from shoal.boxes.costs import box_costs, cost_tables
from shoal.boxes.geometry import group_boxes, without_gaps
from shoal.maintain.live import LivePartition, Settings
from shoal.optimize import optimized
from shoal.privacy import Privacy
from shoal.progress import SILENT
from shoal.records.encode import Records

Ints = NDArray[np.int32]
Longs = NDArray[np.int64]


class Change(NamedTuple):
    """Records before and after, and those that came or went."""

    before: Longs
    after: Longs
    changed: Longs
    deleting: bool


class Found(NamedTuple):
    labels: Ints  # −1: not in the table
    seconds: float


def inserting(records: Records, base: int, changes: int, seed: int) -> Change:
    """So many records come to `base` others, all drawn at random."""
    order = np.random.default_rng(seed).permutation(len(records))[: base + changes]
    return Change(order[:base], order, order[base:], deleting=False)


def deleting(records: Records, base: int, changes: int, seed: int) -> Change:
    """So many records go, and `base` are left."""
    order = np.random.default_rng(seed).permutation(len(records))[: base + changes]
    return Change(order, order[:base], order[base:], deleting=True)


def static(records: Records, rows: Longs, k: int, method: str) -> Found:
    """From nothing. Mondrian cuts at medians, as the papers' does."""
    options = {"cut": "median"} if method == "mondrian" else {}
    partition, seconds = trial(some(records, rows), k, method, options=options)
    labels = np.full(len(records), -1, np.int32)
    labels[rows] = partition.labels
    return Found(labels, seconds)


def maintained(records: Records, change: Change, k: int, maintainer: str, method: str) -> Found:
    """What a maintainer makes of a static method's groups, and the seconds that the changes took."""
    first = static(records, change.before, k, method).labels
    nobody, changed = np.zeros(0, np.int32), change.changed.astype(np.int32)
    gone, come = (changed, nobody) if change.deleting else (nobody, changed)
    found: list[Found] = []
    while len(found) < 2:  # what the first time compiles is not counted
        keys = [str(i) for i in range(len(records))]
        live = LivePartition(records, keys, first.copy(), Settings(k=k, maintainer=maintainer, seed=1))
        engine = live.engine
        engine.apply(nobody, nobody, nobody, SILENT)  # groups that were too large from the beginning
        start = time.process_time()
        engine.apply(gone, come, np.full(len(come), -1, np.int32), SILENT)
        found.append(Found(live.labels[: len(records)].copy(), time.process_time() - start))
    return found[1]


def total_il(records: Records, rows: Longs, labels: Ints) -> float:
    dense = without_gaps(labels[rows])
    lo, hi, sizes = group_boxes(records.codes[rows], dense, int(dense.max()) + 1)
    return float(sizes @ box_costs(records.books, "il", lo, hi).sum(axis=1))


def broken(records: Records, rows: Longs, labels: Ints, k: int) -> Found:
    """After IL_Optimization."""
    costs, privacy = cost_tables(records.books, "il"), Privacy.only_k(k, len(rows))
    start = time.process_time()
    better = optimized("breaking", records.codes[rows], without_gaps(labels[rows]), costs, privacy)
    seconds = time.process_time() - start
    spread = np.full(len(records), -1, np.int32)
    spread[rows] = better
    return Found(spread, seconds)
