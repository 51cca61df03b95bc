"""Chains: the cells that may be published for a code, from the narrowest up, in every column that has a hierarchy.

A cell is a node of the hierarchy, the mix with missing, or missing alone. Cells of one chain cost more and more: of
nodes that cost the same the uppermost stands for all. So a cell covers a code exactly if it costs nothing to bring the
code into it, and this is what the catalog of groups is made by (`group_tree/catalog.py`).
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.arrays import row_type

Rows = NDArray[np.void]
Ints = NDArray[np.int32]
Floats = NDArray[np.float64]
MISSING, MIXED, FIRST_NODE = 0, 1, 2  # numbers of cells
ROUNDING = 1e-12  # a difference in costs that is none: logarithms have it
NONE = -1
CHAINED = row_type([("column", np.int64), ("start", np.int64)])  # where the rows of a column's codes begin
CELL = row_type([("number", np.int32), ("last", np.int32)])  # of a cell: its number, and the last code that it covers
# What a cell costs, and how much more that is than any cell within it; none: infinite.
PRICE = row_type([("cost", np.float64), ("step", np.float64)])


class Chains(NamedTuple):
    """Of all columns with a hierarchy, fewest values first; each code has a row."""

    columns: Rows  # CHAINED
    cells: Rows  # (rows, longest) of CELL; −1 beyond a chain's end
    prices: Rows  # (rows, longest) of PRICE; infinite beyond a chain's end
    edition: int  # names these cells: with other values in a column they may have other numbers


def column_chains(paths: Ints, costs: Floats, full: float, single_missing: float) -> tuple[Rows, Rows]:
    """`cells` and `prices` of one column. `paths`: of each code, root first, −1 beyond; row 0, missing, is unused."""
    size, depth = paths.shape
    codes = np.arange(size)
    lasts = np.full(FIRST_NODE + len(costs), size - 1)
    lasts[MISSING] = 0
    for nodes in paths[1:].T:  # codes ascend, so the last one that is assigned is the largest
        lasts[FIRST_NODE + nodes[nodes >= 0]] = codes[1:][nodes >= 0]
    cells, prices = _empty(size, depth + 1)
    lengths = np.zeros(size, np.int64)

    def lengthen(rows: NDArray[np.integer], numbers: NDArray[np.integer], cost: Floats) -> None:
        """One cell more for these rows; where it costs no more than the one below, it takes that one's place."""
        below = prices["cost"][rows, np.maximum(lengths[rows] - 1, 0)]
        rises = (lengths[rows] == 0) | (cost > below + ROUNDING)
        at = np.where(rises, lengths[rows], lengths[rows] - 1)
        lengths[rows] = at + 1
        cells["number"][rows, at], cells["last"][rows, at] = numbers, lasts[numbers]
        prices["cost"][rows, at] = np.where(rises, cost, below)

    for nodes in paths.T[::-1]:
        rows = codes[1:][nodes[1:] >= 0]
        lengthen(rows, FIRST_NODE + nodes[rows], costs[nodes[rows]])
    lengthen(codes[:1], np.array([MISSING]), np.array([single_missing]))
    lengthen(codes, np.full(size, MIXED), np.full(size, full))
    within = np.full(len(lasts), -np.inf)  # of each cell: the most that one within it costs
    for i in range(1, depth + 1):
        rows = codes[lengths > i]
        np.maximum.at(within, cells["number"][rows, i], prices["cost"][rows, i - 1])
    there = cells["number"] != NONE
    prices["step"][there] = prices["cost"][there] - within[cells["number"][there]]
    return cells, prices


def _empty(rows: int, longest: int) -> tuple[Rows, Rows]:
    """Cells and prices of none. By number, which is many times as quick as by field."""
    cells = np.full((rows, longest, 2), NONE, np.int32).view(CELL)
    prices = np.full((rows, longest, 2), np.inf).view(PRICE)
    return cells.reshape(rows, longest), prices.reshape(rows, longest)


def join_chains(columns: Sequence[int], parts: Sequence[tuple[Rows, Rows]]) -> Chains:
    """The chains of several columns as one."""
    order = sorted(range(len(parts)), key=lambda i: len(parts[i][0]))
    longest = max((cells.shape[1] for cells, _ in parts), default=1)
    rows = sum(len(cells) for cells, _ in parts)
    joined, prices = _empty(rows, longest)
    starts = np.zeros(len(parts), CHAINED)
    start = 0
    for row, i in enumerate(order):
        size, length = parts[i][0].shape
        joined[start : start + size, :length], prices[start : start + size, :length] = parts[i]
        starts[row] = columns[i], start
        start += size
    digest = hashlib.blake2b(starts.tobytes() + joined.tobytes(), digest_size=7).digest()  # a number below 2⁵⁶
    return Chains(starts, joined, prices, int.from_bytes(digest, "big"))
