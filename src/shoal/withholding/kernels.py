"""Withholding records of a group, as kernels: which, what it would save, a pool without them, and the way back.

Who holds up the sides of a group's box is peeled off, step by step (`peel`): one record, or all that share an extreme
code, whichever saves most for each record that goes. Outliers often share a group; each alone would save nothing.

To take records out of a group is more than to leave them out: a group that had k is short of some. So the group and its
nearest neighbours are a pool (`optimize/refine/pool.py`) that is partitioned anew without them, from three starts: the
group gets records from neighbours that can spare some; its records go to the neighbours; all groups are made from
nothing. The best is made only if it saves more than the records cost where they are withheld. Otherwise everything is
as it was.

Guarantee: groups that had what is asked still have it after every call, and the loss of all groups, together with the
full cost of every record that is withheld, never rises.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.boxes.changes import depart, enter, has_what_is_asked, refresh
from shoal.boxes.group_tree.search import NOBODY, best_group_for_record
from shoal.boxes.group_tree.update import rebuild_if_stale
from shoal.boxes.grouping import Grouping
from shoal.boxes.members import put_in, records_of
from shoal.compiling import ZERO, allocating, inner, kernel
from shoal.optimize.refine.memory import LEAST_GAIN, SearchMemory, note_change
from shoal.optimize.refine.pool import (
    Crowd,
    Extremes,
    Pool,
    Ranks,
    box_cost,
    build_groups,
    hopeless,
    new_extremes,
    new_pool,
    search,
    survey,
)
from shoal.optimize.refine.regroup import (
    EXACT,
    MOST_RECORDS,
    gather,
    keep_numbers,
    neighbours_of,
    recount,
    relabel,
    scatter,
)
from shoal.privacy.counts import join

Ints = NDArray[np.int32]
Longs = NDArray[np.int64]
Floats = NDArray[np.float64]
ALONE, LOOK, TAKE, READMIT = range(4)
FILL, HAND_OUT = range(2)


class Terms(NamedTuple):
    """What withholding costs, and how much of it there may be."""

    full: float  # what a withheld record costs
    budget: int  # records that may still be withheld
    neighbours: int  # of a group in its pool, at most


class Gains(NamedTuple):
    """Of each group (or record): what it gains, and by how many records."""

    losses: Floats
    records: Longs


@kernel
def withhold(g: Grouping, memory: SearchMemory, what: int, items: Ints, terms: Terms, gains: Gains) -> None:
    """What is gained by withholding records of each group, into `gains`.

    ALONE: if the others of the group stayed together, whatever is asked of them. LOOK: if its pool is partitioned anew.
    TAKE: that is done, where it lowers the loss, while no more than the budget are withheld by all. READMIT: the items
    are withheld records; each joins the group where it costs least, if that is less than its cost withheld.
    """
    budget = terms.budget
    for i in range(len(items)):
        item = items[i] + ZERO
        if what == READMIT:
            gains.losses[i] = readmit(g, memory, item, terms.full)
            gains.records[i] = 1
        else:
            goers, gain = peel(g, item, terms.full, budget)
            if what != ALONE and len(goers) > 0:
                take = what == TAKE
                gain = try_without(g, memory, item, goers, terms, take)
                if take and gain > LEAST_GAIN:
                    budget -= len(goers)
            gains.losses[i], gains.records[i] = gain, len(goers)
        rebuild_if_stale(g)


@allocating
def peel(g: Grouping, group: int, full: float, budget: int) -> tuple[Ints, float]:
    """Which records of a group to withhold, and what that gains if the others stay together; nobody, if it never does.

    It ends after the step with the largest gain. Nobody goes where a whole group costs less than one record withheld,
    as most groups do.
    """
    records = records_of(g, group)
    size = len(records)
    before = size * g.groups.losses[group]
    most = min(budget, size - 1) if size <= MOST_RECORDS else 0
    if full > 0.0:
        most = min(most, int(before / full))
    chosen, best = 0, LEAST_GAIN
    if most <= 0:
        return records[:0], 0.0
    pool = new_pool(g.costs, g.codes, Crowd(records.astype(np.int64), np.empty(0, np.int64), ZERO))
    ranks, columns = pool.ranks, pool.ranks.shape[1]
    gone, labels = np.zeros(size, np.int64), np.zeros(size, np.int64)  # label 1: it has gone
    extremes = new_extremes(ZERO + 1, columns)
    lo, hi = np.empty(columns, np.uint32), np.empty(columns, np.uint32)
    goers = 0
    while goers < most:
        survey(pool, labels, ZERO, extremes)
        loss, staying = extremes.losses[0], size - goers
        value, one, column, side = -np.inf, -1, -1, 0
        for i in range(size):
            if labels[i] == 0:
                for j in range(columns):
                    rank, low, high = ranks[i, j], extremes.low[0, j], extremes.high[0, j]
                    lo[j] = extremes.next_low[0, j] if rank == low else low
                    hi[j] = extremes.next_high[0, j] if rank == high else high
                saved = staying * loss - (staying - 1) * box_cost(pool.costs, lo, hi)
                if saved > value:
                    value, one = saved, i
        for j in range(columns):
            for at in range(2):
                end = extremes.low[0, j] if at == 0 else extremes.high[0, j]
                holders = box_but(ranks, labels, j, end, lo, hi)
                if 1 < holders < staying and goers + holders <= most:
                    saved = (staying * loss - (staying - holders) * box_cost(pool.costs, lo, hi)) / holders
                    if saved > value:
                        value, column, side = saved, j, end
        for i in range(size):
            if labels[i] == 0 and (i == one if column < 0 else ranks[i, column] == side):
                labels[i] = 1
                gone[goers] = records[i]
                goers += 1
        survey(pool, labels, ZERO, extremes)
        gain = before - (size - goers) * extremes.losses[0] - goers * full
        if gain > best:
            best, chosen = gain, goers
    for i in range(chosen):
        records[i] = gone[i]
    return records[:chosen], best if chosen > 0 else 0.0


@inner
def box_but(ranks: Ranks, labels: Longs, column: int, end: int, lo: Ranks, hi: Ranks) -> int:
    """The box of those who have not gone and do not have one rank, into `lo` and `hi`; how many have it."""
    holders, empty = 0, True
    for i in range(len(ranks)):
        if labels[i] != 0:
            continue
        if ranks[i, column] == end:
            holders += 1
            continue
        for j in range(ranks.shape[1]):
            rank = ranks[i, j]
            lo[j] = rank if empty else min(lo[j], rank)
            hi[j] = rank if empty else max(hi[j], rank)
        empty = False
    return holders


@inner
def readmit(g: Grouping, memory: SearchMemory, record: int, full: float) -> float:
    """A withheld record joins its best group, if that costs less than to withhold it."""
    sizes, losses = g.groups.sizes, g.groups.losses
    group = best_group_for_record(g, record, full - LEAST_GAIN, NOBODY)
    if group < 0:
        return -np.inf
    before = sizes[group] * losses[group]
    enter(g, record, group)
    memory.state[0].clock += 1
    note_change(memory, group)
    return full + before - sizes[group] * losses[group]


@allocating
def try_without(g: Grouping, memory: SearchMemory, group: int, goers: Ints, terms: Terms, take: bool) -> float:
    """The pool of a group, partitioned anew without some of its records; kept if `take` and the loss falls."""
    k, sizes = g.k, g.groups.sizes
    found = np.empty(terms.neighbours, np.int64)
    count, size, before = neighbours_of(g, group, EXACT, found)
    size -= len(goers)
    if size < k:
        return -np.inf
    for record in goers:
        depart(g, record + ZERO)
    pool, old = gather(g, group, found[: count - 1], size)
    labels, total, n_groups = old, np.inf, count  # what is counted follows `labels`
    fine = has_what_is_asked(g, group)
    for way in range(2):
        new = old.copy()
        if not fine and not shared_out(k, pool, new, way + ZERO):
            continue
        if not fine and not relabel(g, pool, labels, new, count):
            continue
        other = search(g, pool, new, count, total)
        if other < total:
            total, labels = other, new
        else:
            recount(g, pool, new, labels)
        if fine:
            break
    new = np.empty(size, np.int64)
    first = (goers[0] + ZERO) % size  # by no chance: to look at a pool changes nothing of what comes after
    parts, loss = build_groups(pool, k, first, new)
    if parts - count <= g.state[0].n_spare and not hopeless(loss, total):
        keep_numbers(old, count, new, parts)
        parts = max(count, parts)  # some may be empty
        if relabel(g, pool, labels, new, parts):
            other = search(g, pool, new, parts, total)
            if other < total:
                total, labels, n_groups = other, new, parts
            else:
                recount(g, pool, new, labels)
    gain = before - total - len(goers) * terms.full
    if not take or gain <= LEAST_GAIN:
        recount(g, pool, labels, old)
        for record in goers:
            put_in(g.members, record + ZERO, group)
            sizes[group] += 1
            if g.rules.asked:
                join(g.rules, record + ZERO, group)
        return gain
    memory.state[0].clock += 1
    scatter(g, memory, pool.crowd, old, labels, n_groups)
    if sizes[group] > 0:  # it may have lost nobody else
        note_change(memory, group)
        refresh(g, group)
    return gain


@allocating
def shared_out(k: int, pool: Pool, labels: Longs, way: int) -> bool:
    """The first group of a pool is short: it gets records (FILL), or its records go to the others (HAND_OUT).

    False if the others have too few to spare, or there are no others.
    """
    n_groups = pool.crowd.n_groups
    if n_groups == 1:
        return False
    extremes = new_extremes(n_groups, pool.ranks.shape[1])
    for group in range(n_groups):
        survey(pool, labels, group + ZERO, extremes)
    while way == FILL:
        best, chosen = np.inf, -1
        for i in range(len(labels)):
            if labels[i] != 0 and extremes.sizes[labels[i]] > k:
                cost = joined_cost(pool, i, extremes, ZERO)
                if cost < best:
                    best, chosen = cost, i
        if chosen < 0:
            return False
        giver = labels[chosen]
        labels[chosen] = 0
        survey(pool, labels, giver, extremes)
        survey(pool, labels, ZERO, extremes)
        if extremes.sizes[0] >= k:
            return True
    for i in range(len(labels)):
        if labels[i] != 0:
            continue
        best, chosen = np.inf, 1
        for group in range(1, n_groups):
            size = extremes.sizes[group]
            joined = joined_cost(pool, i, extremes, group + ZERO)
            cost = (size + 1) * joined - size * extremes.losses[group]
            if cost < best:
                best, chosen = cost, group
        labels[i] = chosen
        survey(pool, labels, chosen + ZERO, extremes)
    return True


@inner
def joined_cost(pool: Pool, i: int, extremes: Extremes, group: int) -> float:
    """What a group loses per record when a record has joined it."""
    cost = 0.0
    for j in range(pool.ranks.shape[1]):
        rank = pool.ranks[i, j]
        cost += pool.costs[j, min(extremes.low[group, j], rank), max(extremes.high[group, j], rank)]
    return cost
