"""How the nodes of the trees are divided: boxes that cost much to bring together must not share a node.

Halves of equal size, the usual way, would be looked at several times as often: a cut between "never married" and
"divorced" that leaves one box in five on one side tells more than one between two ages. Who looks for what is furthest
wants the opposite: nearly everything is of another category, and the ages tell.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.boxes.costs import CostTables
from shoal.boxes.costs.kernels import cell_cost
from shoal.boxes.grouping import FAN, Groups, Row
from shoal.compiling import allocating, inner

Ints = NDArray[np.int32]
Longs = NDArray[np.int64]
Rows = NDArray[np.void]
FEW, MANY = 16, 64  # so many boxes tell where a node is cut
ACROSS = 0.2  # what it counts to part a wide box from a code that it covers

BY_CODE, BY_MIDDLE, BY_LOSS, BY_NUMBER = 0, 1, 2, 3  # the kinds of cuts: see `side_of`


@inner
def divide(costs: CostTables, groups: Groups, order: Ints, starts: Longs, cuts: Rows, far: bool) -> tuple[int, int]:
    """Bring boxes into up to FAN parts, the largest part divided first: how many parts, after how many cuts.

    `order`: the boxes, as numbers of groups; it is rearranged. A part has one box at least; `starts` says where each
    begins. `cuts` says how they were divided, so that another box finds its part. `far`: for a tree that is asked what
    is furthest, over points.
    """
    parts, n_cuts = 1, 0
    starts[0], starts[1] = 0, len(order)
    while parts < FAN:
        largest = 0
        for part in range(parts):
            if starts[part + 1] - starts[part] > starts[largest + 1] - starts[largest]:
                largest = part
        start, end = starts[largest], starts[largest + 1]
        if end - start <= FAN:
            break
        cuts[n_cuts].part = largest
        first, second = arrange(costs, groups, order[start:end], cuts[n_cuts : n_cuts + 1], far)
        if first > 0 and second > 0 and parts + 2 > FAN:
            first = 0  # no room for three
        offsets = cuts[n_cuts].offsets
        offsets[0] = 0
        offsets[1] = 1 if first > 0 else 0
        offsets[2] = offsets[1] + (1 if second > 0 else 0)
        n_cuts += 1
        for cut in (first, second):
            if cut > 0:
                parts += 1
                for part in range(parts, largest + 1, -1):
                    starts[part] = starts[part - 1]
                largest += 1
                starts[largest] = start + cut
    return parts, n_cuts


@allocating
def arrange(costs: CostTables, groups: Groups, order: Ints, cuts: Rows, far: bool) -> tuple[int, int]:
    """Bring boxes into two or three parts: below a cut, above it, across it; where the later ones begin (0: none).

    `cuts`: room for one, which says how.
    """
    lo, hi, losses, cut = groups.lo, groups.hi, groups.losses, cuts[0]
    column, at = remotest_cut(costs, lo, order) if far else dearest_cut(costs, lo, hi, order)
    size = len(order)
    before = order.copy()
    kind, usual = BY_CODE, 0.0
    if column < 0:  # where no column sets them apart, what they lose may
        kind = BY_LOSS
        for box in before:
            usual += losses[box] / size
    cut.kind, cut.column, cut.at, cut.usual = kind, column, at, usual
    done = 0
    ends = np.zeros(3, np.int64)
    for part in range(3):
        for box in before:
            if side_of(cuts[0], lo[box, column], hi[box, column], losses[box], box) == part:
                order[done] = box
                done += 1
        ends[part] = done
    if max(ends[0], ends[1] - ends[0], size - ends[1]) == size:
        cut.kind, cut.at = BY_NUMBER, 0
        return 0, size // 2
    return ends[0] if ends[0] < ends[1] else 0, ends[1] if ends[1] < size else 0


@inner
def side_of(cut: Row, lo: int, hi: int, loss: float, box: int) -> int:
    """On which side of a cut a box is that reaches from lo to hi in its column: below (0), above (1) or across (2)."""
    if cut.kind == BY_CODE:
        return 0 if hi <= cut.at else 1 if lo > cut.at else 2
    if cut.kind == BY_MIDDLE:
        return 0 if (lo + hi) // 2 <= cut.at else 2
    if cut.kind == BY_LOSS:
        return 0 if loss <= cut.usual else 1
    return 2 * ((box >> cut.at) & 1)  # boxes that nothing sets apart: by a digit of their numbers


@inner
def put_in_order(numbers: Ints, size: int, number: int) -> None:
    """One more number among so many that are in order."""
    i = size
    while i > 0 and numbers[i - 1] > number:
        numbers[i] = numbers[i - 1]
        i -= 1
    numbers[i] = number


@allocating
def dearest_cut(costs: CostTables, lo: Ints, hi: Ints, order: Ints) -> tuple[int, int]:
    """The column and the code after which to cut; column −1 if no cut sets anything apart.

    The worth of a cut: for a query at each of the boxes, what it costs at least to reach those on the other side, or to
    become as wide as those that lie across. A sample of the boxes tells.
    """
    step = max(1, len(order) // min(MANY, max(FEW, len(order) // 4)))
    size = (len(order) + step - 1) // step
    low, high = np.empty(size, np.int32), np.empty(size, np.int32)
    lows, highs = np.empty(size, np.int32), np.empty(size, np.int32)  # the same in order
    column, cut, most = -1, 0, 0.0
    for j in range(lo.shape[1]):
        for i in range(size):
            low[i], high[i] = lo[order[i * step], j], hi[order[i * step], j]
            put_in_order(lows, i, low[i])
            put_in_order(highs, i, high[i])
        if lows[0] == highs[size - 1]:
            continue
        whole = cell_cost(costs, j, lows[0], highs[size - 1])
        reached = 0  # boxes that begin at or before the cut
        for i in range(size - 1):
            at = highs[i]
            if at == highs[i + 1]:
                continue
            while reached < size and lows[reached] <= at:
                reached += 1
            below, above = i + 1, size - reached
            across = size - below - above
            if (2.0 * below * above + ACROSS * across * (size - across)) * whole <= most:
                continue
            beyond = lows[reached] if above > 0 else highs[size - 1]
            worth = ACROSS * across * (size - across) * cell_cost(costs, j, at, beyond)
            if above > 0:
                for other in range(size):
                    middle = (low[other] + high[other]) // 2
                    if high[other] <= at:
                        worth += above * cell_cost(costs, j, middle, beyond)
                    elif low[other] > at:
                        worth += below * cell_cost(costs, j, at, middle)
            if worth > most:
                column, cut, most = j, at, worth
    return column, cut


@allocating
def remotest_cut(costs: CostTables, points: Ints, order: Ints) -> tuple[int, int]:
    """The column and the code after which to cut for those who look for what is furthest; column −1 if none helps.

    The worth of a cut: for a query at each of the points, how much nearer the furthest end of either part is than that
    of the whole.
    """
    step = max(1, len(order) // min(MANY, max(FEW, len(order) // 4)))
    size = (len(order) + step - 1) // step
    codes = np.empty(size, np.int32)
    column, cut, most = -1, 0, 0.0
    for j in range(points.shape[1]):
        for i in range(size):
            put_in_order(codes, i, points[order[i * step], j])
        for i in range(size - 1):
            at, beyond = codes[i], codes[i + 1]
            if at == beyond:
                continue
            worth = 0.0
            for other in range(size):
                here = codes[other]
                down, up = cell_cost(costs, j, codes[0], here), cell_cost(costs, j, here, codes[size - 1])
                if here <= at:
                    worth += (i + 1) * (max(down, up) - max(down, cell_cost(costs, j, here, at)))
                    worth += (size - i - 1) * (max(down, up) - up)
                else:
                    worth += (i + 1) * (max(down, up) - down)
                    worth += (size - i - 1) * (max(down, up) - max(up, cell_cost(costs, j, beyond, here)))
            if worth > most:
                column, cut, most = j, at, worth
    return column, cut
