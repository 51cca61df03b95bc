"""Excess pools: groups that have more than k, brought together so that one more group can be made of them.

Where records come and go, groups end with a few records more than k here and there. A group and its nearest neighbours
(`regroup.py`) seldom have k too many among them, so nothing can be made of what they have too many. Here only those
neighbours are taken that have too many, from further away, until there is enough for one group more; the pool is made
from nothing. Where there is not enough it is not even tried: that costs one question to the tree.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.boxes.changes import has_what_is_asked
from shoal.boxes.group_tree.search import near_groups
from shoal.boxes.group_tree.update import rebuild_if_stale
from shoal.boxes.grouping import Grouping
from shoal.compiling import ZERO, allocating, kernel
from shoal.optimize.refine.memory import LEAST_GAIN, SearchMemory, chance_of, draw
from shoal.optimize.refine.pool import build_groups, hopeless, search
from shoal.optimize.refine.regroup import LOOKED_AT, MOST, MOST_RECORDS, gather, keep_numbers, relabel, scatter

Ints = NDArray[np.int32]
Longs = NDArray[np.int64]


@kernel
def make_more(g: Grouping, memory: SearchMemory, groups: Ints, slack: float) -> float:
    """Try to make one group more of each group and its neighbours; by how much the loss has fallen."""
    gained = 0.0
    for group in groups:
        gained += try_making_one_more(g, memory, group + ZERO, slack)
        rebuild_if_stale(g)
    return gained


@allocating
def try_making_one_more(g: Grouping, memory: SearchMemory, group: int, slack: float) -> float:
    found = np.empty(LOOKED_AT, np.int64)
    count, size, before = enough_for_one_more(g, group, slack, found)
    if count == 1:
        return 0.0
    memory.state[0].clock += 1
    pool, old = gather(g, group, found[: count - 1], size)
    new = np.empty(size, np.int64)
    parts, loss = build_groups(pool, g.k, draw(chance_of(memory, ZERO), size), new)
    if parts - count > g.state[0].n_spare or hopeless(loss, before):
        return 0.0
    keep_numbers(old, count, new, parts)
    if not relabel(g, pool, old, new, parts):
        return 0.0
    after = search(g, pool, new, parts, before)
    if after >= before - LEAST_GAIN:
        relabel(g, pool, new, old, count)
        return 0.0
    scatter(g, memory, pool.crowd, old, new, parts)
    return before - after


@allocating
def enough_for_one_more(g: Grouping, group: int, slack: float, found: Longs) -> tuple[int, int, float]:
    """A group and neighbours that have more than k, into `found`: how many groups, how many records, their loss.

    One group: there is not enough for one group more, or nothing to gain.
    """
    if g.groups.sizes[group] <= g.k or not has_what_is_asked(g, group):
        return ZERO + 1, ZERO, 0.0
    sizes, losses = g.groups.sizes, g.groups.losses
    values = np.empty(len(found))
    near = near_groups(g, group, 0.0, slack, found, values)
    count, size, before = ZERO + 1, sizes[group], sizes[group] * losses[group]
    for i in range(near):
        one = found[i]
        if size >= (count + 1) * g.k or count > MOST:
            break
        if sizes[one] > g.k and size + sizes[one] <= MOST_RECORDS and has_what_is_asked(g, one):
            found[count - 1] = one
            count += 1
            size += sizes[one]
            before += sizes[one] * losses[one]
    if size < (count + 1) * g.k or before <= LEAST_GAIN:
        return ZERO + 1, ZERO, 0.0
    return count, size, before
