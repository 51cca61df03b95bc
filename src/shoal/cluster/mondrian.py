"""Mondrian: multidimensional median partitioning (LeFevre, DeWitt, Ramakrishnan 2006; Goldberger & Tassa 6.2.2).

Start with all records in one group; cut a group in two along one column for as long as both halves keep k records.

Decisions. The column is the one whose cell costs most (the normalized width of the original, by the chosen measure and
weights); if it has no cut that leaves k on both sides, the next one is tried; ties go to the first column. Categories
are cut in the order of their hierarchy. Strict: equal values stay together, and the cut is the one between two values
that divides best, so that a column is given up only if it has no allowable cut at all. The original looks at the cut
after the median's value alone and gives a skewed column up (`cut="median"`), which multiplies the loss on Adult.
Relaxed: the records that share the median value may be dealt to both sides, so every group of 2k or more records that
are not all equal is cut in half.

Privacy models: a cut is allowable only if both halves satisfy every rule. Where the best-dividing cut does not, the
other cuts of the column are asked in one walk, and the best-dividing one that is allowable is taken.

Guarantee: every group has at least k records (people) and satisfies the rules, given that the whole table does.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.boxes.costs import CostTables
from shoal.boxes.kernels import cell_cost
from shoal.cluster import Task
from shoal.compiling import ZERO, announced, constant, kernel
from shoal.errors import ParameterError, one_of
from shoal.privacy.tables import PrivacyTables
from shoal.privacy.tally import Tally, all_to_right, begin, both_lack, end, keep_left, new_tally, to_left, to_right

Ints = NDArray[np.int32]
CUTS = ("best", "median")
NOWHERE = constant(-1)
RECORDS_PER_TURN = 2_000_000  # how much a kernel call handles before Python may draw progress or be interrupted


class Work(NamedTuple):
    """The state between two calls of the kernel."""

    order: Ints  # records; those of one group are neighbours
    starts: NDArray[np.int64]  # of the groups that are still to be looked at, a stack
    ends: NDArray[np.int64]
    counts: NDArray[np.int64]  # [groups on the stack, groups finished, records finished]
    labels: Ints  # the finished group of each record
    spare: Ints  # room for a stable partition or a sort, one place per record
    spare_too: Ints
    histogram: NDArray[np.int64]  # room to count codes; all zero between uses


class Cuts(NamedTuple):
    """Which cuts are made."""

    k: int
    relaxed: bool
    median: bool


def run(task: Task, *, relaxed: bool = False, cut: str = "best") -> Ints:
    """The group of each record. `cut="median"` is the original's strict rule (see above); relaxed has no other."""
    if cut not in CUTS:
        raise ParameterError(one_of("cut", cut, CUTS))
    return _cut_up(task, Cuts(task.k, relaxed, cut == "median"), np.zeros(len(task.codes), np.int32), np.array([0]))


def cut_further(task: Task, labels: Ints, chosen: NDArray[np.integer]) -> Ints:
    """New labels: the chosen groups cut up as far as they can be, the others as they are."""
    return _cut_up(task, Cuts(task.k, relaxed=False, median=False), labels, chosen)


def _cut_up(task: Task, cuts: Cuts, labels: Ints, chosen: NDArray[np.integer]) -> Ints:
    sizes = np.bincount(labels)
    last = np.cumsum(sizes)
    room = int(sizes[chosen].sum()) // task.k + len(chosen) + 2
    starts, ends = np.zeros((2, room), np.int64)
    starts[: len(chosen)], ends[: len(chosen)] = (last - sizes)[chosen], last[chosen]
    records = len(task.codes)
    # The groups that stay are numbered after the new ones.
    work = Work(
        order=np.argsort(labels, kind="stable").astype(np.int32),
        starts=starts,
        ends=ends,
        counts=np.array([len(chosen), 0, 0]),
        labels=labels + np.int32(room),
        spare=np.empty(records, np.int32),
        spare_too=np.empty(records, np.int32),
        histogram=np.zeros(int(task.costs.sizes.max()), np.int64),
    )
    privacy: Any = task.privacy.tables if task.privacy.asks_more else None
    tally: Any = new_tally(privacy) if task.privacy.asks_more else None
    with announced(task.progress):
        partition_some(task.codes, task.costs, cuts, work, privacy, tally, 0)
    task.progress.stage("partitioning", int(sizes[chosen].sum()))
    while work.counts[0]:
        before = int(work.counts[2])
        partition_some(task.codes, task.costs, cuts, work, privacy, tally, RECORDS_PER_TURN)
        task.progress.advance(int(work.counts[2]) - before)
    return work.labels


