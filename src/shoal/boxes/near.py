"""The groups nearest to a box, through the group tree: several, where `best_group` finds one."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.boxes.costs import CostTables
from shoal.boxes.division import FAN
from shoal.boxes.group_tree import GroupTree
from shoal.boxes.kernels import WIDE, cell_cost, costs_more
from shoal.boxes.layout import COUNT, DEPTH, HI, LO, LOSS, NARROWEST, SIZE, WIDEST
from shoal.compiling import kernel

Ints = NDArray[np.int32]
Longs = NDArray[np.int64]
Floats = NDArray[np.float64]


@kernel
def near_groups(
    tree: GroupTree,
    costs: CostTables,
    lo: Ints,
    hi: Ints,
    size: float,
    loss: float,
    but: int,
    largest: float,
    found: Longs,
    values: Floats,
) -> int:
    """The groups that a box of this size and loss would merge with at the least loss, nearest first; how many.

    As many as `found` has room for; `values` says what each merger would add. `but`: the group that is asking.
    `largest`: if not 0, what a merger adds is divided among all records of both, and no group has more records than so
    many.
    """
    children, unions, widths, least = tree.children, tree.unions, tree.widths, tree.least
    members, boxes, facts = tree.members, tree.boxes, tree.facts
    columns, most = len(lo), len(found)
    several = 0
    room = FAN * (tree.state[DEPTH] + 2)
    stack, bounds = np.empty(room, np.int64), np.empty(room)
    top = 1 if tree.nodes[0, COUNT] > 0 else 0
    stack[0], bounds[0] = 0, -np.inf
    while top > 0:
        top -= 1
        node = stack[top]
        if several == most and bounds[top] >= values[most - 1]:
            continue
        if node < 0:
            leaf = -1 - node
            for place in range(tree.leaves[leaf, COUNT]):
                theirs, now = facts[leaf, place, SIZE], facts[leaf, place, LOSS]
                if columns >= WIDE and several == most:
                    worst = values[most - 1] * (size + theirs if largest > 0.0 else 1.0)
                    limit = (worst + size * loss + theirs * now) / (size + theirs)
                    if costs_more(costs, lo, hi, boxes[leaf, place], now, limit):
                        continue
                joined = 0.0
                for j in range(columns):
                    first, last = min(lo[j], boxes[leaf, place, LO, j]), max(hi[j], boxes[leaf, place, HI, j])
                    joined += cell_cost(costs, j, first, last)
                value = size * (joined - loss) + theirs * (joined - now)
                if largest > 0.0:
                    value /= size + theirs
                group = members[leaf, place]
                if group == but or (several == most and value >= values[most - 1]):
                    continue
                at = min(several, most - 1)
                while at > 0 and values[at - 1] > value:
                    values[at], found[at] = values[at - 1], found[at - 1]
                    at -= 1
                values[at], found[at] = value, group
                several = min(several + 1, most)
            continue
        bottom = top
        worst = values[most - 1] if several == most else np.inf
        for child in range(tree.nodes[node, COUNT]):
            apart, joined = 0.0, 0.0
            for j in range(columns):
                first, last = min(lo[j], unions[node, child, HI, j]), max(hi[j], unions[node, child, LO, j])
                reach = cell_cost(costs, j, first, last)
                apart += max(0.0, reach - widths[node, child, WIDEST, j])
                joined += max(reach, widths[node, child, NARROWEST, j])
            fewest = least[node, child, SIZE]
            ours = size * (max(joined, least[node, child, LOSS] + apart) - loss)
            bound = ours + fewest * apart
            if largest > 0.0:  # a mean of what one of ours and one of theirs adds: least where they are fewest, or most
                bound = min(bound / (size + fewest), (ours + largest * apart) / (size + largest))
            if bound < worst:
                at = top  # the nearest comes last, and so is looked at first
                while at > bottom and bounds[at - 1] < bound:
                    stack[at], bounds[at] = stack[at - 1], bounds[at - 1]
                    at -= 1
                stack[at], bounds[at] = children[node, child], bound
                top += 1
    return several
