"""What a record costs at least in any group of k: from its nearest neighbours, and from those who keep it company.

The cost of a pair is that of the box around both. Points are different records, each with its count: records that are
equal have the same neighbours, and are each other's. `measures/bound.py` says what the numbers are good for.

Guarantee, for costs that grow with the interval, given k ≤ records: the values of a full scan, but for rounding.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.boxes.costs import CostTables
from shoal.boxes.division import FAN
from shoal.boxes.heaps import pop, push
from shoal.boxes.kernels import cell_cost
from shoal.boxes.record_tree import DEPTH, ENTRIES, IS_LEAF, RecordTree
from shoal.compiling import kernel

Ints = NDArray[np.int32]
Longs = NDArray[np.int64]
Floats = NDArray[np.float64]
POINTS_PER_TURN = 2_000


def neighbour_costs(tree: RecordTree, counts: Longs, costs: CostTables, k: int) -> Floats:
    """Of each point: the cost of the pair with the (k − 1)-th nearest other record."""
    found = np.zeros(len(counts))
    order = np.argsort(tree.leaves, kind="stable")  # those who look at the same nodes come one after the other
    for first in range(0, len(order), POINTS_PER_TURN):
        look_near(tree, counts, costs, k, order[first : first + POINTS_PER_TURN], found)
    return found


def company_costs(
    tree: RecordTree, counts: Longs, costs: CostTables, k: int, least: Floats, own_weight: float
) -> Floats:
    """Of each point r: the smallest v(S) − y(S) over all sets S of k − 1 other records; k is 2 or more.

    v(S): the largest of least(r), and of least(s) and the cost of the pair r, s for all s in S. y(S): the mean of
    `least` over S, and that of r itself with weight `own_weight`.
    """
    found = np.zeros(len(counts))
    most = largest_below(tree, least)
    order = np.argsort(tree.leaves, kind="stable")
    room = len(counts) + len(most)
    keys, items = np.empty(room), np.empty(room, np.int64)
    for first in range(0, len(order), POINTS_PER_TURN):
        some = order[first : first + POINTS_PER_TURN]
        look_for_company(tree, counts, costs, k, least, most, own_weight, some, found, keys, items)
    return found


@kernel
def look_near(tree: RecordTree, counts: Longs, costs: CostTables, k: int, some: Longs, found: Floats) -> None:
    """`neighbour_costs` of some points, into `found`."""
    codes, node_lo, node_hi = tree.codes, tree.lo, tree.hi
    columns = codes.shape[1]
    room = FAN * (tree.marks[DEPTH] + 1)
    nodes, bounds = np.empty(room, np.int64), np.empty(room)
    keys, items = np.empty(k + 1), np.empty(k + 1, np.int64)  # a heap of those found: −cost, count
    for point in some:
        here = codes[point]
        size, total, best = 0, 0, np.inf  # points found, their records, and what the k-th of these costs
        top = 1
        nodes[0], bounds[0] = 0, -np.inf
        while top > 0:
            top -= 1
            node = nodes[top]
            if bounds[top] >= best:
                continue
            bottom, leaf = top, tree.shape[node, IS_LEAF] == 1
            for entry in range(tree.shape[node, ENTRIES]):
                below = tree.entries[node, entry]
                cost = 0.0
                for j in range(columns):
                    low, high = (codes[below, j], codes[below, j]) if leaf else (node_lo[below, j], node_hi[below, j])
                    cost += cell_cost(costs, j, min(here[j], high), max(here[j], low))
                if cost >= best:
                    continue
                if leaf:
                    size = push(keys, items, size, -cost, counts[below])
                    total += counts[below]
                    while total - items[0] >= k:  # k are found without the dearest
                        total -= items[0]
                        size = pop(keys, items, size)
                    if total >= k:
                        best = -keys[0]
                    continue
                at = top  # the nearest comes last, and so is looked at first
                while at > bottom and bounds[at - 1] < cost:
                    nodes[at], bounds[at] = nodes[at - 1], bounds[at - 1]
                    at -= 1
                nodes[at], bounds[at] = below, cost
                top += 1
        found[point] = -keys[0]


@kernel
def largest_below(tree: RecordTree, values: Floats) -> Floats:
    """Of each node: the largest value of its points."""
    most = np.full(len(tree.shape), -np.inf)
    for node in range(len(most) - 1, -1, -1):  # children come after the node above them
        for entry in range(tree.shape[node, ENTRIES]):
            below = tree.entries[node, entry]
            most[node] = max(most[node], values[below] if tree.shape[node, IS_LEAF] else most[below])
    return most


@kernel
def look_for_company(
    tree: RecordTree,
    counts: Longs,
    costs: CostTables,
    k: int,
    least: Floats,
    most: Floats,
    own_weight: float,
    some: Longs,
    found: Floats,
    keys: Floats,
    items: Longs,
) -> None:
    """`company_costs` of some points, into `found`. `keys` and `items` are room for a heap.

    Nodes and points are met in the order of the smallest v that lets them in; a point is item −1 − point. The best
    company for a v is the k − 1 with the largest `least` among those met: who is below all of them is passed over.
    """
    codes, node_lo, node_hi = tree.codes, tree.lo, tree.hi
    columns = codes.shape[1]
    values, many = np.empty(k + 1), np.empty(k + 1, np.int64)  # a heap of the company: `least`, how many records
    for point in some:
        here, own = codes[point], least[point]
        size, total, together = 0, 0, 0.0  # points of the company, their records, what these add up to
        best, floor = np.inf, -np.inf
        waiting = push(keys, items, 0, own, 0)
        while waiting > 0:
            v, item = keys[0], items[0]
            if own_weight * (v - own) >= best:  # nobody's `least` is above v: the others take nothing away
                break
            waiting = pop(keys, items, waiting)
            if item >= 0:
                leaf = tree.shape[item, IS_LEAF] == 1
                for entry in range(tree.shape[item, ENTRIES]):
                    below = tree.entries[item, entry]
                    if (least[below] if leaf else most[below]) <= floor:
                        continue
                    cost = 0.0
                    for j in range(columns):
                        low, high = (
                            (codes[below, j], codes[below, j]) if leaf else (node_lo[below, j], node_hi[below, j])
                        )
                        cost += cell_cost(costs, j, min(here[j], high), max(here[j], low))
                    if leaf:
                        waiting = push(keys, items, waiting, max(cost, own, least[below]), -1 - below)
                    else:
                        waiting = push(keys, items, waiting, max(cost, own), below)
                continue
            other = -1 - item
            records = counts[other] - (1 if other == point else 0)
            if records == 0 or least[other] <= floor:
                continue
            size = push(values, many, size, least[other], records)
            total += records
            together += records * least[other]
            while total >= k:  # k − 1 are enough, and the smallest leave
                leaving = min(many[0], total - (k - 1))
                total -= leaving
                together -= leaving * values[0]
                many[0] -= leaving
                if many[0] == 0:
                    size = pop(values, many, size)
            if total == k - 1:
                floor = values[0]
                best = min(best, own_weight * (v - own) + (1.0 - own_weight) * (v - together / (k - 1)))
        found[point] = max(0.0, best)  # never below, but for rounding
