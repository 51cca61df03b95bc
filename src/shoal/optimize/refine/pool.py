"""A pool: the records of a few neighbouring groups, partitioned anew among themselves.

`build` makes groups from nothing, as k-member does: a seed far from the last record, grown by the record that costs
least. `search` then moves records (out of groups that have more than k) and swaps them in pairs, as long as the loss
falls. A pool is small: everything in it is looked at, and what the box of a group is without one of its records is told
by the two smallest and the two largest codes of each column.

Two groups need not be compared record by record to know that no swap helps: without any one record, a group still
reaches from its second-smallest to its second-largest code; that, with the newcomer, is the least that it can cost.

What it costs to reach from one code to another stands in tables of the pool's own, made for the few codes that it has:
columns of thousands of values cost as little time as those of three. Neighbours agree in most columns; those are left
out.

Where more is asked than k records, what is counted for it follows every step.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.boxes.costs import CostTables
from shoal.boxes.costs.kernels import WIDE, cell_cost, surely_above
from shoal.boxes.grouping import Grouping
from shoal.compiling import ZERO, allocating, inner
from shoal.compiling.structs import Struct, struct_in_kernels
from shoal.optimize.refine.memory import LEAST_GAIN
from shoal.privacy.counts import holds, join, leave, may_join, may_leave

Ints = NDArray[np.int32]
Ranks = NDArray[np.uint32]  # without a sign: a kernel need not ask whether an index counts from the end
Longs = NDArray[np.int64]
Floats = NDArray[np.float64]
LAST = np.uint32(2**32 - 1)
FEW = 128  # numbers that are sorted fastest one by one
MOST_TURNS = 10  # of all records, in one search: it ends before, but for bad luck
BEHIND = 0.35  # how much more than the best known new groups may lose to be searched; a third of that after each turn


class Crowd(NamedTuple):
    """The records of some groups, and the numbers that groups made of them may have."""

    records: Longs
    ids: Longs  # of each group: its number outside; the first ones are in use
    n_groups: int  # that it was made of


@struct_in_kernels
class Pool(Struct):
    """The records of some groups. Groups have numbers of their own here, and so have codes: their ranks in the pool."""

    crowd: Crowd
    ranks: Ranks  # (records, columns); only columns in which records differ
    costs: Floats  # (columns, ranks, ranks): what it costs to reach from one to another


@allocating
def new_pool(costs: CostTables, codes: Ints, crowd: Crowd) -> Pool:
    """A pool of these records, given the codes of all."""
    records = crowd.records
    size = len(records)
    differing, alike = differing_columns(costs, codes, records)
    columns = len(differing)
    values, unlike = np.empty((columns, size), np.int32), np.zeros(columns, np.int64)
    ranks, column = np.empty((size, columns), np.uint32), np.empty(size, np.int32)
    for j in range(columns):
        for i in range(size):
            column[i] = codes[records[i], differing[j]]
        for i in in_order(column):
            if unlike[j] == 0 or column[i] != values[j, unlike[j] - 1]:
                values[j, unlike[j]] = column[i]
                unlike[j] += 1
            ranks[i, j] = unlike[j] - 1
    most = unlike.max()
    tables = np.empty((columns, most, most))
    for j in range(columns):
        more = alike if j == 0 else 0.0  # every box has it, whatever its records
        for low in range(unlike[j]):
            for high in range(low, unlike[j]):
                tables[j, low, high] = more + cell_cost(costs, differing[j], values[j, low], values[j, high])
    return Pool(crowd, ranks, tables)


@allocating
def differing_columns(costs: CostTables, codes: Ints, records: Longs) -> tuple[Longs, float]:
    """The columns in which records differ (the last one, if there is none), and what each loses in the others."""
    differing, count, alike = np.empty(codes.shape[1], np.int64), 0, 0.0
    for j in range(codes.shape[1]):
        code = codes[records[0], j]
        same = True
        for record in records:
            if codes[record, j] != code:
                same = False
                break
        if same and (count > 0 or j + 1 < codes.shape[1]):
            alike += cell_cost(costs, j, code, code)
        else:
            differing[count] = j
            count += 1
    return differing[:count], alike


@allocating
def in_order(numbers: Ints) -> Longs:
    """Where the numbers are, the smallest number first."""
    if len(numbers) > FEW:
        return np.argsort(numbers)
    order = np.empty(len(numbers), np.int64)
    for i in range(len(numbers)):
        at = i
        while at > 0 and numbers[order[at - 1]] > numbers[i]:
            order[at] = order[at - 1]
            at -= 1
        order[at] = i
    return order


@inner
def box_cost(costs: Floats, lo: Ranks, hi: Ranks) -> float:
    """What one record loses in a box of ranks."""
    total = 0.0
    for j in range(len(lo)):
        total += costs[j, lo[j], hi[j]]
    return total


@inner
def costs_more(costs: Floats, lo: Ranks, hi: Ranks, ranks: Ranks, now: float, most: float) -> bool:
    """Whether a box of ranks that costs so much now surely costs more than `most` with a record: as `costs/kernels`."""
    most, above = surely_above(most), False
    for j in range(len(lo)):
        if ranks[j] < lo[j] or ranks[j] > hi[j]:
            now += costs[j, min(lo[j], ranks[j]), max(hi[j], ranks[j])] - costs[j, lo[j], hi[j]]
            if now > most:
                above = True
                break
    return above


@struct_in_kernels
class Extremes(Struct):
    """Of each group and column: the smallest rank, the second-smallest, the largest, the second-largest."""

    low: Ranks
    next_low: Ranks
    high: Ranks
    next_high: Ranks
    sizes: Longs
    losses: Floats
    changed: Longs  # when a group last was; moments are numbered


@allocating
def new_extremes(n_groups: int, columns: int) -> Extremes:
    return Extremes(
        np.empty((n_groups, columns), np.uint32),
        np.empty((n_groups, columns), np.uint32),
        np.empty((n_groups, columns), np.uint32),
        np.empty((n_groups, columns), np.uint32),
        np.zeros(n_groups, np.int64),
        np.zeros(n_groups),
        np.zeros(n_groups, np.int64),
    )


class Leaver(NamedTuple):
    """A record that may leave its group, and what the group would be without it."""

    i: int  # in the pool
    since: int  # groups that have changed since this moment are looked at
    lo: Ranks
    hi: Ranks
    loss: float


@inner
def survey(pool: Pool, labels: Longs, group: int, extremes: Extremes) -> None:
    """What a group is now."""
    ranks, costs = pool.ranks, pool.costs
    low, next_low = extremes.low[group], extremes.next_low[group]
    high, next_high = extremes.high[group], extremes.next_high[group]
    low[:], next_low[:] = LAST, LAST
    high[:], next_high[:] = 0, 0
    size = 0
    for i in range(len(ranks)):
        if labels[i] != group:
            continue
        size += 1
        for j in range(ranks.shape[1]):
            rank = ranks[i, j]
            if rank <= low[j]:
                next_low[j], low[j] = low[j], rank
            elif rank < next_low[j]:
                next_low[j] = rank
            if rank >= high[j]:
                next_high[j], high[j] = high[j], rank
            elif rank > next_high[j]:
                next_high[j] = rank
    extremes.sizes[group] = size
    extremes.losses[group] = box_cost(costs, low, high) if size > 0 else 0.0


@allocating
def search(g: Grouping, pool: Pool, labels: Longs, n_groups: int, best: float) -> float:
    """Move and swap until nothing helps; the loss of all groups then. `labels`, and what is counted, follow.

    Every group has what is asked when this begins, and at every step. `best`: a loss that is known already. Groups that
    are still far behind it after a turn will hardly catch up: they are given up, and the answer is infinite.
    """
    ranks, costs = pool.ranks, pool.costs
    records, columns = ranks.shape
    extremes = new_extremes(n_groups, columns)
    low, next_low, high, next_high = extremes.low, extremes.next_low, extremes.high, extremes.next_high
    sizes, changed = extremes.sizes, extremes.changed
    for group in range(n_groups):
        survey(pool, labels, group + ZERO, extremes)
    lo, hi = np.empty(columns, np.uint32), np.empty(columns, np.uint32)
    looked = np.full(records, -1)  # when a record was last tried in vain
    quiet, i, moment, behind = 0, ZERO - 1, 0, BEHIND / 3.0 * best
    for _ in range(MOST_TURNS * records):
        if quiet == records:
            break
        i += 1
        if i == records:
            i = ZERO
            if total_loss(sizes, extremes.losses) > best + behind:
                return np.inf
            behind /= 3.0
        quiet += 1
        here = labels[i]
        if sizes[here] < 2:
            continue
        since = looked[i] if changed[here] <= looked[i] else -1
        looked[i] = moment
        holds_up = False
        for j in range(columns):
            rank = ranks[i, j]
            lo[j] = next_low[here, j] if rank == low[here, j] else low[here, j]
            hi[j] = next_high[here, j] if rank == high[here, j] else high[here, j]
            holds_up = holds_up or lo[j] != low[here, j] or hi[j] != high[here, j]
        leaver = Leaver(i, since, lo, hi, box_cost(costs, lo, hi))
        there = best_move(g, pool, labels, extremes, leaver)
        if there >= 0:
            relocate(g, pool, labels, i, there)
        elif holds_up:  # whoever holds no side up leaves nothing behind: if a swap helps, the other one finds it
            other = best_swap(g, pool, labels, extremes, leaver)
            if other < 0:
                continue
            there = labels[other]
            relocate(g, pool, labels, i, there)
            relocate(g, pool, labels, other, here)
        else:
            continue
        survey(pool, labels, here, extremes)
        survey(pool, labels, there, extremes)
        moment += 1
        changed[here] = changed[there] = moment
        quiet = 0
    return total_loss(sizes, extremes.losses)


@inner
def total_loss(sizes: Longs, losses: Floats) -> float:
    total = 0.0
    for group in range(len(sizes)):
        total += sizes[group] * losses[group]
    return total


@inner
def hopeless(loss: float, best: float) -> bool:
    """Whether new groups lose so much more than the best known that they need not be searched."""
    return loss > best + BEHIND * best


@inner
def relocate(g: Grouping, pool: Pool, labels: Longs, i: int, there: int) -> None:
    """A record goes to another group."""
    if g.rules.asked:
        leave(g.rules, pool.crowd.records[i], pool.crowd.ids[labels[i]])
        join(g.rules, pool.crowd.records[i], pool.crowd.ids[there])
    labels[i] = there


@inner
def best_move(g: Grouping, pool: Pool, labels: Longs, extremes: Extremes, leaver: Leaver) -> int:
    """The group where a record costs least, if that is less than it saves by going; −1: none."""
    ranks, costs, low, high = pool.ranks, pool.costs, extremes.low, extremes.high
    sizes, losses, changed, i = extremes.sizes, extremes.losses, extremes.changed, leaver.i
    here = labels[i]
    size = sizes[here]
    if not g.rules.asked:
        if size <= g.k:
            return -1
    elif not may_leave(g.rules, pool.crowd.records[i], pool.crowd.ids[here], g.k):
        return -1
    best = size * losses[here] - (size - 1) * leaver.loss - LEAST_GAIN
    chosen = -1
    for there in range(len(sizes)):
        if there == here or sizes[there] == 0 or changed[there] <= leaver.since:
            continue
        joined = 0.0
        for j in range(ranks.shape[1]):
            rank = ranks[i, j]
            joined += costs[j, min(low[there, j], rank), max(high[there, j], rank)]
        value = (sizes[there] + 1) * joined - sizes[there] * losses[there]
        if value < best and (not g.rules.asked or may_join(g.rules, pool.crowd.records[i], pool.crowd.ids[there])):
            best, chosen = value, there
    return chosen


@inner
def best_swap(g: Grouping, pool: Pool, labels: Longs, extremes: Extremes, leaver: Leaver) -> int:
    """The record of another group with which the loss falls most if the two change places; −1 if it never falls."""
    i, lo, hi = leaver.i, leaver.lo, leaver.hi
    ranks, costs, here = pool.ranks, pool.costs, labels[i]
    lows, highs, next_low, next_high = extremes.low, extremes.high, extremes.next_low, extremes.next_high
    sizes, losses, changed = extremes.sizes, extremes.losses, extremes.changed
    columns, size, loss = ranks.shape[1], sizes[here], losses[here]
    best, chosen = LEAST_GAIN, -1
    for there in range(len(sizes)):
        theirs = sizes[there]
        if there == here or theirs < 2 or changed[there] <= leaver.since:
            continue
        core = 0.0
        for j in range(columns):
            rank = ranks[i, j]
            core += costs[j, min(next_low[there, j], rank), max(next_high[there, j], rank)]
        saved = theirs * (losses[there] - core)  # at most, there
        if size * (loss - leaver.loss) + saved <= best:
            continue
        for other in range(len(ranks)):
            if labels[other] != there:
                continue
            most = loss + (saved - best) / size  # what the group here may cost with the other one
            if columns >= WIDE and costs_more(costs, lo, hi, ranks[other], leaver.loss, most):
                continue
            ours = 0.0
            for j in range(columns):
                rank = ranks[other, j]
                ours += costs[j, min(lo[j], rank), max(hi[j], rank)]
                if ours >= most:
                    break
            if ours >= most:
                continue
            gain = size * (loss - ours)
            most = losses[there] + (gain - best) / theirs
            joined = 0.0
            for j in range(columns):
                rank, coming = ranks[other, j], ranks[i, j]
                low, high = lows[there, j], highs[there, j]
                first = next_low[there, j] if rank == low else low
                last = next_high[there, j] if rank == high else high
                joined += costs[j, min(first, coming), max(last, coming)]
                if joined >= most:
                    break
            if joined >= most or (g.rules.asked and not may_swap(g, pool, labels, i, other + ZERO)):
                continue
            best, chosen = gain + theirs * (losses[there] - joined), other
    return chosen


@inner
def may_swap(g: Grouping, pool: Pool, labels: Longs, i: int, other: int) -> bool:
    """Whether both groups have what is asked when two records have changed places."""
    here, there = labels[i], labels[other]
    relocate(g, pool, labels, i, there)
    relocate(g, pool, labels, other, here)
    fine = holds(g.rules, pool.crowd.ids[here]) and holds(g.rules, pool.crowd.ids[there])
    relocate(g, pool, labels, i, here)
    relocate(g, pool, labels, other, there)
    return fine


@allocating
def build_groups(pool: Pool, k: int, first: int, labels: Longs) -> tuple[int, float]:
    """Groups from nothing, k records each, whoever is left where it costs least: how many, and what they lose.

    `first`: the first seed.
    """
    ranks, costs = pool.ranks, pool.costs
    records, columns = ranks.shape
    n_groups = records // k
    lo, hi = np.empty((n_groups, columns), np.uint32), np.empty((n_groups, columns), np.uint32)
    sizes, losses = np.zeros(n_groups, np.int64), np.zeros(n_groups)
    labels[:] = -1
    last = first
    for group in range(n_groups):
        pick = first if group == 0 else furthest(pool, labels, last)
        while True:
            labels[pick] = group
            for j in range(columns):
                rank = ranks[pick, j]
                lo[group, j] = rank if sizes[group] == 0 else min(lo[group, j], rank)
                hi[group, j] = rank if sizes[group] == 0 else max(hi[group, j], rank)
            sizes[group] += 1
            last = pick
            if sizes[group] == k:
                break
            pick = nearest(pool, labels, lo[group], hi[group])
        losses[group] = box_cost(costs, lo[group], hi[group])
    for i in range(records):
        if labels[i] >= 0:
            continue
        best, chosen = np.inf, 0
        for group in range(n_groups):
            joined = 0.0
            for j in range(columns):
                joined += costs[j, min(lo[group, j], ranks[i, j]), max(hi[group, j], ranks[i, j])]
            value = (sizes[group] + 1) * joined - sizes[group] * losses[group]
            if value < best:
                best, chosen = value, group
        labels[i] = chosen
        sizes[chosen] += 1
        for j in range(columns):
            lo[chosen, j], hi[chosen, j] = min(lo[chosen, j], ranks[i, j]), max(hi[chosen, j], ranks[i, j])
        losses[chosen] = box_cost(costs, lo[chosen], hi[chosen])
    return n_groups, total_loss(sizes, losses)


@inner
def furthest(pool: Pool, labels: Longs, last: int) -> int:
    """The free record that is furthest from one."""
    ranks, costs = pool.ranks, pool.costs
    most, chosen = -np.inf, -1
    for i in range(len(ranks)):
        if labels[i] < 0:
            cost = 0.0
            for j in range(ranks.shape[1]):
                one, other = ranks[i, j], ranks[last, j]
                cost += costs[j, min(one, other), max(one, other)]
            if cost > most:
                most, chosen = cost, i
    return chosen


@inner
def nearest(pool: Pool, labels: Longs, lo: Ranks, hi: Ranks) -> int:
    """The free record that widens a box least."""
    ranks, costs = pool.ranks, pool.costs
    least, chosen = np.inf, -1
    wide = len(lo) >= WIDE
    now = box_cost(costs, lo, hi) if wide else 0.0
    for i in range(len(ranks)):
        if labels[i] < 0:
            if wide and costs_more(costs, lo, hi, ranks[i], now, least):
                continue
            cost = 0.0
            for j in range(ranks.shape[1]):
                cost += costs[j, min(lo[j], ranks[i, j]), max(hi[j], ranks[i, j])]
                if cost >= least:
                    break
            if cost < least:
                least, chosen = cost, i
    return chosen