@kernel
def partition_some(
    codes: Ints,
    costs: CostTables,
    cuts: Cuts,
    work: Work,
    privacy: PrivacyTables,
    tally: Tally,
    budget: int,
) -> None:
    """Cut groups from the stack until the budget of records looked at is spent, or none is left.

    `privacy` and `tally` are None where k is all that is asked: Numba then leaves out what asks them.
    """
    columns = codes.shape[1]
    lo = np.empty(columns, np.int32)
    hi = np.empty(columns, np.int32)
    widths = np.empty(columns)
    start, counted = ZERO, NOWHERE  # where the group ends that the tally has counted: the left half of the last cut
    while work.counts[0] > 0 and budget > 0:
        work.counts[0] -= 1
        start, stop = work.starts[work.counts[0]], work.ends[work.counts[0]]
        budget -= stop - start
        middle = start
        if stop - start >= 2 * cuts.k:
            if privacy is not None and counted < 0:
                begin(privacy, tally, work.order[start:stop])
            bound(codes, work.order, start, stop, lo, hi)
            for j in range(columns):
                widths[j] = cell_cost(costs, j, lo[j], hi[j]) if lo[j] < hi[j] else -1.0
            while middle == start:
                j = ZERO
                for other in range(1, columns):
                    if widths[other] > widths[j]:
                        j = other
                if widths[j] < 0:
                    break
                widths[j] = -1.0
                if cuts.relaxed:
                    middle = cut_half(codes, work, start, stop, j, privacy, tally)
                else:
                    middle = cut_between(codes, work, start, stop, j, lo[j], hi[j], cuts, privacy, tally)
            if privacy is not None and middle > start:
                keep_left(privacy, tally, work.order[start:stop], work.order[start:middle])
                counted = middle
        if middle == start:
            if privacy is not None and (counted >= 0 or stop - start >= 2 * cuts.k):
                end(privacy, tally, work.order[start:stop])
                counted = NOWHERE
            for place in range(start, stop):
                work.labels[work.order[place]] = work.counts[1]
            work.counts[1] += 1
            work.counts[2] += stop - start
        else:
            top = work.counts[0]
            work.starts[top], work.ends[top] = middle, stop
            work.starts[top + 1], work.ends[top + 1] = start, middle
            work.counts[0] += 2
    if privacy is not None and counted >= 0:
        end(privacy, tally, work.order[start:counted])


@kernel
def bound(codes: Ints, order: Ints, start: int, stop: int, lo: Ints, hi: Ints) -> None:
    """The box around the records order[start:stop]."""
    for j in range(len(lo)):
        lo[j] = hi[j] = codes[order[start], j]
    for place in range(start + 1, stop):
        record = order[place]
        for j in range(len(lo)):
            code = codes[record, j]
            lo[j] = min(lo[j], code)
            hi[j] = max(hi[j], code)


