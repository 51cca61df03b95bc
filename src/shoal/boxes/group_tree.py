"""The group tree: which group a record or another group joins at the least loss, without looking at each.

A query with box Q, size q and loss per record L_Q joins group g at `v = q·(L' − L_Q) + |g|·(L' − L)`, with L and L' the
group's loss per record before and after; for a record that is `L' + |g|·(L' − L)`. A node keeps the union of its
groups' boxes, the smallest and largest width (as a cost) per column, the smallest loss and the smallest size. With
`c_j` the cost from Q to the union's interval, `m_j` and `M_j` the smallest and largest width cost, and
`e = Σ max(0, c_j − M_j)`:

    L' ≥ max(Σ max(c_j, m_j), min L + e)   and   L' − L ≥ e,   so   v ≥ q·(L'bound − L_Q) + s·e.

Groups may grow, shrink and die: `settle` widens what the nodes above a group keep, which leaves every bound valid and
some loose; rebuild the tree when as many groups have changed as there are.

Guarantee, for costs that grow with the interval: the value found is that of a full scan over the groups that the rules
allow. Ties go to the smaller group, then to the lower number, as far as the tree comes by them.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.boxes.costs import DENSE, CostTables
from shoal.boxes.kernels import box_cost, cell_cost
from shoal.compiling import constant, kernel
from shoal.privacy.counts import may_join, may_merge

Ints = NDArray[np.int32]
Longs = NDArray[np.int64]
Floats = NDArray[np.float64]
LEAF = 4
SAMPLE = 32  # groups whose middle tells where a column is cut
DEEPEST = 512
NOBODY = constant(-1)


class Groups(NamedTuple):
    """All groups, dead ones with size 0."""

    lo: Ints
    hi: Ints
    sizes: Longs
    losses: Floats  # per record


class GroupTree(NamedTuple):
    """Nodes in the order in which they were split; the children of a node come after it."""

    order: Longs  # groups; those of one node are neighbours
    nodes: Longs  # (nodes, 4): where its groups start and end in `order`, its first child (0: a leaf), its parent
    leaves: Longs  # of each group: the node where it is
    lo: Ints  # (nodes, columns): the union of the boxes
    hi: Ints
    widths: Floats  # (nodes, 2, columns): the smallest and the largest
    least: Floats  # (nodes, 2): the smallest loss and the smallest size
    changes: Longs  # [groups that changed since the tree was built, groups in it]


START, END, CHILD, PARENT = 0, 1, 2, 3


def new_groups(groups: int, columns: int) -> Groups:
    return Groups(
        lo=np.zeros((groups, columns), np.int32),
        hi=np.zeros((groups, columns), np.int32),
        sizes=np.zeros(groups, np.int64),
        losses=np.zeros(groups),
    )


def new_group_tree(groups: Groups) -> GroupTree:
    """Room for the tree over so many groups: `build` it."""
    several, columns = groups.lo.shape
    nodes = 2 * several + 1
    return GroupTree(
        order=np.zeros(several, np.int64),
        nodes=np.zeros((nodes, 4), np.int64),
        leaves=np.full(several, -1),
        lo=np.zeros((nodes, columns), np.int32),
        hi=np.zeros((nodes, columns), np.int32),
        widths=np.zeros((nodes, 2, columns)),
        least=np.zeros((nodes, 2)),
        changes=np.zeros(2, np.int64),
    )


@kernel
def build(tree: GroupTree, costs: CostTables, groups: Groups) -> None:
    """The tree over all groups that are alive."""
    alive = 0
    for group in range(len(groups.sizes)):
        tree.leaves[group] = -1
        if groups.sizes[group] > 0:
            tree.order[alive] = group
            alive += 1
    tree.changes[0], tree.changes[1] = 0, alive
    tree.nodes[0, START], tree.nodes[0, END], tree.nodes[0, PARENT] = 0, alive, -1
    used, node = 1, 0
    while node < used and alive > 0:
        start, end = tree.nodes[node, START], tree.nodes[node, END]
        tree.nodes[node, CHILD] = 0
        summarize(tree, costs, groups, node)
        if end - start <= LEAF:
            for place in range(start, end):
                tree.leaves[tree.order[place]] = node
            node += 1
            continue
        middle = divide(tree, costs, groups, node)
        tree.nodes[node, CHILD] = used
        for child in range(2):
            tree.nodes[used + child, START] = start if child == 0 else middle
            tree.nodes[used + child, END] = middle if child == 0 else end
            tree.nodes[used + child, PARENT] = node
        used += 2
        node += 1


@kernel
def divide(tree: GroupTree, costs: CostTables, groups: Groups, node: int) -> int:
    """Bring a node's groups into two parts; where the second begins.

    Of all columns, the one is cut where most of the boxes lie on one side or the other, and far apart. Boxes across the
    cut are parted from the rest first: a wide box among narrow ones makes their bound useless. Where every box is
    across, those that lose more are parted from those that lose less.
    """
    start, end = tree.nodes[node, START], tree.nodes[node, END]
    column, cut, most, across = -1, 0, 0.0, 0
    sample = np.empty(SAMPLE, np.int64)
    step = max(1, (end - start) // SAMPLE)
    for j in range(groups.lo.shape[1]):
        if tree.lo[node, j] == tree.hi[node, j]:
            continue
        taken = 0
        for place in range(start, end, step):
            if taken < SAMPLE:
                sample[taken] = groups.lo[tree.order[place], j] + groups.hi[tree.order[place], j]
                taken += 1
        sample[:taken].sort()
        at = sample[(taken - 1) // 2] // 2
        for again in range(2):  # the median, or just before it: half of the boxes may be one value
            left, right = 0, 0
            for place in range(start, end):
                left += groups.hi[tree.order[place], j] <= at
                right += groups.lo[tree.order[place], j] > at
            if min(left, right) > 0 or again == 1:
                break
            at -= 1
        worth = min(left, right) * cell_cost(costs, j, tree.lo[node, j], tree.hi[node, j])
        if worth > most:
            column, cut, most, across = j, at, worth, end - start - left - right
    keys = np.empty(end - start)
    if column >= 0:
        second = 0
        for place in range(start, end):
            lo, hi = groups.lo[tree.order[place], column], groups.hi[tree.order[place], column]
            apart = lo <= cut < hi if across > 0 else lo > cut
            keys[place - start] = 1.0 if apart else 0.0
            second += keys[place - start] > 0
        tree.order[start:end] = tree.order[start:end][np.argsort(keys)]
        return end - second
    for place in range(start, end):
        keys[place - start] = groups.losses[tree.order[place]]
    tree.order[start:end] = tree.order[start:end][np.argsort(keys)]
    return (start + end) // 2


@kernel
def summarize(tree: GroupTree, costs: CostTables, groups: Groups, node: int) -> None:
    """What a node keeps of its groups."""
    first = True
    for place in range(tree.nodes[node, START], tree.nodes[node, END]):
        group = tree.order[place]
        for j in range(groups.lo.shape[1]):
            lo, hi = groups.lo[group, j], groups.hi[group, j]
            width = cell_cost(costs, j, lo, hi)
            if first:
                tree.lo[node, j], tree.hi[node, j] = lo, hi
                tree.widths[node, 0, j] = tree.widths[node, 1, j] = width
            else:
                tree.lo[node, j], tree.hi[node, j] = min(tree.lo[node, j], lo), max(tree.hi[node, j], hi)
                tree.widths[node, 0, j] = min(tree.widths[node, 0, j], width)
                tree.widths[node, 1, j] = max(tree.widths[node, 1, j], width)
        if first:
            tree.least[node, 0], tree.least[node, 1] = groups.losses[group], groups.sizes[group]
        else:
            tree.least[node, 0] = min(tree.least[node, 0], groups.losses[group])
            tree.least[node, 1] = min(tree.least[node, 1], groups.sizes[group])
        first = False


@kernel
def absorb(costs: CostTables, groups: Groups, group: int, other: int) -> None:
    """A group takes in another, which is dead afterwards."""
    for j in range(groups.lo.shape[1]):
        groups.lo[group, j] = min(groups.lo[group, j], groups.lo[other, j])
        groups.hi[group, j] = max(groups.hi[group, j], groups.hi[other, j])
    groups.sizes[group] += groups.sizes[other]
    groups.sizes[other] = 0
    groups.losses[group] = box_cost(costs, groups.lo[group], groups.hi[group])


@kernel
def settle(tree: GroupTree, costs: CostTables, groups: Groups, group: int) -> None:
    """A group has another box or size now: the nodes above it take note, as far up as it matters."""
    tree.changes[0] += 1
    columns = groups.lo.shape[1]
    node = tree.leaves[group]
    while node >= 0:
        new = groups.losses[group] < tree.least[node, 0] or groups.sizes[group] < tree.least[node, 1]
        tree.least[node, 0] = min(tree.least[node, 0], groups.losses[group])
        tree.least[node, 1] = min(tree.least[node, 1], groups.sizes[group])
        for j in range(columns):
            lo, hi = groups.lo[group, j], groups.hi[group, j]
            width = cell_cost(costs, j, lo, hi)
            if lo < tree.lo[node, j] or hi > tree.hi[node, j]:
                tree.lo[node, j], tree.hi[node, j] = min(tree.lo[node, j], lo), max(tree.hi[node, j], hi)
                new = True
            if width < tree.widths[node, 0, j] or width > tree.widths[node, 1, j]:
                tree.widths[node, 0, j] = min(tree.widths[node, 0, j], width)
                tree.widths[node, 1, j] = max(tree.widths[node, 1, j], width)
                new = True
        if not new:
            break
        node = tree.nodes[node, PARENT]


@kernel
def best_group(
    tree: GroupTree,
    costs: CostTables,
    groups: Groups,
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
    node_lo, node_hi, widths, least, nodes, order = tree.lo, tree.hi, tree.widths, tree.least, tree.nodes, tree.order
    group_lo, group_hi, sizes, losses = groups.lo, groups.hi, groups.sizes, groups.losses
    kinds, offsets, strides, numbers = costs.kinds, costs.offsets, costs.sizes, costs.numbers
    best, best_size, chosen = below, NOBODY, NOBODY
    stack, bounds = np.empty(DEEPEST, np.int64), np.empty(DEEPEST)
    top = 1 if tree.changes[1] > 0 else 0
    stack[0], bounds[0] = 0, -np.inf
    while top > 0:
        top -= 1
        node = stack[top]
        if bounds[top] > best or (bounds[top] == best and least[node, 1] >= best_size):
            continue
        child = nodes[node, CHILD]
        if child == 0:
            for place in range(nodes[node, START], nodes[node, END]):
                group = order[place]
                if group == but or sizes[group] == 0:
                    continue
                # The merger must stay below the best so far: v < best.
                ceiling = (best + size * loss + sizes[group] * losses[group]) / (size + sizes[group])
                joined = 0.0
                for j in range(columns):
                    first, last = min(lo[j], group_lo[group, j]), max(hi[j], group_hi[group, j])
                    if kinds[j] == DENSE:
                        joined += numbers[offsets[j] + first * strides[j] + last]
                    else:
                        joined += cell_cost(costs, j, first, last)
                    if joined > ceiling:
                        break
                if joined > ceiling:
                    continue
                value = size * (joined - loss) + sizes[group] * (joined - losses[group])
                if value < best or (
                    value == best and (sizes[group] < best_size or (sizes[group] == best_size and group < chosen))
                ):
                    if privacy is not None:
                        if record >= 0 and not may_join(privacy, counts, record, group):
                            continue
                        if record < 0 and not may_merge(privacy, counts, but, group):
                            continue
                    best, best_size, chosen = value, sizes[group], group
            continue
        near, far = -1, -1
        near_bound, far_bound = np.inf, np.inf
        for either in range(child, child + 2):
            apart, joined = 0.0, 0.0
            for j in range(columns):
                first, last = min(lo[j], node_hi[either, j]), max(hi[j], node_lo[either, j])
                if kinds[j] == DENSE:
                    reach = numbers[offsets[j] + first * strides[j] + last]
                else:
                    reach = cell_cost(costs, j, first, last)
                apart += max(0.0, reach - widths[either, 1, j])
                joined += max(reach, widths[either, 0, j])
                if size * (joined - loss) + least[either, 1] * apart > best:
                    break
            joined = max(joined, least[either, 0] + apart)
            bound = size * (joined - loss) + least[either, 1] * apart
            if bound < near_bound:
                far, far_bound = near, near_bound
                near, near_bound = either, bound
            else:
                far, far_bound = either, bound
        for later in range(2):
            either = far if later == 0 else near
            bound = far_bound if later == 0 else near_bound
            if bound <= best:
                stack[top], bounds[top] = either, bound
                top += 1
    return chosen


@kernel
def weigh(costs: CostTables, groups: Groups) -> None:
    """Fill in the losses of all groups from their boxes."""
    for group in range(len(groups.sizes)):
        if groups.sizes[group] > 0:
            groups.losses[group] = box_cost(costs, groups.lo[group], groups.hi[group])
