"""The tree: nodes, their leaves in the order of their keys, and what inserts and deletes do to them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.arrays import row_type
from shoal.compiling import ZERO, allocating, inner, kernel
from shoal.compiling.structs import Struct, struct

Ints = NDArray[np.int32]
Longs = NDArray[np.int64]
Floats = NDArray[np.float64]
Rows = NDArray[np.void]  # of named fields
INSERT, DELETE = range(2)

LEAF = row_type([("record", "i4"), ("key", "f8")])
USED = row_type([("root", "i8"), ("spare", "i8")])  # how many entries of `root` and `spare` are in use


@struct
class Tree(Struct):
    """The root's list of middle nodes, and each node's leaves."""

    k: int
    points: Floats  # (records, axes)
    weights: Floats  # of each axis
    labels: Ints  # the node of each record; −1: none
    root: Ints  # nodes in the order of the root, and −1 where one is no more
    sizes: Longs  # leaves of each node; 0: it is no more
    centres: Floats  # (nodes, axes)
    leaves: Rows  # (nodes, 2k): LEAF in the order of their keys
    spare: Ints  # a stack of node numbers that are not in use
    used: Rows  # [USED]


@inner
def distance(tree: Tree, node: int, record: int) -> float:
    """How far a record is from the centre of a node."""
    return apart(tree.weights, tree.points[record], tree.centres[node])


@inner
def apart(weights: Floats, one: Floats, other: Floats) -> float:
    total = 0.0
    for axis in range(len(weights)):
        way = one[axis] - other[axis]
        total += weights[axis] * way * way
    return np.sqrt(total)


@inner
def search_subtree(tree: Tree, record: int) -> int:
    """The node that a record joins: the first that reaches it, else the nearest; −1 if there is no node."""
    root, sizes, leaves = tree.root, tree.sizes, tree.leaves
    points, weights, centres = tree.points, tree.weights, tree.centres
    nearest, least = ZERO - 1, np.inf
    for i in range(tree.used[0].root):
        node = root[i] + ZERO
        if node < 0:
            continue
        way = apart(weights, points[record], centres[node])
        if way <= leaves[node, sizes[node] - 1].key:
            return node
        if nearest < 0 or way < least:
            nearest, least = node, way
    return nearest


@inner
def search_position(tree: Tree, node: int, key: float) -> int:
    """Behind all leaves whose key is not larger."""
    leaves, at = tree.leaves, tree.sizes[node]
    while at > 0 and leaves[node, at - 1].key > key:
        at -= 1
    return at


@inner
def recentre(tree: Tree, node: int) -> None:
    """The centre of a node's leaves, and the leaves in the order of their keys."""
    points, weights, centres, leaves, size = tree.points, tree.weights, tree.centres, tree.leaves, tree.sizes[node]
    for axis in range(len(weights)):
        total = 0.0
        for i in range(size):
            total += points[leaves[node, i].record, axis]
        centres[node, axis] = total / size
    for i in range(size):
        record = leaves[node, i].record
        key = apart(weights, points[record], centres[node])
        at = i
        while at > 0 and leaves[node, at - 1].key > key:
            leaves[node, at] = leaves[node, at - 1]
            at -= 1
        leaves[node, at].record, leaves[node, at].key = record, key


@inner
def put_leaf(tree: Tree, node: int, record: int) -> None:
    """A leaf at the place that its key gives it."""
    leaves = tree.leaves
    key = distance(tree, node, record)
    at = search_position(tree, node, key)
    for i in range(tree.sizes[node], at, -1):
        leaves[node, i] = leaves[node, i - 1]
    leaves[node, at].record, leaves[node, at].key = record, key
    tree.sizes[node] += 1
    tree.labels[record] = node


@inner
def insert_node(tree: Tree, node: int, record: int) -> None:
    """A record joins a node, which is split if it has 2k leaves then."""
    put_leaf(tree, node, record)
    k, leaves = tree.k, tree.leaves
    if tree.sizes[node] == 2 * k:
        new = new_node(tree)
        for i in range(k):
            leaves[new, i].record = leaves[node, k + i].record
            tree.labels[leaves[new, i].record] = new
        tree.sizes[node] = tree.sizes[new] = k
        recentre(tree, new)
    recentre(tree, node)


@inner
def new_node(tree: Tree) -> int:
    """A node without leaves, the last of the root."""
    tree.used[0].spare -= 1
    node = tree.spare[tree.used[0].spare] + ZERO
    enlist(tree, node)
    return node


@inner
def enlist(tree: Tree, node: int) -> None:
    tree.root[tree.used[0].root] = node
    tree.used[0].root += 1
    tree.sizes[node] = 0


