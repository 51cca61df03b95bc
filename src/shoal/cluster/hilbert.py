"""Hilbert: records in the order of a space-filling curve, cut into runs at the least loss (Goldberger & Tassa, 6.2.3).

The codes of all columns are stretched to the same range, so that the curve does not follow the widest one first (the
paper's improvement; `rescale=False` is without). The runs, of k to 2k − 1 records, are the best there are for this
order: a dynamic program over the true loss of their boxes.

Decisions. The curve is Hamilton's form of Butz's, the last column its most significant axis, with as many bits as the
widest range needs: the paper's Table 1 comes out of this form and not of others. A code is taken from the smallest
that occurs. More columns than a machine word has bits are refused.

Guarantee: every group has k to 2k − 1 records, given k ≤ n, and no cutting of the same order into such runs loses less.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.boxes.costs import CostTables
from shoal.boxes.costs.kernels import cell_cost
from shoal.cluster import Task
from shoal.compiling import kernel
from shoal.errors import ParameterError

Ints = NDArray[np.int32]
Longs = NDArray[np.int64]
MOST_COLUMNS = 62
CELLS_PER_TURN = 20_000_000


class Runs(NamedTuple):
    """The dynamic program: the least loss of the first i records, and where their last run begins (−1: no way)."""

    least: NDArray[np.float64]
    begins: Longs
    marks: Longs  # [how many records are done]


def run(task: Task, *, rescale: bool = True) -> Ints:
    """The group of each record."""
    records, columns = task.codes.shape
    if columns > MOST_COLUMNS:
        raise ParameterError(f"hilbert takes up to {MOST_COLUMNS} quasi-identifiers. Got {columns} instead.")
    task.progress.stage("ordering")
    order = curve_order(task.codes, rescale=rescale)
    runs = Runs(np.full(records + 1, np.inf), np.full(records + 1, -1), np.array([1]))
    runs.least[0] = 0.0
    cut_some(task.codes, order, task.costs, task.k, runs, 0)
    task.progress.stage("cutting", records)
    turn = max(1, CELLS_PER_TURN // (2 * task.k * columns))
    while runs.marks[0] <= records:
        before = int(runs.marks[0])
        cut_some(task.codes, order, task.costs, task.k, runs, turn)
        task.progress.advance(int(runs.marks[0]) - before)
    labels = np.empty(records, np.int32)
    last, group = records, 0
    while last > 0:
        first = int(runs.begins[last])
        labels[order[first:last]] = group
        last, group = first, group + 1
    return labels


def curve_order(codes: Ints, *, rescale: bool) -> Longs:
    """The records in the order of the curve; equal ones in their own order."""
    digits = curve_digits(coordinates(codes, rescale=rescale))
    return np.lexsort(digits.T[::-1])


def coordinates(codes: Ints, *, rescale: bool) -> Longs:
    """Codes from 0 on, all columns over the same range."""
    moved = codes.astype(np.int64) - codes.min(axis=0)
    ranges = moved.max(axis=0)
    if not rescale:
        return moved
    stretched: Longs = np.rint(moved * (ranges.max(initial=1) / np.maximum(1, ranges))).astype(np.int64)
    return stretched


def curve_digits(points: Longs) -> Longs:
    """The place of each point on the curve, as digits of one bit per column: the most significant digit first."""
    bits = max(1, int(points.max(initial=0)).bit_length())
    digits = np.zeros((len(points), bits), np.int64)
    walk(points, digits)
    return digits


@kernel
def walk(points: Longs, digits: Longs) -> None:
    """Hamilton's walk down the curve: in each cell, which corner, entered where and left in which direction."""
    axes, bits = points.shape[1], digits.shape[1]
    full = (1 << axes) - 1
    for record in range(len(points)):
        entry, direction = 0, 0
        for step in range(bits):
            corner = 0
            for axis in range(axes):
                corner |= ((points[record, axis] >> (bits - 1 - step)) & 1) << axis
            turn = (direction + 1) % axes
            turned = corner ^ entry
            turned = ((turned >> turn) | (turned << (axes - turn))) & full
            digit, shift = turned, 1  # the place of the corner in Gray code
            while turned >> shift:
                digit ^= turned >> shift
                shift += 1
            digits[record, step] = digit
            start = 0
            if digit > 0:
                even = 2 * ((digit - 1) // 2)
                start = even ^ (even >> 1)
            entry ^= ((start << turn) | (start >> (axes - turn))) & full
            ones, trailing = digit if digit % 2 == 1 else max(0, digit - 1), 0
            while ones & 1:
                ones >>= 1
                trailing += 1
            direction = (direction + (trailing % axes if digit > 0 else 0) + 1) % axes


@kernel
def cut_some(codes: Ints, order: Longs, costs: CostTables, k: int, runs: Runs, budget: int) -> None:
    """The best last run for some more records."""
    columns = codes.shape[1]
    lo, hi = np.empty(columns, np.int32), np.empty(columns, np.int32)
    last = min(len(codes) + 1, runs.marks[0] + budget)
    for end in range(runs.marks[0], last):
        for size in range(1, min(end, 2 * k - 1) + 1):
            record = order[end - size]
            for j in range(columns):
                code = codes[record, j]
                lo[j] = code if size == 1 else min(lo[j], code)
                hi[j] = code if size == 1 else max(hi[j], code)
            if size < k or runs.least[end - size] == np.inf:
                continue
            loss = 0.0
            for j in range(columns):
                loss += cell_cost(costs, j, lo[j], hi[j])
            total = runs.least[end - size] + size * loss
            if total < runs.least[end]:
                runs.least[end], runs.begins[end] = total, end - size
    runs.marks[0] = last
