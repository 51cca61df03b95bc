"""The rules as flat arrays, for kernels: what `boxes/costs.py` is to costs, this is to privacy."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.arrays import row_type
from shoal.privacy.requirements import ALPHA, CLOSENESS, MODELS, Rule
from shoal.privacy.sensitive import Distribution, SensitiveColumn

Ints = NDArray[np.int32]
Longs = NDArray[np.int64]
Floats = NDArray[np.float64]
Rows = NDArray[np.void]  # of named fields

FREQUENCY, ENTROPY, DISTINCT, RECURSIVE, EQUAL, ORDERED, HIERARCHICAL, SHARE = range(8)
DISTANCES = {"equal": EQUAL, "ordered": ORDERED, "hierarchical": HIERARCHICAL}


COLUMN = row_type(
    [
        ("values", "i8"),  # where its values begin, in all that is kept by value
        ("n_values", "i8"),  # how many there are, missing included
        ("first", "i8"),  # the first code that has a rank: 0 if anything is missing, else 1
        ("shares", "i8"),  # where the reference distribution begins in `numbers`, by value
        ("sums", "i8"),  # the same, summed up
        ("sums_of_sums", "i8"),  # sums of the sums before each value; one more
        ("depth", "i8"),  # of its tree
        ("paths", "i8"),  # where the paths of its values begin in `paths`: nodes below the root, −1 beyond
        ("weights", "i8"),  # where the weights of its tree's nodes begin in `numbers`: half of each edge's
        ("node_shares", "i8"),  # where the reference distribution's shares below each node begin
        ("tree_total", "f8"),  # Σ weight · share
        ("in_order", "?"),  # whether runs of it must be in ascending order: closeness asks for it
    ]
)
RULE = row_type(
    [
        ("kind", "i8"),
        ("column", "i8"),
        ("value", "i8"),  # that alpha is about; −1: every value
        ("bound", "f8"),  # ℓ, t or α
        ("c", "f8"),  # of recursive diversity
    ]
)


class RecordCodes(NamedTuple):
    """The sensitive values of the records, and whose they are."""

    by_people: bool  # whether people are counted, of whom one may have several records
    values: Ints  # (records, columns): sensitive codes
    # (records, 1 + columns): a number for the person, and one for person and value in each column; no number is used
    # for two of them. Empty unless people are counted.
    whose: Ints
    pair_values: Ints  # the value of each of these numbers (of persons: none)


class PrivacyTables(NamedTuple):
    """What kernels need to know of people, sensitive values and rules."""

    asked: bool  # whether more is asked than k records
    k: int
    by_people: bool  # this and the next three: see `RecordCodes`
    values: Ints
    whose: Ints
    pair_values: Ints
    columns: Rows  # COLUMN
    rules: Rows  # RULE
    numbers: Floats  # of all columns: see COLUMN
    paths: Ints


def privacy_tables(
    k: int,
    rules: Sequence[Rule],
    columns: Sequence[SensitiveColumn],
    people: Ints | None,
    records: int,
    reference: Mapping[str, Distribution] | None = None,
) -> PrivacyTables:
    """The tables of these rules over these records. `reference`: what closeness is measured against, by column; of
    others it is the distribution of these records.
    """
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
    given = reference or {}
    shares = [
        column.shares_in(given[column.name]) if column.name in given else shares_of(column.codes, pair, column.size)
        for column, pair in zip(columns, pairs, strict=True)
    ]
    codes = RecordCodes(people is not None, values, whose, np.concatenate(pair_values))
    return tables_over(k, rules, columns, shares, codes)


def tables_over(
    k: int, rules: Sequence[Rule], columns: Sequence[SensitiveColumn], shares: Sequence[Floats], codes: RecordCodes
) -> PrivacyTables:
    """The tables over arrays that are there already. `shares`: each column's reference distribution, by code."""
    names = [column.name for column in columns]
    compared = {rule.column for rule in rules if rule.model == CLOSENESS}
    rows, numbers, paths = _column_tables(columns, compared, shares)
    asked = bool(rules) or codes.by_people
    rule_rows = np.array([_rule(rule, names, columns) for rule in rules], RULE)
    return PrivacyTables(asked, k, *codes, rows, rule_rows, numbers, paths)


def _column_tables(
    columns: Sequence[SensitiveColumn], compared: Collection[str], distributions: Sequence[Floats]
) -> tuple[Rows, Floats, Ints]:
    """`columns`, `numbers` and `paths`."""
    rows = np.zeros(len(columns), COLUMN)
    numbers: list[Floats] = [np.zeros(0)]
    paths: list[Ints] = [np.zeros(0, np.int32)]
    before = 0
    for row, column, shares in zip(rows, columns, distributions, strict=True):
        tree = _tree_tables(column, shares)
        row["values"], row["n_values"] = before, column.size
        row["first"] = 0 if column.some_missing else 1
        row["in_order"] = column.distance != "equal" and column.name in compared
        row["depth"], row["paths"] = tree.paths.shape[1], sum(map(len, paths))
        row["tree_total"] = tree.weights @ tree.shares
        paths.append(tree.paths.ravel())
        sums = np.cumsum(shares)
        for part, kept in (
            ("shares", shares),
            ("sums", sums),
            ("sums_of_sums", np.concatenate([[0.0], np.cumsum(sums)])),
            ("weights", tree.weights),
            ("node_shares", tree.shares),
        ):
            row[part] = sum(map(len, numbers))
            numbers.append(kept)
        before += column.size
    return rows, np.concatenate(numbers), np.concatenate(paths)


def shares_of(values: Ints, pairs: Ints | None, size: int) -> Floats:
    """The share of each code: of the records, or of the people (`pairs`: of person and value) who have it."""
    if pairs is not None:
        values = values[np.unique(pairs, return_index=True)[1]]
    counts = np.bincount(values, minlength=size)
    return counts / max(1, counts.sum())


def shares_in(tables: PrivacyTables, j: int) -> Floats:
    """The distribution that groups are compared with in column j, by code."""
    row = tables.columns[j]
    return tables.numbers[row["shares"] : row["shares"] + row["n_values"]].copy()


def _rule(rule: Rule, names: Sequence[str], columns: Sequence[SensitiveColumn]) -> tuple[int, int, int, float, float]:
    """A RULE."""
    j = names.index(rule.column)
    value = -1
    if rule.model == CLOSENESS:
        kind = DISTANCES[columns[j].distance]
    elif rule.model != ALPHA:
        kind = MODELS.index(rule.model)
    else:
        kind = SHARE
        if rule.value is not None:
            code = columns[j].code_of(rule.value)
            value = columns[j].size if code is None else code  # a value that nobody has
    return kind, j, value, rule.bound, rule.c


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
