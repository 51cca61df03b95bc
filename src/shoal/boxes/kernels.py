"""The costs of `costs.py`, for kernels."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from shoal.boxes.costs import DENSE, LOG_STEPS, STEPS, CostTables
from shoal.compiling import inlined, kernel


@inlined
def cell_cost(tables: CostTables, j: int, lo: int, hi: int) -> float:
    """The weighted cost of codes lo..hi in column j."""
    start = tables.offsets[j]
    if tables.kinds[j] == DENSE:
        return tables.numbers[start + lo * tables.sizes[j] + hi]
    if lo == 0:
        return tables.single_missing[j] if hi == 0 else tables.full[j]
    if tables.kinds[j] == STEPS:
        return min(tables.numbers[start + hi] - tables.numbers[start + lo], tables.full[j])
    if tables.kinds[j] == LOG_STEPS:
        inside = tables.numbers[start + hi + 1] - tables.numbers[start + lo]
        if inside <= 0.0:
            return 0.0
        return tables.weights[j] * max(0.0, math.log2(inside) + tables.shifts[j])
    depth = tables.depths[j]
    first = tables.path_offsets[j] + lo * depth
    last = tables.path_offsets[j] + hi * depth
    node = tables.paths[first]  # the root
    for step in range(1, depth):
        below = tables.paths[first + step]
        if below < 0 or below != tables.paths[last + step]:
            break
        node = below
    return tables.numbers[start + node]


@kernel
def box_cost(tables: CostTables, lo: NDArray[np.int32], hi: NDArray[np.int32]) -> float:
    """The weighted cost of a box: what one record loses by being published as it."""
    total = 0.0
    for j in range(len(lo)):
        total += cell_cost(tables, j, lo[j], hi[j])
    return total
