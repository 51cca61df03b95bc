"""Sequential clustering for PMI, and for w·MI + (1 − w)·PMI (Goldberger & Tassa 2010, Sections 5 and 8.4), by scan.

What a record with sensitive value y loses in a group: per column, `log₂ n(cell) − (1 − w)·log₂ n_y(cell)`, with n(cell)
the records of the table whose value lies in the published cell, and n_y(cell) those of them that have y; what depends
on the record alone is left out. So a group of N records, N_y of them with y, costs

    T = N·C(box) − (1 − w)·Σ_y N_y·C_y(box),

where C is the cost of the box under mi and C_y the same with y's records counted alone: the cost tables are those of
mi, once per value. T does not grow with the box. No tree has a bound for it: every group is looked at.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.boxes.costs import DENSE_SIZE, CostTables, cost_tables
from shoal.boxes.geometry import without_gaps
from shoal.boxes.kernels import cell_cost
from shoal.boxes.members import Members, box_without, members_of, move
from shoal.cluster import Task
from shoal.compiling import inlined, kernel
from shoal.errors import ParameterError
from shoal.privacy.counts import count_all, join, leave, may_join, may_leave, new_counts
from shoal.schema import Role

Ints = NDArray[np.int32]
Longs = NDArray[np.int64]
Floats = NDArray[np.float64]
RECORDS_PER_TURN = 200
MOST_VALUES = 1_000  # every look at a group goes through all of them
MOST_NUMBERS = 8_000_000  # of whole cost tables: beyond, costs are computed from their parts


class Objective(NamedTuple):
    """What T is made of."""

    codes: Ints
    values: Ints  # the sensitive value of each record
    costs: CostTables  # C: the columns under mi
    by_value: CostTables  # C_y: the same for every value, one after the other
    share: float  # 1 − w


class Parts(NamedTuple):
    """Groups, dead ones with size 0."""

    lo: Ints
    hi: Ints
    sizes: Longs
    counts: Ints  # (groups, values)
    totals: Floats  # T


def objective(task: Task, mi_weight: float) -> Objective:
    values = without_gaps(task.classes("measure 'pmi'", missing=True))
    kinds = int(values.max()) + 1
    if kinds > MOST_VALUES:
        name = task.records.schema.names(Role.SENSITIVE)[0]
        raise ParameterError(
            f"measure 'pmi' is for a sensitive column with at most {MOST_VALUES} values, and {name!r} has {kinds}.",
            hint="Group them first, or aim at mi.",
        )
    books = []
    for value in range(kinds):
        mine = task.codes[values == value]
        for j, book in enumerate(task.records.books):
            books.append(replace(book, counts=np.bincount(mine[:, j], minlength=book.size)))
    costs = cost_tables(task.records.books, "mi")
    whole = kinds * sum(book.size**2 for book in task.records.books if book.size <= DENSE_SIZE) <= MOST_NUMBERS
    by_value = cost_tables(books, "mi", dense_size=DENSE_SIZE if whole else 0)
    return Objective(task.codes, values, costs, by_value, 1.0 - mi_weight)


def parts_of(wanted: Objective, labels: Ints) -> Parts:
    """The groups that labels without gaps make."""
    several, columns, kinds = int(labels.max()) + 1, wanted.codes.shape[1], int(wanted.values.max()) + 1
    parts = Parts(
        lo=np.full((several, columns), np.iinfo(np.int32).max, np.int32),
        hi=np.zeros((several, columns), np.int32),
        sizes=np.zeros(several, np.int64),
        counts=np.zeros((several, kinds), np.int32),
        totals=np.zeros(several),
    )
    add_up(wanted, parts, labels)
    return parts


class ByScan:
    """The engine of sequential clustering for PMI and its mix with MI."""

    def __init__(self, task: Task, mi_weight: float) -> None:
        self.task, self.wanted = task, objective(task, mi_weight)

    def total(self, labels: Ints) -> float:
        return float(parts_of(self.wanted, labels).totals.sum())

    def one_pass(self, labels: Ints, name: str, least: int = 0) -> tuple[Ints, int, float]:
        """`least`: so many records (people) stay in every group."""
        task, wanted = self.task, self.wanted
        parts = parts_of(wanted, labels)
        members = members_of(labels, len(parts.sizes))
        asks_more = bool(task.privacy.rules) or (least > 0 and task.privacy.asks_more)
        privacy: Any = task.privacy.tables if asks_more else None
        counts: Any = None
        if asks_more:
            counts = new_counts(privacy, len(parts.sizes))
            count_all(privacy, counts, labels)
        tally = np.zeros(2)
        move_some(wanted, parts, members, privacy, counts, tally, 0, 0, least)
        task.progress.stage(name, len(labels))
        for first in range(0, len(labels), RECORDS_PER_TURN):
            last = min(len(labels), first + RECORDS_PER_TURN)
            move_some(wanted, parts, members, privacy, counts, tally, first, last, least)
            task.progress.advance(last - first)
        return members.labels, int(tally[0]), float(tally[1])

    def merge_small(self, labels: Ints) -> Ints:
        task, wanted = self.task, self.wanted
        parts = parts_of(wanted, labels)
        several = len(parts.sizes)
        into = np.arange(several)
        small = parts.sizes < task.k
        nearest, distances = np.full(several, -1), np.full(several, np.inf)
        task.progress.stage("merging the closest", int(small.sum()))
        for group in np.flatnonzero(small).tolist():
            nearest[group], distances[group] = closest(wanted, parts, small, group, per_record=True)
        while small.sum() > 1:
            group = int(np.argmin(distances))
            other = int(nearest[group])
            # A neighbour that has changed is looked for again; what it has become looked at this group meanwhile.
            if other < 0 or not small[other] or into[other] != other:
                nearest[group], distances[group] = closest(wanted, parts, small, group, per_record=True)
                continue
            take_in(wanted, parts, group, other)
            into[other], small[other], distances[other] = group, False, np.inf
            nearest[nearest == group] = -1
            if parts.sizes[group] >= task.k:
                small[group], distances[group] = False, np.inf
            else:
                nearest[group], distances[group] = closest(wanted, parts, small, group, per_record=True)
            task.progress.advance(1)
        for group in np.flatnonzero(small).tolist():
            other, _ = closest(wanted, parts, parts.sizes > 0, group, per_record=False)
            if other >= 0:
                into[group] = other
        while not np.array_equal(into, into[into]):
            into = into[into]
        return into[labels].astype(np.int32)


@inlined
def group_total(wanted: Objective, lo: Ints, hi: Ints, size: int, counts: Ints) -> float:
    """T of a group."""
    columns = len(lo)
    box = 0.0
    for j in range(columns):
        box += cell_cost(wanted.costs, j, lo[j], hi[j])
    known = 0.0
    for value in range(len(counts)):
        if counts[value] > 0:
            part = 0.0
            for j in range(columns):
                part += cell_cost(wanted.by_value, value * columns + j, lo[j], hi[j])
            known += counts[value] * part
    return size * box - wanted.share * known


@kernel
def add_up(wanted: Objective, parts: Parts, labels: Ints) -> None:
    """Fill in the groups from the records."""
    for record in range(len(labels)):
        group = labels[record]
        parts.sizes[group] += 1
        parts.counts[group, wanted.values[record]] += 1
        for j in range(wanted.codes.shape[1]):
            parts.lo[group, j] = min(parts.lo[group, j], wanted.codes[record, j])
            parts.hi[group, j] = max(parts.hi[group, j], wanted.codes[record, j])
    for group in range(len(parts.sizes)):
        if parts.sizes[group] > 0:
            parts.totals[group] = group_total(
                wanted, parts.lo[group], parts.hi[group], parts.sizes[group], parts.counts[group]
            )


@kernel
def move_some(
    wanted: Objective,
    parts: Parts,
    members: Members,
    privacy: Any,
    counts: Any,
    tally: Floats,
    start: int,
    end: int,
    least: int,
) -> None:
    """Ask the records from `start` to `end`; `tally` adds up how many moved and what that saved."""
    codes = wanted.codes
    columns = codes.shape[1]
    lo, hi = np.empty(columns, np.int32), np.empty(columns, np.int32)
    low, high = np.empty(columns, np.int32), np.empty(columns, np.int32)
    for record in range(start, end):
        here, value = members.labels[record], wanted.values[record]
        if least > 0 and parts.sizes[here] <= least:
            continue
        without = box_without(codes, members, parts.lo[here], parts.hi[here], record, lo, hi)
        parts.counts[here, value] -= 1
        left = group_total(wanted, lo, hi, parts.sizes[here] - 1, parts.counts[here]) if without else 0.0
        parts.counts[here, value] += 1
        saved = parts.totals[here] - left
        # A singleton must go; any other goes only where it costs less than it saves here.
        best, there, joined = saved - 1e-9 if without else np.inf, -1, 0.0
        if privacy is not None and not may_leave(privacy, counts, record, here, least):
            continue
        for group in range(len(parts.sizes)):
            if group == here or parts.sizes[group] == 0:
                continue
            for j in range(columns):
                low[j], high[j] = min(parts.lo[group, j], codes[record, j]), max(parts.hi[group, j], codes[record, j])
            parts.counts[group, value] += 1
            whole = group_total(wanted, low, high, parts.sizes[group] + 1, parts.counts[group])
            parts.counts[group, value] -= 1
            if whole - parts.totals[group] < best:
                if privacy is not None and not may_join(privacy, counts, record, group):
                    continue
                best, there, joined = whole - parts.totals[group], group, whole
        if there < 0:
            continue
        tally[0] += 1
        tally[1] += saved - best
        move(members, record, here, there)
        parts.sizes[here] -= 1
        parts.counts[here, value] -= 1
        parts.totals[here] = left
        parts.sizes[there] += 1
        parts.counts[there, value] += 1
        parts.totals[there] = joined
        for j in range(columns):
            if without:
                parts.lo[here, j], parts.hi[here, j] = lo[j], hi[j]
            parts.lo[there, j] = min(parts.lo[there, j], codes[record, j])
            parts.hi[there, j] = max(parts.hi[there, j], codes[record, j])
        if privacy is not None:
            leave(privacy, counts, record, here)
            join(privacy, counts, record, there)


@kernel
def closest(
    wanted: Objective, parts: Parts, asked: NDArray[np.bool_], group: int, per_record: bool
) -> tuple[int, float]:
    """The other group, of those asked, that it costs least to merge with; and what it costs."""
    columns = parts.lo.shape[1]
    low, high = np.empty(columns, np.int32), np.empty(columns, np.int32)
    both = np.empty(parts.counts.shape[1], np.int32)
    best, chosen = np.inf, -1
    for other in range(len(parts.sizes)):
        if other == group or not asked[other]:
            continue
        for j in range(columns):
            low[j] = min(parts.lo[group, j], parts.lo[other, j])
            high[j] = max(parts.hi[group, j], parts.hi[other, j])
        for value in range(len(both)):
            both[value] = parts.counts[group, value] + parts.counts[other, value]
        whole = group_total(wanted, low, high, parts.sizes[group] + parts.sizes[other], both)
        added = whole - parts.totals[group] - parts.totals[other]
        if per_record:
            added /= parts.sizes[group] + parts.sizes[other]
        if added < best:
            best, chosen = added, other
    return chosen, best


@kernel
def take_in(wanted: Objective, parts: Parts, group: int, other: int) -> None:
    """A group takes in another, which is dead afterwards."""
    for j in range(parts.lo.shape[1]):
        parts.lo[group, j] = min(parts.lo[group, j], parts.lo[other, j])
        parts.hi[group, j] = max(parts.hi[group, j], parts.hi[other, j])
    parts.counts[group] += parts.counts[other]
    parts.sizes[group] += parts.sizes[other]
    parts.sizes[other] = 0
    parts.totals[group] = group_total(wanted, parts.lo[group], parts.hi[group], parts.sizes[group], parts.counts[group])
