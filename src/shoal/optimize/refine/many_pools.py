"""Pools of many groups: those that share no group are partitioned anew side by side.

A run of groups looks for its pools at once. Then the pools are given to rounds: each comes into the first round in
which none of its groups is in another pool. The pools of a round are partitioned anew by whatever workers there are,
each for itself, and what comes of them is carried out in their order. What finds no round, or one that is hardly worth
calling the workers for, waits for the next run, and the last few are tried one after the other.

Guarantee: what comes of it depends on the groups and on chance, not on how many workers there are.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from shoal.boxes.changes import has_what_is_asked
from shoal.boxes.group_tree.update import rebuild_if_stale
from shoal.boxes.grouping import Grouping
from shoal.compiling import ZERO, inner, kernel
from shoal.compiling.structs import Struct, struct
from shoal.optimize.refine.excess import enough_for_one_more
from shoal.optimize.refine.memory import LEAST_GAIN, SearchMemory, chance_of
from shoal.optimize.refine.regroup import (
    LOOKED_AT,
    Terms,
    crowd_of,
    gather,
    loss_of,
    partition_anew,
    pool_around,
    scatter,
)
from shoal.workers import side_by_side

Ints = NDArray[np.int32]
Longs = NDArray[np.int64]
Floats = NDArray[np.float64]
Over = Callable[[], bool]
Advance = Callable[[int], None]
RUNS = 10  # of all groups, at least: who looks for a pool should find others nearly as they will be in its turn
SHORTEST_RUN, LONGEST_RUN = 1_024, 16_384  # groups that look for their pools at once
FEW = 512  # groups; with fewer, one after the other is as quick
FEWEST = 16  # pools in a round
LEAST_FOUND, LEAST_PARTITIONED = 64, 4  # pools, for a worker at a time
ROUNDS = 64  # as many as a number has bits
NEVER, LATER = -1, ROUNDS  # as a round


@struct
class Pools(Struct):
    """The pools of a run of groups."""

    excess: bool  # of those that have more than k
    centres: Ints
    found: Longs  # (pools, neighbours)
    counts: Longs  # of each: its neighbours; 0: there is no pool
    sizes: Longs  # of each: the records that there is room for
    rounds: Longs
    starts: Longs  # of each: where its records are in `labels`
    labels: Longs
    parts: Longs  # of each: how many groups it has become
    gains: Floats


def try_many_pools(
    g: Grouping,
    memory: SearchMemory,
    centres: Ints,
    terms: Terms,
    over: Over,
    advance: Advance,
    *,
    excess: bool = False,
) -> tuple[float, Ints]:
    """The pools of many groups; by how much the loss has fallen, and the few groups that are left to be tried.

    `excess`: pools of groups that have more than k (`excess.py`), and not of the nearest.
    """
    gained, waiting = 0.0, centres
    length = max(SHORTEST_RUN, min(LONGEST_RUN, len(centres) // RUNS))
    while len(waiting) >= FEW and not over():
        run, waiting = waiting[:length], waiting[length:]
        more, later = _one_run(g, memory, run, terms, over, excess)
        advance(len(run) - len(later))
        gained += more
        if 2 * len(later) > len(run):  # pools so large that hardly two share no group
            return gained, np.concatenate([later, waiting])
        waiting = np.concatenate([later, waiting])
    return gained, waiting


def compile_for(g: Grouping, memory: SearchMemory) -> None:
    terms, none = Terms(1, 0), np.zeros(0, np.int64)
    pools = new_pools(np.zeros(0, np.int32), terms)
    find_pools(g, memory, pools, terms, 0, 0)
    give_rounds(memory, pools, 0)
    partition_some(g, memory, pools, none, terms)
    carry_out(g, memory, pools, none)


def _one_run(
    g: Grouping, memory: SearchMemory, centres: Ints, terms: Terms, over: Over, excess: bool
) -> tuple[float, Ints]:
    pools = new_pools(centres, terms, excess=excess)
    side_by_side(lambda first, last: find_pools(g, memory, pools, terms, first, last), len(centres), least=LEAST_FOUND)
    give_rounds(memory, pools, len(g.groups.sizes))
    ends = np.cumsum(pools.sizes)
    pools.starts[:] = ends - pools.sizes
    pools = pools.replace(labels=np.empty(int(ends[-1]), np.int64))
    order = np.argsort(pools.rounds, kind="stable")
    firsts = np.searchsorted(pools.rounds[order], np.arange(ROUNDS + 1))
    gained, last = 0.0, firsts[0]
    for turn in range(ROUNDS):
        chosen = order[firsts[turn] : firsts[turn + 1]]
        if len(chosen) < FEWEST or over():
            break
        last = firsts[turn + 1]

        def some(first: int, last: int, chosen: Longs = chosen) -> None:
            partition_some(g, memory, pools, chosen[first:last], terms)

        side_by_side(some, len(chosen), least=LEAST_PARTITIONED)
        gained += carry_out(g, memory, pools, chosen)
    return gained, centres[np.sort(order[last:])]


def new_pools(centres: Ints, terms: Terms, *, excess: bool = False) -> Pools:
    count, neighbours = len(centres), LOOKED_AT if excess else terms.neighbours
    return Pools(
        excess=excess,
        centres=centres,
        found=np.empty((count, neighbours), np.int64),
        counts=np.zeros(count, np.int64),
        sizes=np.zeros(count, np.int64),
        rounds=np.empty(count, np.int64),
        starts=np.zeros(count, np.int64),
        labels=np.zeros(0, np.int64),
        parts=np.zeros(count, np.int64),
        gains=np.zeros(count),
    )


@kernel
def find_pools(g: Grouping, memory: SearchMemory, pools: Pools, terms: Terms, first: int, last: int) -> None:
    """Which groups the pools have, as things are."""
    for i in range(first, last):
        group = pools.centres[i] + ZERO
        if pools.excess:
            count, size, _ = enough_for_one_more(g, group, terms.slack, pools.found[i])
        else:
            count, size = pool_around(g, memory, group, terms.slack, pools.found[i])
        pools.counts[i], pools.sizes[i] = count - 1, size + g.k  # others may join before its turn


@kernel
def give_rounds(memory: SearchMemory, pools: Pools, n_groups: int) -> None:
    """In which round each pool is; none has a group twice. And another chance than those before had."""
    chance_of(memory, ZERO)
    taken = np.zeros(n_groups, np.uint64)  # of each group: the rounds that it is in, as bits
    one = np.uint64(1)
    for i in range(len(pools.centres)):
        neighbours = pools.found[i, : pools.counts[i]]
        if len(neighbours) == 0:
            pools.rounds[i] = NEVER
            continue
        bits = taken[pools.centres[i]]
        for group in neighbours:
            bits |= taken[group]
        chosen = 0
        while chosen < ROUNDS and (bits >> np.uint64(chosen)) & one:
            chosen += 1
        pools.rounds[i] = chosen
        if chosen < ROUNDS:
            bit = one << np.uint64(chosen)
            taken[pools.centres[i]] |= bit
            for group in neighbours:
                taken[group] |= bit


@kernel
def partition_some(g: Grouping, memory: SearchMemory, pools: Pools, chosen: Longs, terms: Terms) -> None:
    """What would come of some pools, which share no group: nothing of the grouping changes. Only without rules."""
    for i in chosen:
        group, start = pools.centres[i] + ZERO, pools.starts[i]
        count, size = still_there(g, group, pools.found[i, : pools.counts[i]])
        pools.counts[i], pools.gains[i] = count, 0.0
        if count == 0 or size > pools.sizes[i]:
            continue
        pool, labels = gather(g, group, pools.found[i, :count], size)
        before = loss_of(g, pool)
        total, parts = partition_anew(g, pool, labels, terms, chance_of(memory, group + 1))
        pools.gains[i], pools.parts[i] = before - total, parts
        pools.labels[start : start + size] = labels


@inner
def still_there(g: Grouping, group: int, found: Longs) -> tuple[int, int]:
    """The neighbours that are still groups, how many, and how many records that makes with the group itself."""
    count, size = ZERO, g.groups.sizes[group]
    if size == 0 or not has_what_is_asked(g, group):
        return ZERO, size
    for one in found:
        if g.groups.sizes[one] > 0 and has_what_is_asked(g, one):
            found[count] = one
            count += 1
            size += g.groups.sizes[one]
    return count, size


@kernel
def carry_out(g: Grouping, memory: SearchMemory, pools: Pools, chosen: Longs) -> float:
    """The groups become what their pools have come to, where that is new; by how much the loss falls in all."""
    state, gained = memory.state[0], 0.0
    for i in chosen:
        group, count, gain = pools.centres[i] + ZERO, pools.counts[i], pools.gains[i]
        state.clock += 1
        if count == 0:
            continue
        if abs(gain) <= LEAST_GAIN:
            if not pools.excess:
                memory.tried[group] = state.clock
            continue
        found, size = pools.found[i, :count], g.groups.sizes[group]
        for one in found:
            size += g.groups.sizes[one]
        if pools.parts[i] - count - 1 > g.state[0].n_spare:  # those before it have taken the last numbers
            continue
        crowd, old = crowd_of(g, group, found, size)
        start = pools.starts[i]
        scatter(g, memory, crowd, old, pools.labels[start : start + size], pools.parts[i])
        gained += gain
        rebuild_if_stale(g)
    return gained
