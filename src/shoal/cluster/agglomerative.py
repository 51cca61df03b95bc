"""Agglomerative clustering (Goldberger & Tassa 2010, Section 6.2.1).

Every record begins as a group of its own; the two closest groups merge until all have k records. Closest is by
dist(A, B) = |A ∪ B|·gc(A ∪ B) − |A|·gc(A) − |B|·gc(B), what a merger adds to the loss.

Decisions. A group that reaches k leaves the pool; the last small one joins its closest among all.

Without an n × n matrix: each group keeps its nearest neighbour, found through the group tree, in a heap by distance. A
merger makes a new group with a neighbour of its own; a neighbour that is gone is looked for again when its turn comes.
A pair's distance stands in the entry of whichever of the two was looked at later, so the smallest entry whose neighbour
is still there is the closest pair of all.

Where sequential clustering merges what is below k, closest is by what a merger adds per record, dist(A, B) / |A ∪ B|:
by dist itself small groups tend to join the smallest, however far that is (see `sequential/`).

Guarantee: every group has at least k records, given k ≤ n; every merger is of a closest pair.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.arrays import row_type
from shoal.boxes.changes import groups_of, new_grouping
from shoal.boxes.costs import CostTables
from shoal.boxes.costs.kernels import box_cost
from shoal.boxes.geometry import without_gaps
from shoal.boxes.group_tree.catalog import NEVER
from shoal.boxes.group_tree.search import near_groups
from shoal.boxes.group_tree.update import absorb, rebuild_if_stale, update_group
from shoal.boxes.grouping import Grouping, Groups
from shoal.boxes.heap import HEAP, pop, push
from shoal.cluster import Task
from shoal.compiling import ZERO, inner, kernel
from shoal.compiling.structs import Struct, struct
from shoal.privacy.rules import no_rules

Ints = NDArray[np.int32]
Longs = NDArray[np.int64]
STEPS_PER_TURN = 5_000

STATE = row_type(
    [
        ("looked_at", np.int64),  # groups that have looked for their neighbour
        ("pool", np.int64),  # groups that are below k
        ("waiting", np.int64),  # entries of the heap
        ("mergers", np.int64),
        ("per_record", np.bool_),  # what a merger adds is divided among all records of both
    ]
)


@struct
class Merging(Struct):
    """The state between two calls of the kernel."""

    nearest: Longs  # of each group: its neighbour
    into: Longs  # the group that each was merged into; itself
    versions: Longs  # of each group: how often it has changed
    seen: Longs  # of each group: its neighbour's version when it was found
    heap: NDArray[np.void]  # groups that wait, by the distance of their neighbours
    pairs: Ints  # (mergers, 2): what was merged with what, for the tests
    state: NDArray[np.void]  # STATE, one


def run(task: Task) -> Ints:
    """The group of each record."""
    return merge_small(task, np.arange(len(task.codes), dtype=np.int32))


def merge_small(task: Task, labels: Ints, *, per_record: bool = False) -> Ints:
    """Groups below k merged, the closest first, until all have k; the last one joins its closest among all."""
    return merged_with(task, labels, per_record=per_record)[0]


def merged_with(task: Task, labels: Ints, *, per_record: bool = False) -> tuple[Ints, Merging]:
    """The labels, and the state when it is done: what the tests look at."""
    labels = without_gaps(labels)
    small = np.bincount(labels) < task.k
    pool = np.where(small[labels], labels, np.int32(-1))  # groups that have k are not in it
    n_groups = len(small)
    g = new_grouping(task.codes, pool, task.costs, no_rules(task.k), room=n_groups, catalog=NEVER)
    merging = Merging(
        nearest=np.full(n_groups, -1),
        into=np.arange(n_groups),
        versions=np.zeros(n_groups, np.int64),
        seen=np.zeros(n_groups, np.int64),
        heap=np.zeros(n_groups, HEAP),
        pairs=np.zeros((n_groups, 2), np.int32),
        state=np.array([(0, small.sum(), 0, 0, per_record)], STATE),
    )
    state = merging.state
    merge_some(g, merging, 0)
    task.progress.stage("merging the closest", int(small.sum()))
    while state["pool"][0] > 1:
        before = int(state["pool"][0])
        merge_some(g, merging, STEPS_PER_TURN)
        task.progress.advance(before - int(state["pool"][0]))
    into = merging.into
    while not np.array_equal(into, into[into]):
        into = into[into]
    labels = into[labels].astype(np.int32)
    return _last_joins(task, labels), merging


def _last_joins(task: Task, labels: Ints) -> Ints:
    """The one group that is still small, if any, joins the group to which it is closest."""
    labels = without_gaps(labels)
    groups = groups_of(task.codes, labels, task.costs)
    last = int(np.argmin(groups.sizes))
    into = closest(groups, task.costs, last)  # asked in any case: what is compiled must not depend on chance
    if groups.sizes[last] < task.k and len(groups.sizes) > 1:
        labels[labels == last] = into
    return labels


@kernel
def closest(groups: Groups, costs: CostTables, group: int) -> int:
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


@inner
def look(g: Grouping, merging: Merging, group: int) -> None:
    """Find the neighbour of a group, and let the group wait by its distance."""
    state = merging.state[0]
    there, distance = merging.nearest[group : group + 1], np.full(1, np.inf)
    there[0] = -1
    near_groups(g, group, g.k - 1.0 if state.per_record else 0.0, there, distance)
    if there[0] >= 0:
        merging.seen[group] = merging.versions[there[0]]
    state.waiting = push(merging.heap, state.waiting, distance[0], group)


@kernel
def merge_some(g: Grouping, merging: Merging, budget: int) -> None:
    """Look for neighbours and merge until the budget of steps is spent or one group is left in the pool."""
    sizes, state = g.groups.sizes, merging.state[0]
    while budget > 0 and state.pool > 1:
        budget -= 1
        rebuild_if_stale(g)
        if state.looked_at < len(sizes):
            group = state.looked_at
            state.looked_at += 1
            if sizes[group] > 0:
                look(g, merging, group)
            continue
        group = merging.heap[0].entry
        state.waiting = pop(merging.heap, state.waiting)
        if sizes[group] == 0:
            continue
        other = merging.nearest[group]
        if other < 0 or sizes[other] == 0 or merging.versions[other] != merging.seen[group]:
            look(g, merging, group)
            continue
        absorb(g, group, other)
        merging.into[other] = group
        merging.versions[group] += 1
        merging.pairs[state.mergers, 0], merging.pairs[state.mergers, 1] = group, other
        state.mergers += 1
        state.pool -= 1
        if sizes[group] >= g.k:
            sizes[group] = 0  # it leaves the pool
            update_group(g, group)
            state.pool -= 1
        else:
            look(g, merging, group)
