"""How the group tree follows its groups: they grow, shrink, die and are born, and every bound stays exact.

What the nodes above a group keep of it is made anew from what is below, as far up as anything changes. A new group
comes to the leaf where the cuts that made the tree lead, and so does one whose box has changed: wide boxes among narrow
ones would spoil the bounds of all. A leaf that is full is halved. Where half as many groups have come and gone
as a node had, all that is below it is worn, and `tend` plants it anew: the cost of that is spread over those changes,
and the tree stays as shallow as a new one. Static methods make over every box, not just some: there (`reshapes`) a
changed box counts at the root like a group that came. The catalog, where there is one, follows every change of a box.

Whoever changes groups calls `tend` now and then. (Planting is much code, and Numba compiles it into every kernel that
calls it, and into those that call these.)
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.boxes.catalog import ON, PATIENCE, STALE, catalog_groups, refile
from shoal.boxes.costs import CostTables
from shoal.boxes.division import ANY, AT, COLUMN, FAN, KIND, MIDDLE, OFFSETS, PART, side_of
from shoal.boxes.group_tree import Groups, GroupTree, copy_group, new_leaf, new_node, plant, summarize
from shoal.boxes.kernels import box_cost, cell_cost
from shoal.boxes.layout import (
    ABOVE,
    BUILT,
    CATALOG,
    CHANGES,
    COUNT,
    DEPTH,
    FREE_LEAF,
    FREE_NODE,
    HI,
    LEAF,
    LO,
    MISSED,
    RESHAPES,
    SIZE,
    STEPS,
    WORN,
)
from shoal.compiling import ZERO, inlined, inner, kernel

Ints = NDArray[np.int32]


@kernel
def settle(tree: GroupTree, costs: CostTables, groups: Groups, group: int) -> None:
    """A group has another box or size now, or is dead: what the tree keeps of it follows."""
    leaf = tree.places[group, LEAF] + ZERO
    if leaf < 0:
        return
    place = ZERO
    while tree.members[leaf, place] != group:
        place += 1
    if groups.sizes[group] == 0:
        if tree.state[CATALOG] == ON:
            refile(tree, costs, groups, group, leaf, place)
        take_out(tree, costs, groups, leaf, place)
        return
    if tree.state[RESHAPES]:
        tree.nodes[0, CHANGES] += 1
        if 2 * tree.nodes[0, CHANGES] > tree.nodes[0, BUILT]:
            tree.state[WORN] = 0
    node = tree.leaves[leaf, ABOVE] + ZERO
    part = place_of(tree, node, -1 - leaf)
    if has_same_box(tree, groups, leaf, place):
        tree.facts[leaf, place, SIZE] = groups.sizes[group]
        refit_sizes(tree, node, part)
        return
    if tree.state[CATALOG] == ON:
        refile(tree, costs, groups, group, leaf, place)
    if leaf_for(tree, groups, group) == leaf:
        copy_group(tree, groups, leaf, place)
        refit(tree, costs, node, part)
    else:
        take_out(tree, costs, groups, leaf, place)
        put_in(tree, costs, groups, group)


@inlined
def has_same_box(tree: GroupTree, groups: Groups, leaf: int, place: int) -> bool:
    """Whether a group has the box that its leaf knows of."""
    group, same = tree.members[leaf, place], True
    for j in range(groups.lo.shape[1]):
        same = same and groups.lo[group, j] == tree.boxes[leaf, place, LO, j]
        same = same and groups.hi[group, j] == tree.boxes[leaf, place, HI, j]
    return same


@kernel
def add(tree: GroupTree, costs: CostTables, groups: Groups, group: int) -> None:
    """A new group."""
    if tree.state[CATALOG] == ON:
        refile(tree, costs, groups, group, ZERO - 1, ZERO)
    put_in(tree, costs, groups, group)


@inner
def put_in(tree: GroupTree, costs: CostTables, groups: Groups, group: int) -> None:
    """A group comes into the leaf where it belongs."""
    leaf = leaf_for(tree, groups, group)
    if leaf >= 0 and tree.leaves[leaf, COUNT] == FAN:
        halve(tree, costs, groups, leaf)
        leaf = leaf_for(tree, groups, group)
    if leaf < 0:
        leaf = sprout(tree, groups, group)
    node = tree.leaves[leaf, ABOVE] + ZERO
    size = tree.leaves[leaf, COUNT]
    tree.members[leaf, size], tree.places[group, LEAF] = group, leaf
    tree.leaves[leaf, COUNT] += 1
    copy_group(tree, groups, leaf, size)
    refit(tree, costs, node, place_of(tree, node, -1 - leaf))
    count_change(tree, node)


@inlined
def node_for(tree: GroupTree, groups: Groups, group: int) -> tuple[int, int]:
    """Where a group belongs, by the cuts that made the tree: the lowest node, and which part of it."""
    node = ZERO
    while True:
        part = part_of(tree, groups, node, group)
        slot = tree.slots[node, part]
        if slot < 0 or tree.children[node, slot] < 0:
            return node, part
        node = tree.children[node, slot] + ZERO


@inlined
def part_of(tree: GroupTree, groups: Groups, node: int, group: int) -> int:
    """The part of a node that a group belongs to, by the cuts that made the parts."""
    part = 0
    for step in range(tree.nodes[node, STEPS]):
        if part == tree.cuts[node, step, PART]:
            kind, column, at = tree.cuts[node, step, KIND], tree.cuts[node, step, COLUMN], tree.cuts[node, step, AT]
            lo, hi, usual = groups.lo[group, column], groups.hi[group, column], tree.usual[node, step]
            side = side_of(kind, at, lo, hi, groups.losses[group], usual, group)
            part += tree.cuts[node, step, OFFSETS + side]
        elif part > tree.cuts[node, step, PART]:
            part += tree.cuts[node, step, OFFSETS + 2]
    return part


@inlined
def leaf_for(tree: GroupTree, groups: Groups, group: int) -> int:
    """The leaf that a group belongs to; −1 if there is none yet."""
    node, part = node_for(tree, groups, group)
    slot = tree.slots[node, part]
    return ZERO - 1 if slot < 0 else -1 - tree.children[node, slot] + ZERO


@inlined
def sprout(tree: GroupTree, groups: Groups, group: int) -> int:
    """A leaf for a group where there is none."""
    node, part = node_for(tree, groups, group)
    slot = tree.nodes[node, COUNT] + ZERO
    tree.slots[node, part] = slot
    tree.nodes[node, COUNT] += 1
    return new_leaf(tree, node, slot)


@inner
def halve(tree: GroupTree, costs: CostTables, groups: Groups, leaf: int) -> None:
    """A full leaf becomes a node with two, cut where its boxes lie furthest apart, by their middles.

    By what the leaf knows of its groups: one of them may have changed and not been settled yet, and what is kept of it
    above follows when it is.
    """
    parent = tree.leaves[leaf, ABOVE] + ZERO
    slot = place_of(tree, parent, -1 - leaf)
    column, at, most = 0, 0, -1.0
    for j in range(groups.lo.shape[1]):
        middles = 0
        first, last = 2**31 - 1, -1
        for place in range(FAN):
            middle = (tree.boxes[leaf, place, LO, j] + tree.boxes[leaf, place, HI, j]) // 2
            first, last = min(first, middle), max(last, middle)
            middles += middle
        cost = cell_cost(costs, j, first, last)
        if cost > most and first < last:
            column, at, most = j, middles // FAN, cost
    members, boxes, facts = tree.members[leaf].copy(), tree.boxes[leaf].copy(), tree.facts[leaf].copy()
    if most < 0.0:  # nothing sets them apart but their numbers, and in those the highest digit in which two differ
        differing = 0
        for group in members:
            differing |= group ^ members[0]
        while differing >> (at + 1) > 0:
            at += 1
    free_leaf(tree, leaf)
    node = new_node(tree, parent)
    tree.children[parent, slot] = node
    tree.nodes[node, BUILT], tree.nodes[node, CHANGES], tree.nodes[node, COUNT], tree.nodes[node, STEPS] = FAN, 0, 2, 1
    cut = tree.cuts[node, 0]
    cut[PART], cut[KIND], cut[COLUMN], cut[AT] = 0, MIDDLE if most >= 0.0 else ANY, column, at
    cut[OFFSETS], cut[OFFSETS + 1], cut[OFFSETS + 2] = 0, 0, 1
    for part in range(FAN):
        tree.slots[node, part] = part if part < 2 else -1
    for half in range(2):
        new = new_leaf(tree, node, half + ZERO)
        for place in range(FAN):
            lo, hi = boxes[place, LO, column], boxes[place, HI, column]
            if side_of(cut[KIND], at, lo, hi, 0.0, 0.0, members[place]) // 2 == half:
                size = tree.leaves[new, COUNT]
                tree.members[new, size], tree.places[members[place], LEAF] = members[place], new
                tree.boxes[new, size] = boxes[place]
                tree.facts[new, size] = facts[place]
                tree.leaves[new, COUNT] += 1
        summarize(tree, costs, node, half + ZERO)


@inner
def take_out(tree: GroupTree, costs: CostTables, groups: Groups, leaf: int, place: int) -> None:
    """A group goes. Its leaf goes with its last group, a node with its last child."""
    last = tree.leaves[leaf, COUNT] - 1
    tree.places[tree.members[leaf, place], LEAF] = -1
    tree.members[leaf, place] = tree.members[leaf, last]
    tree.leaves[leaf, COUNT] = last
    tree.boxes[leaf, place], tree.facts[leaf, place] = tree.boxes[leaf, last], tree.facts[leaf, last]
    node = tree.leaves[leaf, ABOVE] + ZERO
    part = place_of(tree, node, -1 - leaf)
    if last > 0:
        refit(tree, costs, node, part)
    else:
        free_leaf(tree, leaf)
        drop_child(tree, node, part)
        while tree.nodes[node, COUNT] == 0 and tree.nodes[node, ABOVE] >= 0:
            below, node = node, tree.nodes[node, ABOVE] + ZERO
            drop_child(tree, node, place_of(tree, node, below))
            free_node(tree, below)
        if tree.nodes[node, ABOVE] >= 0:
            above = tree.nodes[node, ABOVE] + ZERO
            refit(tree, costs, above, place_of(tree, above, node))
    count_change(tree, node)


@inlined
def drop_child(tree: GroupTree, node: int, part: int) -> None:
    """The last child takes the place of one that is no more."""
    last = tree.nodes[node, COUNT] - 1
    for i in range(FAN):
        slot = tree.slots[node, i]
        if slot == part:
            tree.slots[node, i] = -1
        elif slot == last:
            tree.slots[node, i] = part
    tree.children[node, part] = tree.children[node, last]
    tree.unions[node, part] = tree.unions[node, last]
    tree.widths[node, part] = tree.widths[node, last]
    tree.least[node, part] = tree.least[node, last]
    tree.nodes[node, COUNT] = last


@inlined
def place_of(tree: GroupTree, node: int, child: int) -> int:
    part = ZERO
    while tree.children[node, part] != child:
        part += 1
    return part


@inner
def refit(tree: GroupTree, costs: CostTables, node: int, part: int) -> None:
    """Something below a child is new: what is kept of it follows, as far up as it matters."""
    while summarize(tree, costs, node, part) and tree.nodes[node, ABOVE] >= 0:
        below, node = node, tree.nodes[node, ABOVE] + ZERO
        part = place_of(tree, node, below)


@inlined
def refit_sizes(tree: GroupTree, node: int, part: int) -> None:
    """The same where a group has only another size: most records join a box that has room for them."""
    new = True
    while new:
        child, size = tree.children[node, part], np.inf
        if child < 0:
            for place in range(tree.leaves[-1 - child, COUNT]):
                size = min(size, tree.facts[-1 - child, place, SIZE])
        else:
            for place in range(tree.nodes[child, COUNT]):
                size = min(size, tree.least[child, place, SIZE])
        new = size != tree.least[node, part, SIZE] and tree.nodes[node, ABOVE] >= 0
        tree.least[node, part, SIZE] = size
        if new:
            part = place_of(tree, tree.nodes[node, ABOVE] + ZERO, node)
            node = tree.nodes[node, ABOVE] + ZERO


@inlined
def count_change(tree: GroupTree, node: int) -> None:
    """A group has come or gone below a node: the largest part that has changed by half is worn."""
    while node >= 0:
        tree.nodes[node, CHANGES] += 1
        if 2 * tree.nodes[node, CHANGES] > tree.nodes[node, BUILT]:
            tree.state[WORN] = node
        node = tree.nodes[node, ABOVE] + ZERO


@inlined
def tend(tree: GroupTree, costs: CostTables, groups: Groups) -> None:
    """Plant anew what is worn; make a new catalog where one is missed."""
    if tree.state[WORN] >= 0:
        replant(tree, costs, groups)
    if tree.state[CATALOG] == STALE and tree.state[MISSED] * PATIENCE > tree.nodes[0, BUILT]:
        catalog_groups(tree, costs, groups)


@inner
def replant(tree: GroupTree, costs: CostTables, groups: Groups) -> None:
    """All that is below the worn node is made anew, and what is kept of it: not all its groups may be settled yet."""
    top = tree.state[WORN]
    tree.state[WORN] = -1
    order = np.empty(tree.nodes[top, BUILT] + tree.nodes[top, CHANGES], np.int32)
    stack = np.empty(FAN * (tree.state[DEPTH] + 2), np.int64)
    several, height = 0, 1
    stack[0] = top
    while height > 0:
        height -= 1
        node = stack[height]
        for part in range(tree.nodes[node, COUNT]):
            child = tree.children[node, part]
            if child >= 0:
                stack[height] = child
                height += 1
                continue
            leaf = -1 - child
            for place in range(tree.leaves[leaf, COUNT]):
                group = tree.members[leaf, place] + ZERO
                if tree.state[CATALOG] == ON and not has_same_box(tree, groups, leaf, place):
                    refile(tree, costs, groups, group, leaf + ZERO, place + ZERO)
                order[several] = group
                several += 1
            free_leaf(tree, leaf + ZERO)
        if node != top:
            free_node(tree, node)
    plant(tree, costs, groups, top, order[:several])
    if tree.nodes[top, ABOVE] >= 0:
        above = tree.nodes[top, ABOVE] + ZERO
        refit(tree, costs, above, place_of(tree, above, top))


@inlined
def free_leaf(tree: GroupTree, leaf: int) -> None:
    tree.leaves[leaf, ABOVE] = tree.state[FREE_LEAF]
    tree.state[FREE_LEAF] = leaf


@inlined
def free_node(tree: GroupTree, node: int) -> None:
    if tree.state[WORN] == node:
        tree.state[WORN] = -1
    tree.nodes[node, ABOVE] = tree.state[FREE_NODE]
    tree.state[FREE_NODE] = node


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
