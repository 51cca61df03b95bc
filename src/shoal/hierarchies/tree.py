"""Tree: a hierarchy grown over the values of a column, as arrays.

Leaf i is the i-th leaf in depth-first order. A node is a number; its leaves are a run of neighbouring leaf numbers,
which is why a set of values can be kept as a pair of numbers.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.errors import HierarchyError

ROOT = "*"

Ints = NDArray[np.int32]
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Tree:
    """A rooted tree with ordered leaves.

    Guarantee: paths are root first and padded with −1; heights and breadths never fall on the way from a leaf to the
    root, so every cost that is read from them grows with the set of values (the trees over boxes rely on it).
    """

    leaves: list[str]  # the published form of each leaf
    labels: list[str]  # of each node
    paths: Ints  # (leaves, depth): the nodes from the root down to the leaf
    heights: Ints  # of each node: its level, counted from the leaves (the longest path below it)
    breadths: Floats  # of each node: (domain values below − 1) / (all domain values − 1), the LM cost of a cell
    published: Ints  # of each node: the node whose label is published for it (an ancestor below `min_level`)
    min_level: int = 0
    spans: NDArray[np.number[Any]] | None = None  # of each node but the root, on an axis: (nodes, 2)

    @property
    def height(self) -> int:
        return int(self.heights[0])

    def common_ancestor(self, first: Ints, last: Ints) -> Ints:
        """The node to publish for the leaves `first..last`, elementwise: their LCA, or its stand-in."""
        return self.published[lowest_common(self.paths, first, last)]

    def at_least(self, level: int) -> Tree:
        """The same tree, publishing nothing below `level` (0 = the values themselves)."""
        if self.leaves and level > self.height:
            raise HierarchyError(
                f"min_level must be at most the hierarchy's height, {self.height}. Got {level} instead."
            )
        published = np.arange(len(self.labels), dtype=np.int32)
        for path in self.paths if level else ():
            nodes = path[path >= 0]
            for below, node in zip(nodes[1:], nodes, strict=False):  # from the root down
                if self.heights[below] < level:
                    published[below] = published[node]
        return replace(self, published=published, min_level=level)

    def attach(self, values: list[str]) -> Tree:
        """The same tree with new leaves under the root, after the last leaf: no other code moves."""
        taken = set(self.labels)
        for value in values:
            if value in taken:
                raise HierarchyError(
                    "a value to attach has the name of a group of the hierarchy: a label must name one set of "
                    "values. Rename the group."
                )
        size, depth = len(self.leaves), max(2, self.paths.shape[1])
        paths = np.full((size + len(values), depth), -1, np.int32)
        paths[:size, : self.paths.shape[1]] = self.paths
        paths[size:, 0] = 0
        paths[size:, 1] = len(self.labels) + np.arange(len(values))
        return tree_of(self.leaves + values, self.labels + values, paths).at_least(self.min_level)

    def counting(self, counted: NDArray[np.bool_]) -> Tree:
        """The same tree, where only these leaves make breadths: others came after the domain was frozen."""
        below = np.zeros(len(self.labels))
        for depth in range(self.paths.shape[1]):
            reached = counted & (self.paths[:, depth] >= 0)
            np.add.at(below, self.paths[reached, depth], 1.0)
        return replace(self, breadths=np.maximum(below - 1, 0) / max(1, int(counted.sum()) - 1))


def lowest_common(paths: Ints, first: Ints, last: Ints) -> Ints:
    """The last node that two paths share, elementwise. Row 0 of a table with a row for "missing" has no node: −1."""
    shared = (paths[first] == paths[last]) & (paths[first] >= 0)
    return paths[first, np.cumprod(shared, axis=1).sum(axis=1) - 1]


def tree_of(leaves: list[str], labels: list[str], paths: Ints) -> Tree:
    """The tree with these paths: heights are longest paths below, breadths count leaves."""
    ends = (paths >= 0).sum(axis=1) - 1
    heights = np.zeros(len(labels), np.int32)
    for depth in range(paths.shape[1]):
        reached = paths[:, depth] >= 0
        np.maximum.at(heights, paths[reached, depth], (ends[reached] - depth).astype(np.int32))
    below = np.bincount(paths[paths >= 0], minlength=len(labels)).astype(np.float64)
    return Tree(
        leaves=leaves,
        labels=labels,
        paths=paths,
        heights=heights,
        breadths=(below - 1) / max(1, len(leaves) - 1),
        published=np.arange(len(labels), dtype=np.int32),
    )


def grow_levels(leaves: list[str], levels: list[tuple[NDArray[np.generic], list[str]]]) -> Tree:
    """A tree of full levels over sorted leaves.

    `levels` goes from just above the leaves to just below the root. Each has a key per leaf, equal on the leaves of
    one node (which must be neighbours), and the label of each node in order. The root, `*`, is added.
    """
    columns = [np.zeros(len(leaves), np.int32)]
    labels = [ROOT]
    for keys, names in reversed(levels):
        starts = np.ones(len(leaves), bool)
        starts[1:] = keys[1:] != keys[:-1]
        columns.append((len(labels) - 1 + np.cumsum(starts)).astype(np.int32))
        labels += names
    columns.append((len(labels) + np.arange(len(leaves))).astype(np.int32))
    return tree_of(leaves, labels + leaves, np.stack(columns, axis=1))
