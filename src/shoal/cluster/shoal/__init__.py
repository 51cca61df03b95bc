"""The default method: a good start, then local search (docs/method.md).

The starts are in `starts.py`, the search is refining (`optimize/refine/`): moves, swaps, dissolving, splitting and
pools, as long as it is worth it.

A large table has one start, in near-linear time, and straight cuts beside it where they lose little more without being
refined at all. A small one has several, the other methods' among them: each is refined by one sweep, and the best two
to the end. So on such a table it never loses more than any of its starts.
Where records have no near neighbours (`neighbourhood.py`), trees are of no use: there is one start, in parts.

With rules, or where people are counted, what a start lacks of what is asked is mended (`repair.py`), and refined under
the rules from there.

Guarantee: every group has what is asked, at whatever moment the time is over.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.boxes.geometry import without_gaps
from shoal.cluster import Task
from shoal.cluster.repair import mended
from shoal.cluster.sequential import search
from shoal.cluster.sequential.by_scan import ByScan
from shoal.cluster.sequential.through_tree import ThroughTree
from shoal.cluster.shoal import starts
from shoal.cluster.shoal.neighbourhood import without_neighbours
from shoal.cluster.shoal.starts import Over, refined
from shoal.errors import ParameterError, one_of
from shoal.optimize import check_seconds
from shoal.optimize.refine.refiner import ALL_EFFORTS, DEFAULT_EFFORT, EFFORTS, ROUGH, until

Ints = NDArray[np.int32]
SMALL = 5_000  # records; where none has near neighbours, agglomerative clustering is nearly quadratic
PART = 10_000  # records; among such that have no near neighbours any method is quadratic
FINALISTS = 2  # one sweep tells a good start from a bad one, but not the best from the next


def run(task: Task, *, effort: str = DEFAULT_EFFORT, max_seconds: float | None = None) -> Ints:
    """The group of each record. `max_seconds`: no longer than that, once there is a partition at all."""
    if effort not in ALL_EFFORTS:
        raise ParameterError(one_of("effort", effort, EFFORTS))
    check_seconds("max_seconds", max_seconds)
    over = until(max_seconds)
    if task.measure == "pmi":
        return by_scan(task, over)
    if without_neighbours(task):
        return far_apart(task, effort, over)
    if effort not in (ROUGH, "fast") and len(task.codes) <= SMALL:
        return best_of_several(task, effort, over)
    order = starts.neighbours_together(task)
    near = starts.in_order(task, order)

    def to_the_end(start: Ints) -> Ints:
        """Refined, and the records as they were in the table."""
        found = start if task.privacy.asks_more else refined(near, start, effort, over)
        labels = np.empty_like(found)
        labels[order] = found
        return refined(task, starts.as_asked(task, labels), effort, over) if task.privacy.asks_more else labels

    best = to_the_end(starts.of_many(near, effort, over))
    if effort in (ROUGH, "fast"):
        return best
    least = loss_of(task, best)
    for start in starts.cut_straight(near, least, over):
        labels = to_the_end(start)
        loss = loss_of(task, labels)
        if loss < least:
            best, least = labels, loss
    return best


def loss_of(task: Task, labels: Ints) -> float:
    return ThroughTree(task).total(without_gaps(labels))


def best_of_several(task: Task, effort: str, over: Over) -> Ints:
    """From its own start or from what another method makes, whichever ends with the least loss; the first of equals."""

    def loss(labels: Ints) -> float:
        return loss_of(task, labels)

    first = starts.as_asked(task, starts.own(task, effort, over))
    tried = [refined(task, first, "fast", over)]
    tried += [refined(task, other, "fast", over) for other in starts.of_others(task, over)]
    best = sorted(tried, key=loss)[:FINALISTS]
    return min((refined(task, labels, effort, over) for labels in best), key=loss)


def far_apart(task: Task, effort: str, over: Over) -> Ints:
    """Records without near neighbours: a part of the table after the other, each from one start."""
    n_parts = -(-len(task.codes) // max(PART, 2 * task.k))
    parts = np.array_split(starts.neighbours_together(task), n_parts) if n_parts > 1 else [np.arange(len(task.codes))]
    labels, groups = np.empty(len(task.codes), np.int32), 0
    for order in parts:
        near = starts.in_order(task, order)
        found = starts.closest(near)
        if not task.privacy.asks_more:
            found = without_gaps(refined(near, found, effort, over))
        labels[order] = found + groups
        groups += int(found.max()) + 1
    return refined(task, starts.as_asked(task, labels), effort, over) if task.privacy.asks_more else labels


def by_scan(task: Task, over: Over) -> Ints:
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
