"""What a record costs at least in any group of k: from its nearest neighbours, and from those who keep it company.

The cost of a pair is that of the box around both. Points are different records, each with its count: records that are
equal have the same neighbours, and are each other's. `measures/bound.py` says what the numbers are good for.

Guarantee, for costs that grow with the interval, given k ≤ records: the values of a full scan, but for rounding.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.boxes.costs.kernels import cell_cost
from shoal.boxes.grouping import FAN
from shoal.boxes.heap import HEAP, pop, push
from shoal.boxes.record_tree.build import RecordTree
from shoal.boxes.stack import WAITING, push_ordered
from shoal.compiling import kernel
from shoal.compiling.structs import Struct, struct

Longs = NDArray[np.int64]
Floats = NDArray[np.float64]
Rows = NDArray[np.void]  # of named fields
POINTS_PER_TURN = 2_000


@struct
class Company(Struct):
    """What is looked for: see `company_costs`."""

    tree: RecordTree
    counts: Longs
    k: int
    own_weight: float
    least: Floats
    most: Floats  # of each node: the largest `least` of its points
    heap: Rows  # HEAP: room for all nodes and points


def neighbour_costs(tree: RecordTree, counts: Longs, k: int) -> Floats:
    """Of each point: the cost of the pair with the (k − 1)-th nearest other record."""
    found = np.zeros(len(counts))
    order = np.argsort(tree.leaves, kind="stable")  # those who look at the same nodes come one after the other
    for first in range(0, len(order), POINTS_PER_TURN):
        look_near(tree, counts, k, order[first : first + POINTS_PER_TURN], found)
    return found


def company_costs(tree: RecordTree, counts: Longs, k: int, least: Floats, own_weight: float) -> Floats:
    """Of each point r: the smallest v(S) − y(S) over all sets S of k − 1 other records; k is 2 or more.

    v(S): the largest of least(r), and of least(s) and the cost of the pair r, s for all s in S. y(S): the mean of
    `least` over S, and that of r itself with weight `own_weight`.
    """
    found = np.zeros(len(counts))
    most = largest_below(tree, least)
    heap = np.empty(len(counts) + len(most), HEAP)
    company = Company(tree, counts, k, own_weight, least, most, heap)
    order = np.argsort(tree.leaves, kind="stable")
    for first in range(0, len(order), POINTS_PER_TURN):
        look_for_company(company, order[first : first + POINTS_PER_TURN], found)
    return found


@kernel
def look_near(tree: RecordTree, counts: Longs, k: int, some: Longs, found: Floats) -> None:
    """`neighbour_costs` of some points, into `found`."""
    costs, codes, entries, tree_nodes = tree.costs, tree.codes, tree.entries, tree.nodes
    node_lo, node_hi = tree.lo, tree.hi
    columns = codes.shape[1]
    stack = np.empty(FAN * (tree.state[0].depth + 1), WAITING)
    heap = np.empty(k + 1, HEAP)  # of those found: −cost, count
    for point in some:
        here = codes[point]
        size, total, best = 0, 0, np.inf  # points found, their records, and what the k-th of these costs
        top = 1
        stack[0].node, stack[0].bound = 0, -np.inf
        while top > 0:
            top -= 1
            if stack[top].bound >= best:
                continue
            node, bottom = stack[top].node, top
            leaf = tree_nodes[node].leaf
            for entry in range(tree_nodes[node].count):
                below = entries[node, entry]
                cost = 0.0
                for j in range(columns):
                    low, high = (codes[below, j], codes[below, j]) if leaf else (node_lo[below, j], node_hi[below, j])
                    cost += cell_cost(costs, j, min(here[j], high), max(here[j], low))
                if cost >= best:
                    continue
                if leaf:
                    size = push(heap, size, -cost, counts[below])
                    total += counts[below]
                    while total - heap[0].entry >= k:  # k are found without the dearest
                        total -= heap[0].entry
                        size = pop(heap, size)
                    if total >= k:
                        best = -heap[0].key
                    continue
                push_ordered(stack, bottom, top, below, cost)
                top += 1
        found[point] = -heap[0].key


@kernel
def largest_below(tree: RecordTree, values: Floats) -> Floats:
    """Of each node: the largest value of its points."""
    nodes, entries = tree.nodes, tree.entries
    most = np.full(len(nodes), -np.inf)
    for node in range(len(most) - 1, -1, -1):  # children come after the node above them
        for entry in range(nodes[node].count):
            below = entries[node, entry]
            most[node] = max(most[node], values[below] if nodes[node].leaf else most[below])
    return most


@kernel
def look_for_company(company: Company, some: Longs, found: Floats) -> None:
    """`company_costs` of some points, into `found`.

    Nodes and points are met in the order of the smallest v that lets them in; a point is item −1 − point. The best
    company for a v is the k − 1 with the largest `least` among those met: who is below all of them is passed over.
    """
    tree, counts, k, own_weight = company.tree, company.counts, company.k, company.own_weight
    least, most, waiting = company.least, company.most, company.heap
    costs, codes, entries, tree_nodes = tree.costs, tree.codes, tree.entries, tree.nodes
    node_lo, node_hi = tree.lo, tree.hi
    columns = codes.shape[1]
    met = np.empty(k + 1, HEAP)  # the company: `least`, how many records
    for point in some:
        here, own = codes[point], least[point]
        size, total, together = 0, 0, 0.0  # points of the company, their records, what these add up to
        best, floor = np.inf, -np.inf
        n_waiting = push(waiting, 0, own, 0)
        while n_waiting > 0:
            v, item = waiting[0].key, waiting[0].entry
            if own_weight * (v - own) >= best:  # nobody's `least` is above v: the others take nothing away
                break
            n_waiting = pop(waiting, n_waiting)
            if item >= 0:
                leaf = tree_nodes[item].leaf
                for entry in range(tree_nodes[item].count):
                    below = entries[item, entry]
                    if (least[below] if leaf else most[below]) <= floor:
                        continue
                    cost = 0.0
                    for j in range(columns):
                        low, high = (
                            (codes[below, j], codes[below, j]) if leaf else (node_lo[below, j], node_hi[below, j])
                        )
                        cost += cell_cost(costs, j, min(here[j], high), max(here[j], low))
                    if leaf:
                        n_waiting = push(waiting, n_waiting, max(cost, own, least[below]), -1 - below)
                    else:
                        n_waiting = push(waiting, n_waiting, max(cost, own), below)
                continue
            other = -1 - item
            records = counts[other] - (1 if other == point else 0)
            if records == 0 or least[other] <= floor:
                continue
            size = push(met, size, least[other], records)
            total += records
            together += records * least[other]
            while total >= k:  # k − 1 are enough, and the smallest leave
                leaving = min(met[0].entry, total - (k - 1))
                total -= leaving
                together -= leaving * met[0].key
                met[0].entry -= leaving
                if met[0].entry == 0:
                    size = pop(met, size)
            if total == k - 1:
                floor = met[0].key
                best = min(best, own_weight * (v - own) + (1.0 - own_weight) * (v - together / (k - 1)))
        found[point] = max(0.0, best)  # never below, but for rounding
