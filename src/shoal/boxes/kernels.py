"""The costs of `costs.py`, for kernels."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from shoal.boxes.chains import COST, LAST
from shoal.boxes.costs import DENSE, NODES, STEPS, CostTables
from shoal.boxes.layout import HI, LO
from shoal.compiling import inlined, kernel

WIDE = 16  # from so many columns on it pays to ask whether the first ones tell


@inlined
def cell_cost(tables: CostTables, j: int, lo: int, hi: int) -> float:
    """The weighted cost of codes lo..hi in column j."""
    start = tables.offsets[j]
    if tables.kinds[j] == DENSE:
        return tables.numbers[start + lo * tables.sizes[j] + hi]
    if tables.kinds[j] == NODES:
        place = 0
        while tables.chains.cells[start + lo, place, LAST] < hi:
            place += 1
        return tables.chains.prices[start + lo, place, COST]
    if lo == 0:
        return tables.single_missing[j] if hi == 0 else tables.full[j]
    if tables.kinds[j] == STEPS:
        return min(tables.numbers[start + hi] - tables.numbers[start + lo], tables.full[j])
    inside = tables.numbers[start + hi + 1] - tables.numbers[start + lo]
    if inside <= 0.0:
        return 0.0
    return tables.weights[j] * max(0.0, math.log2(inside) + tables.shifts[j])


@inlined
def surely_above(limit: float) -> float:
    """What a sum must exceed to be above a limit in whatever order it is added up."""
    return limit + 1e-9 * (1.0 + abs(limit))


@inlined
def costs_more(
    tables: CostTables, lo: NDArray[np.int32], hi: NDArray[np.int32], box: NDArray[np.int32], now: float, most: float
) -> bool:
    """Whether a box (its lo and hi) that costs so much now surely costs more than `most` when it takes in another.

    For many columns, of which the first few often tell: only those in which the box grows are added up, and only until
    it is sure.
    """
    most, above = surely_above(most), False
    for j in range(len(lo)):
        if lo[j] < box[LO, j] or hi[j] > box[HI, j]:
            now += cell_cost(tables, j, min(lo[j], box[LO, j]), max(hi[j], box[HI, j]))
            now -= cell_cost(tables, j, box[LO, j], box[HI, j])
            if now > most:
                above = True
                break
    return above


@kernel
def box_cost(tables: CostTables, lo: NDArray[np.int32], hi: NDArray[np.int32]) -> float:
    """The weighted cost of a box: what one record loses by being published as it."""
    total = 0.0
    for j in range(len(lo)):
        total += cell_cost(tables, j, lo[j], hi[j])
    return total
