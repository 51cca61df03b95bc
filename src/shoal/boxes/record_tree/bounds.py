"""What a record costs at least in any group of k, from its nearest neighbours; `company.py` finds more, slowly.

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
from shoal.workers import side_by_side

Longs = NDArray[np.int64]
Floats = NDArray[np.float64]
Rows = NDArray[np.void]  # of named fields
POINTS_PER_TURN = 2_000


def neighbour_costs(tree: RecordTree, counts: Longs, k: int) -> Floats:
    """Of each point: the cost of the pair with the (k − 1)-th nearest other record."""
    found = np.zeros(len(counts))
    order = np.argsort(tree.leaves, kind="stable")  # those who look at the same nodes come one after the other

    def look(first: int, last: int) -> None:
        for begin in range(first, last, POINTS_PER_TURN):
            look_near(tree, counts, k, order[begin : min(last, begin + POINTS_PER_TURN)], found)

    side_by_side(look, len(order), least=POINTS_PER_TURN)
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
