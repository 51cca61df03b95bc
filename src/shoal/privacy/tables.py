"""The rules as flat arrays, for kernels: what `boxes/costs.py` is to costs, this is to privacy."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from enum import IntEnum
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.privacy.requirements import ALPHA, CLOSENESS, MODELS, Rule
from shoal.privacy.sensitive import SensitiveColumn

Ints = NDArray[np.int32]
Longs = NDArray[np.int64]
Floats = NDArray[np.float64]

FREQUENCY, ENTROPY, DISTINCT, RECURSIVE, EQUAL, ORDERED, HIERARCHICAL, SHARE = range(8)
DISTANCES = {"equal": EQUAL, "ordered": ORDERED, "hierarchical": HIERARCHICAL}


class Layout(IntEnum):
    """What a column's row of `PrivacyTables.layout` says."""

    VALUES = 0  # where its values begin, in all that is kept by value
    SIZE = 1  # how many there are, missing included
    FIRST = 2  # the first code that counts as a place: 0 if anything is missing, else 1
    SHARES = 3  # where the reference distribution begins in `numbers`, by value
    SUMS = 4  # the same, summed up
    SUMS_OF_SUMS = 5  # sums of the sums before each value; one more
    DEPTH = 6  # of its tree
    PATHS = 7  # where the paths of its values begin in `paths`: nodes below the root, −1 beyond
    WEIGHTS = 8  # where the weights of its tree's nodes begin in `numbers`: half of what the edge above stands for
    NODE_SHARES = 9  # the reference distribution's shares below each node
    TREE_TOTAL = 10  # Σ weight · share
    IN_ORDER = 11  # whether runs of it must be in ascending order: closeness asks for it


class PrivacyTables(NamedTuple):
    """What kernels need to know of people, sensitive values and rules.

    Few arrays, because a kernel takes as long to compile as it has arguments: what belongs to one column lies in
    `numbers` and `paths`, where `layout` says.
    """

    k: int
    by_people: bool
    values: Ints  # (records, columns): sensitive codes
    # (records, 1 + columns): a number for the person, and one for person and value in each column; no number is used
    # for two of them. Empty unless people are counted.
    whose: Ints
    pair_values: Ints  # the value of each of these numbers (of persons: none)
    layout: Longs  # (columns, Layout)
    rules: Ints  # (rules, 3): kind, column, and the value that alpha is about (−1: every value)
    bounds: Floats  # (rules, 2): ℓ, t or α; and c of recursive diversity
    numbers: Floats
    paths: Ints


def privacy_tables(
    k: int, rules: Sequence[Rule], columns: Sequence[SensitiveColumn], people: Ints | None, records: int
) -> PrivacyTables:
    """The tables of these rules over these records."""
    values = np.zeros((records, len(columns)), np.int32)
    whose = np.zeros((0 if people is None else records, 1 + len(columns)), np.int32)
    pair_values = [np.zeros(0, np.int32)]
    if people is not None:
        whose[:, 0] = people
        pair_values.append(np.full(int(people.max(initial=-1)) + 1, -1, np.int32))
    for j, column in enumerate(columns):
        values[:, j] = column.codes
        if people is not None:
            found, numbers = np.unique(people.astype(np.int64) * column.size + column.codes, return_inverse=True)
            whose[:, 1 + j] = numbers + sum(map(len, pair_values))
            pair_values.append((found % column.size).astype(np.int32))
    pairs = [None if people is None else whose[:, 1 + j] for j in range(len(columns))]
    shares = [
        column.reference(_counts(column.codes, pair, column.size)) for column, pair in zip(columns, pairs, strict=True)
    ]
    return tables_over(k, rules, columns, shares, people is not None, values, whose, np.concatenate(pair_values))


def tables_over(
    k: int,
    rules: Sequence[Rule],
    columns: Sequence[SensitiveColumn],
    shares: Sequence[Floats],
    by_people: bool,
    values: Ints,
    whose: Ints,
    pair_values: Ints,
) -> PrivacyTables:
    """The tables over arrays that are there already. `shares`: each column's reference distribution, by code."""
    names = [column.name for column in columns]
    compared = {rule.column for rule in rules if rule.model == CLOSENESS}
    layout, numbers_kept, paths = _column_tables(columns, compared, shares)
    return PrivacyTables(
        k=k,
        by_people=by_people,
        values=values,
        whose=whose,
        pair_values=pair_values,
        layout=layout,
        rules=np.array([_rule(rule, names, columns) for rule in rules], np.int32).reshape(-1, 3),
        bounds=np.array([[rule.bound, rule.c] for rule in rules], np.float64).reshape(-1, 2),
        numbers=numbers_kept,
        paths=paths,
    )


