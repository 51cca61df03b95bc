"""The record tree: which record is nearest to a box, or furthest from a record, without looking at each.

A tree over the free records; a node keeps the box around its own, and has up to eight children. Nearest: a record that
joins a box makes each interval at least `[min(lo, b), max(hi, a)]`, with `[a, b]` the node's interval; the sum of those
costs is a lower bound for every record of the node. Furthest: `[min(lo, a), max(hi, b)]` gives an upper bound. Nodes
that cannot beat the best so far are passed over. A record that is taken leaves the tree, and boxes shrink.

Where no record has a near neighbour, nothing is passed over. Then it is the columns that are not looked at: a sum ends
as soon as it cannot beat the best, whatever the columns that are left would add (`rest`).

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
from shoal.boxes.division import FAN, ROW, divide
from shoal.boxes.kernels import cell_cost, surely_above
from shoal.compiling import kernel

Ints = NDArray[np.int32]
Longs = NDArray[np.int64]
Floats = NDArray[np.float64]


class RecordTree(NamedTuple):
    """Nodes in the order in which they were made; the root is the first."""

    codes: Ints  # of all records
    own: Floats  # of each record
    entries: Ints  # (nodes, FAN): a leaf's records, any other node's children
    shape: Ints  # (nodes, 3): how many entries, whether it is a leaf, the node above
    leaves: Ints  # of each record: the node where it is
    lo: Ints  # (nodes, columns): the box around the records that are free
    hi: Ints
    owns: Floats  # (nodes, 2): the smallest and the largest `own`, of the records that were free at first
    marks: Longs  # [how many nodes are above one another, nodes and records that `nearest` has looked at]


ENTRIES, IS_LEAF, ABOVE = 0, 1, 2
DEPTH, LOOKS = 0, 1  # in `marks`


def record_tree(codes: Ints, own: Floats, costs: CostTables, *, far: bool) -> RecordTree:
    """The tree over these records, all free; `far`: one that is asked what is furthest."""
    records, columns = codes.shape
    nodes = 2 * records + 1
    tree = RecordTree(
        codes=codes,
        own=own,
        entries=np.zeros((nodes, FAN), np.int32),
        shape=np.zeros((nodes, 3), np.int32),
        leaves=np.zeros(records, np.int32),
        lo=np.zeros((nodes, columns), np.int32),
        hi=np.zeros((nodes, columns), np.int32),
        owns=np.zeros((nodes, 2)),
        marks=np.zeros(2, np.int64),
    )
    used = grow(tree, costs, np.arange(records, dtype=np.int32), far)
    return tree._replace(
        entries=tree.entries[:used].copy(),
        shape=tree.shape[:used].copy(),
        lo=tree.lo[:used].copy(),
        hi=tree.hi[:used].copy(),
        owns=tree.owns[:used].copy(),
    )


@kernel
def grow(tree: RecordTree, costs: CostTables, order: Ints, far: bool) -> int:
    """Build the tree over these records, whose order changes; how many nodes it has."""
    spans = np.zeros((len(tree.entries), 3), np.int32)  # of each node: where its records are in `order`, its depth
    spans[0, 1] = len(order)
    starts, cuts, usual = np.zeros(FAN + 1, np.int64), np.zeros((FAN, ROW), np.int32), np.zeros(FAN)
    tree.shape[0, ABOVE] = -1
    used, node = 1, 0
    while node < used:
        start, end, depth = spans[node]
        tree.marks[DEPTH] = max(tree.marks[DEPTH], depth + 1)
        tree.owns[node, 0], tree.owns[node, 1] = np.inf, -np.inf
        for record in order[start:end]:
            tree.owns[node, 0] = min(tree.owns[node, 0], tree.own[record])
            tree.owns[node, 1] = max(tree.owns[node, 1], tree.own[record])
        for j in range(tree.codes.shape[1]):
            low = high = tree.codes[order[start], j]
            for record in order[start:end]:
                low, high = min(low, tree.codes[record, j]), max(high, tree.codes[record, j])
            tree.lo[node, j], tree.hi[node, j] = low, high
        if end - start <= FAN:
            tree.shape[node, ENTRIES], tree.shape[node, IS_LEAF] = end - start, 1
            for place in range(start, end):
                tree.entries[node, place - start] = order[place]
                tree.leaves[order[place]] = node
        else:
            parts, _ = divide(costs, tree.codes, tree.codes, tree.own, order[start:end], starts, cuts, usual, far)
            tree.shape[node, ENTRIES] = parts
            for part in range(parts):
                tree.entries[node, part] = used
                tree.shape[used, ABOVE] = node
                spans[used, 0], spans[used, 1] = start + starts[part], start + starts[part + 1]
                spans[used, 2] = depth + 1
                used += 1
        node += 1
    return used


@kernel
def take(tree: RecordTree, record: int) -> None:
    """The record is no longer free: it leaves the tree, and the boxes above it shrink to those that are."""
    gone, node = record, tree.leaves[record]
    while node >= 0:  # a node without entries leaves the one above it
        last = tree.shape[node, ENTRIES] - 1
        for entry in range(last):
            if tree.entries[node, entry] == gone:
                tree.entries[node, entry] = tree.entries[node, last]
        tree.shape[node, ENTRIES] = last
        if last > 0:
            break
        gone, node = node, tree.shape[node, ABOVE]
    while node >= 0 and shrink(tree, node):
        node = tree.shape[node, ABOVE]


@kernel
def shrink(tree: RecordTree, node: int) -> bool:
    """Whether the box of a node is smaller now that some of what was in it is gone."""
    lo, hi = (tree.codes, tree.codes) if tree.shape[node, IS_LEAF] else (tree.lo, tree.hi)
    changed = False
    for j in range(tree.codes.shape[1]):
        low, high = lo[tree.entries[node, 0], j], hi[tree.entries[node, 0], j]
        for entry in range(1, tree.shape[node, ENTRIES]):
            low, high = min(low, lo[tree.entries[node, entry], j]), max(high, hi[tree.entries[node, entry], j])
        changed |= low != tree.lo[node, j] or high != tree.hi[node, j]
        tree.lo[node, j], tree.hi[node, j] = low, high
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
    codes, own, node_lo, node_hi, owns = tree.codes, tree.own, tree.lo, tree.hi, tree.owns
    best, chosen = np.inf, -1
    now, rest = np.empty(columns), np.zeros(columns + 1)  # what the box costs in each column, and in those after it
    for j in range(columns - 1, -1, -1):
        now[j] = cell_cost(costs, j, lo[j], hi[j])
        rest[j] = rest[j + 1] + now[j]
    room = FAN * (tree.marks[DEPTH] + 1)
    nodes, bounds = np.empty(room, np.int64), np.empty(room)
    top = 1
    nodes[0], bounds[0] = 0, -np.inf
    while top > 0 and best > least:
        top -= 1
        node = nodes[top]
        if bounds[top] >= best:
            continue
        bottom, leaf = top, tree.shape[node, IS_LEAF] == 1
        tree.marks[LOOKS] += tree.shape[node, ENTRIES]
        for entry in range(tree.shape[node, ENTRIES]):
            below = tree.entries[node, entry]
            most = surely_above((best + (own[below] if leaf else owns[below, 1])) / weight)
            cost = 0.0
            for j in range(columns):
                low, high = (codes[below, j], codes[below, j]) if leaf else (node_lo[below, j], node_hi[below, j])
                if high < lo[j]:
                    cost += cell_cost(costs, j, high, hi[j])
                elif low > hi[j]:
                    cost += cell_cost(costs, j, lo[j], low)
                else:
                    cost += now[j]
                if cost + rest[j + 1] > most:
                    cost = np.inf
                    break
            if leaf:
                value = weight * cost - own[below]
                if penalty > 0.0 and favoured[classes[below]] == 0:
                    value += penalty
                if value < best:
                    best, chosen = value, below
                continue
            bound = weight * cost - owns[below, 1]
            if bound < best:
                at = top  # the nearest comes last, and so is looked at first
                while at > bottom and bounds[at - 1] < bound:
                    nodes[at], bounds[at] = nodes[at - 1], bounds[at - 1]
                    at -= 1
                nodes[at], bounds[at] = below, bound
                top += 1
    return chosen


@kernel
def furthest(tree: RecordTree, costs: CostTables, record: int, weight: float) -> int:
    """The free record for which `weight · cost(both) − own` is largest; −1 if none is free."""
    here = tree.codes[record]
    columns = len(here)
    codes, own, node_lo, node_hi, owns = tree.codes, tree.own, tree.lo, tree.hi, tree.owns
    best, chosen = -np.inf, -1
    rest = np.zeros(columns + 1)  # what anybody costs at most in a column and those after it
    for j in range(columns - 1, -1, -1):
        down = cell_cost(costs, j, min(here[j], node_lo[0, j]), here[j])
        rest[j] = rest[j + 1] + max(down, cell_cost(costs, j, here[j], max(here[j], node_hi[0, j])))
    room = FAN * (tree.marks[DEPTH] + 1)
    nodes, bounds = np.empty(room, np.int64), np.empty(room)
    top = 1
    nodes[0], bounds[0] = 0, np.inf
    while top > 0:
        top -= 1
        node = nodes[top]
        if bounds[top] <= best:
            continue
        bottom, leaf = top, tree.shape[node, IS_LEAF] == 1
        for entry in range(tree.shape[node, ENTRIES]):
            below = tree.entries[node, entry]
            fewest = -surely_above(-(best + (own[below] if leaf else owns[below, 0])) / weight)
            cost = 0.0
            for j in range(columns):
                low, high = (codes[below, j], codes[below, j]) if leaf else (node_lo[below, j], node_hi[below, j])
                down = cell_cost(costs, j, min(here[j], low), here[j])
                cost += max(down, cell_cost(costs, j, here[j], max(here[j], high)))
                if cost + rest[j + 1] < fewest:
                    cost = -np.inf
                    break
            if leaf:
                value = weight * cost - own[below]
                if value > best:
                    best, chosen = value, below
                continue
            bound = weight * cost - owns[below, 0]
            if bound > best:
                at = top
                while at > bottom and bounds[at - 1] > bound:
                    nodes[at], bounds[at] = nodes[at - 1], bounds[at - 1]
                    at -= 1
                nodes[at], bounds[at] = below, bound
                top += 1
    return chosen
