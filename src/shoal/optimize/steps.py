"""The steps of refining, as kernels: move a record, dissolve a group, and the way to the others (see `refine.py`)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.boxes.costs import CostTables
from shoal.boxes.group_changes import settle, tend
from shoal.boxes.group_tree import best_group
from shoal.boxes.kernels import box_cost, cell_cost
from shoal.boxes.members import box_without, move
from shoal.boxes.work import Work, give_back, listed, split_large, widen
from shoal.compiling import ZERO, inlined, inner, kernel
from shoal.optimize.diary import Diary, note
from shoal.optimize.pool import LEAST_GAIN
from shoal.optimize.regrouping import try_pool, try_refilling
from shoal.privacy.counts import join, leave, may_leave

Ints = NDArray[np.int32]
Longs = NDArray[np.int64]
MOVE, DISSOLVE, SPLIT, POOL, REFILL = range(5)


@kernel
def step(
    work: Work,
    costs: CostTables,
    k: int,
    tables: Any,
    counts: Any,
    tally: Any,
    diary: Diary,
    what: int,
    items: Ints,
    neighbours: int,
    rebuilds: int,
) -> float:
    """Try one kind of step for each item, a record or a group; by how much the loss has fallen."""
    gained = 0.0
    for item in items:
        one = item + ZERO
        if what == MOVE:
            gained += try_move(work, costs, k, tables, counts, diary, one)
        elif what == DISSOLVE:
            gained += try_dissolving(work, costs, k, tables, counts, diary, one)
        elif what == SPLIT:
            split_large(work, costs, k, tables, counts, tally, one)
        elif what == REFILL:
            try_refilling(work, costs, k, tables, counts, diary, one, rebuilds)
        else:
            gained += try_pool(work, costs, k, tables, counts, diary, one, neighbours, rebuilds)
        tend(work.tree, costs, work.groups)
    return gained


@inlined
def joined_loss(work: Work, costs: CostTables, record: int, group: int) -> float:
    """What a group loses per record when a record has joined it."""
    joined = 0.0
    for j in range(work.codes.shape[1]):
        code = work.codes[record, j]
        joined += cell_cost(costs, j, min(work.groups.lo[group, j], code), max(work.groups.hi[group, j], code))
    return joined


@inner
def try_move(work: Work, costs: CostTables, k: int, tables: Any, counts: Any, diary: Diary, record: int) -> float:
    """A record goes where it costs less than it saves by going."""
    groups, members, codes = work.groups, work.members, work.codes
    here = members.labels[record] + ZERO
    size = groups.sizes[here]
    if tables is None:
        if size <= k:
            return 0.0
    elif size == 1 or not may_leave(tables, counts, record, here, k):
        return 0.0
    lo, hi = np.empty(codes.shape[1], np.int32), np.empty(codes.shape[1], np.int32)
    box_without(codes, members, groups.lo[here], groups.hi[here], record, lo, hi)
    left = box_cost(costs, lo, hi)
    saved = size * groups.losses[here] - (size - 1) * left
    point, below = codes[record], saved - LEAST_GAIN
    there = best_group(work.tree, costs, point, point, 1.0, 0.0, below, here, tables, counts, record)
    if there < 0:
        return 0.0
    before = groups.sizes[there] * groups.losses[there]
    move(members, record, here, there)
    groups.sizes[here] -= 1
    groups.lo[here] = lo
    groups.hi[here] = hi
    groups.losses[here] = left
    settle(work.tree, costs, groups, here)
    widen(work, costs, record, there)
    settle(work.tree, costs, groups, there)
    if tables is not None:
        leave(tables, counts, record, here)
        join(tables, counts, record, there)
    diary.clock[0] += 1
    note(diary, here)
    note(diary, there)
    return saved - (groups.sizes[there] * groups.losses[there] - before)


@inner
def try_dissolving(work: Work, costs: CostTables, k: int, tables: Any, counts: Any, diary: Diary, group: int) -> float:
    """All records of a group go to others, if that costs less than the group does.

    Each looks for its group as if it went alone; what they cost where several meet is added up afterwards.
    """
    groups = work.groups
    saved = groups.sizes[group] * groups.losses[group] - LEAST_GAIN
    if groups.sizes[group] == 0 or saved <= 0.0:
        return 0.0
    records = listed(work, group)
    targets = np.empty(len(records), np.int64)
    cost, found = 0.0, 0
    for record in records:
        one, point = record + ZERO, work.codes[record]
        target = best_group(work.tree, costs, point, point, 1.0, 0.0, saved - cost, group, tables, counts, one)
        if target < 0:
            break
        size = groups.sizes[target]
        cost += (size + 1) * joined_loss(work, costs, one, target) - size * groups.losses[target]
        targets[found] = target
        found += 1
        if tables is not None:  # the next one must know
            leave(tables, counts, one, group)
            join(tables, counts, one, target)
    if found == len(records):
        cost = together_cost(work, costs, records, targets)
    if found < len(records) or cost >= saved:
        if tables is not None:
            for place in range(found):
                leave(tables, counts, records[place] + ZERO, targets[place])
                join(tables, counts, records[place] + ZERO, group)
        return 0.0
    diary.clock[0] += 1
    groups.sizes[group] = 0
    settle(work.tree, costs, groups, group)
    give_back(work, group)
    for place in range(found):
        move(work.members, records[place] + ZERO, group, targets[place])
        widen(work, costs, records[place] + ZERO, targets[place])
        settle(work.tree, costs, groups, targets[place])
        note(diary, targets[place])
    return saved - cost


@inner
def together_cost(work: Work, costs: CostTables, records: Ints, targets: Longs) -> float:
    """What it adds to the loss if each record joins its group."""
    columns = work.codes.shape[1]
    lo, hi = np.empty(columns, np.int32), np.empty(columns, np.int32)
    total = 0.0
    for place in range(len(records)):
        target, size = targets[place], 0
        first = True
        for other in range(place):
            first = first and targets[other] != target
        if not first:
            continue
        lo[:] = work.groups.lo[target]
        hi[:] = work.groups.hi[target]
        for other in range(place, len(records)):
            if targets[other] == target:
                size += 1
                for j in range(columns):
                    code = work.codes[records[other], j]
                    lo[j], hi[j] = min(lo[j], code), max(hi[j], code)
        before = work.groups.sizes[target]
        total += (before + size) * box_cost(costs, lo, hi) - before * work.groups.losses[target]
    return total