def _column_tables(
    columns: Sequence[SensitiveColumn], compared: Collection[str], distributions: Sequence[Floats]
) -> tuple[Longs, Floats, Ints]:
    """`layout`, `numbers` and `paths`."""
    layout = np.zeros((len(columns), len(Layout)), np.int64)
    numbers: list[Floats] = [np.zeros(0)]
    paths: list[Ints] = [np.zeros(0, np.int32)]
    before = 0
    for j, (column, shares) in enumerate(zip(columns, distributions, strict=True)):
        tree = _tree_tables(column, shares)
        layout[j, Layout.VALUES], layout[j, Layout.SIZE] = before, column.size
        layout[j, Layout.IN_ORDER] = column.distance != "equal" and column.name in compared
        layout[j, Layout.FIRST] = 0 if column.some_missing else 1
        layout[j, Layout.DEPTH], layout[j, Layout.PATHS] = tree.paths.shape[1], sum(map(len, paths))
        paths.append(tree.paths.ravel())
        sums = np.cumsum(shares)
        for part, kept in (
            (Layout.SHARES, shares),
            (Layout.SUMS, sums),
            (Layout.SUMS_OF_SUMS, np.concatenate([[0.0], np.cumsum(sums)])),
            (Layout.WEIGHTS, tree.weights),
            (Layout.NODE_SHARES, tree.shares),
            (Layout.TREE_TOTAL, np.array([float(tree.weights @ tree.shares)])),
        ):
            layout[j, part] = sum(map(len, numbers))
            numbers.append(kept)
        before += column.size
    return layout, np.concatenate(numbers), np.concatenate(paths)


def _counts(values: Ints, pairs: Ints | None, size: int) -> Longs:
    """How many records, or people, of the whole table have each value of a column."""
    if pairs is not None:
        values = values[np.unique(pairs, return_index=True)[1]]
    return np.bincount(values, minlength=size)


def _rule(rule: Rule, names: Sequence[str], columns: Sequence[SensitiveColumn]) -> list[int]:
    """Kind, column and value."""
    j = names.index(rule.column)
    if rule.model == CLOSENESS:
        return [DISTANCES[columns[j].distance], j, -1]
    if rule.model != ALPHA:
        return [MODELS.index(rule.model), j, -1]
    if rule.value is None:
        return [SHARE, j, -1]
    code = columns[j].code_of(rule.value)
    return [SHARE, j, columns[j].size if code is None else code]  # a value that nobody has


class _TreeTables(NamedTuple):
    paths: Ints
    weights: Floats
    shares: Floats


def _tree_tables(column: SensitiveColumn, shares: Floats) -> _TreeTables:
    """Edges of the hierarchy, for the earth mover's distance.

    Two values are as far apart as their lowest common ancestor is high, over the height of the tree (Li et al. 2007).
    With an edge between a node and its parent weighing half the difference of their heights, that is the length of the
    way between them; so the distance of two distributions is Σ weight · |difference of the shares below the edge|.
    Missing is a child of the root.
    """
    if column.tree is None or column.distance != "hierarchical":
        return _TreeTables(np.zeros((0, 0), np.int32), np.zeros(0), np.zeros(0))
    tree, height = column.tree, max(1, column.tree.height)
    parents = np.full(len(tree.labels) + 1, 0, np.int32)
    for depth in range(1, tree.paths.shape[1]):
        below = tree.paths[:, depth] >= 0
        parents[tree.paths[below, depth]] = tree.paths[below, depth - 1]
    heights = np.append(tree.heights, 0)  # the last node is "missing"
    heights[0] = height
    weights = (heights[parents] - heights) / (2 * height)
    weights[0] = 0.0
    paths = np.full((column.size, max(1, tree.paths.shape[1] - 1)), -1, np.int32)
    paths[0, 0] = len(tree.labels)
    paths[1:, : tree.paths.shape[1] - 1] = tree.paths[:, 1:]
    node_shares = np.zeros(len(tree.labels) + 1)
    for depth in range(paths.shape[1]):
        reached = paths[:, depth] >= 0
        np.add.at(node_shares, paths[reached, depth], shares[reached])
    return _TreeTables(paths, weights, node_shares)
