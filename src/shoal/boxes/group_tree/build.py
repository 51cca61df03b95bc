"""Building the group tree, whole or below a node."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.arrays import grow
from shoal.boxes.costs import CostTables
from shoal.boxes.costs.kernels import box_cost, cell_cost
from shoal.boxes.geometry import HI, LO
from shoal.boxes.group_tree.catalog import MAYBE, NEVER, OFF, STALE, catalog_groups, new_entries
from shoal.boxes.group_tree.divide import divide
from shoal.boxes.grouping import CUT, FAN, LEAF, NODE, POSITION, SUMMARY, TREE_STATE, Grouping, Groups, GroupTree
from shoal.compiling import ZERO, allocating, inner, kernel

Ints = NDArray[np.int32]
NARROWEST, WIDEST = 0, 1  # in `widths`
NOT_SUMMARIZED = -1  # as a size: what another child has left there is nobody's
OF_LEAVES = ("leaves", "members", "boxes", "facts")
OF_GROUPS = ("positions", "entries", "buckets", "state")


def new_group_tree(n_groups: int, columns: int, *, reshapes: bool = True, catalog: int = MAYBE) -> GroupTree:
    """Room for the tree over so many groups: `build` it. What is not used is never touched, and takes no memory.

    `reshapes`: boxes will be made over, as static methods do; the tree is then built anew from time to time.
    `catalog`: whether there shall be one: see `catalog.py`.
    """
    # A node has two children at least when it is built, and is built anew when it has lost half of its groups.
    nodes = 2 * n_groups + 2
    entries, buckets = new_entries(n_groups)
    state = np.zeros(1, TREE_STATE)
    state["reshapes"], state["wish"] = reshapes, catalog
    return GroupTree(
        nodes=np.zeros(nodes, NODE),
        children=np.zeros((nodes, FAN), np.int32),
        cuts=np.zeros((nodes, FAN), CUT),
        slots=np.zeros((nodes, FAN), np.int32),
        unions=np.zeros((nodes, FAN, 2, columns), np.int32),
        widths=np.zeros((nodes, FAN, 2, columns)),
        least=np.zeros((nodes, FAN), SUMMARY),
        leaves=np.zeros(nodes, LEAF),
        members=np.zeros((nodes, FAN), np.int32),
        boxes=np.zeros((nodes, FAN, 2, columns), np.int32),
        facts=np.zeros((nodes, FAN), SUMMARY),
        positions=new_positions(n_groups),
        entries=entries,
        buckets=buckets,
        state=state,
    )


def new_positions(n_groups: int) -> NDArray[np.void]:
    positions = np.zeros(n_groups, POSITION)
    positions["leaf"] = -1
    return positions


def grow_tree(tree: GroupTree, n_groups: int) -> GroupTree:
    """The same tree with room for so many groups; its catalog has to be made anew."""
    state = tree.state.copy()
    n_nodes, n_leaves = int(state["n_nodes"][0]), int(state["n_leaves"][0])
    state["catalog"], state["n_buckets"] = OFF if state["wish"][0] == NEVER else STALE, 0
    positions = new_positions(n_groups)
    positions["leaf"][: len(tree.positions)] = tree.positions["leaf"]
    entries, buckets = new_entries(n_groups)
    parts = {
        # What is not in use is not copied, nor ever touched.
        name: grow(part[: n_leaves if name in OF_LEAVES else n_nodes], 2 * n_groups + 2)
        for name, part in tree.fields._asdict().items()
        if name not in OF_GROUPS
    }
    return GroupTree(**parts, positions=positions, entries=entries, buckets=buckets, state=state)


@kernel
def weigh(groups: Groups, costs: CostTables) -> None:
    """Fill in the losses of all groups from their boxes."""
    for group in range(len(groups.sizes)):
        if groups.sizes[group] > 0:
            groups.losses[group] = box_cost(costs, groups.lo[group], groups.hi[group])


@kernel
def build(g: Grouping) -> None:
    """The tree over all groups that are alive."""
    tree, sizes = g.tree, g.groups.sizes
    positions, state, root = tree.positions, tree.state[0], tree.nodes[0]
    order = np.empty(len(sizes), np.int32)
    alive = 0
    for group in range(len(sizes)):
        positions[group].leaf = -1
        if sizes[group] > 0:
            order[alive] = group
            alive += 1
    state.n_nodes, state.n_leaves, state.depth = 1, 0, 0
    state.free_node, state.free_leaf, state.stale = -1, -1, -1
    root.parent, root.level = -1, 0
    build_subtree(g, ZERO, order[:alive])
    catalog_groups(g)


@allocating
def build_subtree(g: Grouping, top: int, order: Ints) -> None:
    """Make all that is below a node out of these groups; `order` is rearranged."""
    tree, groups, costs = g.tree, g.groups, g.costs
    state = tree.state[0]
    built = np.empty(len(order) + 1, np.int32)
    spans = np.empty((len(order) + 1, 2), np.int32)  # of each node built: where its groups are in `order`
    starts = np.zeros(FAN + 1, np.int64)
    built[0], spans[0, 0], spans[0, 1] = top, 0, len(order)
    n_built = 1
    i = 0
    while i < n_built:
        number, start, end = built[i] + ZERO, spans[i, 0], spans[i, 1]
        node = tree.nodes[number]
        node.built, node.changes = end - start, 0
        state.depth = max(state.depth, node.level)
        parts, n_cuts = 0, 0
        if end > start:
            parts, n_cuts = divide(costs, groups, order[start:end], starts, tree.cuts[number], False)
        node.n_cuts = n_cuts
        node.count = parts
        for part in range(FAN):
            tree.slots[number, part] = part if part < parts else -1
        for part in range(parts):
            first, last = start + starts[part], start + starts[part + 1]
            if last - first <= FAN:
                leaf = new_leaf(tree, number, part + ZERO)
                tree.leaves[leaf].count = last - first
                for slot in range(last - first):
                    tree.members[leaf, slot] = order[first + slot]
                    tree.positions[order[first + slot]].leaf = leaf
                    copy_group(tree, groups, leaf, slot)
            else:
                below = new_node(tree, number)
                tree.children[number, part] = below
                built[n_built], spans[n_built, 0], spans[n_built, 1] = below, first, last
                n_built += 1
        i += 1
    for i in range(n_built - 1, -1, -1):
        number = built[i] + ZERO
        for part in range(tree.nodes[number].count):
            summarize(g, number, part + ZERO)


@inner
def new_node(tree: GroupTree, parent: int) -> int:
    """A node that is in no use, below another."""
    state = tree.state[0]
    node = state.free_node
    if node >= 0:
        state.free_node = tree.nodes[node].parent
    else:
        node = state.n_nodes
        state.n_nodes += 1
    tree.nodes[node].parent, tree.nodes[node].level = parent, tree.nodes[parent].level + 1
    state.depth = max(state.depth, tree.nodes[node].level)
    return node


@inner
def new_leaf(tree: GroupTree, node: int, part: int) -> int:
    """A leaf that is in no use becomes a child of a node."""
    state = tree.state[0]
    leaf = state.free_leaf
    if leaf >= 0:
        state.free_leaf = tree.leaves[leaf].parent
    else:
        leaf = state.n_leaves
        state.n_leaves += 1
    tree.children[node, part] = -1 - leaf
    tree.leaves[leaf].parent, tree.leaves[leaf].count = node, 0
    tree.least[node, part].n_records = NOT_SUMMARIZED
    return leaf


@inner
def copy_group(tree: GroupTree, groups: Groups, leaf: int, slot: int) -> None:
    """What a leaf knows of a group."""
    group = tree.members[leaf, slot]
    for j in range(groups.lo.shape[1]):
        tree.boxes[leaf, slot, LO, j], tree.boxes[leaf, slot, HI, j] = groups.lo[group, j], groups.hi[group, j]
    tree.facts[leaf, slot].loss, tree.facts[leaf, slot].n_records = groups.losses[group], groups.sizes[group]


@inner
def summarize(g: Grouping, node: int, part: int) -> bool:
    """What a node keeps of a child, from what the child has; whether that is anything new."""
    tree, costs = g.tree, g.costs
    unions, widths, boxes, kept = tree.unions, tree.widths, tree.boxes, tree.least[node, part]
    child = tree.children[node, part]
    leaf = -1 - child
    count = tree.leaves[leaf].count if child < 0 else tree.nodes[child].count
    loss, size = np.inf, np.int64(2**63 - 1)
    for i in range(count):
        fact = tree.facts[leaf, i] if child < 0 else tree.least[child, i]
        loss, size = min(loss, fact.loss), min(size, fact.n_records)
    new = loss != kept.loss or size != kept.n_records
    kept.loss, kept.n_records = loss, size
    for j in range(unions.shape[3]):
        low, high, narrowest, widest = np.int32(2**31 - 1), np.int32(-1), np.inf, 0.0
        for i in range(count):
            if child < 0:
                lo, hi = boxes[leaf, i, LO, j], boxes[leaf, i, HI, j]
                narrow = cell_cost(costs, j, lo, hi)
                wide = narrow
            else:
                lo, hi = unions[child, i, LO, j], unions[child, i, HI, j]
                narrow, wide = widths[child, i, NARROWEST, j], widths[child, i, WIDEST, j]
            low, high = min(low, lo), max(high, hi)
            narrowest, widest = min(narrowest, narrow), max(widest, wide)
        if low != unions[node, part, LO, j] or high != unions[node, part, HI, j]:
            unions[node, part, LO, j], unions[node, part, HI, j] = low, high
            new = True
        if narrowest != widths[node, part, NARROWEST, j] or widest != widths[node, part, WIDEST, j]:
            widths[node, part, NARROWEST, j], widths[node, part, WIDEST, j] = narrowest, widest
            new = True
    return new
