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

from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.arrays import row_type
from shoal.boxes.costs import CostTables
from shoal.boxes.costs.kernels import cell_cost
from shoal.cluster import Task
from shoal.compiling import ZERO, allocating, constant, inner, kernel
from shoal.compiling.structs import Struct, struct
from shoal.errors import ParameterError, one_of
from shoal.privacy.rules import Rules, rules_of
from shoal.privacy.tally import all_to_right, begin, both_lack, end, keep_left, to_left, to_right
from shoal.workers import mapped

Ints = NDArray[np.int32]
Longs = NDArray[np.int64]
Rows = NDArray[np.void]  # of named fields
CUTS = ("best", "median")
NOWHERE = constant(-1)
PARTS, LEAST_PART = 64, 10_000  # of the records: what is not larger than both is left to one worker
ALL = constant(2**62)  # as a budget

SPAN = row_type([("start", "i8"), ("stop", "i8")])  # the records of a group, in `order`
DONE = row_type(
    [
        ("waiting", "i8"),  # groups on the stack
        ("records", "i8"),  # in finished groups
    ]
)


@struct
class Cutting(Struct):
    """A table that is being cut up: which cuts are made, and how far it is."""

    codes: Ints
    rules: Rules
    k: int
    relaxed: bool
    median: bool
    order: Ints  # records; those of one group are neighbours
    stack: Rows  # SPAN of the groups that are still to be looked at
    done: Rows  # [DONE]
    labels: Ints  # of each record in a finished group: where the group begins in `order`
    lo: Ints  # the box of the group that is looked at
    hi: Ints
    spare: Ints  # room for a stable partition or a sort, one place per record
    spare_too: Ints
    histogram: Longs  # room to count codes; all zero between uses


def run(task: Task, *, relaxed: bool = False, cut: str = "best") -> Ints:
    """The group of each record. `cut="median"` is the original's strict rule (see above); relaxed has no other."""
    if cut not in CUTS:
        raise ParameterError(one_of("cut", cut, CUTS))
    everybody = np.zeros(len(task.codes), np.int32)
    return _cut_up(task, everybody, np.array([0]), relaxed=relaxed, median=cut == "median")


def cut_further(task: Task, labels: Ints, chosen: NDArray[np.integer]) -> Ints:
    """New labels: the chosen groups cut up as far as they can be, the others as they are."""
    return _cut_up(task, labels, chosen)


