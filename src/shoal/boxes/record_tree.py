"""The record tree: which record is nearest to a box, or furthest from a record, without looking at each.

A tree over all records (`points.py`); a node keeps the box around those of its records that are still free, and how
many they are. Nearest: a record that joins a box makes each interval at least `[min(lo, b), max(hi, a)]`, with `[a, b]`
the node's interval; the sum of those costs is a lower bound for every record of the node. Furthest:
`[min(lo, a), max(hi, b)]` gives an upper bound. Nodes that cannot beat the best so far are passed over.

Guarantee, for costs that grow with the interval (il, lm, tree, mi): the value of the record that is returned is that of
a full scan. Ties are broken as the tree finds them, the same way every time.

What is compared is `weight · cost(box with the record) − own(record)`: `own` is 0 but for mi, where the loss of a
record is its cost less that of the record alone.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.boxes.costs import CostTables
from shoal.boxes.kernels import cell_cost
from shoal.boxes.points import PointTree, point_tree
from shoal.compiling import inlined, kernel

Ints = NDArray[np.int32]
Longs = NDArray[np.int64]
Floats = NDArray[np.float64]
DEEPEST = 256


class RecordTree(NamedTuple):
    """The tree, and which records are free."""

    points: PointTree
    parents: Longs  # of each node; −1 above the root
    leaves: Longs  # of each record: the node where it is
    free: Longs  # of each node: how many of its records are free
    taken: NDArray[np.bool_]  # of each record
    own: Floats  # of each record
    least_own: Floats  # of each node, over all of its records
    most_own: Floats


def record_tree(codes: Ints, own: Floats) -> RecordTree:
    """The tree over these records, all free."""
    points = point_tree(codes)
    nodes = len(points.starts)
    parents = np.full(nodes, -1, np.int64)
    inner = np.flatnonzero(points.children)
    parents[points.children[inner]] = parents[points.children[inner] + 1] = inner
    leaves = np.zeros(len(codes), np.int64)
    leaf_nodes = np.flatnonzero(points.children == 0)
    by_start = leaf_nodes[np.argsort(points.starts[leaf_nodes])]
    leaves[points.order] = np.repeat(by_start, (points.ends - points.starts)[by_start])
    in_order = own[points.order]
    least_own, most_own = np.zeros(nodes), np.zeros(nodes)
    if own.any():
        for node in range(nodes):
            part = in_order[points.starts[node] : points.ends[node]]
            least_own[node], most_own[node] = part.min(), part.max()
    return RecordTree(
        points, parents, leaves, points.ends - points.starts, np.zeros(len(codes), bool), own, least_own, most_own
    )


@kernel
def take(tree: RecordTree, record: int) -> None:
    """The record is no longer free; the boxes of its nodes shrink to those that are."""
    points = tree.points
    tree.taken[record] = True
    node = tree.leaves[record]
    tree.free[node] -= 1
    changed = False
    if tree.free[node] > 0:
        for j in range(points.points.shape[1]):
            code = points.points[record, j]
            if code == points.lo[node, j] or code == points.hi[node, j]:
                low, high = points.hi[node, j], points.lo[node, j]
                for place in range(points.starts[node], points.ends[node]):
                    other = points.order[place]
                    if not tree.taken[other]:
                        low, high = min(low, points.points[other, j]), max(high, points.points[other, j])
                changed |= low != points.lo[node, j] or high != points.hi[node, j]
                points.lo[node, j], points.hi[node, j] = low, high
    else:
        changed = True
    node = tree.parents[node]
    while node >= 0:
        tree.free[node] -= 1
        if changed and tree.free[node] > 0:
            changed = shrink(tree, node)
        node = tree.parents[node]


@kernel
def shrink(tree: RecordTree, node: int) -> bool:
    """Whether the box of a node is smaller now that one of its children's is."""
    points = tree.points
    one, other = points.children[node], points.children[node] + 1
    if tree.free[one] == 0:
        one = other
    if tree.free[other] == 0:
        other = one
    changed = False
    for j in range(points.points.shape[1]):
        low = min(points.lo[one, j], points.lo[other, j])
        high = max(points.hi[one, j], points.hi[other, j])
        changed |= low != points.lo[node, j] or high != points.hi[node, j]
        points.lo[node, j], points.hi[node, j] = low, high
    return changed


