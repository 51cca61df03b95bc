"""Cuts: a tree of cuts that says in which part of a table a point lies, made from a sample of its points.

Mondrian's cuts (`along_the_widest`) take the column whose cell costs most, as `cluster/mondrian.py` does; cuts at
random (`at_random`) take any column that divides, so that two rounds have few borders in common. A cut divides the
weight by how many parts are still to be made on either side: where five parts are wanted, five are made.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shoal.boxes.costs.tables import column_costs
from shoal.records.codebook import CodeBook

Ints = NDArray[np.int32]
Floats = NDArray[np.float64]
Longs = NDArray[np.int64]
LEAF = -1
UNEVEN = 0.2  # the least share of the weight that a side has; a column that cannot give it is tried last
Order = Callable[[Ints, int], Sequence[int]]  # in which order the columns of these points are tried, so deep down
Share = Callable[[int], float]  # how much of the weight goes left where so many parts are to be made


@dataclass(frozen=True)
class Cuts:
    """A tree: a node is a cut (`column`; codes up to `code` go left) or a leaf (column −1; `left` is its number)."""

    column: Ints
    code: Ints
    left: Ints
    right: Ints

    @property
    def leaves(self) -> int:
        return int((self.column == LEAF).sum())

    def leaf_of(self, points: Ints) -> Ints:
        """The leaf that each point lies in."""
        at = np.zeros(len(points), np.int32)
        moving = np.arange(len(points)) if self.column[0] != LEAF else np.zeros(0, np.int64)
        while len(moving):
            node = at[moving]
            goes_left = points[moving, self.column[node]] <= self.code[node]
            at[moving] = np.where(goes_left, self.left[node], self.right[node])
            moving = moving[self.column[at[moving]] != LEAF]
        return self.left[at]

    def used(self, points: Ints, weights: Floats) -> Floats:
        """How much of the weight each column has cut, as a share; more than 1 if it was cut again and again."""
        shares = np.zeros(points.shape[1])
        waiting = [(0, np.arange(len(points)))]
        while waiting:
            node, inside = waiting.pop()
            if self.column[node] == LEAF:
                continue
            shares[self.column[node]] += weights[inside].sum() / weights.sum()
            goes_left = points[inside, self.column[node]] <= self.code[node]
            waiting += [(int(self.left[node]), inside[goes_left]), (int(self.right[node]), inside[~goes_left])]
        return shares

    def neighbours(self) -> list[list[int]]:
        """Of each leaf all others, the nearest first: those that the last cut parted it from, and so on up."""
        found: list[list[int]] = [[] for _ in range(self.leaves)]

        def below(node: int) -> list[int]:
            if self.column[node] == LEAF:
                return [int(self.left[node])]
            left, right = below(int(self.left[node])), below(int(self.right[node]))
            for one in left:
                found[one] += right
            for one in right:
                found[one] += left
            return left + right

        below(0)
        return found


def along_the_widest(points: Ints, weights: Floats, books: Sequence[CodeBook], measure: str, most: float) -> Cuts:
    """Cuts of the column that costs most, in the middle, until no part weighs more than `most`."""
    costs = [column_costs(book, measure) for book in books]
    factors = np.array([book.column.weight for book in books])

    def widest_first(inside: Ints, depth: int) -> Sequence[int]:
        lo, hi = inside.min(axis=0), inside.max(axis=0)
        wide = [float(cost.of(lo[j : j + 1], hi[j : j + 1])[0]) for j, cost in enumerate(costs)]
        order: list[int] = np.argsort(-factors * wide, kind="stable").tolist()
        return order

    return _cut(points, weights, most, widest_first, lambda parts: (parts // 2) / parts)


def at_random(points: Ints, weights: Floats, most: float, rng: np.random.Generator, before: Sequence[Cuts]) -> Cuts:
    """Cuts of the columns that were cut least `before`, by chance among equals, until no part weighs more than `most`.

    Not always in the middle: there the next cut of the same column would be, too.
    """
    used = np.sum([cuts.used(points, weights) for cuts in before], axis=0)
    order = np.lexsort((rng.random(len(used)), np.round(used, 1))).tolist()

    def share(parts: int) -> float:
        third = max(1, parts // 3)
        return float(rng.integers(third, parts - third, endpoint=True)) / parts

    return _cut(
        points, weights, most, lambda inside, depth: order[depth % len(order) :] + order[: depth % len(order)], share
    )


def _cut(points: Ints, weights: Floats, most: float, order: Order, share: Share) -> Cuts:
    nodes: list[list[int]] = [[LEAF, 0, 0, 0]]
    waiting = [(0, 0, np.arange(len(points)))]
    leaves = 0
    while waiting:
        node, depth, inside = waiting.pop()
        parts = int(np.ceil(weights[inside].sum() / most - 1e-9))
        found = (
            _best(points[inside], weights[inside], order(points[inside], depth), share(parts)) if parts > 1 else None
        )
        if found is None:
            nodes[node][2] = leaves
            leaves += 1
            continue
        column, code = found
        goes_left = points[inside, column] <= code
        nodes[node] = [column, code, len(nodes), len(nodes) + 1]
        waiting += [(len(nodes) + 1, depth + 1, inside[~goes_left]), (len(nodes), depth + 1, inside[goes_left])]
        nodes += [[LEAF, 0, 0, 0], [LEAF, 0, 0, 0]]
    return Cuts(*np.array(nodes, np.int32).T.copy())


def _best(points: Ints, weights: Floats, order: Sequence[int], share: float) -> tuple[int, int] | None:
    """The first column in order whose best cut is even enough, else the evenest; None if all points are alike."""
    total, best, found = float(weights.sum()), 0.0, None
    for column in order:
        codes, numbers = np.unique(points[:, column], return_inverse=True)
        if len(codes) == 1:
            continue
        up_to = np.cumsum(np.bincount(numbers, weights))[:-1] / total
        at = int(np.argmin(np.abs(up_to - share)))
        side = float(min(up_to[at], 1 - up_to[at]))
        if side > best:
            best, found = side, (int(column), int(codes[at]))
        if best >= min(UNEVEN, share / 2):
            break
    return found
