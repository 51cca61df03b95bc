"""Agglomerative clustering (Goldberger & Tassa 2010, Section 6.2.1).

Every record begins as a group of its own; the two closest groups merge until all have k records. Closest is by
dist(A, B) = |A ∪ B|·gc(A ∪ B) − |A|·gc(A) − |B|·gc(B), what a merger adds to the loss.

Decisions. A group that reaches k leaves the pool; the last small one joins its closest among all.

Without an n × n matrix: each group keeps its nearest neighbour, found through the group tree, in a heap by distance. A
merger makes a new group with a neighbour of its own; a neighbour that is gone is looked for again when its turn comes.
A pair's distance stands in the entry of whichever of the two was looked at later, so the smallest entry whose neighbour
is still there is the closest pair of all.

Where sequential clustering merges what is below k, closest is by what a merger adds per record, dist(A, B) / |A ∪ B|:
by dist itself small groups tend to join the smallest, however far that is (see `sequential.py`).

Guarantee: every group has at least k records, given k ≤ n; every merger is of a closest pair.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.boxes.catalog import NEVER
from shoal.boxes.costs import CostTables
from shoal.boxes.geometry import group_boxes, without_gaps
from shoal.boxes.group_changes import absorb, settle, tend
from shoal.boxes.group_tree import (
    Groups,
    GroupTree,
    build,
    new_group_tree,
    new_groups,
    weigh,
)
from shoal.boxes.kernels import box_cost
from shoal.boxes.near import near_groups
from shoal.cluster import Task
from shoal.compiling import ZERO, announced, kernel

Ints = NDArray[np.int32]
Longs = NDArray[np.int64]
Floats = NDArray[np.float64]
STEPS_PER_TURN = 5_000


class Work(NamedTuple):
    """The state between two calls of the kernel."""

    nearest: Longs  # of each group: its neighbour
    into: Longs  # the group that each was merged into; itself
    versions: Longs  # of each group: how often it has changed
    seen: Longs  # of each group: its neighbour's version when it was found
    marks: Longs  # [groups looked at first, groups in the pool, entries of the heap]
    distances: Floats  # the heap: an entry is not larger than the two below it
    waiting: Longs  # the group of each entry
    pairs: Ints  # (mergers, 2): what was merged with what, for the tests
    mergers: Longs  # [how many]


def run(task: Task) -> Ints:
    """The group of each record."""
    with announced(task.progress):
        return merge_small(task, np.arange(len(task.codes), dtype=np.int32))


def merge_small(task: Task, labels: Ints, *, per_record: bool = False) -> Ints:
    """Groups below k merged, the closest first, until all have k; the last one joins its closest among all."""
    return merged_with(task, labels, per_record=per_record)[0]


def merged_with(task: Task, labels: Ints, *, per_record: bool = False) -> tuple[Ints, Work]:
    """The labels, and the work when it is done: what the tests look at."""
    labels = without_gaps(labels)
    several = int(labels.max()) + 1
    groups = new_groups(several, task.codes.shape[1])
    lo, hi, sizes = group_boxes(task.codes, labels, several)
    groups.lo[:], groups.hi[:] = lo, hi
    small = sizes < task.k
    groups.sizes[:] = np.where(small, sizes, 0)  # those that have k are not in the pool
    weigh(task.costs, groups)
    work = Work(
        nearest=np.full(several, -1),
        into=np.arange(several),
        versions=np.zeros(several, np.int64),
        seen=np.zeros(several, np.int64),
        marks=np.array([0, int(small.sum()), 0]),
        distances=np.zeros(several),
        waiting=np.zeros(several, np.int64),
        pairs=np.zeros((several, 2), np.int32),
        mergers=np.zeros(1, np.int64),
    )
    tree = new_group_tree(groups, catalog=NEVER)
    build(tree, task.costs, groups)
    merge_some(task.costs, task.k, groups, tree, work, per_record, 0)
    task.progress.stage("merging the closest", int(small.sum()))
    while work.marks[1] > 1:
        before = int(work.marks[1])
        merge_some(task.costs, task.k, groups, tree, work, per_record, STEPS_PER_TURN)
        task.progress.advance(before - int(work.marks[1]))
    into = work.into
    while not np.array_equal(into, into[into]):
        into = into[into]
    labels = into[labels].astype(np.int32)
    return _last_joins(task, labels), work


def _last_joins(task: Task, labels: Ints) -> Ints:
    """The one group that is still small, if any, joins the group to which it is closest."""
    labels = without_gaps(labels)
    several = int(labels.max()) + 1
    groups = new_groups(several, task.codes.shape[1])
    groups.lo[:], groups.hi[:], groups.sizes[:] = group_boxes(task.codes, labels, several)
    weigh(task.costs, groups)
    last = int(np.argmin(groups.sizes))
    into = closest(task.costs, groups, last)  # asked in any case: what is to be compiled must not depend on chance
    if groups.sizes[last] < task.k and several > 1:
        labels[labels == last] = into
    return labels


@kernel
def closest(costs: CostTables, groups: Groups, group: int) -> int:
    """By a scan: it is asked once."""
    best, chosen = np.inf, ZERO - 1
    lo, hi = np.empty(groups.lo.shape[1], np.int32), np.empty(groups.lo.shape[1], np.int32)
    for other in range(len(groups.sizes)):
        if other == group:
            continue
        for j in range(len(lo)):
            lo[j], hi[j] = min(groups.lo[group, j], groups.lo[other, j]), max(groups.hi[group, j], groups.hi[other, j])
        together = (groups.sizes[group] + groups.sizes[other]) * box_cost(costs, lo, hi)
        added = together - groups.sizes[other] * groups.losses[other]
        if added < best:
            best, chosen = added, other
    return chosen


@kernel
def look(costs: CostTables, groups: Groups, tree: GroupTree, work: Work, largest: float, group: int) -> float:
    """Find the neighbour of a group; how far it is. `largest`: as for `near_groups`."""
    size, loss = float(groups.sizes[group]), groups.losses[group]
    there, distance = work.nearest[group : group + 1], np.full(1, np.inf)
    there[0] = -1
    near_groups(tree, costs, groups.lo[group], groups.hi[group], size, loss, group, largest, there, distance)
    if there[0] >= 0:
        work.seen[group] = work.versions[there[0]]
    return distance[0]


@kernel
def push(work: Work, distance: float, group: int) -> None:
    at = work.marks[2]
    work.marks[2] += 1
    while at > 0 and work.distances[(at - 1) // 2] > distance:
        above = (at - 1) // 2
        work.distances[at], work.waiting[at] = work.distances[above], work.waiting[above]
        at = above
    work.distances[at], work.waiting[at] = distance, group


@kernel
def pop(work: Work) -> int:
    """The group of the smallest entry, which is taken out."""
    group = work.waiting[0]
    work.marks[2] -= 1
    size = work.marks[2]
    distance, moving = work.distances[size], work.waiting[size]
    at = 0
    while 2 * at + 1 < size:
        below = 2 * at + 1
        if below + 1 < size and work.distances[below + 1] < work.distances[below]:
            below += 1
        if work.distances[below] >= distance:
            break
        work.distances[at], work.waiting[at] = work.distances[below], work.waiting[below]
        at = below
    work.distances[at], work.waiting[at] = distance, moving
    return group


@kernel
def merge_some(
    costs: CostTables, k: int, groups: Groups, tree: GroupTree, work: Work, per_record: bool, budget: int
) -> None:
    """Look for neighbours and merge until the budget of steps is spent or one group is left in the pool."""
    largest = k - 1.0 if per_record else 0.0
    while budget > 0 and work.marks[1] > 1:
        budget -= 1
        tend(tree, costs, groups)
        if work.marks[0] < len(groups.sizes):
            group = work.marks[0]
            work.marks[0] += 1
            if groups.sizes[group] > 0:
                push(work, look(costs, groups, tree, work, largest, group), group)
            continue
        group = pop(work)
        if groups.sizes[group] == 0:
            continue
        other = work.nearest[group]
        if other < 0 or groups.sizes[other] == 0 or work.versions[other] != work.seen[group]:
            push(work, look(costs, groups, tree, work, largest, group), group)
            continue
        absorb(tree, costs, groups, group, other)
        work.into[other] = group
        work.versions[group] += 1
        work.pairs[work.mergers[0], 0], work.pairs[work.mergers[0], 1] = group, other
        work.mergers[0] += 1
        work.marks[1] -= 1
        if groups.sizes[group] >= k:
            groups.sizes[group] = 0  # it leaves the pool
            settle(tree, costs, groups, group)
            work.marks[1] -= 1
        else:
            push(work, look(costs, groups, tree, work, largest, group), group)
