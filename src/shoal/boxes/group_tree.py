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

Records ask the catalog first, where there is one (`catalog.py`): it knows the groups that cover a record in every
hierarchy, and what any other costs at least. Often that is enough; if not, the tree is asked for the others.

Groups may grow, shrink, die and be born: see `group_changes.py`.

Guarantee, for costs that grow with the interval: the value found is that of a full scan over the groups that the rules
allow. Ties go to the smaller group, then to the lower number, as far as the tree comes by them.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.arrays import grow
from shoal.boxes.catalog import MAYBE, NEVER, OFF, ON, STALE, best_covering, catalog_groups, new_table
from shoal.boxes.costs import CostTables
from shoal.boxes.division import FAN, ROW, divide
from shoal.boxes.kernels import WIDE, box_cost, cell_cost, costs_more
from shoal.boxes.layout import (
    ABOVE,
    BUILT,
    CATALOG,
    CHANGES,
    COUNT,
    DEPTH,
    DRAWERS,
    FREE_LEAF,
    FREE_NODE,
    HI,
    LEAF,
    LEAVES,
    LEVEL,
    LO,
    LOSS,
    MISSED,
    NARROWEST,
    NODES,
    RESHAPES,
    SIZE,
    STATES,
    STEPS,
    WIDEST,
    WISH,
    WORN,
)
from shoal.compiling import ZERO, constant, inlined, inner, kernel
from shoal.privacy.counts import may_join, may_merge

Ints = NDArray[np.int32]
Longs = NDArray[np.int64]
Floats = NDArray[np.float64]
NOBODY = constant(-1)


class Groups(NamedTuple):
    """All groups, dead ones with size 0."""

    lo: Ints
    hi: Ints
    sizes: Longs
    losses: Floats  # per record


class GroupTree(NamedTuple):
    """Nodes, the root first, and leaves. A child is a node (its number) or a leaf (−1 − its number)."""

    nodes: Ints  # (nodes, 6): see `layout.py`
    children: Ints  # (nodes, FAN)
    cuts: Ints  # (nodes, FAN, ROW): how its groups were divided into parts: see `division.py`
    usual: Floats  # (nodes, FAN)
    slots: Ints  # (nodes, FAN): which child each part is; −1: it has no groups
    unions: Ints  # (nodes, FAN, 2, columns): lo and hi of each child
    widths: Floats  # (nodes, FAN, 2, columns): the narrowest and the widest box in each child
    least: Floats  # (nodes, FAN, 2): the smallest loss and size in each child
    leaves: Ints  # (leaves, 2): see `layout.py`
    members: Ints  # (leaves, FAN): groups
    boxes: Ints  # (leaves, FAN, 2, columns): of each group
    facts: Floats  # (leaves, FAN, 2): the loss and the size of each group
    places: Ints  # (groups, 2): the leaf and the drawer that a group is in
    table: Longs  # the catalog's entries, and
    drawers: Floats  # what they lead to: see `catalog.py`
    state: Longs  # see `layout.py`


OF_LEAVES = ("leaves", "members", "boxes", "facts")


def new_groups(groups: int, columns: int) -> Groups:
    return Groups(
        lo=np.zeros((groups, columns), np.int32),
        hi=np.zeros((groups, columns), np.int32),
        sizes=np.zeros(groups, np.int64),
        losses=np.zeros(groups),
    )


def new_group_tree(groups: Groups, *, reshapes: bool = True, catalog: int = MAYBE) -> GroupTree:
    """Room for the tree over so many groups: `build` it. What is not used is never touched, and takes no memory.

    `reshapes`: boxes will be made over, as static methods do; the tree is then built anew from time to time.
    `catalog`: whether there shall be one: see `catalog.py`.
    """
    several, columns = groups.lo.shape
    # A node has two children at least when it is planted, and is planted anew when it has lost half of its groups.
    nodes = 2 * several + 2
    table, drawers = new_table(several)
    tree = GroupTree(
        nodes=np.zeros((nodes, CHANGES + 1), np.int32),
        children=np.zeros((nodes, FAN), np.int32),
        cuts=np.zeros((nodes, FAN, ROW), np.int32),
        usual=np.zeros((nodes, FAN)),
        slots=np.zeros((nodes, FAN), np.int32),
        unions=np.zeros((nodes, FAN, 2, columns), np.int32),
        widths=np.zeros((nodes, FAN, 2, columns)),
        least=np.zeros((nodes, FAN, 2)),
        leaves=np.zeros((nodes, ABOVE + 1), np.int32),
        members=np.zeros((nodes, FAN), np.int32),
        boxes=np.zeros((nodes, FAN, 2, columns), np.int32),
        facts=np.zeros((nodes, FAN, 2)),
        places=new_places(several),
        table=table,
        drawers=drawers,
        state=np.zeros(STATES, np.int64),
    )
    tree.state[RESHAPES], tree.state[WISH] = reshapes, catalog
    return tree


def new_places(groups: int) -> Ints:
    places = np.zeros((groups, 2), np.int32)
    places[:, LEAF] = -1
    return places


