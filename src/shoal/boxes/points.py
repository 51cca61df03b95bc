"""A static tree over points: which of them lie in a box, without looking at each.

A node keeps the box around its points. A query passes over nodes that its box does not meet, and takes nodes that it
contains whole.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.compiling import inner, kernel
from shoal.errors import InternalError

Ints = NDArray[np.int32]
Floats = NDArray[np.float64]
LEAF = 4


class PointTree(NamedTuple):
    """Nodes in the order in which they were split; the children of a node come after it."""

    points: Ints
    order: NDArray[np.int64]  # points; those of one node are neighbours
    starts: NDArray[np.int64]  # of each node, in `order`
    ends: NDArray[np.int64]
    children: NDArray[np.int64]  # the first of the two; 0 for a leaf
    lo: Ints  # (nodes, columns)
    hi: Ints


def point_tree(points: Ints) -> PointTree:
    """The tree over these points, which are not moved. There must be one at least: kernels do not check."""
    if not len(points):
        raise InternalError("a tree over no points.")
    nodes = max(1, 4 * len(points) // LEAF + 1)
    columns = points.shape[1]
    tree = PointTree(
        points=points,
        order=np.arange(len(points)),
        starts=np.zeros(nodes, np.int64),
        ends=np.zeros(nodes, np.int64),
        children=np.zeros(nodes, np.int64),
        lo=np.zeros((nodes, columns), np.int32),
        hi=np.zeros((nodes, columns), np.int32),
    )
    used = _build(tree)
    starts, ends, children = tree.starts[:used], tree.ends[:used], tree.children[:used]
    return PointTree(points, tree.order, starts, ends, children, tree.lo[:used], tree.hi[:used])


@kernel
def _build(tree: PointTree) -> int:
    tree.ends[0] = len(tree.points)
    scale = np.ones(tree.points.shape[1])  # widths are compared as shares of the whole: columns differ in their codes
    used, node = 1, 0
    while node < used:
        start, end = tree.starts[node], tree.ends[node]
        widest, width = 0, 0.0
        for j in range(tree.points.shape[1]):
            low = high = tree.points[tree.order[start], j]
            for i in range(start, end):
                code = tree.points[tree.order[i], j]
                low, high = min(low, code), max(high, code)
            tree.lo[node, j], tree.hi[node, j] = low, high
            if node == 0 and high > low:
                scale[j] = 1 / (high - low)
            if (high - low) * scale[j] > width:
                widest, width = j, (high - low) * scale[j]
        if end - start > LEAF:  # equal points too: whoever takes points one by one needs small leaves
            codes = np.empty(end - start, np.int32)
            for i in range(start, end):
                codes[i - start] = tree.points[tree.order[i], widest]
            tree.order[start:end] = tree.order[start:end][np.argsort(codes)]
            middle = (start + end) // 2
            tree.children[node] = used
            tree.starts[used], tree.ends[used] = start, middle
            tree.starts[used + 1], tree.ends[used + 1] = middle, end
            used += 2
        node += 1
    return used


@inner
def meets(tree: PointTree, node: int, lo: Ints, hi: Ints) -> int:
    """0: the box does not meet the node; 1: in part; 2: it contains the node."""
    contains = 2
    for j in range(len(lo)):
        if tree.lo[node, j] > hi[j] or tree.hi[node, j] < lo[j]:
            return 0
        if tree.lo[node, j] < lo[j] or tree.hi[node, j] > hi[j]:
            contains = 1
    return contains


@inner
def contains(point: Ints, lo: Ints, hi: Ints) -> bool:
    for j in range(len(lo)):
        if point[j] < lo[j] or point[j] > hi[j]:
            return False
    return True


def weigh_boxes(tree: PointTree, weights: Floats, lo: Ints, hi: Ints) -> Floats:
    """For each box, the weight of the points in it."""
    inside: Floats = match(tree, weights, lo, hi, np.zeros(len(lo)))[0]
    return inside


def cover_points(tree: PointTree, lo: Ints, hi: Ints, weights: Floats) -> Floats:
    """For each point, the weight of the boxes that contain it."""
    covering: Floats = match(tree, np.zeros(len(tree.points)), lo, hi, weights)[1]
    return covering


@kernel
def match(tree: PointTree, point_weights: Floats, lo: Ints, hi: Ints, box_weights: Floats) -> tuple[Floats, Floats]:
    """The weight of the points in each box, and of the boxes around each point."""
    inside, covering = np.zeros(len(lo)), np.zeros(len(tree.order))
    before = np.zeros(len(tree.order) + 1)  # the weight of all points in front of a place
    for i in range(len(tree.order)):
        before[i + 1] = before[i] + point_weights[tree.order[i]]
    whole = np.zeros(len(tree.starts))  # the weight of the boxes that contain a whole node
    stack = np.empty(256, np.int64)
    for box in range(len(lo)):
        top, stack[0] = 1, 0
        while top > 0:
            top -= 1
            node = stack[top]
            met = meets(tree, node, lo[box], hi[box])
            if met == 2:
                inside[box] += before[tree.ends[node]] - before[tree.starts[node]]
                whole[node] += box_weights[box]
            elif met == 1 and tree.children[node] > 0:
                stack[top], stack[top + 1] = tree.children[node], tree.children[node] + 1
                top += 2
            elif met == 1:
                for i in range(tree.starts[node], tree.ends[node]):
                    point = tree.order[i]
                    if contains(tree.points[point], lo[box], hi[box]):
                        inside[box] += point_weights[point]
                        covering[point] += box_weights[box]
    for node in range(len(whole)):  # parents come before their children
        if tree.children[node] > 0:
            whole[tree.children[node]] += whole[node]
            whole[tree.children[node] + 1] += whole[node]
        else:
            for i in range(tree.starts[node], tree.ends[node]):
                covering[tree.order[i]] += whole[node]
    return inside, covering
