"""Split2kCluster (Truta & Campan 2007, Figure 1): a group that has grown to 2k becomes two.

Records go over one at a time, each time the one that leaves both parts with the least loss together, until k have gone.
A step looks at every record that is left, and at what the box would be without it: the two smallest and two largest
codes of each column tell, so that a split is O(k²·d).

Decision, where more is asked than k records: the order of going is the paper's, but going on until k are left. Where a
rule is hard to keep that order alone seldom has a place to stop, so the group is cut along each column as well. Of all
places at which both parts keep every rule the one with the least loss is taken. If there is none, the group stays
whole.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.boxes.costs import CostTables
from shoal.boxes.costs.kernels import box_cost, cell_cost
from shoal.compiling import allocating, inner

Ints = NDArray[np.int32]
Floats = NDArray[np.float64]


@allocating
def order_of_going(codes: Ints, costs: CostTables, records: Ints, steps: int, losses: Floats) -> None:
    """Bring the records that go to the front, in the order of going; `losses[i]`: both parts' after i + 1 have gone."""
    columns, size = codes.shape[1], len(records)
    low, next_low = np.empty(columns, np.int32), np.empty(columns, np.int32)
    high, next_high = np.empty(columns, np.int32), np.empty(columns, np.int32)
    lo, hi = np.empty(columns, np.int32), np.empty(columns, np.int32)  # of those who have gone
    for step in range(steps):
        left = size - step
        for j in range(columns):
            # A second record with the same extreme code leaves the box as it is: next_low equals low then.
            low[j], next_low[j], high[j], next_high[j] = 2**31 - 1, 2**31 - 1, -1, -1
            for i in range(step, size):
                code = codes[records[i], j]
                if code <= low[j]:
                    next_low[j], low[j] = low[j], code
                elif code < next_low[j]:
                    next_low[j] = code
                if code >= high[j]:
                    next_high[j], high[j] = high[j], code
                elif code > next_high[j]:
                    next_high[j] = code
        least, going = np.inf, step
        for i in range(step, size):
            rest, gone = 0.0, 0.0
            for j in range(columns):
                code = codes[records[i], j]
                if left > 1:
                    first = next_low[j] if code == low[j] else low[j]
                    last = next_high[j] if code == high[j] else high[j]
                    rest += cell_cost(costs, j, first, last)
                if step == 0:
                    gone += cell_cost(costs, j, code, code)
                else:
                    gone += cell_cost(costs, j, min(lo[j], code), max(hi[j], code))
            loss = (left - 1) * rest + (step + 1) * gone
            if loss < least:
                least, going = loss, i
        record = records[going]
        records[going] = records[step]
        records[step] = record
        for j in range(columns):
            code = codes[record, j]
            lo[j] = code if step == 0 else min(lo[j], code)
            hi[j] = code if step == 0 else max(hi[j], code)
        losses[step] = least


@allocating
def order_along(codes: Ints, costs: CostTables, records: Ints, column: int, losses: Floats) -> None:
    """Bring the records in the order of their codes in one column; `losses[i]`: both parts' after the first i + 1."""
    columns, size = codes.shape[1], len(records)
    along = np.empty(size, np.int32)
    for i in range(size):
        along[i] = codes[records[i], column]
    records[:] = records[np.argsort(along, kind="mergesort")]
    lo, hi = np.empty(columns, np.int32), np.empty(columns, np.int32)
    for i in range(size - 1):
        widen_box(codes[records[i]], i == 0, lo, hi)
        if i < len(losses):
            losses[i] = (i + 1) * box_cost(costs, lo, hi)
    for i in range(size - 1, 0, -1):
        widen_box(codes[records[i]], i == size - 1, lo, hi)
        if i <= len(losses):
            losses[i - 1] += (size - i) * box_cost(costs, lo, hi)


@inner
def widen_box(point: Ints, first: bool, lo: Ints, hi: Ints) -> None:
    """A box takes in one more record, or the first."""
    for j in range(len(point)):
        lo[j] = point[j] if first else min(lo[j], point[j])
        hi[j] = point[j] if first else max(hi[j], point[j])


@inner
def box_of(codes: Ints, records: Ints, lo: Ints, hi: Ints) -> None:
    """The box around some records."""
    for j in range(codes.shape[1]):
        lo[j] = hi[j] = codes[records[0], j]
        for record in records[1:]:
            lo[j], hi[j] = min(lo[j], codes[record, j]), max(hi[j], codes[record, j])