def groups_with_room(groups: Groups, room: int) -> Groups:
    """The same groups with room for so many."""
    return Groups(
        lo=grow(groups.lo, room),
        hi=grow(groups.hi, room),
        sizes=grow(groups.sizes, room),
        losses=grow(groups.losses, room),
    )


def tree_with_room(tree: GroupTree, groups: int) -> GroupTree:
    """The same tree with room for so many groups."""
    rooms = {name: (int(tree.state[LEAVES]) if name in OF_LEAVES else int(tree.state[NODES])) for name in tree._fields}
    parts = {
        name: grow(part[: rooms[name]], 2 * groups + 2)  # what is not in use is not copied, nor ever touched
        for name, part in tree._asdict().items()
        if name not in ("places", "table", "drawers", "state")
    }
    places = new_places(groups)
    places[: len(tree.places), LEAF] = tree.places[:, LEAF]
    table, drawers = new_table(groups)
    state = tree.state.copy()
    state[CATALOG], state[DRAWERS] = OFF if state[WISH] == NEVER else STALE, 0
    return GroupTree(**parts, places=places, table=table, drawers=drawers, state=state)


@kernel
def build(tree: GroupTree, costs: CostTables, groups: Groups) -> None:
    """The tree over all groups that are alive."""
    order = np.empty(len(groups.sizes), np.int32)
    alive = 0
    for group in range(len(groups.sizes)):
        tree.places[group, LEAF] = -1
        if groups.sizes[group] > 0:
            order[alive] = group
            alive += 1
    tree.state[NODES], tree.state[LEAVES], tree.state[DEPTH] = 1, 0, 0
    tree.state[FREE_NODE], tree.state[FREE_LEAF], tree.state[WORN] = -1, -1, -1
    tree.nodes[0, ABOVE], tree.nodes[0, LEVEL] = -1, 0
    plant(tree, costs, groups, ZERO, order[:alive])
    catalog_groups(tree, costs, groups)


@inner
def plant(tree: GroupTree, costs: CostTables, groups: Groups, top: int, order: Ints) -> None:
    """Make all that is below a node out of these groups; `order` is rearranged."""
    planted = np.empty(len(order) + 1, np.int32)
    spans = np.empty((len(order) + 1, 2), np.int32)  # of each node planted: where its groups are in `order`
    starts = np.zeros(FAN + 1, np.int64)
    planted[0], spans[0, 0], spans[0, 1] = top, 0, len(order)
    several = 1
    at = 0
    while at < several:
        node, start, end = planted[at] + ZERO, spans[at, 0], spans[at, 1]
        tree.nodes[node, BUILT], tree.nodes[node, CHANGES] = end - start, 0
        tree.state[DEPTH] = max(tree.state[DEPTH], tree.nodes[node, LEVEL])
        parts, steps = 0, 0
        if end > start:
            parts, steps = divide(
                costs,
                groups.lo,
                groups.hi,
                groups.losses,
                order[start:end],
                starts,
                tree.cuts[node],
                tree.usual[node],
                False,
            )
        tree.nodes[node, STEPS] = steps
        tree.nodes[node, COUNT] = parts
        for part in range(FAN):
            tree.slots[node, part] = part if part < parts else -1
        for part in range(parts):
            first, last = start + starts[part], start + starts[part + 1]
            if last - first <= FAN:
                leaf = new_leaf(tree, node, part + ZERO)
                tree.leaves[leaf, COUNT] = last - first
                for place in range(last - first):
                    tree.members[leaf, place] = order[first + place]
                    tree.places[order[first + place], LEAF] = leaf
                    copy_group(tree, groups, leaf, place)
            else:
                below = new_node(tree, node)
                tree.children[node, part] = below
                planted[several], spans[several, 0], spans[several, 1] = below, first, last
                several += 1
        at += 1
    for at in range(several - 1, -1, -1):
        node = planted[at] + ZERO
        for part in range(tree.nodes[node, COUNT]):
            summarize(tree, costs, node, part + ZERO)


@inlined
def new_node(tree: GroupTree, parent: int) -> int:
    """A node that is in no use, below another."""
    node = tree.state[FREE_NODE]
    if node >= 0:
        tree.state[FREE_NODE] = tree.nodes[node, ABOVE]
    else:
        node = tree.state[NODES]
        tree.state[NODES] += 1
    tree.nodes[node, ABOVE], tree.nodes[node, LEVEL] = parent, tree.nodes[parent, LEVEL] + 1
    tree.state[DEPTH] = max(tree.state[DEPTH], tree.nodes[node, LEVEL])
    return node


@inlined
def new_leaf(tree: GroupTree, node: int, part: int) -> int:
    """A leaf that is in no use becomes a child of a node."""
    leaf = tree.state[FREE_LEAF]
    if leaf >= 0:
        tree.state[FREE_LEAF] = tree.leaves[leaf, ABOVE]
    else:
        leaf = tree.state[LEAVES]
        tree.state[LEAVES] += 1
    tree.children[node, part] = -1 - leaf
    tree.leaves[leaf, ABOVE], tree.leaves[leaf, COUNT] = node, 0
    tree.least[node, part, SIZE] = -1.0  # what another child has left here is nobody's
    return leaf


