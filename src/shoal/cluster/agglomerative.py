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
from shoal.compiling import ZERO, constant, inner, kernel
from shoal.compiling.structs import Struct, struct
from shoal.privacy.rules import no_rules
from shoal.workers import side_by_side

Ints = NDArray[np.int32]
Longs = NDArray[np.int64]
NOBODY = constant(-1)
STEPS_PER_TURN = 5_000
WINDOWS = 64  # a share of the groups that are below k: so many turns are taken before anybody looks again
LEAST_LOOKS = 32  # for a worker at a time

STATE = row_type(
    [
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
    distances: NDArray[np.float64]  # of each group: how far its neighbour is
    heap: NDArray[np.void]  # groups that wait, by the distance of their neighbours
    pairs: Ints  # (mergers, 2): what was merged with what, for the tests
    state: NDArray[np.void]  # STATE, one


def run(task: Task) -> Ints:
    """The group of each record."""
    return merge_small(task, np.arange(len(task.codes), dtype=np.int32))


def merge_small(task: Task, labels: Ints, *, per_record: bool = False, in_turn: bool = True) -> Ints:
    """Groups below k merged, the closest first, until all have k; the last one joins its closest among all.

    Not `in_turn`: many at a time, the closest of all of them, before those that are new look for their neighbours; who
    is merged is nearly the same, and workers share the looking.
    """
    return merged_with(task, labels, per_record=per_record, in_turn=in_turn)[0]


def merged_with(task: Task, labels: Ints, *, per_record: bool = False, in_turn: bool = True) -> tuple[Ints, Merging]:
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
        distances=np.zeros(n_groups),
        heap=np.zeros(n_groups, HEAP),
        pairs=np.zeros((n_groups, 2), np.int32),
        state=np.array([(small.sum(), 0, 0, per_record)], STATE),
    )
    state = merging.state
    merge_in_turn(g, merging, 0)
    task.progress.stage("merging the closest", int(small.sum()))
    _look(g, merging, np.flatnonzero(small))
    while state["pool"][0] > 1:
        before = int(state["pool"][0])
        if in_turn:
            merge_in_turn(g, merging, STEPS_PER_TURN)
        else:
            new = np.empty(max(1, before // WINDOWS), np.int64)
            _look(g, merging, np.sort(new[: merge_closest(g, merging, new)]))  # neighbours after neighbours
        task.progress.advance(before - int(state["pool"][0]))
    into = merging.into
    while not np.array_equal(into, into[into]):
        into = into[into]
    labels = into[labels].astype(np.int32)
    return _last_joins(task, labels), merging


def _look(g: Grouping, merging: Merging, groups: Longs) -> None:
    """These groups find their neighbours, and wait by their distance."""
    side_by_side(lambda first, last: look(g, merging, groups[first:last]), len(groups), least=LEAST_LOOKS)
    let_wait(merging, groups)


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


@kernel
def look(g: Grouping, merging: Merging, groups: Longs) -> None:
    """Find the neighbours of groups. Nothing else changes."""
    for group in groups:
        find_neighbour(g, merging, group)


@inner
def find_neighbour(g: Grouping, merging: Merging, group: int) -> None:
    there, distance = merging.nearest[group : group + 1], merging.distances[group : group + 1]
    there[0], distance[0] = -1, np.inf
    near_groups(g, group, g.k - 1.0 if merging.state[0].per_record else 0.0, 1.0, there, distance)
    if there[0] >= 0:
        merging.seen[group] = merging.versions[there[0]]


@kernel
def let_wait(merging: Merging, groups: Longs) -> None:
    for group in groups:
        waits(merging, group)


@inner
def waits(merging: Merging, group: int) -> None:
    """A group waits for its turn, which comes by the distance of its neighbour."""
    state = merging.state[0]
    state.waiting = push(merging.heap, state.waiting, merging.distances[group], group)


@kernel
def merge_in_turn(g: Grouping, merging: Merging, budget: int) -> None:
    """Merge the closest, look for the neighbour of what comes of it, and so on, until the budget is spent."""
    state = merging.state[0]
    while budget > 0 and state.pool > 1:
        budget -= 1
        rebuild_if_stale(g)
        group = next_turn(g, merging)
        if group >= 0:
            find_neighbour(g, merging, group)
            waits(merging, group)


@kernel
def merge_closest(g: Grouping, merging: Merging, new: Longs) -> int:
    """Merge those that are closest, until `new` is full of those that have to look for a neighbour; how many it has."""
    state, count = merging.state[0], 0
    while count < len(new) and state.pool > 1 and state.waiting > 0:
        rebuild_if_stale(g)
        group = next_turn(g, merging)
        if group >= 0:
            new[count] = group
            count += 1
    # One that has been merged since does not look.
    alive = 0
    for i in range(count):
        if g.groups.sizes[new[i]] > 0:
            new[alive] = new[i]
            alive += 1
    return alive


@inner
def next_turn(g: Grouping, merging: Merging) -> int:
    """The group that waits for the closest neighbour merges with it; who has to look for a neighbour then, or −1."""
    sizes, state = g.groups.sizes, merging.state[0]
    group = merging.heap[0].entry + ZERO
    state.waiting = pop(merging.heap, state.waiting)
    if sizes[group] == 0:
        return NOBODY
    other = merging.nearest[group] + ZERO
    if other < 0 or sizes[other] == 0 or merging.versions[other] != merging.seen[group]:
        return group
    absorb(g, group, other)
    merging.into[other] = group
    merging.versions[group] += 1
    merging.pairs[state.mergers, 0], merging.pairs[state.mergers, 1] = group, other
    state.mergers += 1
    state.pool -= 1
    if sizes[group] < g.k:
        return group
    sizes[group] = 0  # it leaves the pool
    update_group(g, group)
    state.pool -= 1
    return NOBODY
