"""Rings: two or three records of a pool change places at once, where no move and no swap helps any more.

Each takes the place of the next one, in another group. A ring is closed where the last one takes the place of the
first; it is open where the first one leaves a group that can do without it, and the last one joins one more group. What
a place costs somebody does not depend on who else goes as long as all groups of a ring differ, so all costs stand in
one table, and to follow a ring is a few looks into it.

A closed ring that lowers the loss can be begun at one of its records so that what its steps add up to is below zero
after every one of them: walks of which that is not so are given up, which leaves few. An open one is looked for only
where it begins so.

Only where no rules are asked.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.compiling import ZERO, allocating, inner
from shoal.compiling.structs import Struct, struct_in_kernels
from shoal.optimize.refine.memory import LEAST_GAIN
from shoal.optimize.refine.pool import Extremes, Pool, box_cost, new_extremes, survey, total_loss

Longs = NDArray[np.int64]
Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
MOST_RECORDS = 150  # in a pool: the table grows with the square
MOST_IN_A_RING = 3
NONE = -1
MOST_RINGS = 2  # for each record, in one pool: it ends before, but for bad luck


@struct_in_kernels
class Places(Struct):
    """What it adds to the loss if a record takes the place of another, if it leaves, and if it joins a group."""

    taking: Floats  # (who comes, who goes); infinite within a group
    leaving: Floats  # infinite where the group cannot do without it
    joining: Floats  # (record, group); infinite for its own, and for groups of nobody


@struct_in_kernels
class Ring(Struct):
    """The best ring so far."""

    walk: Longs  # those who are being looked at, one after the other
    records: Longs  # the same of the best ring; NONE behind its last one
    joined: Longs  # the group that its last one joins; NONE: it is closed
    gain: Floats


@allocating
def exchange_in_rings(pool: Pool, k: int, labels: Longs, n_groups: int) -> float:
    """Exchange, the best ring first, until none helps; the loss of all groups then. `labels` follow.

    Every group has k records when this begins, and at the end.
    """
    records, columns = pool.ranks.shape
    extremes = new_extremes(n_groups, columns)
    places = Places(np.empty((records, records)), np.empty(records), np.empty((records, n_groups)))
    walk, best = np.empty(MOST_IN_A_RING, np.int64), np.empty(MOST_IN_A_RING, np.int64)
    ring = Ring(walk, best, np.empty(1, np.int64), np.zeros(1))
    stale = np.ones(n_groups, np.bool_)
    for _ in range(MOST_RINGS * records):
        for group in range(n_groups):
            if stale[group]:
                survey(pool, labels, group + ZERO, extremes)
        price(pool, k, labels, extremes, stale, places)
        stale[:] = False
        if not find_ring(labels, places, ring):
            break
        turn(labels, ring, stale)
    for group in range(n_groups):
        if stale[group]:
            survey(pool, labels, group + ZERO, extremes)
    return total_loss(extremes.sizes, extremes.losses)


@allocating
def price(pool: Pool, k: int, labels: Longs, extremes: Extremes, stale: Flags, places: Places) -> None:
    """Fill in what has changed: the places in groups that are `stale`."""
    ranks, costs, sizes, losses = pool.ranks, pool.costs, extremes.sizes, extremes.losses
    low, next_low, high, next_high = extremes.low, extremes.next_low, extremes.high, extremes.next_high
    records, columns = ranks.shape
    lo, hi = np.empty(columns, np.uint32), np.empty(columns, np.uint32)
    for other in range(records):
        there = labels[other]
        if not stale[there]:
            continue
        size, before = sizes[there], sizes[there] * losses[there]
        for j in range(columns):  # the group without it
            rank = ranks[other, j]
            lo[j] = next_low[there, j] if rank == low[there, j] else low[there, j]
            hi[j] = next_high[there, j] if rank == high[there, j] else high[there, j]
        places.leaving[other] = (size - 1) * box_cost(costs, lo, hi) - before if size > k else np.inf
        for i in range(records):
            joined = np.inf
            if labels[i] != there:
                joined = 0.0
                for j in range(columns):
                    joined += costs[j, min(lo[j], ranks[i, j]), max(hi[j], ranks[i, j])]
            places.taking[i, other] = size * joined - before
    for there in range(len(stale)):
        if not stale[there]:
            continue
        size, before = sizes[there], sizes[there] * losses[there]
        for i in range(records):
            joined = np.inf
            if size > 0 and labels[i] != there:
                joined = 0.0
                for j in range(columns):
                    joined += costs[j, min(low[there, j], ranks[i, j]), max(high[there, j], ranks[i, j])]
            places.joining[i, there] = (size + 1) * joined - before


@inner
def find_ring(labels: Longs, places: Places, ring: Ring) -> bool:
    """The ring that lowers the loss most; False: none does."""
    taking, leaving, walk = places.taking, places.leaving, ring.walk
    ring.gain[0] = LEAST_GAIN
    for first in range(len(labels)):
        walk[0] = first
        for opened in range(2):
            start = leaving[first] if opened else 0.0
            if opened:
                if start >= 0.0:
                    continue
                end(labels, places, ring, 1, True, start)
            for second in range(len(labels)):
                one = start + taking[first, second]
                if one >= 0.0:
                    continue
                walk[1] = second
                end(labels, places, ring, 2, opened == 1, one)
                for third in range(len(labels)):
                    two = one + taking[second, third]
                    if two < 0.0 and labels[third] != labels[first]:
                        walk[2] = third
                        end(labels, places, ring, 3, opened == 1, two)
    return ring.gain[0] > LEAST_GAIN


@inner
def end(labels: Longs, places: Places, ring: Ring, length: int, opened: bool, cost: float) -> None:
    """The walk ends here, as well as it can; it is kept if there is no better one."""
    walk, joined = ring.walk, NONE
    last = walk[length - 1]
    closing = np.inf
    if not opened:
        closing = places.taking[last, walk[0]]
    else:
        for group in range(places.joining.shape[1]):
            if places.joining[last, group] < closing:
                other = True
                for i in range(length):
                    other = other and labels[walk[i]] != group
                if other:
                    closing, joined = places.joining[last, group], group
    if -(cost + closing) > ring.gain[0]:
        ring.gain[0], ring.joined[0] = -(cost + closing), joined
        for i in range(MOST_IN_A_RING):
            ring.records[i] = walk[i] if i < length else NONE


@inner
def turn(labels: Longs, ring: Ring, stale: Flags) -> None:
    """Each of a ring goes where the next one is; its groups are marked."""
    records, last = ring.records, ring.joined[0]
    if last == NONE:
        last = labels[records[0]]
    for i in range(MOST_IN_A_RING):
        if records[i] == NONE:
            break
        stale[labels[records[i]]] = True
        more = i + 1 < MOST_IN_A_RING and records[i + 1] != NONE
        labels[records[i]] = labels[records[i + 1]] if more else last
    stale[last] = True