@inlined
def copy_group(tree: GroupTree, groups: Groups, leaf: int, place: int) -> None:
    """What a leaf knows of a group."""
    group = tree.members[leaf, place]
    for j in range(groups.lo.shape[1]):
        tree.boxes[leaf, place, LO, j], tree.boxes[leaf, place, HI, j] = groups.lo[group, j], groups.hi[group, j]
    tree.facts[leaf, place, LOSS], tree.facts[leaf, place, SIZE] = groups.losses[group], groups.sizes[group]


@inlined
def summarize(tree: GroupTree, costs: CostTables, node: int, part: int) -> bool:
    """What a node keeps of a child, from what the child has; whether that is anything new."""
    child = tree.children[node, part]
    leaf = -1 - child
    several = tree.leaves[leaf, COUNT] if child < 0 else tree.nodes[child, COUNT]
    loss, size = np.inf, np.inf
    for place in range(several):
        if child < 0:
            loss, size = min(loss, tree.facts[leaf, place, LOSS]), min(size, tree.facts[leaf, place, SIZE])
        else:
            loss, size = min(loss, tree.least[child, place, LOSS]), min(size, tree.least[child, place, SIZE])
    new = loss != tree.least[node, part, LOSS] or size != tree.least[node, part, SIZE]
    tree.least[node, part, LOSS], tree.least[node, part, SIZE] = loss, size
    for j in range(tree.unions.shape[3]):
        low, high, narrowest, widest = np.int32(2**31 - 1), np.int32(-1), np.inf, 0.0
        for place in range(several):
            if child < 0:
                lo, hi = tree.boxes[leaf, place, LO, j], tree.boxes[leaf, place, HI, j]
                narrow = cell_cost(costs, j, lo, hi)
                wide = narrow
            else:
                lo, hi = tree.unions[child, place, LO, j], tree.unions[child, place, HI, j]
                narrow, wide = tree.widths[child, place, NARROWEST, j], tree.widths[child, place, WIDEST, j]
            low, high = min(low, lo), max(high, hi)
            narrowest, widest = min(narrowest, narrow), max(widest, wide)
        if low != tree.unions[node, part, LO, j] or high != tree.unions[node, part, HI, j]:
            tree.unions[node, part, LO, j], tree.unions[node, part, HI, j] = low, high
            new = True
        if narrowest != tree.widths[node, part, NARROWEST, j] or widest != tree.widths[node, part, WIDEST, j]:
            tree.widths[node, part, NARROWEST, j], tree.widths[node, part, WIDEST, j] = narrowest, widest
            new = True
    return new


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
    best, smallest, chosen, step = below, -1.0, NOBODY, 0.0
    if tree.state[CATALOG] == ON:
        answer = best_covering(tree, costs, lo, hi, size, loss, below, but, privacy, counts, record)
        best, smallest, chosen, step, _ = answer
        if step == np.inf:
            return chosen
    elif tree.state[CATALOG] == STALE:
        tree.state[MISSED] += 1
    children, unions, widths, least = tree.children, tree.unions, tree.widths, tree.least
    members, boxes, facts = tree.members, tree.boxes, tree.facts
    room = FAN * (tree.state[DEPTH] + 2)
    stack, bounds, sizes = np.empty(room, np.int64), np.empty(room), np.empty(room)
    top = 1 if tree.nodes[0, COUNT] > 0 else 0
    stack[0], bounds[0], sizes[0] = 0, -np.inf, 0.0
    while top > 0:
        top -= 1
        node = stack[top]
        if bounds[top] > best or (bounds[top] == best and sizes[top] >= smallest):
            continue
        if node < 0:
            leaf = -1 - node
            for place in range(tree.leaves[leaf, COUNT]):
                members_size, now = facts[leaf, place, SIZE], facts[leaf, place, LOSS]
                most = (best + size * loss + members_size * now) / (size + members_size)
                if columns >= WIDE and costs_more(costs, lo, hi, boxes[leaf, place], now, most):
                    continue
                joined = 0.0
                for j in range(columns):
                    first, last = min(lo[j], boxes[leaf, place, LO, j]), max(hi[j], boxes[leaf, place, HI, j])
                    joined += cell_cost(costs, j, first, last)
                value = size * (joined - loss) + members_size * (joined - now)
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
        for child in range(tree.nodes[node, COUNT]):
            apart, joined = 0.0, 0.0
            for j in range(columns):
                first, last = min(lo[j], unions[node, child, HI, j]), max(hi[j], unions[node, child, LO, j])
                reach = cell_cost(costs, j, first, last)
                apart += max(0.0, reach - widths[node, child, WIDEST, j])
                joined += max(reach, widths[node, child, NARROWEST, j])
            apart = max(apart, step)  # what covers the record has been seen
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
