"""The steps of refining, as kernels: move a record, dissolve a group, loosen one (both), and the way to the others."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.boxes.changes import give_back, split_large, widen
from shoal.boxes.costs.kernels import box_cost, cell_cost
from shoal.boxes.group_tree.search import best_group_for_record
from shoal.boxes.group_tree.update import rebuild_if_stale, update_group
from shoal.boxes.grouping import Grouping
from shoal.boxes.members import box_without, move, records_of
from shoal.compiling import ZERO, inner, kernel
from shoal.optimize.refine.memory import SearchMemory, note_change
from shoal.optimize.refine.pool import LEAST_GAIN
from shoal.optimize.refine.regroup import try_pool, try_refilling
from shoal.privacy.counts import join, leave, may_leave

Ints = NDArray[np.int32]
Longs = NDArray[np.int64]
MOVE, DISSOLVE, SPLIT, POOL, REFILL, LOOSEN = range(6)


@kernel
def step(g: Grouping, memory: SearchMemory, what: int, items: Ints, neighbours: int, rebuilds: int) -> float:
    """Try one kind of step for each item, a record or a group; by how much the loss has fallen."""
    gained = 0.0
    for item in items:
        one = item + ZERO
        if what == MOVE:
            gained += try_move(g, memory, one)
        elif what == DISSOLVE:
            gained += try_dissolving(g, memory, one)
        elif what == SPLIT:
            split_large(g, one)
        elif what == REFILL:
            try_refilling(g, memory, one, rebuilds)
        elif what == LOOSEN:
            gained += try_loosening(g, memory, one)
        else:
            gained += try_pool(g, memory, one, neighbours, rebuilds)
        rebuild_if_stale(g)
    return gained


@inner
def joined_loss(g: Grouping, record: int, group: int) -> float:
    """What a group loses per record when a record has joined it."""
    codes, costs, lo, hi = g.codes, g.costs, g.groups.lo, g.groups.hi
    joined = 0.0
    for j in range(codes.shape[1]):
        code = codes[record, j]
        joined += cell_cost(costs, j, min(lo[group, j], code), max(hi[group, j], code))
    return joined


@inner
def try_move(g: Grouping, memory: SearchMemory, record: int) -> float:
    """A record goes where it costs less than it saves by going."""
    groups, members, codes = g.groups, g.members, g.codes
    here = members.labels[record] + ZERO
    size = groups.sizes[here]
    if not g.rules.asked:
        if size <= g.k:
            return 0.0
    elif size == 1 or not may_leave(g.rules, record, here, g.k):
        return 0.0
    lo, hi = np.empty(codes.shape[1], np.int32), np.empty(codes.shape[1], np.int32)
    box_without(codes, members, groups, record, lo, hi)
    left = box_cost(g.costs, lo, hi)
    saved = size * groups.losses[here] - (size - 1) * left
    there = best_group_for_record(g, record, saved - LEAST_GAIN, here)
    if there < 0:
        return 0.0
    before = groups.sizes[there] * groups.losses[there]
    move(members, record, here, there)
    groups.sizes[here] -= 1
    groups.lo[here] = lo
    groups.hi[here] = hi
    groups.losses[here] = left
    update_group(g, here)
    widen(g, record, there)
    update_group(g, there)
    if g.rules.asked:
        leave(g.rules, record, here)
        join(g.rules, record, there)
    memory.state[0].clock += 1
    note_change(memory, here)
    note_change(memory, there)
    return saved - (groups.sizes[there] * groups.losses[there] - before)


@inner
def try_dissolving(g: Grouping, memory: SearchMemory, group: int) -> float:
    """All records of a group go to others, if that costs less than the group does.

    Each looks for its group as if it went alone; what they cost where several meet is added up afterwards.
    """
    sizes, losses, rules = g.groups.sizes, g.groups.losses, g.rules
    saved = sizes[group] * losses[group] - LEAST_GAIN
    if sizes[group] == 0 or saved <= 0.0:
        return 0.0
    records = records_of(g, group)
    targets = np.empty(len(records), np.int64)
    cost, found = 0.0, 0
    for record in records:
        one = record + ZERO
        target = best_group_for_record(g, one, saved - cost, group)
        if target < 0:
            break
        size = sizes[target]
        cost += (size + 1) * joined_loss(g, one, target) - size * losses[target]
        targets[found] = target
        found += 1
        if rules.asked:  # the next one must know
            leave(rules, one, group)
            join(rules, one, target)
    if found == len(records):
        cost = together_cost(g, records, targets)
    if found < len(records) or cost >= saved:
        if rules.asked:
            for i in range(found):
                leave(rules, records[i] + ZERO, targets[i])
                join(rules, records[i] + ZERO, group)
        return 0.0
    memory.state[0].clock += 1
    sizes[group] = 0
    update_group(g, group)
    give_back(g, group)
    for i in range(found):
        move(g.members, records[i] + ZERO, group, targets[i])
        widen(g, records[i] + ZERO, targets[i])
        update_group(g, targets[i])
        note_change(memory, targets[i])
    return saved - cost


@inner
def try_loosening(g: Grouping, memory: SearchMemory, group: int) -> float:
    """Each record of a group goes where it costs less than it saves; then all that are left, if that does."""
    if g.groups.sizes[group] == 0:
        return 0.0
    gained = 0.0
    for record in records_of(g, group):
        gained += try_move(g, memory, record + ZERO)
    return gained + try_dissolving(g, memory, group)


@inner
def together_cost(g: Grouping, records: Ints, targets: Longs) -> float:
    """What it adds to the loss if each record joins its group."""
    groups, codes = g.groups, g.codes
    columns = codes.shape[1]
    lo, hi = np.empty(columns, np.int32), np.empty(columns, np.int32)
    total = 0.0
    for i in range(len(records)):
        target, size = targets[i], 0
        first = True
        for other in range(i):
            first = first and targets[other] != target
        if not first:
            continue
        lo[:] = groups.lo[target]
        hi[:] = groups.hi[target]
        for other in range(i, len(records)):
            if targets[other] == target:
                size += 1
                for j in range(columns):
                    code = codes[records[other], j]
                    lo[j], hi[j] = min(lo[j], code), max(hi[j], code)
        before = groups.sizes[target]
        total += (before + size) * box_cost(g.costs, lo, hi) - before * groups.losses[target]
    return total
