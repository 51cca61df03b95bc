"""From groups to a pool and back: a group and its neighbours, partitioned anew among themselves (`pool.py`)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.boxes.costs import CostTables
from shoal.boxes.group_changes import add, settle
from shoal.boxes.kernels import box_cost
from shoal.boxes.members import put_in, take_out
from shoal.boxes.near import near_groups
from shoal.boxes.work import SPARE, Work, give_back, satisfied
from shoal.compiling import ZERO, inner
from shoal.optimize.diary import Diary, draw, note
from shoal.optimize.pool import LEAST_GAIN, Pool, build, hopeless, new_pool, search
from shoal.privacy.counts import holds, join, leave

Longs = NDArray[np.int64]
MOST = 6  # neighbours of a group in its pool
POOL_SIZE = 8  # times k, at most
MOST_RECORDS = 2_000  # in a pool: its tables grow with the square, and so does the time


@inner
def try_pool(
    work: Work,
    costs: CostTables,
    k: int,
    tables: Any,
    counts: Any,
    diary: Diary,
    group: int,
    neighbours: int,
    rebuilds: int,
) -> float:
    """A group and its neighbours, partitioned anew."""
    if work.groups.sizes[group] == 0 or not satisfied(work, k, tables, counts, group):
        return 0.0
    found = np.empty(neighbours, np.int64)
    several, size, before = neighbours_of(work, costs, k, tables, counts, group, found)
    newest = diary.changed[group]
    for place in range(several - 1):
        newest = max(newest, diary.changed[found[place]])
    if several == 1 or before <= LEAST_GAIN or diary.tried[group] >= newest:
        return 0.0
    pool, labels = gather(work, costs, k, group, found, several, size)
    old = labels.copy()
    total = search(k, tables, counts, pool, labels, several, np.inf)
    final = several
    for _ in range(rebuilds):
        new = np.empty(size, np.int64)
        parts, loss = build(k, pool, draw(diary, size), new)
        if parts - several > work.marks[SPARE]:
            break
        if hopeless(loss, total):
            continue
        keep_numbers(old, several, new, parts)
        parts = max(several, parts)  # some may be empty
        if tables is not None and not relabel(tables, counts, pool, labels, new, parts):
            continue
        other = search(k, tables, counts, pool, new, parts, total)
        if other < total - LEAST_GAIN:
            total, labels, final = other, new, parts
        elif tables is not None:
            relabel(tables, counts, pool, new, labels, final)
    diary.clock[0] += 1
    if total >= before - LEAST_GAIN:
        if tables is not None:
            relabel(tables, counts, pool, labels, old, several)
        diary.tried[group] = diary.clock[0]
        return 0.0
    scatter(work, costs, diary, pool, old, labels, several, final)
    return before - total


@inner
def neighbours_of(
    work: Work, costs: CostTables, k: int, tables: Any, counts: Any, group: int, found: Longs
) -> tuple[int, int, float]:
    """The neighbours that make a pool with a group, into `found`: how many groups, how many records, their loss."""
    groups = work.groups
    size, values = groups.sizes[group], np.empty(len(found))
    lo, hi, loss = groups.lo[group], groups.hi[group], groups.losses[group]
    near = near_groups(work.tree, costs, lo, hi, float(size), loss, group, 0.0, found, values)
    several, before = ZERO + 1, size * loss
    for place in range(near):
        one = found[place]
        together = size + groups.sizes[one]
        if together > MOST_RECORDS or (several > 1 and together > POOL_SIZE * k):
            break
        if satisfied(work, k, tables, counts, one):
            found[several - 1] = one
            several += 1
            size = together
            before += groups.sizes[one] * groups.losses[one]
    return several, size, before


@inner
def try_refilling(
    work: Work, costs: CostTables, k: int, tables: Any, counts: Any, diary: Diary, group: int, rebuilds: int
) -> None:
    """A group that lacks something, and neighbours that together have enough for as many groups as they are."""
    groups = work.groups
    size = groups.sizes[group]
    if size == 0 or satisfied(work, k, tables, counts, group):
        return
    found, values = np.empty(MOST, np.int64), np.empty(MOST)
    lo, hi, loss = groups.lo[group], groups.hi[group], groups.losses[group]
    near = near_groups(work.tree, costs, lo, hi, float(size), loss, group, 0.0, found, values)
    several = ZERO + 1
    for place in range(near):
        if size >= several * k:
            break
        found[several - 1] = found[place]
        size += groups.sizes[found[place]]
        several += 1
    if several == 1 or size < several * k or size > MOST_RECORDS:
        return
    pool, old = gather(work, costs, k, group, found, several, size)
    best, total = old, np.inf
    for _ in range(rebuilds):
        new = np.empty(size, np.int64)
        parts, loss = build(k, pool, draw(diary, size), new)
        if parts - several > work.marks[SPARE]:
            return
        if hopeless(loss, total):
            continue
        keep_numbers(old, several, new, parts)
        if tables is not None and not relabel(tables, counts, pool, best, new, parts):
            continue
        other = search(k, tables, counts, pool, new, parts, total)
        if other < total:
            best, total = new, other
        elif tables is not None:
            relabel(tables, counts, pool, new, best, parts)
    if total < np.inf:
        diary.clock[0] += 1
        scatter(work, costs, diary, pool, old, best, several, max(several, size // k))


@inner
def gather(
    work: Work, costs: CostTables, k: int, group: int, found: Longs, several: int, size: int
) -> tuple[Pool, Longs]:
    """The pool of a group and those found; a group of it may get a number that is not in use."""
    most = max(several, size // k)
    records, labels, ids = np.empty(size, np.int64), np.empty(size, np.int64), np.empty(most, np.int64)
    place = 0
    for part in range(most):
        if part >= several:
            free = work.marks[SPARE] - 1 - (part - several)
            ids[part] = work.spare[free] if free >= 0 else -1
            continue
        one = group if part == 0 else found[part - 1]
        ids[part] = one
        record = work.members.heads[one]
        while record >= 0:
            records[place], labels[place] = record, part
            place += 1
            record = work.members.nexts[record]
    return new_pool(costs, work.codes, records, ids), labels


@inner
def relabel(tables: Any, counts: Any, pool: Pool, old: Longs, new: Longs, several: int) -> bool:
    """The counts follow other labels; if the groups then lack something, they do not, and this is False."""
    for place in range(len(old)):
        if old[place] != new[place]:
            leave(tables, counts, pool.records[place], pool.ids[old[place]])
            join(tables, counts, pool.records[place], pool.ids[new[place]])
    for group in range(several):
        if counts.sizes[pool.ids[group]] > 0 and not holds(tables, counts, pool.ids[group]):
            for place in range(len(old)):
                if old[place] != new[place]:
                    leave(tables, counts, pool.records[place], pool.ids[new[place]])
                    join(tables, counts, pool.records[place], pool.ids[old[place]])
            return False
    return True


@inner
def keep_numbers(old: Longs, several: int, new: Longs, parts: int) -> None:
    """New groups take the numbers of those that they share most records with: who stays together is not renamed."""
    most = max(several, parts)
    shared = np.zeros((parts, most), np.int64)
    for place in range(len(old)):
        shared[new[place], old[place]] += 1
    names = np.full(parts, -1, np.int64)
    taken = np.zeros(most, np.bool_)
    for _ in range(min(several, parts)):
        best, part, number = -1, 0, 0
        for i in range(parts):
            for j in range(several):
                if names[i] < 0 and not taken[j] and shared[i, j] > best:
                    best, part, number = shared[i, j], i, j
        names[part], taken[number] = number, True
    free = several
    for part in range(parts):
        if names[part] < 0:
            names[part] = free
            free += 1
    for place in range(len(new)):
        new[place] = names[new[place]]


@inner
def scatter(
    work: Work, costs: CostTables, diary: Diary, pool: Pool, old: Longs, labels: Longs, several: int, final: int
) -> None:
    """The groups become what the pool says. (The counts have followed already.)"""
    groups, columns = work.groups, work.codes.shape[1]
    changed = np.zeros(final, np.bool_)
    for place in range(len(old)):
        if old[place] != labels[place]:
            changed[old[place]] = changed[labels[place]] = True
            take_out(work.members, pool.records[place], pool.ids[old[place]])
            put_in(work.members, pool.records[place], pool.ids[labels[place]])
    work.marks[SPARE] -= max(0, final - several)
    for part in range(final):
        group = pool.ids[part]
        if not changed[part]:
            continue
        note(diary, group)
        size = 0
        for place in range(len(labels)):
            if labels[place] == part:
                for j in range(columns):
                    code = work.codes[pool.records[place], j]
                    groups.lo[group, j] = code if size == 0 else min(groups.lo[group, j], code)
                    groups.hi[group, j] = code if size == 0 else max(groups.hi[group, j], code)
                size += 1
        groups.sizes[group] = size
        work.retry[group] = 0
        if size > 0:
            groups.losses[group] = box_cost(costs, groups.lo[group], groups.hi[group])
        if part >= several:
            add(work.tree, costs, groups, group)
        else:
            settle(work.tree, costs, groups, group)
        if size == 0:
            give_back(work, group)
