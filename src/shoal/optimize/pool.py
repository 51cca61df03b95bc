"""A pool: the records of a few neighbouring groups, partitioned anew among themselves.

`build` makes groups from nothing, as k-member does: a seed far from the last record, grown by the record that costs
least. `search` then moves records (out of groups that have more than k) and swaps them in pairs, as long as the loss
falls. A pool is small: everything in it is looked at, and what the box of a group is without one of its records is told
by the two smallest and the two largest codes of each column.

Two groups need not be compared record by record to know that no swap helps: without any one record, a group still
reaches from its second-smallest to its second-largest code; that, with the newcomer, is the least that it can cost.

Where more is asked than k records, `tables` and `counts` say what; `counts` follows every step. None otherwise.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.boxes.costs import CostTables
from shoal.boxes.kernels import box_cost, cell_cost
from shoal.compiling import ZERO, inlined, inner
from shoal.privacy.counts import holds, join, leave, may_join, may_leave

Ints = NDArray[np.int32]
Longs = NDArray[np.int64]
Floats = NDArray[np.float64]
LEAST_GAIN = 1e-9  # what is less may be rounding
LAST = np.int32(2**31 - 1)
MOST_TURNS = 10  # of all records, in one search: it ends before, but for bad luck


class Pool(NamedTuple):
    """The records of some groups. Groups have numbers of their own here."""

    records: Longs
    codes: Ints
    ids: Longs  # of each group: its number outside; the first ones are in use


class Extremes(NamedTuple):
    """Of each group and column: the smallest code, the second-smallest, the largest, the second-largest."""

    low: Ints
    next_low: Ints
    high: Ints
    next_high: Ints
    sizes: Longs
    losses: Floats


@inlined
def new_extremes(several: int, columns: int) -> Extremes:
    return Extremes(
        np.empty((several, columns), np.int32),
        np.empty((several, columns), np.int32),
        np.empty((several, columns), np.int32),
        np.empty((several, columns), np.int32),
        np.zeros(several, np.int64),
        np.zeros(several),
    )


@inner
def survey(costs: CostTables, codes: Ints, labels: Longs, group: int, extremes: Extremes) -> None:
    """What a group is now."""
    low, next_low = extremes.low[group], extremes.next_low[group]
    high, next_high = extremes.high[group], extremes.next_high[group]
    low[:], next_low[:] = LAST, LAST
    high[:], next_high[:] = -1, -1
    size = 0
    for place in range(len(codes)):
        if labels[place] != group:
            continue
        size += 1
        for j in range(codes.shape[1]):
            code = codes[place, j]
            if code <= low[j]:
                next_low[j], low[j] = low[j], code
            elif code < next_low[j]:
                next_low[j] = code
            if code >= high[j]:
                next_high[j], high[j] = high[j], code
            elif code > next_high[j]:
                next_high[j] = code
    extremes.sizes[group] = size
    extremes.losses[group] = box_cost(costs, low, high) if size > 0 else 0.0


@inner
def search(costs: CostTables, k: int, tables: Any, counts: Any, pool: Pool, labels: Longs, several: int) -> float:
    """Move and swap until nothing helps; the loss of all groups then. `labels` and `counts` follow.

    Every group has what is asked when this begins, and at every step.
    """
    codes = pool.codes
    records, columns = codes.shape
    extremes = new_extremes(several, columns)
    for group in range(several):
        survey(costs, codes, labels, group + ZERO, extremes)
    lo, hi = np.empty(columns, np.int32), np.empty(columns, np.int32)
    quiet, place = 0, -1
    for _ in range(MOST_TURNS * records):
        if quiet == records:
            break
        place = (place + 1) % records
        quiet += 1
        here = labels[place]
        if extremes.sizes[here] < 2:
            continue
        holds_up = False
        for j in range(columns):
            code = codes[place, j]
            lo[j] = extremes.next_low[here, j] if code == extremes.low[here, j] else extremes.low[here, j]
            hi[j] = extremes.next_high[here, j] if code == extremes.high[here, j] else extremes.high[here, j]
            holds_up = holds_up or lo[j] != extremes.low[here, j] or hi[j] != extremes.high[here, j]
        left = box_cost(costs, lo, hi)
        there = best_move(costs, k, tables, counts, pool, labels, several, extremes, place, left)
        if there >= 0:
            change(tables, counts, pool, labels, place, there)
        elif holds_up:  # whoever holds no side up leaves nothing behind: if a swap helps, the other one finds it
            other = best_swap(costs, tables, counts, pool, labels, several, extremes, place, lo, hi, left)
            if other < 0:
                continue
            there = labels[other]
            change(tables, counts, pool, labels, place, there)
            change(tables, counts, pool, labels, other, here)
        else:
            continue
        survey(costs, codes, labels, here, extremes)
        survey(costs, codes, labels, there, extremes)
        quiet = 0
    total = 0.0
    for group in range(several):
        total += extremes.sizes[group] * extremes.losses[group]
    return total


@inlined
def change(tables: Any, counts: Any, pool: Pool, labels: Longs, place: int, there: int) -> None:
    """A record goes to another group."""
    if tables is not None:
        leave(tables, counts, pool.records[place], pool.ids[labels[place]])
        join(tables, counts, pool.records[place], pool.ids[there])
    labels[place] = there


@inner
def best_move(
    costs: CostTables,
    k: int,
    tables: Any,
    counts: Any,
    pool: Pool,
    labels: Longs,
    several: int,
    extremes: Extremes,
    place: int,
    left: float,
) -> int:
    """The group where a record costs least, if that is less than it saves by going; −1 if none is."""
    here = labels[place]
    size = extremes.sizes[here]
    if tables is None:
        if size <= k:
            return -1
    elif not may_leave(tables, counts, pool.records[place], pool.ids[here], k):
        return -1
    best = size * extremes.losses[here] - (size - 1) * left - LEAST_GAIN
    chosen = -1
    for there in range(several):
        if there == here or extremes.sizes[there] == 0:
            continue
        joined = 0.0
        for j in range(pool.codes.shape[1]):
            code = pool.codes[place, j]
            joined += cell_cost(costs, j, min(extremes.low[there, j], code), max(extremes.high[there, j], code))
        value = (extremes.sizes[there] + 1) * joined - extremes.sizes[there] * extremes.losses[there]
        if value < best and (tables is None or may_join(tables, counts, pool.records[place], pool.ids[there])):
            best, chosen = value, there
    return chosen


@inner
def best_swap(
    costs: CostTables,
    tables: Any,
    counts: Any,
    pool: Pool,
    labels: Longs,
    several: int,
    extremes: Extremes,
    place: int,
    lo: Ints,
    hi: Ints,
    left: float,
) -> int:
    """The record of another group with which the loss falls most if the two change places; −1 if it never falls.

    `lo`, `hi` and `left`: the box and the loss of the record's own group without it.
    """
    codes, here = pool.codes, labels[place]
    columns, size, loss = codes.shape[1], extremes.sizes[here], extremes.losses[here]
    best, chosen = LEAST_GAIN, -1
    for there in range(several):
        theirs = extremes.sizes[there]
        if there == here or theirs < 2:
            continue
        core = 0.0
        for j in range(columns):
            code = codes[place, j]
            core += cell_cost(costs, j, min(extremes.next_low[there, j], code), max(extremes.next_high[there, j], code))
        saved = theirs * (extremes.losses[there] - core)  # at most, there
        if size * (loss - left) + saved <= best:
            continue
        for other in range(len(codes)):
            if labels[other] != there:
                continue
            most = loss + (saved - best) / size  # what the group here may cost with the other one
            ours = 0.0
            for j in range(columns):
                code = codes[other, j]
                ours += cell_cost(costs, j, min(lo[j], code), max(hi[j], code))
                if ours >= most:
                    break
            if ours >= most:
                continue
            gain = size * (loss - ours)
            most = extremes.losses[there] + (gain - best) / theirs
            joined = 0.0
            for j in range(columns):
                code, coming = codes[other, j], codes[place, j]
                low, high = extremes.low[there, j], extremes.high[there, j]
                first = extremes.next_low[there, j] if code == low else low
                last = extremes.next_high[there, j] if code == high else high
                joined += cell_cost(costs, j, min(first, coming), max(last, coming))
                if joined >= most:
                    break
            if joined >= most or (tables is not None and not may_swap(tables, counts, pool, labels, place, other)):
                continue
            best, chosen = gain + theirs * (extremes.losses[there] - joined), other
    return chosen


@inner
def may_swap(tables: Any, counts: Any, pool: Pool, labels: Longs, place: int, other: int) -> bool:
    """Whether both groups have what is asked when two records have changed places."""
    here, there = labels[place], labels[other]
    change(tables, counts, pool, labels, place, there)
    change(tables, counts, pool, labels, other, here)
    fine = holds(tables, counts, pool.ids[here]) and holds(tables, counts, pool.ids[there])
    change(tables, counts, pool, labels, place, here)
    change(tables, counts, pool, labels, other, there)
    return fine


@inner
def build(costs: CostTables, k: int, codes: Ints, first: int, labels: Longs) -> int:
    """Groups from nothing, k records each, whoever is left where it costs least; how many. `first`: the first seed."""
    records, columns = codes.shape
    several = records // k
    lo, hi = np.empty((several, columns), np.int32), np.empty((several, columns), np.int32)
    sizes, losses = np.zeros(several, np.int64), np.zeros(several)
    labels[:] = -1
    last = first
    for group in range(several):
        pick = first if group == 0 else furthest(costs, codes, labels, last)
        while True:
            labels[pick] = group
            for j in range(columns):
                code = codes[pick, j]
                lo[group, j] = code if sizes[group] == 0 else min(lo[group, j], code)
                hi[group, j] = code if sizes[group] == 0 else max(hi[group, j], code)
            sizes[group] += 1
            last = pick
            if sizes[group] == k:
                break
            pick = nearest(costs, codes, labels, lo[group], hi[group])
        losses[group] = box_cost(costs, lo[group], hi[group])
    for place in range(records):
        if labels[place] >= 0:
            continue
        best, chosen = np.inf, 0
        for group in range(several):
            joined = 0.0
            for j in range(columns):
                joined += cell_cost(costs, j, min(lo[group, j], codes[place, j]), max(hi[group, j], codes[place, j]))
            value = (sizes[group] + 1) * joined - sizes[group] * losses[group]
            if value < best:
                best, chosen = value, group
        labels[place] = chosen
        sizes[chosen] += 1
        for j in range(columns):
            lo[chosen, j], hi[chosen, j] = min(lo[chosen, j], codes[place, j]), max(hi[chosen, j], codes[place, j])
        losses[chosen] = box_cost(costs, lo[chosen], hi[chosen])
    return several


@inlined
def furthest(costs: CostTables, codes: Ints, labels: Longs, last: int) -> int:
    """The free record that is furthest from one."""
    most, chosen = -np.inf, -1
    for place in range(len(codes)):
        if labels[place] < 0:
            cost = 0.0
            for j in range(codes.shape[1]):
                one, other = codes[place, j], codes[last, j]
                cost += cell_cost(costs, j, min(one, other), max(one, other))
            if cost > most:
                most, chosen = cost, place
    return chosen


@inlined
def nearest(costs: CostTables, codes: Ints, labels: Longs, lo: Ints, hi: Ints) -> int:
    """The free record that widens a box least."""
    least, chosen = np.inf, -1
    for place in range(len(codes)):
        if labels[place] < 0:
            cost = 0.0
            for j in range(codes.shape[1]):
                cost += cell_cost(costs, j, min(lo[j], codes[place, j]), max(hi[j], codes[place, j]))
                if cost >= least:
                    break
            if cost < least:
                least, chosen = cost, place
    return chosen
