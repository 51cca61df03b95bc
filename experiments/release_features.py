"""Published cells as features of a classifier: what is to be expected of a value that is drawn evenly from its cell.

So an original row and a generalized one live in the same space, and an original row looks as usual: numbers, and ones
and zeros for categories. `drawn` makes a release look like original rows before that.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments.cells_of_records import CellsOfRecords
from shoal.records.codebook import CodeBook

ROUNDS = 10  # of estimating a distribution; after many more, naive Bayes learns worse from what is drawn
Floats = NDArray[np.float64]
Ints = NDArray[np.int32]
Numbers = NDArray[np.number[Any]]
Ranges = Mapping[str, tuple[int, int]]  # of each column of numbers: the least and the greatest there may be


def expectations(cells: CellsOfRecords, ranges: Ranges) -> Floats:
    """The middle of an interval, scaled to 0..1; for categories, the share of each leaf below the published node."""
    columns = []
    for j, book in enumerate(cells.books):
        low, high = _ends(cells, j)
        if book.axis is None:
            columns.append(_evenly(_all_values(book, ranges), low, high))
        else:
            least, most = ranges[book.name]
            middle: Floats = (low.astype(np.float64) + high.astype(np.float64)) / 2
            columns.append(((middle - least) / (most - least))[:, None])
    return np.concatenate(columns, axis=1)


def shares(cells: CellsOfRecords, ranges: Ranges) -> Floats:
    """The share of each value in its cell, for numbers too, as if they were categories: 1 for each column."""
    columns = [_evenly(_all_values(book, ranges), *_ends(cells, j)) for j, book in enumerate(cells.books)]
    return np.concatenate(columns, axis=1)


def _ends(cells: CellsOfRecords, j: int) -> tuple[Numbers, Numbers]:
    """The first and the last value of each cell: whole numbers, or codes of leaves."""
    axis = cells.books[j].axis
    first, last = cells.first[:, j], cells.last[:, j]
    return (first, last) if axis is None else (axis[first - 1], axis[last - 1])


def _all_values(book: CodeBook, ranges: Ranges) -> NDArray[np.int64]:
    """The leaves of a declared hierarchy are the same whatever rows it was grown over; numbers need a range."""
    least, most = (1, book.size - 1) if book.axis is None else ranges[book.name]
    return np.arange(least, most + 1)


def _evenly(values: NDArray[np.int64], low: Numbers, high: Numbers) -> Floats:
    inside = (values >= low[:, None]) & (values <= high[:, None])
    return inside / inside.sum(axis=1, keepdims=True)


def drawn(cells: CellsOfRecords, rng: np.random.Generator) -> CellsOfRecords:
    """A value for each cell, drawn from its column's `distribution` within the cell."""
    codes = np.empty_like(cells.first)
    for j, book in enumerate(cells.books):
        first, last = cells.first[:, j], cells.last[:, j]
        up_to = np.concatenate([[0.0, 0.0], np.cumsum(distribution(first, last, book.size - 1))])  # by code, 0 missing
        place = up_to[first] + rng.random(len(first)) * (up_to[last + 1] - up_to[first])
        codes[:, j] = np.clip(np.searchsorted(up_to, place, "right") - 1, first, last)
    return CellsOfRecords(cells.books, codes, codes)


def distribution(first: Ints, last: Ints, size: int) -> Floats:
    """The share of each code from 1 to `size`, as the cells suggest it.

    By expectation and maximization, from even shares: a cell counts for each of its values as much as that value's
    share in it.
    """
    runs, counts = np.unique(np.stack([first, last]), axis=1, return_counts=True)
    values = np.arange(1, size + 1)
    inside = (values >= runs[0][:, None]) & (values <= runs[1][:, None])
    shares: Floats = np.full(size, 1 / size)
    for _ in range(ROUNDS):
        counted = inside * shares
        counted *= (counts / counted.sum(axis=1))[:, None]
        shares = counted.sum(axis=0) / counts.sum()
    return shares
