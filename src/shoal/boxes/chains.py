"""Chains: the cells that may be published for a code, from the narrowest up, in every column that has a hierarchy.

A cell is a node of the hierarchy, the mix with missing, or missing alone. Cells of one chain cost more and more: of
nodes that cost the same the uppermost stands for all. So a cell covers a code exactly if it costs nothing to bring the
code into it, and this is what the catalog of groups is made by (`catalog.py`).
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int32]
Longs = NDArray[np.int64]
Floats = NDArray[np.float64]
MISSING, MIXED, FIRST_NODE = 0, 1, 2  # numbers of cells
ROUNDING = 1e-12  # a difference in costs that is none: logarithms have it
NONE = -1
CELL, LAST = 0, 1  # in `cells`: its number, and the last code that it covers
COST, STEP = 0, 1  # in `prices`: what it costs, and how much more that is than any cell within it; none: infinite


class Chains(NamedTuple):
    """Of all columns with a hierarchy, fewest values first; each code has a row."""

    columns: Longs  # (columns, 2): which column of the table, and where the rows of its codes begin
    cells: Ints  # (rows, longest, 2); −1 beyond a chain's end
    prices: Floats  # (rows, longest, 2); infinite beyond a chain's end
    edition: int  # names these cells: with other values in a column they may have other numbers


def column_chains(paths: Ints, costs: Floats, full: float, single_missing: float) -> tuple[Ints, Floats]:
    """`cells` and `prices` of one column. `paths`: of each code, root first, −1 beyond; row 0, missing, is unused."""
    size, depth = paths.shape
    codes = np.arange(size)
    lasts = np.full(FIRST_NODE + len(costs), size - 1)
    lasts[MISSING] = 0
    for nodes in paths[1:].T:  # codes ascend, so the last one that is assigned is the largest
        lasts[FIRST_NODE + nodes[nodes >= 0]] = codes[1:][nodes >= 0]
    cells = np.full((size, depth + 1, 2), NONE, np.int32)
    prices = np.full((size, depth + 1, 2), np.inf)
    lengths = np.zeros(size, np.int64)

    def lengthen(rows: NDArray[np.integer], numbers: NDArray[np.integer], cost: Floats) -> None:
        """One cell more for these rows; where it costs no more than the one below, it takes that one's place."""
        below = prices[rows, np.maximum(lengths[rows] - 1, 0), COST]
        rises = (lengths[rows] == 0) | (cost > below + ROUNDING)
        places = np.where(rises, lengths[rows], lengths[rows] - 1)
        lengths[rows] = places + 1
        cells[rows, places, CELL], cells[rows, places, LAST] = numbers, lasts[numbers]
        prices[rows, places, COST] = np.where(rises, cost, below)

    for nodes in paths.T[::-1]:
        rows = codes[1:][nodes[1:] >= 0]
        lengthen(rows, FIRST_NODE + nodes[rows], costs[nodes[rows]])
    lengthen(codes[:1], np.array([MISSING]), np.array([single_missing]))
    lengthen(codes, np.full(size, MIXED), np.full(size, full))
    within = np.full(len(lasts), -np.inf)  # of each cell: the most that one within it costs
    for place in range(1, depth + 1):
        rows = codes[lengths > place]
        np.maximum.at(within, cells[rows, place, CELL], prices[rows, place - 1, COST])
    there = cells[:, :, CELL] != NONE
    prices[there, STEP] = prices[there, COST] - within[cells[there, CELL]]
    return cells, prices


def join_chains(columns: Sequence[int], parts: Sequence[tuple[Ints, Floats]]) -> Chains:
    """The chains of several columns as one."""
    order = sorted(range(len(parts)), key=lambda i: len(parts[i][0]))
    longest = max((cells.shape[1] for cells, _ in parts), default=1)
    rows = sum(len(cells) for cells, _ in parts)
    joined = np.full((rows, longest, 2), NONE, np.int32)
    prices = np.full((rows, longest, 2), np.inf)
    places = np.zeros((len(parts), 2), np.int64)
    start = 0
    for place, i in enumerate(order):
        size, length = parts[i][0].shape[:2]
        joined[start : start + size, :length], prices[start : start + size, :length] = parts[i]
        places[place] = columns[i], start
        start += size
    digest = hashlib.blake2b(places.tobytes() + joined.tobytes(), digest_size=7).digest()  # a number below 2⁵⁶
    return Chains(places, joined, prices, int.from_bytes(digest, "big"))