@kernel
def cut_between(
    codes: Ints,
    work: Work,
    start: int,
    stop: int,
    j: int,
    lo: int,
    hi: int,
    cuts: Cuts,
    privacy: PrivacyTables,
    tally: Tally,
) -> int:
    """Cut between two codes of column j, where it divides best; `start` if no cut is allowable."""
    size = stop - start
    best, at, left = 0, lo + ZERO, 0
    walk = hi - lo < 4 * size
    if walk:
        for place in range(start, stop):
            work.histogram[codes[work.order[place], j] - lo] += 1
        for code in range(lo, hi):
            before = left
            left += work.histogram[code - lo]
            side = min(left, size - left)
            if side > best and (not cuts.median or (2 * before < size and 2 * left >= size)):
                best, at = side, code + ZERO
        for code in range(lo, hi + 1):
            work.histogram[code - lo] = 0
    else:  # few records in a wide domain: sorting them is cheaper than walking it
        in_code_order(codes, work, start, stop, j, lo + ZERO, hi + ZERO)
        median = codes[work.spare[(size - 1) // 2], j]
        for left in range(1, size):
            side = min(left, size - left)
            code = codes[work.spare[left - 1], j]
            if side > best and code < codes[work.spare[left], j] and (code == median or not cuts.median):
                best, at = side, code + ZERO
    if best < cuts.k:
        return start
    middle = divide(codes, work, start, stop, j, at, size)
    if privacy is not None:
        to_left(privacy, tally, work.order[start:middle])
        lacking = both_lack(privacy, tally, privacy.k)
        if lacking > 0:
            at = nearest_allowable(codes, work, start, stop, j, lo, hi, middle - start, lacking, cuts, privacy, tally)
            if at < 0:
                return start
            middle = divide(codes, work, start, stop, j, at, size)
    return middle


@kernel
def nearest_allowable(
    codes: Ints,
    work: Work,
    start: int,
    stop: int,
    j: int,
    lo: int,
    hi: int,
    middle: int,
    lacking: int,
    cuts: Cuts,
    privacy: PrivacyTables,
    tally: Tally,
) -> int:
    """The code after which a cut divides best among those whose sides satisfy every rule; −1 if there is none.

    The cut after `middle` records divides best, and `lacking` records would have to change sides before it is worth
    asking again. From there the cut walks down, then up, until it finds one: the farther it gets, the worse it divides.
    The tally has the records of the cut on the left, before and after.
    """
    size = stop - start
    found, left = NOWHERE, middle
    if not cuts.median and lacking <= max(middle, size - middle) - cuts.k:
        in_code_order(codes, work, start, stop, j, lo + ZERO, hi + ZERO)
        best, down, patience = 0, left, lacking
        while found < 0 and down > cuts.k and patience <= left - cuts.k:
            down -= 1
            code = codes[work.spare[down - 1], j] + ZERO
            if left - down >= patience and code < codes[work.spare[down], j]:
                to_right(privacy, tally, work.spare[down:left])
                left, patience = down, both_lack(privacy, tally, privacy.k)
                if patience == 0:
                    found, best = code, min(left, size - left)
        up, patience, most = left, middle - left + lacking, size - max(cuts.k, best + 1)
        better = NOWHERE
        while better < 0 and up < most and patience <= most - left:
            up += 1
            code = codes[work.spare[up - 1], j] + ZERO
            if up - left >= patience and code < codes[work.spare[up], j]:
                to_left(privacy, tally, work.spare[left:up])
                left, patience = up, both_lack(privacy, tally, privacy.k)
                if patience == 0:
                    better = code
        if better >= 0:
            found = better
        elif found >= 0:  # back to where it was found
            while codes[work.spare[up - 1], j] > found:
                up -= 1
            if up < left:
                to_right(privacy, tally, work.spare[up:left])
    else:
        work.spare[:left] = work.order[start : start + left]
    if found < 0:
        all_to_right(privacy, tally, work.spare[:left])
    return found


@kernel
def in_code_order(codes: Ints, work: Work, start: int, stop: int, j: int, lo: int, hi: int) -> None:
    """The records order[start:stop] into `spare`, by their codes lo..hi in column j: a radix sort."""
    size = stop - start
    bits = 8  # of a digit
    while hi - lo >= 1 << bits and 1 << bits < size:
        bits += 1
    buckets = np.zeros((1 << bits) + 1, np.int64)
    work.spare[:size] = work.order[start:stop]
    shift = 0
    while (hi - lo) >> shift > 0:
        buckets[:] = 0
        for place in range(size):
            buckets[(((codes[work.spare[place], j] - lo) >> shift) & ((1 << bits) - 1)) + 1] += 1
        for digit in range(1 << bits):
            buckets[digit + 1] += buckets[digit]
        for place in range(size):
            record = work.spare[place]
            digit = ((codes[record, j] - lo) >> shift) & ((1 << bits) - 1)
            work.spare_too[buckets[digit]] = record
            buckets[digit] += 1
        work.spare[:size] = work.spare_too[:size]
        shift += bits


@kernel
def cut_half(codes: Ints, work: Work, start: int, stop: int, j: int, privacy: PrivacyTables, tally: Tally) -> int:
    """Cut at the median of column j into equal halves; records that share the median fill up the left one."""
    half = (stop - start) // 2
    values = sorted_codes(codes, work, start, stop, j)
    at = values[half - 1] + ZERO
    ties = ZERO
    for place in range(half):
        if values[place] == at:
            ties += 1
    if privacy is not None:
        left = ties
        moved = 0
        for place in range(start, stop):
            record = work.order[place]
            if goes_left(codes[record, j], at, left):
                left -= codes[record, j] == at
                work.spare[moved] = record
                moved += 1
        to_left(privacy, tally, work.spare[:moved])
        if both_lack(privacy, tally, privacy.k):
            all_to_right(privacy, tally, work.spare[:moved])
            return start
    return divide(codes, work, start, stop, j, at, ties)


@kernel
def sorted_codes(codes: Ints, work: Work, start: int, stop: int, j: int) -> Ints:
    """The codes of column j of the records order[start:stop], in ascending order."""
    values = np.empty(stop - start, np.int32)
    for place in range(start, stop):
        values[place - start] = codes[work.order[place], j]
    values.sort()
    return values


@kernel
def goes_left(code: int, at: int, ties: int) -> bool:
    return code < at or (code == at and ties > 0)


@kernel
def divide(codes: Ints, work: Work, start: int, stop: int, j: int, at: int, ties: int) -> int:
    """Bring records with a code up to `at` to the front, at most `ties` of those with `at` itself; keep the order."""
    front, back = start, 0
    for place in range(start, stop):
        record = work.order[place]
        code = codes[record, j]
        if goes_left(code, at, ties):
            if code == at:
                ties -= 1
            work.order[front] = record
            front += 1
        else:
            work.spare[back] = record
            back += 1
    for place in range(back):
        work.order[front + place] = work.spare[place]
    return front
