"""Mondrian: multidimensional median partitioning (LeFevre, DeWitt, Ramakrishnan 2006; Goldberger & Tassa 6.2.2).

Start with all records in one group; cut a group in two along one column for as long as both halves keep k records.

Decisions. The column is the one whose cell costs most (the normalized width of the original, by the chosen measure and
weights); if it has no cut that leaves k on both sides, the next one is tried; ties go to the first column. Categories
are cut in the order of their hierarchy. Strict: equal values stay together, and the cut is the one between two values
that divides best, so that a column is given up only if it has no allowable cut at all. The original looks at the cut
after the median's value alone and gives a skewed column up (`cut="median"`), which multiplies the loss on Adult.
Relaxed: the records that share the median value may be dealt to both sides, so every group of 2k or more records that
are not all equal is cut in half.

Guarantee: every group has at least k records, given k ≤ n.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.boxes.compiling import announced, kernel
from shoal.boxes.costs import CostTables
from shoal.boxes.kernels import cell_cost
from shoal.cluster import Task
from shoal.errors import ParameterError, one_of

Ints = NDArray[np.int32]
CUTS = ("best", "median")
RECORDS_PER_TURN = 2_000_000  # how much a kernel call handles before Python may draw progress or be interrupted


class Work(NamedTuple):
    """The state between two calls of the kernel."""

    order: Ints  # records; those of one group are neighbours
    starts: NDArray[np.int64]  # of the groups that are still to be looked at, a stack
    ends: NDArray[np.int64]
    counts: NDArray[np.int64]  # [groups on the stack, groups finished, records finished]
    labels: Ints  # the finished group of each record
    spare: Ints  # room for a stable partition, one place per record
    histogram: NDArray[np.int64]  # room to count codes; all zero between uses


def run(task: Task, *, relaxed: bool = False, cut: str = "best") -> Ints:
    """The group of each record. `cut="median"` is the original's strict rule (see above); relaxed has no other."""
    if cut not in CUTS:
        raise ParameterError(one_of("cut", cut, CUTS))
    records = len(task.codes)
    work = Work(
        order=np.arange(records, dtype=np.int32),
        starts=np.zeros(records // task.k + 2, np.int64),
        ends=np.full(records // task.k + 2, records, np.int64),
        counts=np.array([1, 0, 0]),
        labels=np.empty(records, np.int32),
        spare=np.empty(records, np.int32),
        histogram=np.zeros(int(task.costs.sizes.max()), np.int64),
    )
    with announced(task.progress):
        partition_some(task.codes, task.costs, task.k, relaxed, cut == "median", work, 0)
    task.progress.stage("partitioning", records)
    while work.counts[0]:
        before = int(work.counts[2])
        partition_some(task.codes, task.costs, task.k, relaxed, cut == "median", work, RECORDS_PER_TURN)
        task.progress.advance(int(work.counts[2]) - before)
    return work.labels


@kernel
def partition_some(
    codes: Ints, costs: CostTables, k: int, relaxed: bool, median: bool, work: Work, budget: int
) -> None:
    """Cut groups from the stack until the budget of records looked at is spent, or none is left."""
    columns = codes.shape[1]
    lo = np.empty(columns, np.int32)
    hi = np.empty(columns, np.int32)
    widths = np.empty(columns)
    while work.counts[0] > 0 and budget > 0:
        work.counts[0] -= 1
        start, end = work.starts[work.counts[0]], work.ends[work.counts[0]]
        budget -= end - start
        middle = start
        if end - start >= 2 * k:
            bound(codes, work.order, start, end, lo, hi)
            for j in range(columns):
                widths[j] = cell_cost(costs, j, lo[j], hi[j]) if lo[j] < hi[j] else -1.0
            while middle == start:
                j = 0
                for other in range(1, columns):
                    if widths[other] > widths[j]:
                        j = other
                if widths[j] < 0:
                    break
                widths[j] = -1.0
                if relaxed:
                    middle = cut_half(codes, work, start, end, j)
                else:
                    middle = cut_between(codes, work, start, end, j, lo[j], hi[j], k, median)
        if middle == start:
            for place in range(start, end):
                work.labels[work.order[place]] = work.counts[1]
            work.counts[1] += 1
            work.counts[2] += end - start
        else:
            top = work.counts[0]
            work.starts[top], work.ends[top] = middle, end
            work.starts[top + 1], work.ends[top + 1] = start, middle
            work.counts[0] += 2


@kernel
def bound(codes: Ints, order: Ints, start: int, end: int, lo: Ints, hi: Ints) -> None:
    """The box around the records order[start:end]."""
    for j in range(len(lo)):
        lo[j] = hi[j] = codes[order[start], j]
    for place in range(start + 1, end):
        record = order[place]
        for j in range(len(lo)):
            code = codes[record, j]
            lo[j] = min(lo[j], code)
            hi[j] = max(hi[j], code)


@kernel
def cut_between(codes: Ints, work: Work, start: int, end: int, j: int, lo: int, hi: int, k: int, median: bool) -> int:
    """Cut between two codes of column j, where it divides best; `start` if that leaves fewer than k on one side.

    `median`: cut after the median's code and nowhere else.
    """
    size = end - start
    best, at, left = 0, lo, 0
    walk = hi - lo < 4 * size
    if walk:
        for place in range(start, end):
            work.histogram[codes[work.order[place], j] - lo] += 1
        for code in range(lo, hi):
            before = left
            left += work.histogram[code - lo]
            side = min(left, size - left)
            if side > best and (not median or (2 * before < size and 2 * left >= size)):
                best, at = side, code
        for code in range(lo, hi + 1):
            work.histogram[code - lo] = 0
    else:  # few records in a wide domain: sorting them is cheaper than walking it
        values = sorted_codes(codes, work, start, end, j)
        for left in range(1, size):
            side = min(left, size - left)
            after_median = values[left - 1] == values[(size - 1) // 2]
            if side > best and values[left - 1] < values[left] and (after_median or not median):
                best, at = side, values[left - 1]
    if best < k:
        return start
    return divide(codes, work, start, end, j, at, size)


@kernel
def cut_half(codes: Ints, work: Work, start: int, end: int, j: int) -> int:
    """Cut at the median of column j into equal halves; records that share the median fill up the left one."""
    half = (end - start) // 2
    values = sorted_codes(codes, work, start, end, j)
    ties = 0
    for place in range(half):
        if values[place] == values[half - 1]:
            ties += 1
    return divide(codes, work, start, end, j, values[half - 1], ties)


@kernel
def sorted_codes(codes: Ints, work: Work, start: int, end: int, j: int) -> Ints:
    """The codes of column j of the records order[start:end], in ascending order."""
    values = np.empty(end - start, np.int32)
    for place in range(start, end):
        values[place - start] = codes[work.order[place], j]
    values.sort()
    return values


@kernel
def divide(codes: Ints, work: Work, start: int, end: int, j: int, at: int, ties: int) -> int:
    """Bring records with a code up to `at` to the front, at most `ties` of those with `at` itself; keep the order."""
    front, back = start, 0
    for place in range(start, end):
        record = work.order[place]
        code = codes[record, j]
        goes_left = code < at
        if code == at and ties > 0:
            goes_left = True
            ties -= 1
        if goes_left:
            work.order[front] = record
            front += 1
        else:
            work.spare[back] = record
            back += 1
    for place in range(back):
        work.order[front + place] = work.spare[place]
    return front
