"""How the group tree follows its groups: they grow, shrink, die and are born, and every bound stays exact.

What the nodes above a group keep of it is made anew from what is below, as far up as anything changes. A new group
comes to the leaf where the cuts that made the tree lead, and so does one whose box has changed: wide boxes among narrow
ones would spoil the bounds of all. A leaf that is full is halved. Where half as many groups have come and gone as a
node had, all that is below it is stale, and `rebuild_if_stale` builds it anew: the cost of that is spread over those
changes, and the tree stays as shallow as a new one. Static methods make over every box, not just some: there
(`reshapes`) a changed box counts at the root like a group that came. The catalog, where there is one, follows every
change of a box.

Whoever changes groups calls `rebuild_if_stale` now and then.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.boxes.costs.kernels import box_cost, cell_cost
from shoal.boxes.geometry import HI, LO
from shoal.boxes.group_tree.build import build_subtree, copy_group, new_leaf, new_node, summarize
from shoal.boxes.group_tree.catalog import ON, PATIENCE, STALE, catalog_groups, refile
from shoal.boxes.group_tree.divide import BY_MIDDLE, BY_NUMBER, side_of
from shoal.boxes.grouping import FAN, Grouping, GroupTree
from shoal.compiling import ZERO, allocating, inner

Ints = NDArray[np.int32]


@inner
def update_group(g: Grouping, group: int) -> None:
    """A group has another box or size now, or is dead: what the tree keeps of it follows."""
    tree = g.tree
    leaf = tree.positions[group].leaf + ZERO
    if leaf < 0:
        return
    slot = ZERO
    while tree.members[leaf, slot] != group:
        slot += 1
    state = tree.state[0]
    if g.groups.sizes[group] == 0:
        if state.catalog == ON:
            refile(g, group, leaf, slot)
        take_out(g, leaf, slot)
        return
    if state.reshapes:
        root = tree.nodes[0]
        root.changes += 1
        if 2 * root.changes > root.built:
            state.stale = 0
    node = tree.leaves[leaf].parent + ZERO
    part = part_of_child(tree, node, -1 - leaf)
    if has_same_box(g, leaf, slot):
        tree.facts[leaf, slot].n_records = g.groups.sizes[group]
        refit_sizes(tree, node, part)
        return
    if state.catalog == ON:
        refile(g, group, leaf, slot)
    if leaf_for(g, group) == leaf:
        copy_group(tree, g.groups, leaf, slot)
        refit(g, node, part)
    else:
        take_out(g, leaf, slot)
        put_in(g, group)


@inner
def has_same_box(g: Grouping, leaf: int, slot: int) -> bool:
    """Whether a group has the box that its leaf knows of."""
    lo, hi, boxes = g.groups.lo, g.groups.hi, g.tree.boxes
    group, same = g.tree.members[leaf, slot], True
    for j in range(lo.shape[1]):
        same = same and lo[group, j] == boxes[leaf, slot, LO, j] and hi[group, j] == boxes[leaf, slot, HI, j]
    return same


@inner
def add_group(g: Grouping, group: int) -> None:
    """A new group."""
    if g.tree.state[0].catalog == ON:
        refile(g, group, ZERO - 1, ZERO)
    put_in(g, group)


@inner
def put_in(g: Grouping, group: int) -> None:
    """A group comes into the leaf where it belongs."""
    tree = g.tree
    leaf = leaf_for(g, group)
    if leaf >= 0 and tree.leaves[leaf].count == FAN:
        halve(g, leaf)
        leaf = leaf_for(g, group)
    if leaf < 0:
        leaf = leaf_where_none_is(g, group)
    node = tree.leaves[leaf].parent + ZERO
    count = tree.leaves[leaf].count
    tree.members[leaf, count], tree.positions[group].leaf = group, leaf
    tree.leaves[leaf].count = count + 1
    copy_group(tree, g.groups, leaf, count)
    refit(g, node, part_of_child(tree, node, -1 - leaf))
    count_change(tree, node)


@inner
def node_for(g: Grouping, group: int) -> tuple[int, int]:
    """Where a group belongs, by the cuts that made the tree: the lowest node, and which part of it."""
    slots, children = g.tree.slots, g.tree.children
    node = ZERO
    while True:
        part = part_for(g, node, group)
        slot = slots[node, part]
        if slot < 0 or children[node, slot] < 0:
            return node, part
        node = children[node, slot] + ZERO


@inner
def part_for(g: Grouping, node: int, group: int) -> int:
    """The part of a node that a group belongs to, by the cuts that made the parts."""
    groups, part = g.groups, ZERO
    for i in range(g.tree.nodes[node].n_cuts):
        cut = g.tree.cuts[node, i]
        if part == cut.part:
            column = cut.column
            side = side_of(cut, groups.lo[group, column], groups.hi[group, column], groups.losses[group], group)
            part += cut.offsets[side]
        elif part > cut.part:
            part += cut.offsets[2]
    return part


@inner
def leaf_for(g: Grouping, group: int) -> int:
    """The leaf that a group belongs to; −1 if there is none yet."""
    node, part = node_for(g, group)
    slot = g.tree.slots[node, part]
    return ZERO - 1 if slot < 0 else -1 - g.tree.children[node, slot] + ZERO


@inner
def leaf_where_none_is(g: Grouping, group: int) -> int:
    """A leaf for a group where there is none."""
    tree = g.tree
    node, part = node_for(g, group)
    slot = tree.nodes[node].count + ZERO
    tree.slots[node, part] = slot
    tree.nodes[node].count += 1
    return new_leaf(tree, node, slot)


@allocating
def halve(g: Grouping, leaf: int) -> None:
    """A full leaf becomes a node with two, cut where its boxes lie furthest apart, by their middles.

    By what the leaf knows of its groups: one of them may have changed and not been updated yet, and what is kept of it
    above follows when it is.
    """
    tree, costs = g.tree, g.costs
    parent = tree.leaves[leaf].parent + ZERO
    slot = part_of_child(tree, parent, -1 - leaf)
    column, at, most = 0, 0, -1.0
    for j in range(tree.boxes.shape[3]):
        middles = 0
        first, last = 2**31 - 1, -1
        for i in range(FAN):
            middle = (tree.boxes[leaf, i, LO, j] + tree.boxes[leaf, i, HI, j]) // 2
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
    number = new_node(tree, parent)
    tree.children[parent, slot] = number
    node, cut = tree.nodes[number], tree.cuts[number, 0]
    node.built, node.changes, node.count, node.n_cuts = FAN, 0, 2, 1
    cut.part, cut.kind, cut.column, cut.at = 0, BY_MIDDLE if most >= 0.0 else BY_NUMBER, column, at
    cut.offsets[0], cut.offsets[1], cut.offsets[2] = 0, 0, 1
    for part in range(FAN):
        tree.slots[number, part] = part if part < 2 else -1
    for half in range(2):
        new = new_leaf(tree, number, half + ZERO)
        for i in range(FAN):
            lo, hi = boxes[i, LO, column], boxes[i, HI, column]
            if side_of(cut, lo, hi, 0.0, members[i]) // 2 == half:
                count = tree.leaves[new].count
                tree.members[new, count], tree.positions[members[i]].leaf = members[i], new
                tree.boxes[new, count] = boxes[i]
                tree.facts[new, count].loss, tree.facts[new, count].n_records = facts[i].loss, facts[i].n_records
                tree.leaves[new].count = count + 1
        summarize(g, number, half + ZERO)


@allocating
def take_out(g: Grouping, leaf: int, slot: int) -> None:
    """A group goes. Its leaf goes with its last group, a node with its last child."""
    tree = g.tree
    last = tree.leaves[leaf].count - 1
    tree.positions[tree.members[leaf, slot]].leaf = -1
    tree.members[leaf, slot] = tree.members[leaf, last]
    tree.leaves[leaf].count = last
    tree.boxes[leaf, slot] = tree.boxes[leaf, last]
    tree.facts[leaf, slot].loss, tree.facts[leaf, slot].n_records = (
        tree.facts[leaf, last].loss,
        tree.facts[leaf, last].n_records,
    )
    node = tree.leaves[leaf].parent + ZERO
    part = part_of_child(tree, node, -1 - leaf)
    if last > 0:
        refit(g, node, part)
    else:
        free_leaf(tree, leaf)
        drop_child(tree, node, part)
        while tree.nodes[node].count == 0 and tree.nodes[node].parent >= 0:
            below, node = node, tree.nodes[node].parent + ZERO
            drop_child(tree, node, part_of_child(tree, node, below))
            free_node(tree, below)
        if tree.nodes[node].parent >= 0:
            above = tree.nodes[node].parent + ZERO
            refit(g, above, part_of_child(tree, above, node))
    count_change(tree, node)


@allocating
def drop_child(tree: GroupTree, node: int, part: int) -> None:
    """The last child takes the place of one that is no more."""
    last = tree.nodes[node].count - 1
    for i in range(FAN):
        slot = tree.slots[node, i]
        if slot == part:
            tree.slots[node, i] = -1
        elif slot == last:
            tree.slots[node, i] = part
    tree.children[node, part] = tree.children[node, last]
    tree.unions[node, part] = tree.unions[node, last]
    tree.widths[node, part] = tree.widths[node, last]
    tree.least[node, part].loss, tree.least[node, part].n_records = (
        tree.least[node, last].loss,
        tree.least[node, last].n_records,
    )
    tree.nodes[node].count = last


@inner
def part_of_child(tree: GroupTree, node: int, child: int) -> int:
    part = ZERO
    while tree.children[node, part] != child:
        part += 1
    return part


@inner
def refit(g: Grouping, node: int, part: int) -> None:
    """Something below a child is new: what is kept of it follows, as far up as it matters."""
    tree = g.tree
    while summarize(g, node, part) and tree.nodes[node].parent >= 0:
        below, node = node, tree.nodes[node].parent + ZERO
        part = part_of_child(tree, node, below)


@inner
def refit_sizes(tree: GroupTree, node: int, part: int) -> None:
    """The same where a group has only another size: most records join a box that has room for them."""
    new = True
    while new:
        child, size = tree.children[node, part], np.int64(2**63 - 1)
        if child < 0:
            for i in range(tree.leaves[-1 - child].count):
                size = min(size, tree.facts[-1 - child, i].n_records)
        else:
            for i in range(tree.nodes[child].count):
                size = min(size, tree.least[child, i].n_records)
        new = size != tree.least[node, part].n_records and tree.nodes[node].parent >= 0
        tree.least[node, part].n_records = size
        if new:
            part = part_of_child(tree, tree.nodes[node].parent + ZERO, node)
            node = tree.nodes[node].parent + ZERO


@inner
def count_change(tree: GroupTree, node: int) -> None:
    """A group has come or gone below a node: the largest part that has changed by half is stale."""
    while node >= 0:
        one = tree.nodes[node]
        one.changes += 1
        if 2 * one.changes > one.built:
            tree.state[0].stale = node
        node = one.parent + ZERO


@inner
def rebuild_if_stale(g: Grouping) -> None:
    """Build anew what is stale; make a new catalog where one is missed. Called once for each search, or thereabouts."""
    rebuild_after(g, ZERO + 1)


@inner
def rebuild_after(g: Grouping, searches: int) -> None:
    """The same after so many searches."""
    state = g.tree.state[0]
    if state.stale >= 0:
        rebuild(g)
    if state.catalog == ON and state.edition != g.costs.chains.edition:
        state.catalog = STALE
    if state.catalog == STALE:
        state.missed += searches
        if state.missed * PATIENCE > g.tree.nodes[0].built:
            catalog_groups(g)


@allocating
def rebuild(g: Grouping) -> None:
    """All that is below the stale node is made anew, and what is kept of it: not all its groups may be updated yet."""
    tree = g.tree
    state = tree.state[0]
    top = state.stale
    state.stale = -1
    order = np.empty(tree.nodes[top].built + tree.nodes[top].changes, np.int32)
    stack = np.empty(FAN * (state.depth + 2), np.int64)
    count, height = 0, 1
    stack[0] = top
    while height > 0:
        height -= 1
        node = stack[height]
        for part in range(tree.nodes[node].count):
            child = tree.children[node, part]
            if child >= 0:
                stack[height] = child
                height += 1
                continue
            leaf = -1 - child
            for slot in range(tree.leaves[leaf].count):
                group = tree.members[leaf, slot] + ZERO
                if state.catalog == ON and not has_same_box(g, leaf + ZERO, slot + ZERO):
                    refile(g, group, leaf + ZERO, slot + ZERO)
                order[count] = group
                count += 1
            free_leaf(tree, leaf + ZERO)
        if node != top:
            free_node(tree, node)
    build_subtree(g, top, order[:count])
    if tree.nodes[top].parent >= 0:
        above = tree.nodes[top].parent + ZERO
        refit(g, above, part_of_child(tree, above, top))


@inner
def free_leaf(tree: GroupTree, leaf: int) -> None:
    tree.leaves[leaf].parent = tree.state[0].free_leaf
    tree.state[0].free_leaf = leaf


@inner
def free_node(tree: GroupTree, node: int) -> None:
    if tree.state[0].stale == node:
        tree.state[0].stale = -1
    tree.nodes[node].parent = tree.state[0].free_node
    tree.state[0].free_node = node


@inner
def absorb(g: Grouping, group: int, other: int) -> None:
    """A group takes in another, which is dead afterwards."""
    groups = g.groups
    lo, hi = groups.lo, groups.hi
    for j in range(lo.shape[1]):
        lo[group, j] = min(lo[group, j], lo[other, j])
        hi[group, j] = max(hi[group, j], hi[other, j])
    groups.sizes[group] += groups.sizes[other]
    groups.sizes[other] = 0
    groups.losses[group] = box_cost(g.costs, lo[group], hi[group])
    update_group(g, other)
    update_group(g, group)
