"""The group tree: which group a record or another group joins at the least loss, without looking at each.

A query with box Q, size q and loss per record L_Q joins group g at `v = q·(L' − L_Q) + |g|·(L' − L)`, with L and L' the
group's loss per record before and after; for a record that is `L' + |g|·(L' − L)`. A node keeps of each of its children
the union of the groups' boxes, the smallest and largest width (as a cost) per column, the smallest loss and the
smallest size. With `c_j` the cost from Q to the union's interval, `m_j` and `M_j` the smallest and largest width cost,
and `e = Σ max(0, c_j − M_j)`:

    L' ≥ max(Σ max(c_j, m_j), min L + e)   and   L' − L ≥ e,   so   v ≥ q·(L'bound − L_Q) + s·e.

A node has up to eight children, a leaf up to eight groups, and what is kept of them stands side by side: among many
groups, fetching from memory is what takes the time. How a node is divided decides how many are looked at: see
`division.py`.

Groups may grow, shrink and die: `settle` widens what the nodes above a group keep, which leaves every bound valid and
some loose. When half as many changes have been made as there are groups, the tree is built anew.

Guarantee, for costs that grow with the interval: the value found is that of a full scan over the groups that the rules
allow. Ties go to the smaller group, then to the lower number, as far as the tree comes by them.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.boxes.costs import CostTables
from shoal.boxes.division import FAN, divide
from shoal.boxes.kernels import box_cost, cell_cost
from shoal.compiling import ZERO, constant, inlined, kernel
from shoal.privacy.counts import may_join, may_merge

Ints = NDArray[np.int32]
Longs = NDArray[np.int64]
Floats = NDArray[np.float64]
NOBODY = constant(-1)
LO, HI = 0, 1
NARROWEST, WIDEST = 0, 1
LOSS, SIZE = 0, 1


class Groups(NamedTuple):
    """All groups, dead ones with size 0."""

    lo: Ints
    hi: Ints
    sizes: Longs
    losses: Floats  # per record


class GroupTree(NamedTuple):
    """Nodes, the root first, and leaves. A child is a node (its number) or a leaf (−1 − its number)."""

    children: Ints  # (nodes, FAN)
    counts: Ints  # of each node: how many children
    above: Ints  # of each node: its parent; −1 for the root
    unions: Ints  # (nodes, FAN, 2, columns): lo and hi of each child
    widths: Floats  # (nodes, FAN, 2, columns): the narrowest and the widest box in each child
    least: Floats  # (nodes, FAN, 2): the smallest loss and size in each child
    members: Ints  # (leaves, FAN): groups
    sizes: Ints  # of each leaf: how many groups
    parents: Ints  # of each leaf
    boxes: Ints  # (leaves, FAN, 2, columns): of each group
    facts: Floats  # (leaves, FAN, 2): the loss and the size of each group
    leaves: Ints  # of each group: where it is; −1 if it is not in the tree
    state: Longs  # [changes since the tree was built, groups in it then, its depth]


CHANGES, ALIVE, DEPTH = 0, 1, 2


def new_groups(groups: int, columns: int) -> Groups:
    return Groups(
        lo=np.zeros((groups, columns), np.int32),
        hi=np.zeros((groups, columns), np.int32),
        sizes=np.zeros(groups, np.int64),
        losses=np.zeros(groups),
    )


def new_group_tree(groups: Groups) -> GroupTree:
    """Room for the tree over so many groups: `build` it. What is not used is never touched, and takes no memory."""
    several, columns = groups.lo.shape
    nodes = several + 1
    return GroupTree(
        children=np.zeros((nodes, FAN), np.int32),
        counts=np.zeros(nodes, np.int32),
        above=np.zeros(nodes, np.int32),
        unions=np.zeros((nodes, FAN, 2, columns), np.int32),
        widths=np.zeros((nodes, FAN, 2, columns)),
        least=np.zeros((nodes, FAN, 2)),
        members=np.zeros((nodes, FAN), np.int32),
        sizes=np.zeros(nodes, np.int32),
        parents=np.zeros(nodes, np.int32),
        boxes=np.zeros((nodes, FAN, 2, columns), np.int32),
        facts=np.zeros((nodes, FAN, 2)),
        leaves=np.full(several, -1, np.int32),
        state=np.zeros(3, np.int64),
    )


@kernel
def build(tree: GroupTree, costs: CostTables, groups: Groups) -> None:
    """The tree over all groups that are alive."""
    order = np.empty(len(groups.sizes), np.int32)
    alive = 0
    for group in range(len(groups.sizes)):
        tree.leaves[group] = -1
        if groups.sizes[group] > 0:
            order[alive] = group
            alive += 1
    tree.state[CHANGES], tree.state[ALIVE], tree.state[DEPTH] = 0, alive, 0
    tree.counts[0], tree.above[0] = 0, -1
    spans = np.empty((alive + 1, 3), np.int32)  # of each node: where its groups are in `order`, its depth
    spans[0, 0], spans[0, 1], spans[0, 2] = 0, alive, 1
    starts = np.zeros(FAN + 1, np.int64)
    nodes, leaves, node = 1, 0, 0
    while node < nodes and alive > 0:
        start, depth = spans[node, 0], spans[node, 2]
        tree.state[DEPTH] = max(tree.state[DEPTH], depth)
        parts = divide(costs, groups.lo, groups.hi, groups.losses, order[start : spans[node, 1]], starts, False)
        tree.counts[node] = parts
        for part in range(parts):
            first, last = start + starts[part], start + starts[part + 1]
            summarize(tree, costs, groups, order[first:last], node, part)
            if last - first <= FAN:
                tree.children[node, part] = -1 - leaves
                fill(tree, groups, order[first:last], leaves)
                tree.parents[leaves] = node
                leaves += 1
            else:
                tree.children[node, part] = nodes
                tree.above[nodes] = node
                spans[nodes, 0], spans[nodes, 1], spans[nodes, 2] = first, last, depth + 1
                nodes += 1
        node += 1


@kernel
def fill(tree: GroupTree, groups: Groups, members: Ints, leaf: int) -> None:
    """Put groups into a leaf."""
    tree.sizes[leaf] = len(members)
    for place in range(len(members)):
        tree.members[leaf, place] = members[place]
        tree.leaves[members[place]] = leaf
        copy_group(tree, groups, leaf, place)


@inlined
def copy_group(tree: GroupTree, groups: Groups, leaf: int, place: int) -> None:
    """What a leaf knows of a group."""
    group = tree.members[leaf, place]
    for j in range(groups.lo.shape[1]):
        tree.boxes[leaf, place, LO, j], tree.boxes[leaf, place, HI, j] = groups.lo[group, j], groups.hi[group, j]
    tree.facts[leaf, place, LOSS], tree.facts[leaf, place, SIZE] = groups.losses[group], groups.sizes[group]


@kernel
def summarize(tree: GroupTree, costs: CostTables, groups: Groups, members: Ints, node: int, child: int) -> None:
    """What a node keeps of the groups of a child."""
    loss, size = np.inf, np.inf
    for group in members:
        loss, size = min(loss, groups.losses[group]), min(size, float(groups.sizes[group]))
    tree.least[node, child, LOSS], tree.least[node, child, SIZE] = loss, size
    for j in range(groups.lo.shape[1]):
        low, high = groups.lo[members[0], j], groups.hi[members[0], j]
        narrowest = widest = cell_cost(costs, j, low, high)
        for group in members[1:]:
            lo, hi = groups.lo[group, j], groups.hi[group, j]
            width = cell_cost(costs, j, lo, hi)
            low, high = min(low, lo), max(high, hi)
            narrowest, widest = min(narrowest, width), max(widest, width)
        tree.unions[node, child, LO, j], tree.unions[node, child, HI, j] = low, high
        tree.widths[node, child, NARROWEST, j], tree.widths[node, child, WIDEST, j] = narrowest, widest


@kernel
def absorb(tree: GroupTree, costs: CostTables, groups: Groups, group: int, other: int) -> None:
    """A group takes in another, which is dead afterwards."""
    for j in range(groups.lo.shape[1]):
        groups.lo[group, j] = min(groups.lo[group, j], groups.lo[other, j])
        groups.hi[group, j] = max(groups.hi[group, j], groups.hi[other, j])
    groups.sizes[group] += groups.sizes[other]
    groups.sizes[other] = 0
    groups.losses[group] = box_cost(costs, groups.lo[group], groups.hi[group])
    settle(tree, costs, groups, other)
    settle(tree, costs, groups, group)


@kernel
def settle(tree: GroupTree, costs: CostTables, groups: Groups, group: int) -> None:
    """A group has another box or size now, or is dead: what the tree keeps of it follows, as far up as it matters."""
    leaf = tree.leaves[group]
    if leaf < 0:
        return
    tree.state[CHANGES] += 1
    if 2 * tree.state[CHANGES] > tree.state[ALIVE]:
        build(tree, costs, groups)
        return
    place = 0
    while tree.members[leaf, place] != group:
        place += 1
    if groups.sizes[group] == 0:
        last = tree.sizes[leaf] - 1
        tree.members[leaf, place] = tree.members[leaf, last]
        tree.sizes[leaf], tree.leaves[group] = last, -1
        if place < last:
            copy_group(tree, groups, leaf, place)
        return
    copy_group(tree, groups, leaf, place)
    widen(tree, costs, groups, group, leaf)


@kernel
def widen(tree: GroupTree, costs: CostTables, groups: Groups, group: int, leaf: int) -> None:
    """The nodes above a leaf make room for a group of it."""
    below, node = -1 - leaf, tree.parents[leaf]
    new = True
    while node >= 0 and new:
        child = 0
        while tree.children[node, child] != below:
            child += 1
        new = (
            groups.losses[group] < tree.least[node, child, LOSS] or groups.sizes[group] < tree.least[node, child, SIZE]
        )
        tree.least[node, child, LOSS] = min(tree.least[node, child, LOSS], groups.losses[group])
        tree.least[node, child, SIZE] = min(tree.least[node, child, SIZE], float(groups.sizes[group]))
        for j in range(groups.lo.shape[1]):
            lo, hi = groups.lo[group, j], groups.hi[group, j]
            low, high = tree.unions[node, child, LO, j], tree.unions[node, child, HI, j]
            if lo < low or hi > high:
                tree.unions[node, child, LO, j], tree.unions[node, child, HI, j] = min(low, lo), max(high, hi)
                new = True
            width = cell_cost(costs, j, lo, hi)
            narrowest, widest = tree.widths[node, child, NARROWEST, j], tree.widths[node, child, WIDEST, j]
            if width < narrowest or width > widest:
                tree.widths[node, child, NARROWEST, j] = min(narrowest, width)
                tree.widths[node, child, WIDEST, j] = max(widest, width)
                new = True
        below, node = node, tree.above[node]


@kernel
def best_group(
    tree: GroupTree,
    costs: CostTables,
    lo: Ints,
    hi: Ints,
    size: float,
    loss: float,
    below: float,
    but: int,
    privacy: Any,
    counts: Any,
    record: int,
) -> int:
    """The group that a box of this size and loss joins at the least loss, if that is less than `below`; −1 if none is.

    `but`: the group that is asking, if it is one. Where there are rules only groups that they allow are found: those
    that `record` may join, or (record −1) that `but` may merge with. `privacy` and `counts` are `PrivacyTables` and
    `GroupCounts`, or None.
    """
    columns = len(lo)
    children, unions, widths, least = tree.children, tree.unions, tree.widths, tree.least
    members, boxes, facts = tree.members, tree.boxes, tree.facts
    best, smallest, chosen = below, -1.0, NOBODY
    room = FAN * (tree.state[DEPTH] + 1)
    stack, bounds, sizes = np.empty(room, np.int64), np.empty(room), np.empty(room)
    top = 1 if tree.state[ALIVE] > 0 else 0
    stack[0], bounds[0], sizes[0] = 0, -np.inf, 0.0
    while top > 0:
        top -= 1
        node = stack[top]
        if bounds[top] > best or (bounds[top] == best and sizes[top] >= smallest):
            continue
        if node < 0:
            leaf = -1 - node
            for place in range(tree.sizes[leaf]):
                joined = 0.0
                for j in range(columns):
                    first, last = min(lo[j], boxes[leaf, place, LO, j]), max(hi[j], boxes[leaf, place, HI, j])
                    joined += cell_cost(costs, j, first, last)
                members_size = facts[leaf, place, SIZE]
                value = size * (joined - loss) + members_size * (joined - facts[leaf, place, LOSS])
                if value > best or (value == best and members_size > smallest):
                    continue
                group = members[leaf, place] + ZERO  # as wide as `but`: one compiled version of what is called
                if group == but or (value == best and members_size == smallest and group >= chosen):
                    continue
                if privacy is not None:
                    if record >= 0 and not may_join(privacy, counts, record, group):
                        continue
                    if record < 0 and not may_merge(privacy, counts, but, group):
                        continue
                best, smallest, chosen = value, members_size, group
            continue
        bottom = top
        for child in range(tree.counts[node]):
            apart, joined = 0.0, 0.0
            for j in range(columns):
                first, last = min(lo[j], unions[node, child, HI, j]), max(hi[j], unions[node, child, LO, j])
                reach = cell_cost(costs, j, first, last)
                apart += max(0.0, reach - widths[node, child, WIDEST, j])
                joined += max(reach, widths[node, child, NARROWEST, j])
            fewest = least[node, child, SIZE]
            bound = size * (max(joined, least[node, child, LOSS] + apart) - loss) + fewest * apart
            if bound <= best:
                at = top  # the nearest comes last, and so is looked at first
                while at > bottom and bounds[at - 1] < bound:
                    stack[at], bounds[at], sizes[at] = stack[at - 1], bounds[at - 1], sizes[at - 1]
                    at -= 1
                stack[at], bounds[at], sizes[at] = children[node, child], bound, fewest
                top += 1
    return chosen


@kernel
def weigh(costs: CostTables, groups: Groups) -> None:
    """Fill in the losses of all groups from their boxes."""
    for group in range(len(groups.sizes)):
        if groups.sizes[group] > 0:
            groups.losses[group] = box_cost(costs, groups.lo[group], groups.hi[group])
