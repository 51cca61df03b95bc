"""Building the record tree, and taking records out of it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.arrays import row_type
from shoal.boxes.costs import CostTables
from shoal.boxes.group_tree.divide import divide
from shoal.boxes.grouping import CUT, FAN, Groups
from shoal.compiling import inner, kernel
from shoal.compiling.structs import Struct, struct

Ints = NDArray[np.int32]
Floats = NDArray[np.float64]
Rows = NDArray[np.void]  # of named fields

NODE = row_type(
    [
        ("count", "i4"),  # entries
        ("above", "i4"),  # the node above; −1: it is the root
        ("least_own", "f8"),  # the smallest and the largest `own`, of the records that were free at first
        ("most_own", "f8"),
        ("leaf", "?"),
    ]
)
SPAN = row_type([("start", "i8"), ("end", "i8"), ("depth", "i8")])
STATE = row_type(
    [
        ("depth", "i8"),  # how many nodes are above one another
        ("looked_at", "i8"),  # nodes and records, by `nearest`
    ]
)


@struct
class RecordTree(Struct):
    """Nodes in the order in which they were made; the root is the first."""

    costs: CostTables
    codes: Ints  # of all records
    own: Floats  # of each record
    nodes: Rows  # NODE
    entries: Ints  # (nodes, FAN): a leaf's records, any other node's children
    lo: Ints  # (nodes, columns): the box around the records that are free
    hi: Ints
    leaves: Ints  # of each record: the node where it is
    state: Rows  # [STATE]


def record_tree(codes: Ints, own: Floats, costs: CostTables, *, far: bool) -> RecordTree:
    """The tree over these records, all free; `far`: one that is asked what is furthest."""
    records, columns = codes.shape
    most = 2 * records + 1
    tree = RecordTree(
        costs=costs,
        codes=codes,
        own=own,
        nodes=np.zeros(most, NODE),
        entries=np.zeros((most, FAN), np.int32),
        lo=np.zeros((most, columns), np.int32),
        hi=np.zeros((most, columns), np.int32),
        leaves=np.zeros(records, np.int32),
        state=np.zeros(1, STATE),
    )
    used = build(tree, np.arange(records, dtype=np.int32), far)
    return tree.replace(
        nodes=tree.nodes[:used].copy(),
        entries=tree.entries[:used].copy(),
        lo=tree.lo[:used].copy(),
        hi=tree.hi[:used].copy(),
    )


@kernel
def build(tree: RecordTree, order: Ints, far: bool) -> int:
    """Build the tree over these records, whose order changes; how many nodes it has."""
    costs, codes, own, nodes, entries = tree.costs, tree.codes, tree.own, tree.nodes, tree.entries
    lo, hi, leaves, state = tree.lo, tree.hi, tree.leaves, tree.state
    spans = np.zeros(len(nodes), SPAN)  # of each node: where its records are in `order`, its depth
    spans[0].end = len(order)
    starts, cuts = np.zeros(FAN + 1, np.int64), np.zeros(FAN, CUT)
    points = Groups(codes, codes, np.zeros(0, np.int64), own)
    nodes[0].above = -1
    used, node = 1, 0
    while node < used:
        start, end, depth = spans[node].start, spans[node].end, spans[node].depth
        state[0].depth = max(state[0].depth, depth + 1)
        least, most = np.inf, -np.inf
        for record in order[start:end]:
            least, most = min(least, own[record]), max(most, own[record])
        nodes[node].least_own, nodes[node].most_own = least, most
        for j in range(codes.shape[1]):
            low = high = codes[order[start], j]
            for record in order[start:end]:
                low, high = min(low, codes[record, j]), max(high, codes[record, j])
            lo[node, j], hi[node, j] = low, high
        if end - start <= FAN:
            nodes[node].count, nodes[node].leaf = end - start, True
            for at in range(start, end):
                entries[node, at - start] = order[at]
                leaves[order[at]] = node
        else:
            parts, _ = divide(costs, points, order[start:end], starts, cuts, far)
            nodes[node].count = parts
            for part in range(parts):
                entries[node, part] = used
                nodes[used].above = node
                spans[used].start, spans[used].end = start + starts[part], start + starts[part + 1]
                spans[used].depth = depth + 1
                used += 1
        node += 1
    return used


@inner
def take(tree: RecordTree, record: int) -> None:
    """The record is no longer free: it leaves the tree, and the boxes above it shrink to those that are."""
    nodes, entries = tree.nodes, tree.entries
    gone, node = record, tree.leaves[record]
    while node >= 0:  # a node without entries leaves the one above it
        last = nodes[node].count - 1
        for entry in range(last):
            if entries[node, entry] == gone:
                entries[node, entry] = entries[node, last]
        nodes[node].count = last
        if last > 0:
            break
        gone, node = node, nodes[node].above
    while node >= 0 and shrink(tree, node):
        node = nodes[node].above


@inner
def shrink(tree: RecordTree, node: int) -> bool:
    """Whether the box of a node is smaller now that some of what was in it is gone."""
    codes, entries, node_lo, node_hi = tree.codes, tree.entries, tree.lo, tree.hi
    count, leaf = tree.nodes[node].count, tree.nodes[node].leaf
    lo, hi = (codes, codes) if leaf else (node_lo, node_hi)
    changed = False
    for j in range(codes.shape[1]):
        low, high = lo[entries[node, 0], j], hi[entries[node, 0], j]
        for entry in range(1, count):
            low, high = min(low, lo[entries[node, entry], j]), max(high, hi[entries[node, entry], j])
        changed |= low != node_lo[node, j] or high != node_hi[node, j]
        node_lo[node, j], node_hi[node, j] = low, high
    return changed
