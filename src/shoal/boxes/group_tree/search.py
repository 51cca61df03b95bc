"""Asking the group tree: which group to join, which one covers, which ones are near. Asking changes nothing."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.arrays import row_type
from shoal.boxes.costs.kernels import WIDE, cell_cost, costs_more
from shoal.boxes.geometry import HI, LO
from shoal.boxes.group_tree.build import NARROWEST, WIDEST
from shoal.boxes.group_tree.catalog import ON, Query, best_covering
from shoal.boxes.grouping import FAN, Grouping
from shoal.boxes.stack import WAITING, push_ordered
from shoal.compiling import ZERO, allocating, constant, inner
from shoal.privacy.counts import may_join, may_merge

Ints = NDArray[np.int32]
Longs = NDArray[np.int64]
Floats = NDArray[np.float64]
NOBODY = constant(-1)
# A node that waits in the search for the best group: of those that cost the same the smallest is taken.
SIZED = row_type([*((name, WAITING[name]) for name in WAITING.names or ()), ("n_records", np.float64)])


@inner
def best_group_for_record(g: Grouping, record: int, below: float, but: int) -> int:
    """The group that a record joins at the least loss, of those that the rules allow and but for one; −1: none.

    Only if that is less than `below`.
    """
    point = g.codes[record]
    return best_group(g, Query(point, point, 1.0, 0.0, below, but, record), g.rules.asked)


@allocating
def best_group_for_group(g: Grouping, group: int) -> int:
    """The group that it costs least to merge a group with, so that both together have what is asked; −1: none."""
    return best_group(g, query_of(g, group), g.rules.asked)


@allocating
def best_group_whatever_is_asked(g: Grouping, group: int) -> int:
    """The group that it costs least to merge a group with; −1 if it is the only one."""
    return best_group(g, query_of(g, group), False)


@allocating
def query_of(g: Grouping, group: int) -> Query:
    groups = g.groups
    lo, hi, size, loss = groups.lo[group], groups.hi[group], float(groups.sizes[group]), groups.losses[group]
    return Query(lo, hi, size, loss, np.inf, group, NOBODY)


@allocating
def best_group(g: Grouping, query: Query, by_rules: bool) -> int:
    """The group that it costs least to join; −1: none. `by_rules`: of those that the rules allow."""
    tree, costs = g.tree, g.costs
    lo, hi, size, loss, but = query.lo, query.hi, query.size, query.loss, query.but
    columns = len(lo)
    best, smallest, chosen, step = query.below, -1.0, NOBODY, 0.0
    state = tree.state[0]
    if state.catalog == ON:
        found, step, _ = best_covering(g, query, by_rules)
        best, smallest, chosen = found.value, found.size, found.group
        if step == np.inf:
            return chosen
    children, unions, widths, least = tree.children, tree.unions, tree.widths, tree.least
    nodes, leaves, members, boxes, facts = tree.nodes, tree.leaves, tree.members, tree.boxes, tree.facts
    stack = np.empty(FAN * (state.depth + 2), SIZED)
    top = 1 if nodes[0].count > 0 else 0
    stack[0].node, stack[0].bound, stack[0].n_records = 0, -np.inf, 0.0
    while top > 0:
        top -= 1
        node = stack[top].node
        if stack[top].bound > best or (stack[top].bound == best and stack[top].n_records >= smallest):
            continue
        if node < 0:
            leaf = -1 - node
            for i in range(leaves[leaf].count):
                theirs, now = float(facts[leaf, i].n_records), facts[leaf, i].loss
                most = (best + size * loss + theirs * now) / (size + theirs)
                if columns >= WIDE and costs_more(costs, lo, hi, boxes[leaf, i], now, most):
                    continue
                joined = 0.0
                for j in range(columns):
                    first, last = min(lo[j], boxes[leaf, i, LO, j]), max(hi[j], boxes[leaf, i, HI, j])
                    joined += cell_cost(costs, j, first, last)
                value = size * (joined - loss) + theirs * (joined - now)
                if value > best or (value == best and theirs > smallest):
                    continue
                group = members[leaf, i] + ZERO
                if group == but or (value == best and theirs == smallest and group >= chosen):
                    continue
                if by_rules:
                    if query.record >= 0 and not may_join(g.rules, query.record, group):
                        continue
                    if query.record < 0 and not may_merge(g.rules, but, group):
                        continue
                best, smallest, chosen = value, theirs, group
            continue
        bottom = top
        for child in range(nodes[node].count):
            apart, joined = 0.0, 0.0
            for j in range(columns):
                first, last = min(lo[j], unions[node, child, HI, j]), max(hi[j], unions[node, child, LO, j])
                reach = cell_cost(costs, j, first, last)
                apart += max(0.0, reach - widths[node, child, WIDEST, j])
                joined += max(reach, widths[node, child, NARROWEST, j])
            apart = max(apart, step)  # what covers the record has been seen
            fewest = float(least[node, child].n_records)
            bound = size * (max(joined, least[node, child].loss + apart) - loss) + fewest * apart
            if bound <= best:
                at = push_ordered(stack, bottom, top, children[node, child], bound)
                stack[at].n_records = fewest
                top += 1
    return chosen


@allocating
def best_cover(g: Grouping, record: int, but: int, by_rules: bool) -> int:
    """The group with the least loss per record of those that cover a record; −1: none.

    A group that covers it is in every column as wide as the way to it: nodes in which none is wide enough are left out.
    """
    tree, costs, point = g.tree, g.costs, g.codes[record]
    children, unions, widths, least = tree.children, tree.unions, tree.widths, tree.least
    nodes, leaves, members, boxes, facts = tree.nodes, tree.leaves, tree.members, tree.boxes, tree.facts
    columns = len(point)
    best, chosen = np.inf, NOBODY
    stack = np.empty(FAN * (tree.state[0].depth + 2), WAITING)
    top = 1 if nodes[0].count > 0 else 0
    stack[0].node, stack[0].bound = 0, 0.0
    while top > 0:
        top -= 1
        node = stack[top].node
        if stack[top].bound > best:
            continue
        if node < 0:
            leaf = -1 - node
            for i in range(leaves[leaf].count):
                group, loss = members[leaf, i] + ZERO, facts[leaf, i].loss
                if group == but or loss > best or (loss == best and group > chosen):
                    continue
                covers = True
                for j in range(columns):
                    lo, hi = boxes[leaf, i, LO, j], boxes[leaf, i, HI, j]
                    if point[j] < lo or point[j] > hi:
                        joined = cell_cost(costs, j, min(lo, point[j]), max(hi, point[j]))
                        covers = covers and joined <= cell_cost(costs, j, lo, hi)
                if covers and (not by_rules or may_join(g.rules, record, group)):
                    best, chosen = loss, group
            continue
        bottom = top
        for child in range(nodes[node].count):
            bound, covers = 0.0, True
            for j in range(columns):
                first = min(point[j], unions[node, child, HI, j])
                last = max(point[j], unions[node, child, LO, j])
                reach = cell_cost(costs, j, first, last)
                covers = covers and reach <= widths[node, child, WIDEST, j]
                bound += max(reach, widths[node, child, NARROWEST, j])
            bound = max(bound, least[node, child].loss)
            if covers and bound <= best:
                push_ordered(stack, bottom, top, children[node, child], bound)
                top += 1
    return chosen


@allocating
def near_groups(g: Grouping, group: int, largest: float, slack: float, found: Longs, values: Floats) -> int:
    """The groups that a group would merge with at the least loss, nearest first; how many.

    As many as `found` has room for; `values` says what each merger would add. `largest`: if not 0, what a merger adds
    is divided among all records of both, and no group has more records than so many. `slack`: how many times nearer
    than the furthest of those a group may be that is left out; 1: none is. Where bounds are weak, 2 takes a third of
    the time, and those that are found are hardly further away.
    """
    tree, costs, groups = g.tree, g.costs, g.groups
    lo, hi, size, loss = groups.lo[group], groups.hi[group], float(groups.sizes[group]), groups.losses[group]
    children, unions, widths, least = tree.children, tree.unions, tree.widths, tree.least
    nodes, leaves, members, boxes, facts = tree.nodes, tree.leaves, tree.members, tree.boxes, tree.facts
    columns, room = len(lo), len(found)
    count = 0
    stack = np.empty(FAN * (tree.state[0].depth + 2), WAITING)
    top = 1 if nodes[0].count > 0 else 0
    stack[0].node, stack[0].bound = 0, -np.inf
    while top > 0:
        top -= 1
        node = stack[top].node
        if count == room and slack * stack[top].bound >= values[room - 1]:
            continue
        if node < 0:
            leaf = -1 - node
            for i in range(leaves[leaf].count):
                theirs, now = float(facts[leaf, i].n_records), facts[leaf, i].loss
                if columns >= WIDE and count == room:
                    worst = values[room - 1] * (size + theirs if largest > 0.0 else 1.0)
                    limit = (worst + size * loss + theirs * now) / (size + theirs)
                    if costs_more(costs, lo, hi, boxes[leaf, i], now, limit):
                        continue
                joined = 0.0
                for j in range(columns):
                    first, last = min(lo[j], boxes[leaf, i, LO, j]), max(hi[j], boxes[leaf, i, HI, j])
                    joined += cell_cost(costs, j, first, last)
                value = size * (joined - loss) + theirs * (joined - now)
                if largest > 0.0:
                    value /= size + theirs
                other = members[leaf, i]
                if other == group or (count == room and value >= values[room - 1]):
                    continue
                at = min(count, room - 1)
                while at > 0 and values[at - 1] > value:
                    values[at], found[at] = values[at - 1], found[at - 1]
                    at -= 1
                values[at], found[at] = value, other
                count = min(count + 1, room)
            continue
        bottom = top
        worst = values[room - 1] if count == room else np.inf
        for child in range(nodes[node].count):
            apart, joined = 0.0, 0.0
            for j in range(columns):
                first, last = min(lo[j], unions[node, child, HI, j]), max(hi[j], unions[node, child, LO, j])
                reach = cell_cost(costs, j, first, last)
                apart += max(0.0, reach - widths[node, child, WIDEST, j])
                joined += max(reach, widths[node, child, NARROWEST, j])
            fewest = float(least[node, child].n_records)
            ours = size * (max(joined, least[node, child].loss + apart) - loss)
            bound = ours + fewest * apart
            if largest > 0.0:  # a mean of what one of ours and one of theirs adds: least where they are fewest, or most
                bound = min(bound / (size + fewest), (ours + largest * apart) / (size + largest))
            if slack * bound < worst:
                push_ordered(stack, bottom, top, children[node, child], bound)
                top += 1
    return count