@inner
def take_leaf(tree: Tree, record: int) -> int:
    """A record leaves its node; which one."""
    leaves, node = tree.leaves, tree.labels[record] + ZERO
    at = 0
    while leaves[node, at].record != record:
        at += 1
    tree.sizes[node] -= 1
    for i in range(at, tree.sizes[node]):
        leaves[node, i] = leaves[node, i + 1]
    tree.labels[record] = -1
    return node


@inner
def delete_node(tree: Tree, record: int) -> None:
    """A record leaves the tree; what is left of a node that has become too small is merged into another."""
    node = take_leaf(tree, record)
    if tree.sizes[node] == 0:
        drop(tree, node)
        return
    recentre(tree, node)
    if tree.sizes[node] < tree.k:
        merge_with_nearest(tree, node)


@inner
def partner(tree: Tree, node: int) -> int:
    """The nearest node with k leaves, else the nearest of all; −1 if there is no other."""
    root, weights, centres, sizes = tree.root, tree.weights, tree.centres, tree.sizes
    full, nearest, least_full, least = ZERO - 1, ZERO - 1, np.inf, np.inf
    for i in range(tree.used[0].root):
        other = root[i] + ZERO
        if other < 0 or other == node:
            continue
        way = apart(weights, centres[node], centres[other])
        if sizes[other] == tree.k and way < least_full:
            full, least_full = other, way
        if way < least:
            nearest, least = other, way
    return full if full >= 0 else nearest


@allocating
def merge(tree: Tree, node: int, other: int) -> None:
    leaves = tree.leaves[node, : tree.sizes[node]].copy()
    drop(tree, node)
    for i in range(len(leaves)):
        insert_node(tree, other, leaves[i].record + ZERO)


@inner
def drop(tree: Tree, node: int) -> None:
    root, used = tree.root, tree.used
    tree.sizes[node] = 0
    tree.spare[used[0].spare] = node
    used[0].spare += 1
    for i in range(used[0].root):
        if root[i] == node:
            root[i] = -1


@kernel
def follow(tree: Tree, what: int, records: Ints, replaced: Ints) -> None:
    """Insert or delete records one after the other. `replaced[i]`: the record that records[i] is the new version of."""
    for i in range(len(records)):
        record = records[i] + ZERO
        if what == DELETE:
            delete_node(tree, record)
            continue
        old = replaced[i] + ZERO
        if old >= 0:
            node = tree.labels[old] + ZERO
            if distance(tree, node, record) <= tree.leaves[node, tree.sizes[node] - 1].key:
                take_leaf(tree, old)
                put_leaf(tree, node, record)
                recentre(tree, node)
                continue
            delete_node(tree, old)
        node = search_subtree(tree, record)
        if node < 0:
            node = new_node(tree)
            tree.leaves[node, 0].record, tree.sizes[node], tree.labels[record] = record, 1, node
            recentre(tree, node)
        else:
            insert_node(tree, node, record)


@kernel
def begin(tree: Tree, order: Ints, ends: Longs, numbers: Ints) -> None:
    """Nodes of these numbers with the records order[ends[i − 1]:ends[i]]; of 2k and more are split, below k merged."""
    start, k = 0, tree.k
    for node in numbers:
        enlist(tree, node + ZERO)
    for i in range(len(ends)):
        end = ends[i]
        # All leaves of a node that is too large, by their distance from its centre: k at a time make a node.
        records = order[start:end].copy()
        keys = np.zeros(len(records))
        while len(records) >= 2 * k:
            sort_by_distance(tree, records, keys[: len(records)])
            fill(tree, records[len(records) - k :], new_node(tree))
            records = records[: len(records) - k]
        fill(tree, records, numbers[i] + ZERO)
        start = end
    for node in range(len(tree.sizes)):
        if 0 < tree.sizes[node] < k:
            merge_with_nearest(tree, node)


@allocating
def sort_by_distance(tree: Tree, records: Ints, keys: Floats) -> None:
    points, weights = tree.points, tree.weights
    centre = np.zeros(len(weights))
    for record in records:
        for axis in range(len(centre)):
            centre[axis] += points[record, axis] / len(records)
    for i in range(len(records)):
        record, key = records[i], 0.0
        for axis in range(len(centre)):
            way = points[record, axis] - centre[axis]
            key += weights[axis] * way * way
        at = i
        while at > 0 and keys[at - 1] > key:
            keys[at], records[at] = keys[at - 1], records[at - 1]
            at -= 1
        keys[at], records[at] = key, record


@inner
def fill(tree: Tree, records: Ints, node: int) -> None:
    leaves = tree.leaves
    for i in range(len(records)):
        leaves[node, i].record = records[i]
        tree.labels[records[i]] = node
    tree.sizes[node] = len(records)
    recentre(tree, node)


@inner
def merge_with_nearest(tree: Tree, node: int) -> None:
    other = partner(tree, node)
    if other >= 0:
        merge(tree, node, other)
