"""Withholding records of a group, as kernels: which, what it would save, a pool without them, and the way back.

Who holds up the sides of a group's box is peeled off, step by step (`peel`): one record, or all that share an extreme
code, whichever saves most for each record that goes. Outliers often share a group; each alone would save nothing.

To take records out of a group is more than to leave them out: a group that had k is short of some. So the group and its
nearest neighbours are a pool (`pool.py`) that is partitioned anew without them, from three starts: the group gets
records from neighbours that can spare some; its records go to the neighbours; all groups are made from nothing. The
best is made only if it saves more than the records cost where they are withheld. Otherwise everything is as it was.

Guarantee: groups that had what is asked still have it after every call, and the loss of all groups, together with the
full cost of every record that is withheld, never rises.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.boxes.costs import CostTables
from shoal.boxes.group_changes import tend
from shoal.boxes.group_tree import best_group
from shoal.boxes.members import put_in
from shoal.boxes.work import SPARE, Work, depart, enter, listed, refresh, satisfied
from shoal.compiling import ZERO, inner, kernel
from shoal.optimize.diary import Diary, note
from shoal.optimize.pool import (
    LEAST_GAIN,
    Extremes,
    Pool,
    Ranks,
    box_cost,
    build,
    hopeless,
    new_extremes,
    new_pool,
    search,
    survey,
)
from shoal.optimize.regrouping import MOST_RECORDS, gather, keep_numbers, neighbours_of, relabel, scatter
from shoal.privacy.counts import join, leave

Ints = NDArray[np.int32]
Longs = NDArray[np.int64]
Floats = NDArray[np.float64]
ALONE, LOOK, TAKE, READMIT = range(4)
FILL, HAND_OUT = range(2)


@kernel
def withhold(
    work: Work,
    costs: CostTables,
    k: int,
    tables: Any,
    counts: Any,
    diary: Diary,
    what: int,
    items: Ints,
    full: float,
    budget: int,
    neighbours: int,
    gains: Floats,
    several: Longs,
) -> None:
    """What is gained by withholding records of each group, into `gains`, and how many, into `several`.

    ALONE: if the others of the group stayed together, whatever is asked of them. LOOK: if its pool is partitioned anew.
    TAKE: that is done, where it lowers the loss, while no more than `budget` are withheld by all. READMIT: the items
    are withheld records; each joins the group where it costs least, if that is less than `full`, its cost withheld.
    """
    for place in range(len(items)):
        item = items[place] + ZERO
        if what == READMIT:
            gains[place] = readmit(work, costs, tables, counts, diary, item, full)
            several[place] = 1
        else:
            goers, gain = peel(work, costs, item, full, budget)
            if what != ALONE and len(goers) > 0:
                take = what == TAKE
                gain = try_without(work, costs, k, tables, counts, diary, item, goers, full, take, neighbours)
                if take and gain > LEAST_GAIN:
                    budget -= len(goers)
            gains[place], several[place] = gain, len(goers)
        tend(work.tree, costs, work.groups)


@inner
def peel(work: Work, costs: CostTables, group: int, full: float, budget: int) -> tuple[Ints, float]:
    """Which records of a group to withhold, and what that gains if the others stay together; nobody, if it never does.

    It ends after the step with the largest gain. Nobody goes where a whole group costs less than one record withheld,
    as most groups do.
    """
    records = listed(work, group)
    size = len(records)
    before = size * work.groups.losses[group]
    most = min(budget, size - 1) if size <= MOST_RECORDS else 0
    if full > 0.0:
        most = min(most, int(before / full))
    chosen, best = 0, LEAST_GAIN
    if most <= 0:
        return records[:0], 0.0
    pool = new_pool(costs, work.codes, records.astype(np.int64), np.empty(0, np.int64))
    ranks, columns = pool.ranks, pool.ranks.shape[1]
    gone, labels = np.zeros(size, np.int64), np.zeros(size, np.int64)  # label 1: it has gone
    extremes = new_extremes(ZERO + 1, columns)
    lo, hi = np.empty(columns, np.uint32), np.empty(columns, np.uint32)
    goers = 0
    while goers < most:
        survey(pool, labels, ZERO, extremes)
        loss, staying = extremes.losses[0], size - goers
        value, one, column, side = -np.inf, -1, -1, 0
        for place in range(size):
            if labels[place] == 0:
                for j in range(columns):
                    rank, low, high = ranks[place, j], extremes.low[0, j], extremes.high[0, j]
                    lo[j] = extremes.next_low[0, j] if rank == low else low
                    hi[j] = extremes.next_high[0, j] if rank == high else high
                saved = staying * loss - (staying - 1) * box_cost(pool.costs, lo, hi)
                if saved > value:
                    value, one = saved, place
        for j in range(columns):
            for at in range(2):
                end = extremes.low[0, j] if at == 0 else extremes.high[0, j]
                holders = box_but(ranks, labels, j, end, lo, hi)
                if 1 < holders < staying and goers + holders <= most:
                    saved = (staying * loss - (staying - holders) * box_cost(pool.costs, lo, hi)) / holders
                    if saved > value:
                        value, column, side = saved, j, end
        for place in range(size):
            if labels[place] == 0 and (place == one if column < 0 else ranks[place, column] == side):
                labels[place] = 1
                gone[goers] = records[place]
                goers += 1
        survey(pool, labels, ZERO, extremes)
        gain = before - (size - goers) * extremes.losses[0] - goers * full
        if gain > best:
            best, chosen = gain, goers
    for place in range(chosen):
        records[place] = gone[place]
    return records[:chosen], best if chosen > 0 else 0.0


@inner
def box_but(ranks: Ranks, labels: Longs, column: int, end: int, lo: Ranks, hi: Ranks) -> int:
    """The box of those who have not gone and do not have one rank, into `lo` and `hi`; how many have it."""
    holders, empty = 0, True
    for place in range(len(ranks)):
        if labels[place] != 0:
            continue
        if ranks[place, column] == end:
            holders += 1
            continue
        for j in range(ranks.shape[1]):
            rank = ranks[place, j]
            lo[j] = rank if empty else min(lo[j], rank)
            hi[j] = rank if empty else max(hi[j], rank)
        empty = False
    return holders


@inner
def readmit(work: Work, costs: CostTables, tables: Any, counts: Any, diary: Diary, record: int, full: float) -> float:
    """A withheld record joins its best group, if that costs less than to withhold it."""
    point = work.codes[record]
    below = full - LEAST_GAIN
    group = best_group(work.tree, costs, point, point, 1.0, 0.0, below, ZERO - 1, tables, counts, record)
    if group < 0:
        return -np.inf
    before = work.groups.sizes[group] * work.groups.losses[group]
    enter(work, costs, tables, counts, record, group)
    diary.clock[0] += 1
    note(diary, group)
    return full + before - work.groups.sizes[group] * work.groups.losses[group]


@inner
def try_without(
    work: Work,
    costs: CostTables,
    k: int,
    tables: Any,
    counts: Any,
    diary: Diary,
    group: int,
    goers: Ints,
    full: float,
    take: bool,
    neighbours: int,
) -> float:
    """The pool of a group, partitioned anew without some of its records; kept if `take` and the loss falls."""
    groups = work.groups
    found = np.empty(neighbours, np.int64)
    several, size, before = neighbours_of(work, costs, k, tables, counts, group, found)
    size -= len(goers)
    if size < k:
        return -np.inf
    for record in goers:
        depart(work, tables, counts, record + ZERO)
    pool, old = gather(work, costs, k, group, found, several, size)
    labels, total, final = old, np.inf, several  # the counts follow `labels`
    fine = satisfied(work, k, tables, counts, group)
    for way in range(2):
        new = old.copy()
        if not fine and not shared_out(k, pool, new, several, way + ZERO):
            continue
        if not fine and tables is not None and not relabel(tables, counts, pool, labels, new, several):
            continue
        other = search(k, tables, counts, pool, new, several, total)
        if other < total:
            total, labels = other, new
        elif tables is not None:
            follow(tables, counts, pool, new, labels)
        if fine:
            break
    new = np.empty(size, np.int64)
    first = (goers[0] + ZERO) % size  # by no chance: to look at a pool changes nothing of what comes after
    parts, loss = build(k, pool, first, new)
    if parts - several <= work.marks[SPARE] and not hopeless(loss, total):
        keep_numbers(old, several, new, parts)
        parts = max(several, parts)  # some may be empty
        if tables is None or relabel(tables, counts, pool, labels, new, parts):
            other = search(k, tables, counts, pool, new, parts, total)
            if other < total:
                total, labels, final = other, new, parts
            elif tables is not None:
                follow(tables, counts, pool, new, labels)
    gain = before - total - len(goers) * full
    if not take or gain <= LEAST_GAIN:
        if tables is not None:
            follow(tables, counts, pool, labels, old)
        for record in goers:
            put_in(work.members, record + ZERO, group)
            groups.sizes[group] += 1
            if tables is not None:
                join(tables, counts, record + ZERO, group)
        return gain
    diary.clock[0] += 1
    scatter(work, costs, diary, pool, old, labels, several, final)
    if groups.sizes[group] > 0:  # it may have lost nobody else
        note(diary, group)
        refresh(work, costs, group)
    return gain


@inner
def shared_out(k: int, pool: Pool, labels: Longs, several: int, way: int) -> bool:
    """The first group of a pool is short: it gets records (FILL), or its records go to the others (HAND_OUT).

    False if the others have too few to spare, or there are no others.
    """
    if several == 1:
        return False
    extremes = new_extremes(several, pool.ranks.shape[1])
    for group in range(several):
        survey(pool, labels, group + ZERO, extremes)
    while way == FILL:
        best, chosen = np.inf, -1
        for place in range(len(labels)):
            if labels[place] != 0 and extremes.sizes[labels[place]] > k:
                cost = joined_cost(pool, place, extremes, ZERO)
                if cost < best:
                    best, chosen = cost, place
        if chosen < 0:
            return False
        giver = labels[chosen]
        labels[chosen] = 0
        survey(pool, labels, giver, extremes)
        survey(pool, labels, ZERO, extremes)
        if extremes.sizes[0] >= k:
            return True
    for place in range(len(labels)):
        if labels[place] != 0:
            continue
        best, chosen = np.inf, 1
        for group in range(1, several):
            size = extremes.sizes[group]
            joined = joined_cost(pool, place, extremes, group + ZERO)
            cost = (size + 1) * joined - size * extremes.losses[group]
            if cost < best:
                best, chosen = cost, group
        labels[place] = chosen
        survey(pool, labels, chosen + ZERO, extremes)
    return True


@inner
def joined_cost(pool: Pool, place: int, extremes: Extremes, group: int) -> float:
    """What a group loses per record when a record has joined it."""
    cost = 0.0
    for j in range(pool.ranks.shape[1]):
        rank = pool.ranks[place, j]
        cost += pool.costs[j, min(extremes.low[group, j], rank), max(extremes.high[group, j], rank)]
    return cost


@inner
def follow(tables: Any, counts: Any, pool: Pool, old: Longs, new: Longs) -> None:
    """The counts follow other labels, whatever is asked."""
    for place in range(len(old)):
        if old[place] != new[place]:
            leave(tables, counts, pool.records[place], pool.ids[old[place]])
            join(tables, counts, pool.records[place], pool.ids[new[place]])
