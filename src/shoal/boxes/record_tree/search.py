"""The nearest record to a box, and the furthest from a record."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.boxes.costs.kernels import cell_cost, surely_above
from shoal.boxes.grouping import FAN
from shoal.boxes.record_tree.build import RecordTree
from shoal.boxes.stack import WAITING, push_ordered
from shoal.compiling import allocating
from shoal.compiling.structs import Struct, struct

Ints = NDArray[np.int32]
Bools = NDArray[np.bool_]


@struct
class LabelPenalty(Struct):
    """What a record costs more if its label is not a favoured one."""

    labels: Ints  # of each record
    favoured: Bools  # of each label
    penalty: float


def label_penalty(labels: Ints, penalty: float) -> LabelPenalty:
    """No label is favoured yet."""
    return LabelPenalty(labels, np.zeros(int(labels.max()) + 1, np.bool_), float(penalty))


def no_penalty() -> LabelPenalty:
    return label_penalty(np.zeros(1, np.int32), 0.0)


@allocating
def nearest(tree: RecordTree, lo: Ints, hi: Ints, weight: float, least: float, labels: LabelPenalty) -> int:
    """The free record for which `weight · cost − own` is smallest, plus the penalty if its label is not favoured.

    `least`: no record can be below it, so the search ends where it is reached. −1 if no record is free.
    """
    columns = len(lo)
    costs, codes, own, entries, tree_nodes = tree.costs, tree.codes, tree.own, tree.entries, tree.nodes
    node_lo, node_hi, state = tree.lo, tree.hi, tree.state
    label_of, favoured, penalty = labels.labels, labels.favoured, labels.penalty
    best, chosen = np.inf, -1
    now, rest = np.empty(columns), np.zeros(columns + 1)  # what the box costs in each column, and in those after it
    for j in range(columns - 1, -1, -1):
        now[j] = cell_cost(costs, j, lo[j], hi[j])
        rest[j] = rest[j + 1] + now[j]
    stack = np.empty(FAN * (state[0].depth + 1), WAITING)
    top = 1
    stack[0].node, stack[0].bound = 0, -np.inf
    while top > 0 and best > least:
        top -= 1
        if stack[top].bound >= best:
            continue
        node, bottom = stack[top].node, top
        count, leaf = tree_nodes[node].count, tree_nodes[node].leaf
        state[0].looked_at += count
        for entry in range(count):
            below = entries[node, entry]
            most = surely_above((best + (own[below] if leaf else tree_nodes[below].most_own)) / weight)
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
                if penalty > 0.0 and not favoured[label_of[below]]:
                    value += penalty
                if value < best:
                    best, chosen = value, below
                continue
            bound = weight * cost - tree_nodes[below].most_own
            if bound < best:
                push_ordered(stack, bottom, top, below, bound)
                top += 1
    return chosen


@allocating
def furthest(tree: RecordTree, record: int, weight: float) -> int:
    """The free record for which `weight · cost(both) − own` is largest; −1 if none is free."""
    costs, codes, own, entries, tree_nodes = tree.costs, tree.codes, tree.own, tree.entries, tree.nodes
    node_lo, node_hi = tree.lo, tree.hi
    here = codes[record]
    columns = len(here)
    best, chosen = -np.inf, -1
    rest = np.zeros(columns + 1)  # what anybody costs at most in a column and those after it
    for j in range(columns - 1, -1, -1):
        down = cell_cost(costs, j, min(here[j], node_lo[0, j]), here[j])
        rest[j] = rest[j + 1] + max(down, cell_cost(costs, j, here[j], max(here[j], node_hi[0, j])))
    stack = np.empty(FAN * (tree.state[0].depth + 1), WAITING)  # upper bounds, negated: the furthest comes last
    top = 1
    stack[0].node, stack[0].bound = 0, -np.inf
    while top > 0:
        top -= 1
        if -stack[top].bound <= best:
            continue
        node, bottom = stack[top].node, top
        count, leaf = tree_nodes[node].count, tree_nodes[node].leaf
        for entry in range(count):
            below = entries[node, entry]
            fewest = -surely_above(-(best + (own[below] if leaf else tree_nodes[below].least_own)) / weight)
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
            bound = weight * cost - tree_nodes[below].least_own
            if bound > best:
                push_ordered(stack, bottom, top, below, -bound)
                top += 1
    return chosen
