"""The papers' methods as they are written, compiled: every record or group is looked at for every choice.

What the trees are measured against. A choice has the same value here and there; ties may fall differently.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.boxes.costs import CostTables
from shoal.boxes.costs.kernels import box_cost, cell_cost
from shoal.boxes.grouping import Groups, Members
from shoal.boxes.members import box_without, move
from shoal.boxes.splits import order_of_going
from shoal.compiling import inner, kernel

Ints = NDArray[np.int32]
Floats = NDArray[np.float64]


@kernel
def k_member(codes: Ints, costs: CostTables, k: int, last: int) -> Floats:
    """The loss per record of each group that k-member makes, without the leftovers."""
    records, columns = codes.shape
    free = codes.copy()  # the free records, side by side
    left = records
    losses = np.zeros(records // k)
    lo, hi = codes[last].copy(), codes[last].copy()
    for group in range(len(losses)):
        for size in range(k):
            best, chosen = np.inf, 0
            for i in range(left):
                cost = 0.0
                for j in range(columns):
                    cost += cell_cost(costs, j, min(lo[j], free[i, j]), max(hi[j], free[i, j]))
                if size == 0:
                    cost = -cost  # the seed is furthest
                if cost < best:
                    best, chosen = cost, i
            for j in range(columns):
                code = free[chosen, j]
                lo[j] = code if size == 0 else min(lo[j], code)
                hi[j] = code if size == 0 else max(hi[j], code)
            left -= 1
            if size == k - 1:
                losses[group] = box_cost(costs, lo, hi)
                lo[:] = free[chosen]  # the next seed is furthest from the last record
                hi[:] = free[chosen]
            for j in range(columns):
                free[chosen, j] = free[left, j]
    return losses


@inner
def best_group(costs: CostTables, groups: Groups, record: Ints, below: float, but: int) -> int:
    """The group that a record joins at the least loss, if that is less than `below`; −1 if none is."""
    lo, hi, sizes, losses = groups.lo, groups.hi, groups.sizes, groups.losses
    best, chosen = below, -1
    for group in range(len(sizes)):
        if sizes[group] == 0 or group == but:
            continue
        joined = 0.0
        for j in range(len(record)):
            joined += cell_cost(costs, j, min(lo[group, j], record[j]), max(hi[group, j], record[j]))
        value = joined + sizes[group] * (joined - losses[group])
        if value < best:
            best, chosen = value, group
    return chosen


@kernel
def sequential_pass(codes: Ints, costs: CostTables, groups: Groups, members: Members, done: NDArray[np.void]) -> None:
    """Ask every record once whether it moves. `done`: PASS, one."""
    columns = codes.shape[1]
    lo, hi = np.empty(columns, np.int32), np.empty(columns, np.int32)
    for record in range(len(codes)):
        here = members.labels[record]
        size = groups.sizes[here]
        without = box_without(codes, members, groups, record, lo, hi)
        left = box_cost(costs, lo, hi) if without else 0.0
        saved = size * groups.losses[here] - (size - 1) * left
        below = saved - 1e-12 if size > 1 else np.inf
        if below <= 0.0:
            continue
        there = best_group(costs, groups, codes[record], below, here)
        if there < 0:
            continue
        before = groups.sizes[there] * groups.losses[there]
        move(members, record, here, there)
        groups.sizes[here] -= 1
        groups.sizes[there] += 1
        for j in range(columns):
            if without:
                groups.lo[here, j], groups.hi[here, j] = lo[j], hi[j]
            groups.lo[there, j] = min(groups.lo[there, j], codes[record, j])
            groups.hi[there, j] = max(groups.hi[there, j], codes[record, j])
        groups.losses[here] = left
        groups.losses[there] = box_cost(costs, groups.lo[there], groups.hi[there])
        done[0].moved += 1
        done[0].gained += saved - (groups.sizes[there] * groups.losses[there] - before)


@kernel
def i3m_inserts(codes: Ints, costs: CostTables, labels: Ints, k: int, n_groups: int, coming: int) -> float:
    """I3M+ as its paper writes it, for the last `coming` records; what all records lose afterwards."""
    columns = codes.shape[1]
    room = n_groups + coming + 1
    groups = Groups(
        np.zeros((room, columns), np.int32),
        np.zeros((room, columns), np.int32),
        np.zeros(room, np.int64),
        np.zeros(room),
    )
    members = np.zeros((room, 2 * k), np.int32)
    for record in range(len(codes) - coming):
        put(codes, groups, members, record, labels[record])
    for group in range(n_groups):
        groups.losses[group] = box_cost(costs, groups.lo[group], groups.hi[group])
    losses = np.zeros(k)
    for record in range(len(codes) - coming, len(codes)):
        group = best_group(costs, groups, codes[record], np.inf, -1)
        put(codes, groups, members, record, group)
        if groups.sizes[group] == 2 * k:
            records = members[group].copy()
            order_of_going(codes, costs, records, k, losses)
            groups.sizes[group] = 0
            for i in range(2 * k):
                put(codes, groups, members, records[i], n_groups if i < k else group)
            groups.losses[n_groups] = box_cost(costs, groups.lo[n_groups], groups.hi[n_groups])
            n_groups += 1
        groups.losses[group] = box_cost(costs, groups.lo[group], groups.hi[group])
    return float((groups.sizes * groups.losses).sum())


@inner
def put(codes: Ints, groups: Groups, members: Ints, record: int, group: int) -> None:
    """A record joins a group."""
    size = groups.sizes[group]
    members[group, size] = record
    for j in range(codes.shape[1]):
        code = codes[record, j]
        groups.lo[group, j] = code if size == 0 else min(groups.lo[group, j], code)
        groups.hi[group, j] = code if size == 0 else max(groups.hi[group, j], code)
    groups.sizes[group] += 1
