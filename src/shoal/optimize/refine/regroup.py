"""From groups to a pool and back: a group and its neighbours, partitioned anew among themselves (`pool.py`)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.boxes.changes import give_back, has_what_is_asked
from shoal.boxes.costs.kernels import box_cost
from shoal.boxes.group_tree.search import near_groups
from shoal.boxes.group_tree.update import add_group, update_group
from shoal.boxes.grouping import Grouping
from shoal.boxes.members import put_in, take_out
from shoal.compiling import ZERO, allocating, inner
from shoal.optimize.refine.memory import LEAST_GAIN, Chance, SearchMemory, chance_of, draw, note_change
from shoal.optimize.refine.pool import Crowd, Pool, build_groups, hopeless, new_pool, search
from shoal.optimize.refine.rings import MOST_RECORDS as MOST_IN_RINGS
from shoal.optimize.refine.rings import exchange_in_rings
from shoal.privacy.counts import holds, join, leave

Longs = NDArray[np.int64]
MOST = 6  # neighbours of a group in its pool
LOOKED_AT = 16  # neighbours, of which MOST are taken where they have to have more than k
POOL_SIZE = 8  # times k, at most; or
SMALL_POOL = 40  # records
MOST_RECORDS = 2_000  # in a pool: its tables grow with the square, and so does the time
EXACT = 1.0  # as `slack`


class Terms(NamedTuple):
    """How pools are made, and what is tried in them."""

    neighbours: int  # of a group in its pool
    rebuilds: int  # from nothing, in each
    tolerance: float = 0.0  # how much more, as a share, other groups may lose and be taken
    rings: bool = False  # whether records change places in rings, too (`rings.py`)
    slack: float = EXACT  # of neighbours: `near_groups`


@allocating
def try_pool(g: Grouping, memory: SearchMemory, group: int, terms: Terms) -> float:
    """A group and its neighbours, partitioned anew; by how much the loss has fallen."""
    found = np.empty(terms.neighbours, np.int64)
    count, size = pool_around(g, memory, group, terms.slack, found)
    if count == 1:
        return 0.0
    pool, labels = gather(g, group, found[: count - 1], size)
    old, before = labels.copy(), loss_of(g, pool)
    total, n_groups = partition_anew(g, pool, labels, terms, chance_of(memory, ZERO))
    memory.state[0].clock += 1
    if abs(total - before) <= LEAST_GAIN:
        relabel(g, pool, labels, old, count)
        memory.tried[group] = memory.state[0].clock
        return 0.0
    scatter(g, memory, pool.crowd, old, labels, n_groups)
    return before - total


@inner
def pool_around(g: Grouping, memory: SearchMemory, group: int, slack: float, found: Longs) -> tuple[int, int]:
    """The neighbours that make a pool with a group, into `found`: how many groups and records that is.

    One group: there is no pool, or it was tried in vain, and nothing has changed.
    """
    nothing = (ZERO + 1, ZERO)
    if g.groups.sizes[group] == 0 or not has_what_is_asked(g, group):
        return nothing
    count, size, loss = neighbours_of(g, group, slack, found)
    newest = memory.changed[group]
    for i in range(count - 1):
        newest = max(newest, memory.changed[found[i]])
    if loss <= LEAST_GAIN or memory.tried[group] >= newest:
        return nothing
    return count, size


@allocating
def partition_anew(g: Grouping, pool: Pool, labels: Longs, terms: Terms, chance: Chance) -> tuple[float, int]:
    """The best that was found, into `labels`: its loss, and how many groups there are (some may be empty).

    The first groups from nothing that are others may lose as much more as the terms tolerate, and are taken.
    """
    size, before_count, old, tolerance = len(labels), pool.crowd.n_groups, labels.copy(), terms.tolerance
    total = search(g, pool, labels, before_count, np.inf)
    n_groups = before_count
    rings = terms.rings and size <= MOST_IN_RINGS and not g.rules.asked
    if rings:
        total = exchange_in_rings(pool, g.k, labels, n_groups)
    for _ in range(terms.rebuilds):
        new = np.empty(size, np.int64)
        parts, loss = build_groups(pool, g.k, draw(chance, size), new)
        if parts > len(pool.crowd.ids) or pool.crowd.ids[max(before_count, parts) - 1] < 0:
            break
        if hopeless(loss, total):
            continue
        keep_numbers(old, before_count, new, parts)
        parts = max(before_count, parts)
        if not relabel(g, pool, labels, new, parts):
            continue
        other = search(g, pool, new, parts, total)
        if rings and other < total:
            other = exchange_in_rings(pool, g.k, new, parts)
        more = other - total
        if more < -LEAST_GAIN or LEAST_GAIN < more < tolerance * total:
            total, n_groups = other, parts
            labels[:] = new
            tolerance = 0.0
        else:
            relabel(g, pool, new, labels, n_groups)
    return total, n_groups


@inner
def loss_of(g: Grouping, pool: Pool) -> float:
    """Of the groups that a pool was made of."""
    loss = 0.0
    for part in range(pool.crowd.n_groups):
        group = pool.crowd.ids[part]
        loss += g.groups.sizes[group] * g.groups.losses[group]
    return loss


@allocating
def neighbours_of(g: Grouping, group: int, slack: float, found: Longs) -> tuple[int, int, float]:
    """The neighbours that make a pool with a group, into `found`: how many groups, how many records, their loss."""
    sizes, losses = g.groups.sizes, g.groups.losses
    size, values = sizes[group], np.empty(len(found))
    near = near_groups(g, group, 0.0, slack, found, values)
    count, before = ZERO + 1, size * losses[group]
    for i in range(near):
        one = found[i]
        together = size + sizes[one]
        if together > MOST_RECORDS or (count > 1 and together > max(POOL_SIZE * g.k, SMALL_POOL)):
            break
        if has_what_is_asked(g, one):
            found[count - 1] = one
            count += 1
            size = together
            before += sizes[one] * losses[one]
    return count, size, before


@allocating
def try_refilling(g: Grouping, memory: SearchMemory, group: int, rebuilds: int) -> None:
    """A group that lacks something, and neighbours that together have enough for as many groups as they are."""
    k = g.k
    if g.groups.sizes[group] == 0 or has_what_is_asked(g, group):
        return
    found, values = np.empty(LOOKED_AT, np.int64), np.empty(LOOKED_AT)
    near = near_groups(g, group, 0.0, EXACT, found, values)
    count, size = enough_for_all(g, group, found[: min(near, MOST)], False)
    if count == 1:
        count, size = enough_for_all(g, group, found[:near], True)
    if count == 1:
        return
    pool, old = gather(g, group, found[: count - 1], size)
    best, total, chance = old, np.inf, chance_of(memory, ZERO)
    for _ in range(rebuilds):
        new = np.empty(size, np.int64)
        parts, loss = build_groups(pool, k, draw(chance, size), new)
        if parts - count > g.state[0].n_spare:
            break
        if hopeless(loss, total):
            continue
        keep_numbers(old, count, new, parts)
        if not relabel(g, pool, best, new, parts):
            continue
        other = search(g, pool, new, parts, total)
        if other < total:
            best, total = new, other
        else:
            relabel(g, pool, new, best, parts)
    if total < np.inf:
        memory.state[0].clock += 1
        scatter(g, memory, pool.crowd, old, best, max(count, size // k))


@inner
def enough_for_all(g: Grouping, group: int, near: Longs, only_excess: bool) -> tuple[int, int]:
    """A group and its neighbours until there is enough for as many groups as they are: how many, and how many records.

    The neighbours come to the front of `near`. One group: there is not enough. `only_excess`: of those that have more
    than k, and so from further away.
    """
    sizes, count, size = g.groups.sizes, ZERO + 1, g.groups.sizes[group]
    for i in range(len(near)):
        one = near[i]
        if size >= count * g.k or count > MOST or size + sizes[one] > MOST_RECORDS:
            break
        if only_excess and sizes[one] <= g.k:
            continue
        near[count - 1] = one
        count += 1
        size += sizes[one]
    return (count, size) if size >= count * g.k else (ZERO + 1, size)


@allocating
def gather(g: Grouping, group: int, neighbours: Longs, size: int) -> tuple[Pool, Longs]:
    """The pool of a group and its neighbours, of so many records, and who is in which group."""
    crowd, labels = crowd_of(g, group, neighbours, size)
    return new_pool(g.costs, g.codes, crowd), labels


@allocating
def crowd_of(g: Grouping, group: int, neighbours: Longs, size: int) -> tuple[Crowd, Longs]:
    """The records of a group and its neighbours; groups to come get numbers that are not in use, −1 if none is left."""
    count = ZERO + 1 + len(neighbours)
    most = max(count, size // g.k)
    records, labels, ids = np.empty(size, np.int64), np.empty(size, np.int64), np.empty(most, np.int64)
    heads, nexts = g.members.heads, g.members.nexts
    i = 0
    for part in range(most):
        if part >= count:
            free = g.state[0].n_spare - 1 - (part - count)
            ids[part] = g.spare[free] if free >= 0 else -1
            continue
        one = group if part == 0 else neighbours[part - 1]
        ids[part] = one
        record = heads[one]
        while record >= 0:
            records[i], labels[i] = record, part
            i += 1
            record = nexts[record]
    return Crowd(records, ids, count), labels


@inner
def relabel(g: Grouping, pool: Pool, old: Longs, new: Longs, n_groups: int) -> bool:
    """What is counted follows other labels; if the groups then lack something, it does not, and this is False."""
    if not g.rules.asked:
        return True
    recount(g, pool, old, new)
    for part in range(n_groups):
        group = pool.crowd.ids[part]
        if g.rules.counts.sizes[group] > 0 and not holds(g.rules, group):
            recount(g, pool, new, old)
            return False
    return True


@inner
def recount(g: Grouping, pool: Pool, old: Longs, new: Longs) -> None:
    """What is counted follows other labels, whatever is asked."""
    if g.rules.asked:
        for i in range(len(old)):
            if old[i] != new[i]:
                leave(g.rules, pool.crowd.records[i], pool.crowd.ids[old[i]])
                join(g.rules, pool.crowd.records[i], pool.crowd.ids[new[i]])


@allocating
def keep_numbers(old: Longs, n_groups: int, new: Longs, parts: int) -> None:
    """New groups take the numbers of those that they share most records with: who stays together is not renamed."""
    most = max(n_groups, parts)
    shared = np.zeros((parts, most), np.int64)
    for i in range(len(old)):
        shared[new[i], old[i]] += 1
    names = np.full(parts, -1, np.int64)
    taken = np.zeros(most, np.bool_)
    for _ in range(min(n_groups, parts)):
        best, part, number = -1, 0, 0
        for i in range(parts):
            for j in range(n_groups):
                if names[i] < 0 and not taken[j] and shared[i, j] > best:
                    best, part, number = shared[i, j], i, j
        names[part], taken[number] = number, True
    free = n_groups
    for part in range(parts):
        if names[part] < 0:
            names[part] = free
            free += 1
    for i in range(len(new)):
        new[i] = names[new[i]]


@allocating
def scatter(g: Grouping, memory: SearchMemory, crowd: Crowd, old: Longs, labels: Longs, n_groups: int) -> None:
    """The groups become what the labels say. (What is counted has followed already.)"""
    groups, codes = g.groups, g.codes
    lo, hi = groups.lo, groups.hi
    changed = np.zeros(n_groups, np.bool_)
    for i in range(len(old)):
        if old[i] != labels[i]:
            changed[old[i]] = changed[labels[i]] = True
            take_out(g.members, crowd.records[i], crowd.ids[old[i]])
            put_in(g.members, crowd.records[i], crowd.ids[labels[i]])
    g.state[0].n_spare -= max(0, n_groups - crowd.n_groups)
    for part in range(n_groups):
        group = crowd.ids[part]
        if not changed[part]:
            continue
        note_change(memory, group)
        size = 0
        for i in range(len(labels)):
            if labels[i] == part:
                for j in range(codes.shape[1]):
                    code = codes[crowd.records[i], j]
                    lo[group, j] = code if size == 0 else min(lo[group, j], code)
                    hi[group, j] = code if size == 0 else max(hi[group, j], code)
                size += 1
        groups.sizes[group] = size
        g.retry[group] = 0
        if size > 0:
            groups.losses[group] = box_cost(g.costs, lo[group], hi[group])
        if part >= crowd.n_groups:
            add_group(g, group)
        else:
            update_group(g, group)
        if size == 0:
            give_back(g, group)
