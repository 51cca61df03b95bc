"""Which of many boxes a point could join at little cost."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.boxes.costs import CostTables
from shoal.boxes.costs.kernels import cell_cost
from shoal.compiling import kernel

Ints = NDArray[np.int32]
Longs = NDArray[np.int64]
Floats = NDArray[np.float64]


class Boxes(NamedTuple):
    """Boxes around groups of records."""

    lo: Ints
    hi: Ints
    sizes: Floats  # how many records are in each
    losses: Floats  # what each of them loses


class Candidates(NamedTuple):
    """The boxes that each point may join: `boxes[begin[i]:end[i]]`."""

    boxes: Longs
    begin: Longs
    end: Longs


class Cheapest(NamedTuple):
    """For each point the boxes that it costs least to join, in order; −1: no more."""

    boxes: Longs
    costs: Floats


def cheapest_boxes(
    costs: CostTables, codes: Ints, boxes: Boxes, candidates: Candidates, limit: float, most: int
) -> Cheapest:
    """For each point at most so many boxes that it costs at most `limit` to join: what it would lose, and what the
    others would lose more."""
    found = Cheapest(np.full((len(codes), most), -1), np.full((len(codes), most), np.inf))
    _search(costs, codes, boxes, candidates, limit, found)
    return found


@kernel
def _search(
    costs: CostTables, codes: Ints, boxes: Boxes, candidates: Candidates, limit: float, found: Cheapest
) -> None:
    lo, hi, sizes, losses = boxes
    listed, begin, end = candidates
    which, price = found
    n_columns, most = codes.shape[1], which.shape[1]
    for i in range(len(codes)):
        for at in range(begin[i], end[i]):
            c = listed[at]
            bound = limit if which[i, most - 1] < 0 else price[i, most - 1]
            # L' + n (L' − L) = (n + 1) L' − n L, and L' only grows as columns are added up
            room = (bound + sizes[c] * losses[c]) / (sizes[c] + 1.0)
            loss = 0.0
            for j in range(n_columns):
                loss += cell_cost(costs, j, min(lo[c, j], codes[i, j]), max(hi[c, j], codes[i, j]))
                if loss > room:
                    break
            if loss > room:
                continue
            cost = loss + sizes[c] * (loss - losses[c])
            slot = most - 1
            while slot > 0 and (which[i, slot - 1] < 0 or price[i, slot - 1] > cost):
                which[i, slot], price[i, slot] = which[i, slot - 1], price[i, slot - 1]
                slot -= 1
            which[i, slot], price[i, slot] = c, cost
