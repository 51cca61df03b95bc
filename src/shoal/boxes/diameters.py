"""The diameter of a group: the distance of its two most different records (Byun, Definitions 1 and 4)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.boxes.costs import CostTables
from shoal.boxes.costs.kernels import cell_cost
from shoal.compiling import kernel

Ints = NDArray[np.int32]


@kernel
def diameters(codes: Ints, order: NDArray[np.int64], ends: NDArray[np.int64], costs: CostTables) -> NDArray[np.float64]:
    """Of each group; its records are order[ends[g − 1]:ends[g]]."""
    result = np.zeros(len(ends))
    start = 0
    for group in range(len(ends)):
        for first in range(start, ends[group]):
            for second in range(first + 1, ends[group]):
                distance = 0.0
                for j in range(codes.shape[1]):
                    one, other = codes[order[first], j], codes[order[second], j]
                    if one != other:  # equal values have no distance, whatever is published for them
                        distance += cell_cost(costs, j, min(one, other), max(one, other))
                result[group] = max(result[group], distance)
        start = ends[group]
    return result
