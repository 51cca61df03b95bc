"""The default method: a good start in near-linear time, then local search (docs/method.md).

The start is that of sequential clustering with other first groups. Mondrian cuts the table into pairs, records move to
the group where the loss falls most, groups above 1.5 k are split at random, and what is below k in the end is merged,
the closest first. Random first groups, as in the paper, take several times as long to find their places.

Where k is large the groups grow in steps: first of a few records, then four times as many, and so on, each refined
before the next. Groups of 100 that are made of good groups of 25 lose a tenth less than those made of pairs.

The rest is refining (`optimize/refine.py`): moves, swaps, dissolving, splitting and pools, as long as it is worth it.

With rules, or where people are counted, the start looks at records only; what does not have what is asked is mended
(`repair.py`), and refined under the rules from there.

Guarantee: every group has what is asked, at whatever moment the time is over.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from shoal.boxes.geometry import without_gaps
from shoal.cluster import Task, mondrian
from shoal.cluster.agglomerative import merge_small
from shoal.cluster.information import ByScan
from shoal.cluster.moving import ThroughTree
from shoal.cluster.repair import mended
from shoal.cluster.sequential import search, split_at_random
from shoal.compiling import announced
from shoal.errors import ParameterError, one_of
from shoal.optimize.refine import DEFAULT_EFFORT, EFFORTS, Refiner, until
from shoal.privacy import Privacy

Ints = NDArray[np.int32]
PASSES = {"fast": 1, "balanced": 3, "thorough": 20}
SPLIT_SHARE = 1.5
GROWTH = 4  # from one size of groups to the next
SMALLEST = 5  # groups that are worth refining on the way


def run(task: Task, *, effort: str = DEFAULT_EFFORT, max_seconds: float | None = None) -> Ints:
    """The group of each record. `max_seconds`: no longer than that, once there is a partition at all."""
    if effort not in EFFORTS:
        raise ParameterError(one_of("effort", effort, EFFORTS))
    if max_seconds is not None and not max_seconds >= 0:
        raise ParameterError(f"max_seconds must be a number of at least 0. Got {max_seconds!r} instead.")
    over = until(max_seconds)
    if task.measure == "pmi":
        return by_scan(task, over)
    labels = start(task, PASSES[effort], over)
    for size in sizes_on_the_way(task.k):
        small = records_only(task, size)
        labels = merged(small, labels)
        if not over():
            labels = refined(small, labels, "fast", over)
    labels = merged(task, labels)
    if task.privacy.asks_more:
        labels = mended(task, labels)
    return refined(task, labels, effort, over)


def by_scan(task: Task, over: Callable[[], bool]) -> Ints:
    """PMI does not grow with the box, so no tree helps: sequential clustering, then moves that leave k behind."""
    engine = ByScan(task, 0.0)
    labels = search(task, engine)
    if task.privacy.asks_more:
        labels = without_gaps(mended(task, labels))
    moved = 1
    while moved and not over():
        labels, moved, _ = engine.one_pass(labels, "moving records", task.k)
        labels = without_gaps(labels)
    return labels


def records_only(task: Task, k: int) -> Task:
    """The same table, and nothing asked of it but k records in every group."""
    return replace(task, privacy=Privacy.only_k(k, len(task.codes)))


def sizes_on_the_way(k: int) -> list[int]:
    """The sizes that groups have before they have k."""
    sizes: list[int] = []
    while k // GROWTH >= SMALLEST:
        k //= GROWTH
        sizes.insert(0, k)
    return sizes


def start(task: Task, passes: int, over: Callable[[], bool]) -> Ints:
    """Groups of any size, each record in the best it could find."""
    pairs = records_only(task, min(2, task.k))
    labels = without_gaps(mondrian.run(pairs))
    first = sizes_on_the_way(task.k)[:1] or [task.k]
    engine = ThroughTree(records_only(task, first[0]))
    with announced(task.progress):
        for turn in range(passes):
            if over():
                break
            labels, moved, _ = engine.one_pass(labels, f"moving records, pass {turn + 1}")
            labels = without_gaps(labels)
            if not moved:
                break
            if turn + 1 < passes:
                labels, _ = split_at_random(engine.task, labels, SPLIT_SHARE * first[0])
    return labels


def merged(task: Task, labels: Ints) -> Ints:
    with announced(task.progress):
        return without_gaps(merge_small(task, labels))


def refined(task: Task, labels: Ints, effort: str, over: Callable[[], bool]) -> Ints:
    with announced(task.progress):
        seed = int(task.rng.integers(2**62))
        refiner = Refiner.of(task.codes, labels, task.costs, task.privacy, seed)
        refiner.compile()
    refiner.run(EFFORTS[effort], task.rng, task.progress, over)
    return refiner.work.members.labels