def _cut_up(
    task: Task, labels: Ints, chosen: NDArray[np.integer], *, relaxed: bool = False, median: bool = False
) -> Ints:
    sizes = np.bincount(labels)
    last = np.cumsum(sizes)
    whole = Cutting(
        codes=task.codes,
        rules=rules_of(task.privacy.tables),
        k=task.k,
        relaxed=relaxed,
        median=median,
        order=np.argsort(labels, kind="stable").astype(np.int32),
        labels=labels + np.int32(len(labels)),  # the groups that stay are numbered after the new ones
        **_room_for(task, int(sizes[chosen].max(initial=0))),
    )
    partition_some(whole, task.costs, 0)
    task.progress.stage("partitioning", int(sizes[chosen].sum()))
    spans, small = list(zip((last - sizes)[chosen], last[chosen], strict=True)), []
    enough = max(LEAST_PART, int(sizes[chosen].sum()) // PARTS)
    while spans:  # one cut after the other, down to parts that can be worked on side by side
        start, stop = spans.pop()
        if stop - start <= enough:
            small.append((start, stop))
        else:
            spans += _cut(whole, task.costs, start, stop, 1)
            task.progress.advance(int(whole.done["records"][0]))
    drawing = Lock()

    def cut(part: tuple[int, int]) -> None:
        start, stop = part
        own = whole.replace(rules=rules_of(task.privacy.tables), **_room_for(task, stop - start))
        _cut(own, task.costs, start, stop, ALL)
        with drawing:
            task.progress.advance(stop - start)

    mapped(cut, small)
    return whole.labels


def _cut(cutting: Cutting, costs: CostTables, start: int, stop: int, budget: int) -> list[tuple[int, int]]:
    """Cut up a group until the budget is spent; what is still to be looked at."""
    stack, done = cutting.stack, cutting.done[0]
    stack["start"][0], stack["stop"][0] = start, stop
    done["waiting"], done["records"] = 1, 0
    partition_some(cutting, costs, budget)
    waiting = stack[: int(done["waiting"])]
    return list(zip(waiting["start"].tolist(), waiting["stop"].tolist(), strict=True))


def _room_for(task: Task, records: int) -> dict[str, NDArray[Any]]:
    """What it takes to cut up a group of so many records."""
    columns = task.codes.shape[1]
    return {
        "stack": np.zeros(records // task.k + 2, SPAN),
        "done": np.zeros(1, DONE),
        "lo": np.zeros(columns, np.int32),
        "hi": np.zeros(columns, np.int32),
        "spare": np.empty(records, np.int32),
        "spare_too": np.empty(records, np.int32),
        "histogram": np.zeros(int(task.costs.columns["n_codes"].max()), np.int64),
    }


@kernel
def partition_some(cutting: Cutting, costs: CostTables, budget: int) -> None:
    """Cut groups from the stack until the budget of records looked at is spent, or none is left."""
    rules, order, stack, labels = cutting.rules, cutting.order, cutting.stack, cutting.labels
    lo, hi, done = cutting.lo, cutting.hi, cutting.done
    columns = len(lo)
    widths = np.empty(columns)
    start, counted = ZERO, NOWHERE  # where the group ends that is counted: the left half of the last cut
    while done[0].waiting > 0 and budget > 0:
        done[0].waiting -= 1
        start, stop = stack[done[0].waiting].start, stack[done[0].waiting].stop
        budget -= stop - start
        middle = start
        if stop - start >= 2 * cutting.k:
            if rules.asked and counted < 0:
                begin(rules, order[start:stop])
            bound(cutting, start, stop)
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
                relaxed = cutting.relaxed
                middle = cut_half(cutting, start, stop, j) if relaxed else cut_between(cutting, start, stop, j)
            if rules.asked and middle > start:
                keep_left(rules, order[start:stop], order[start:middle])
                counted = middle
        if middle == start:
            if rules.asked and (counted >= 0 or stop - start >= 2 * cutting.k):
                end(rules, order[start:stop])
                counted = NOWHERE
            for at in range(start, stop):
                labels[order[at]] = start
            done[0].records += stop - start
        else:
            top = done[0].waiting
            stack[top].start, stack[top].stop = middle, stop
            stack[top + 1].start, stack[top + 1].stop = start, middle
            done[0].waiting += 2
    if rules.asked and counted >= 0:
        end(rules, order[start:counted])


@inner
def bound(cutting: Cutting, start: int, stop: int) -> None:
    """The box around the records order[start:stop], into `lo` and `hi`."""
    codes, order, lo, hi = cutting.codes, cutting.order, cutting.lo, cutting.hi
    for j in range(len(lo)):
        lo[j] = hi[j] = codes[order[start], j]
    for at in range(start + 1, stop):
        record = order[at]
        for j in range(len(lo)):
            code = codes[record, j]
            lo[j] = min(lo[j], code)
            hi[j] = max(hi[j], code)


@inner
def cut_between(cutting: Cutting, start: int, stop: int, j: int) -> int:
    """Cut between two codes of column j, where it divides best; `start` if no cut is allowable."""
    codes, order, spare, histogram = cutting.codes, cutting.order, cutting.spare, cutting.histogram
    lo, hi, median_only = cutting.lo[j], cutting.hi[j], cutting.median
    size = stop - start
    best, cut, left = 0, lo + ZERO, 0
    walk = hi - lo < 4 * size
    if walk:
        for at in range(start, stop):
            histogram[codes[order[at], j] - lo] += 1
        for code in range(lo, hi):
            before = left
            left += histogram[code - lo]
            side = min(left, size - left)
            if side > best and (not median_only or (2 * before < size and 2 * left >= size)):
                best, cut = side, code + ZERO
        for code in range(lo, hi + 1):
            histogram[code - lo] = 0
    else:  # few records in a wide domain: sorting them is cheaper than walking it
        in_code_order(cutting, start, stop, j)
        median = codes[spare[(size - 1) // 2], j]
        for left in range(1, size):
            side = min(left, size - left)
            code = codes[spare[left - 1], j]
            if side > best and code < codes[spare[left], j] and (code == median or not median_only):
                best, cut = side, code + ZERO
    if best < cutting.k:
        return start
    middle = divide(cutting, start, stop, j, cut, size)
    rules = cutting.rules
    if rules.asked:
        to_left(rules, order[start:middle])
        lacking = both_lack(rules, rules.k)
        if lacking > 0:
            cut = nearest_allowable(cutting, start, stop, j, middle - start, lacking)
            if cut < 0:
                return start
            middle = divide(cutting, start, stop, j, cut, size)
    return middle


@allocating
def nearest_allowable(cutting: Cutting, start: int, stop: int, j: int, middle: int, lacking: int) -> int:
    """The code after which a cut divides best among those whose sides satisfy every rule; −1 if there is none.

    The cut after `middle` records divides best, and `lacking` records would have to change sides before it is worth
    asking again. From there the cut walks down, then up, until it finds one: the farther it gets, the worse it divides.
    The tally has the records of the cut on the left, before and after.
    """
    codes, spare, rules, k = cutting.codes, cutting.spare, cutting.rules, cutting.k
    size = stop - start
    found, left = NOWHERE, middle
    if not cutting.median and lacking <= max(middle, size - middle) - k:
        in_code_order(cutting, start, stop, j)
        best, down, patience = 0, left, lacking
        while found < 0 and down > k and patience <= left - k:
            down -= 1
            code = codes[spare[down - 1], j] + ZERO
            if left - down >= patience and code < codes[spare[down], j]:
                to_right(rules, spare[down:left])
                left, patience = down, both_lack(rules, rules.k)
                if patience == 0:
                    found, best = code, min(left, size - left)
        up, patience, most = left, middle - left + lacking, size - max(k, best + 1)
        better = NOWHERE
        while better < 0 and up < most and patience <= most - left:
            up += 1
            code = codes[spare[up - 1], j] + ZERO
            if up - left >= patience and code < codes[spare[up], j]:
                to_left(rules, spare[left:up])
                left, patience = up, both_lack(rules, rules.k)
                if patience == 0:
                    better = code
        if better >= 0:
            found = better
        elif found >= 0:  # back to where it was found
            while codes[spare[up - 1], j] > found:
                up -= 1
            if up < left:
                to_right(rules, spare[up:left])
    else:
        spare[:left] = cutting.order[start : start + left]
    if found < 0:
        all_to_right(rules, spare[:left])
    return found


@allocating
def in_code_order(cutting: Cutting, start: int, stop: int, j: int) -> None:
    """The records order[start:stop] into `spare`, by their codes in column j: a radix sort."""
    codes, spare, spare_too = cutting.codes, cutting.spare, cutting.spare_too
    lo, hi = cutting.lo[j] + ZERO, cutting.hi[j] + ZERO
    size = stop - start
    bits = 8  # of a digit
    while hi - lo >= 1 << bits and 1 << bits < size:
        bits += 1
    buckets = np.zeros((1 << bits) + 1, np.int64)
    spare[:size] = cutting.order[start:stop]
    shift = 0
    while (hi - lo) >> shift > 0:
        buckets[:] = 0
        for at in range(size):
            buckets[(((codes[spare[at], j] - lo) >> shift) & ((1 << bits) - 1)) + 1] += 1
        for digit in range(1 << bits):
            buckets[digit + 1] += buckets[digit]
        for at in range(size):
            record = spare[at]
            digit = ((codes[record, j] - lo) >> shift) & ((1 << bits) - 1)
            spare_too[buckets[digit]] = record
            buckets[digit] += 1
        spare[:size] = spare_too[:size]
        shift += bits


@allocating
def cut_half(cutting: Cutting, start: int, stop: int, j: int) -> int:
    """Cut at the median of column j into equal halves; records that share the median fill up the left one."""
    codes, order, spare, rules = cutting.codes, cutting.order, cutting.spare, cutting.rules
    half = (stop - start) // 2
    values = np.empty(stop - start, np.int32)
    for at in range(start, stop):
        values[at - start] = codes[order[at], j]
    values.sort()
    cut = values[half - 1] + ZERO
    ties = ZERO
    for at in range(half):
        if values[at] == cut:
            ties += 1
    if rules.asked:
        left = ties
        moved = 0
        for at in range(start, stop):
            record = order[at]
            if goes_left(codes[record, j], cut, left):
                left -= codes[record, j] == cut
                spare[moved] = record
                moved += 1
        to_left(rules, spare[:moved])
        if both_lack(rules, rules.k):
            all_to_right(rules, spare[:moved])
            return start
    return divide(cutting, start, stop, j, cut, ties)


@inner
def goes_left(code: int, cut: int, ties: int) -> bool:
    return code < cut or (code == cut and ties > 0)


@inner
def divide(cutting: Cutting, start: int, stop: int, j: int, cut: int, ties: int) -> int:
    """Bring records with a code up to `cut` to the front, at most `ties` of those with `cut` itself; keep the order."""
    codes, order, spare = cutting.codes, cutting.order, cutting.spare
    front, back = start, 0
    for at in range(start, stop):
        record = order[at]
        code = codes[record, j]
        if goes_left(code, cut, ties):
            if code == cut:
                ties -= 1
            order[front] = record
            front += 1
        else:
            spare[back] = record
            back += 1
    for at in range(back):
        order[front + at] = spare[at]
    return front
