"""The costs of `tables.py`, for kernels."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from shoal.boxes.costs.tables import DENSE, NODES, STEPS, CostTables
from shoal.boxes.geometry import HI, LO
from shoal.compiling import inner

WIDE = 16  # from so many columns on it pays to ask whether the first ones tell


@inner
def cell_cost(costs: CostTables, j: int, lo: int, hi: int) -> float:
    """The weighted cost of codes lo..hi in column j."""
    column = costs.columns[j]
    if column.kind == DENSE:
        return costs.numbers[column.offset + lo * column.n_codes + hi]
    if column.kind == NODES:
        row, i = column.offset + lo, 0
        while costs.chains.cells[row, i].last < hi:
            i += 1
        return costs.chains.prices[row, i].cost
    if lo == 0:
        return column.single_missing if hi == 0 else column.full
    if column.kind == STEPS:
        return min(costs.numbers[column.offset + hi] - costs.numbers[column.offset + lo], column.full)
    inside = costs.numbers[column.offset + hi + 1] - costs.numbers[column.offset + lo]
    if inside <= 0.0:
        return 0.0
    return column.weight * max(0.0, math.log2(inside) + column.shift)


@inner
def surely_above(limit: float) -> float:
    """What a sum must exceed to be above a limit in whatever order it is added up."""
    return limit + 1e-9 * (1.0 + abs(limit))


@inner
def costs_more(
    costs: CostTables, lo: NDArray[np.int32], hi: NDArray[np.int32], box: NDArray[np.int32], now: float, most: float
) -> bool:
    """Whether a box (its lo and hi) that costs so much now surely costs more than `most` when it takes in another.

    For many columns, of which the first few often tell: only those in which the box grows are added up, and only until
    it is sure.
    """
    most, above = surely_above(most), False
    for j in range(len(lo)):
        if lo[j] < box[LO, j] or hi[j] > box[HI, j]:
            now += cell_cost(costs, j, min(lo[j], box[LO, j]), max(hi[j], box[HI, j]))
            now -= cell_cost(costs, j, box[LO, j], box[HI, j])
            if now > most:
                above = True
                break
    return above


@inner
def box_cost(costs: CostTables, lo: NDArray[np.int32], hi: NDArray[np.int32]) -> float:
    """The weighted cost of a box: what one record loses by being published as it."""
    total = 0.0
    for j in range(len(lo)):
        total += cell_cost(costs, j, lo[j], hi[j])
    return total