@kernel
def nearest(
    tree: RecordTree,
    costs: CostTables,
    lo: Ints,
    hi: Ints,
    weight: float,
    least: float,
    classes: Ints,
    favoured: Ints,
    penalty: float,
) -> int:
    """The free record for which `weight · cost − own` is smallest, plus `penalty` if its class is not favoured.

    `least`: no record can be below it, so the search ends where it is reached. −1 if no record is free.
    """
    columns = len(lo)
    best, chosen = np.inf, -1
    nodes, bounds = np.empty(DEEPEST, np.int64), np.empty(DEEPEST)
    top = 1
    nodes[0], bounds[0] = 0, -np.inf
    while top > 0:
        top -= 1
        node = nodes[top]
        if bounds[top] >= best:
            continue
        child = tree.points.children[node]
        if child == 0:
            for place in range(tree.points.starts[node], tree.points.ends[node]):
                record = tree.points.order[place]
                if tree.taken[record]:
                    continue
                value = -tree.own[record]
                if penalty > 0.0 and favoured[classes[record]] == 0:
                    value += penalty
                for j in range(columns):
                    code = tree.points.points[record, j]
                    value += weight * cell_cost(costs, j, min(lo[j], code), max(hi[j], code))
                    if value >= best and tree.own[record] == 0.0:
                        break
                if value < best:
                    best, chosen = value, record
            if best <= least:
                break
            continue
        first = bound_below(tree, costs, child, lo, hi, weight, best)
        second = bound_below(tree, costs, child + 1, lo, hi, weight, best)
        for later in range(2):  # the nearer one is pushed last, and so looked at first
            other = child + (first <= second) if later == 0 else child + (first > second)
            bound = max(first, second) if later == 0 else min(first, second)
            if bound < best:
                nodes[top], bounds[top] = other, bound
                top += 1
    return chosen


@inlined
def bound_below(
    tree: RecordTree, costs: CostTables, node: int, lo: Ints, hi: Ints, weight: float, best: float
) -> float:
    """What no free record of the node is below."""
    if tree.free[node] == 0:
        return np.inf
    bound = -tree.most_own[node]
    for j in range(len(lo)):
        bound += weight * cell_cost(costs, j, min(lo[j], tree.points.hi[node, j]), max(hi[j], tree.points.lo[node, j]))
        if bound >= best:
            return bound
    return bound


@kernel
def furthest(tree: RecordTree, costs: CostTables, record: int, weight: float) -> int:
    """The free record for which `weight · cost(both) − own` is largest; −1 if none is free."""
    here = tree.points.points[record]
    columns = len(here)
    best, chosen = -np.inf, -1
    nodes, bounds = np.empty(DEEPEST, np.int64), np.empty(DEEPEST)
    top = 1
    nodes[0], bounds[0] = 0, np.inf
    while top > 0:
        top -= 1
        node = nodes[top]
        if bounds[top] <= best:
            continue
        child = tree.points.children[node]
        if child == 0:
            for place in range(tree.points.starts[node], tree.points.ends[node]):
                other = tree.points.order[place]
                if tree.taken[other]:
                    continue
                value = -tree.own[other]
                for j in range(columns):
                    code = tree.points.points[other, j]
                    value += weight * cell_cost(costs, j, min(here[j], code), max(here[j], code))
                if value > best:
                    best, chosen = value, other
            continue
        first = bound_above(tree, costs, child, here, weight)
        second = bound_above(tree, costs, child + 1, here, weight)
        for later in range(2):
            other = child + (first >= second) if later == 0 else child + (first < second)
            bound = min(first, second) if later == 0 else max(first, second)
            if bound > best:
                nodes[top], bounds[top] = other, bound
                top += 1
    return chosen


@inlined
def bound_above(tree: RecordTree, costs: CostTables, node: int, here: Ints, weight: float) -> float:
    """What no free record of the node is above."""
    if tree.free[node] == 0:
        return -np.inf
    bound = -tree.least_own[node]
    for j in range(len(here)):
        bound += weight * cell_cost(
            costs, j, min(here[j], tree.points.lo[node, j]), max(here[j], tree.points.hi[node, j])
        )
    return bound
