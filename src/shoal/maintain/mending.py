"""Mending: groups that do not keep the rules after a batch.

Closeness is meant to the table as it is, so that a group which nobody has touched may not keep it any more; mostly one
record is too many, or too few. Where one that leaves, or one that a neighbour can spare, is enough, it does so, at the
least loss. Else the group takes in others: the best with which the rules hold, else the best of all, and so on; what
has become large is split where the rules allow it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.boxes.changes import depart, enter, has_what_is_asked, merge_groups, refresh, split_large
from shoal.boxes.costs.kernels import box_cost
from shoal.boxes.group_tree.search import (
    best_group_for_group,
    best_group_for_record,
    best_group_whatever_is_asked,
    near_groups,
)
from shoal.boxes.group_tree.update import rebuild_if_stale
from shoal.boxes.grouping import Grouping
from shoal.boxes.members import box_without, records_of
from shoal.compiling import ZERO, allocating, kernel
from shoal.optimize.refine.moving import joined_loss
from shoal.optimize.refine.regroup import EXACT, LOOKED_AT
from shoal.privacy.counts import may_join, may_leave, people_if_joined

Ints = NDArray[np.int32]


@kernel
def mend_some(g: Grouping, groups: Ints, feasible: bool) -> bool:
    """These groups keep the rules afterwards. False: they do not, and only if the whole table keeps them they can."""
    for offender in groups:
        group = offender + ZERO
        if g.groups.sizes[group] > 0 and not has_what_is_asked(g, group):
            move_one(g, group)
        while g.groups.sizes[group] > 0 and not has_what_is_asked(g, group):
            other = best_group_for_group(g, group)
            if other < 0:
                if not feasible:
                    return False
                other = best_group_whatever_is_asked(g, group)
                if other < 0:
                    return False
            merge_groups(g, group, other)
        split_large(g, group)
        rebuild_if_stale(g)
    return True


@allocating
def move_one(g: Grouping, group: int) -> None:
    """One record leaves a group for another, or comes from a neighbour, if both have what is asked then."""
    groups = g.groups
    lo, hi = np.empty(g.codes.shape[1], np.int32), np.empty(g.codes.shape[1], np.int32)
    best, chosen, target = np.inf, ZERO, ZERO - 1
    for one in records_of(g, group):
        record = one + ZERO
        if may_leave(g.rules, record, group, g.k) and box_without(g.codes, g.members, groups, record, lo, hi):
            there = best_group_for_record(g, record, np.inf, group)
            if there >= 0 and has_what_is_asked(g, there):
                cost = cost_of_moving(g, record, there, box_cost(g.costs, lo, hi))
                if cost < best:
                    best, chosen, target = cost, record, there
    found, values = np.empty(LOOKED_AT, np.int64), np.empty(LOOKED_AT)
    for i in range(near_groups(g, group, 0.0, EXACT, found, values)):
        for one in records_of(g, found[i]):
            record = one + ZERO
            enough = people_if_joined(g.rules, record, group) >= g.k
            if not enough or not may_leave(g.rules, record, found[i], g.k) or not may_join(g.rules, record, group):
                continue
            if box_without(g.codes, g.members, groups, record, lo, hi):
                cost = cost_of_moving(g, record, group, box_cost(g.costs, lo, hi))
                if cost < best:
                    best, chosen, target = cost, record, group
    if target >= 0:
        here = g.members.labels[chosen] + ZERO
        depart(g, chosen)
        refresh(g, here)
        enter(g, chosen, target)
        g.retry[here] = g.retry[target] = 0
        split_large(g, target)


@allocating
def cost_of_moving(g: Grouping, record: int, there: int, left: float) -> float:
    """By how much the loss rises if a record goes to another group. `left`: what those lose each whom it leaves."""
    sizes, losses = g.groups.sizes, g.groups.losses
    here = g.members.labels[record] + ZERO
    rise = (sizes[there] + 1) * joined_loss(g, record, there) - sizes[there] * losses[there]
    return rise + (sizes[here] - 1) * left - sizes[here] * losses[here]
