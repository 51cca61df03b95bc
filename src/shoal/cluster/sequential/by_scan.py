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
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.arrays import row_type
from shoal.boxes.costs import CostTables, cost_tables
from shoal.boxes.costs.kernels import cell_cost
from shoal.boxes.costs.tables import DENSE_SIZE
from shoal.boxes.geometry import without_gaps
from shoal.boxes.grouping import Members
from shoal.boxes.members import box_without, members_of, move
from shoal.cluster import Task
from shoal.compiling import allocating, inlined, inner, kernel
from shoal.compiling.structs import Struct, struct
from shoal.errors import ParameterError
from shoal.privacy.counts import count_all, join, leave, may_join, may_leave
from shoal.privacy.rules import Rules, no_rules, rules_of
from shoal.schema import Role

Ints = NDArray[np.int32]
Longs = NDArray[np.int64]
Floats = NDArray[np.float64]
Rows = NDArray[np.void]  # of named fields
RECORDS_PER_TURN = 200
MOST_VALUES = 1_000  # every look at a group goes through all of them
MOST_NUMBERS = 8_000_000  # of whole cost tables: beyond, costs are computed from their parts

MOVED = row_type([("records", "i8"), ("saved", "f8")])


class Objective(NamedTuple):
    """What T is made of."""

    costs: CostTables  # C: the columns under mi
    by_value: CostTables  # C_y: the same for every value, one after the other
    share: float  # 1 − w


@struct
class Scan(Struct):
    """Records in groups, each of which is looked at. Dead groups have size 0."""

    codes: Ints
    values: Ints  # the sensitive value of each record
    objective: Objective
    lo: Ints
    hi: Ints
    sizes: Longs
    counts: Ints  # (groups, values)
    totals: Floats  # T of each group
    members: Members
    rules: Rules
    moved: Rows  # [MOVED]: how many records have moved, and what that saved


def objective_of(task: Task, values: Ints, mi_weight: float) -> Objective:
    """What T is made of, for these sensitive values."""
    books = []
    for value in range(int(values.max()) + 1):
        mine = task.codes[values == value]
        for j, book in enumerate(task.records.books):
            books.append(replace(book, counts=np.bincount(mine[:, j], minlength=book.size)))
    dense = sum(book.size**2 for book in books if book.size <= DENSE_SIZE)
    return Objective(
        costs=cost_tables(task.records.books, "mi"),
        by_value=cost_tables(books, "mi", dense_size=DENSE_SIZE if dense <= MOST_NUMBERS else 0),
        share=1.0 - mi_weight,
    )


def sensitive_values(task: Task) -> Ints:
    """The sensitive value of each record, from 0 on."""
    values = without_gaps(task.classes("measure 'pmi'", missing=True))
    kinds = int(values.max()) + 1
    if kinds > MOST_VALUES:
        name = task.records.schema.names(Role.SENSITIVE)[0]
        raise ParameterError(
            f"measure 'pmi' is for a sensitive column with at most {MOST_VALUES} values, and {name!r} has {kinds}.",
            hint="Group them first, or aim at mi.",
        )
    return values


class ByScan:
    """The engine of sequential clustering for PMI and its mix with MI."""

    def __init__(self, task: Task, mi_weight: float) -> None:
        self.task, self._values = task, sensitive_values(task)
        self._objective = objective_of(task, self._values, mi_weight)

    def scan(self, labels: Ints, *, rules: bool = False) -> Scan:
        """The groups that labels without gaps make. `rules`: those of the task are asked."""
        task, n_groups, columns = self.task, int(labels.max()) + 1, self.task.codes.shape[1]
        scan = Scan(
            codes=task.codes,
            values=self._values,
            objective=self._objective,
            lo=np.full((n_groups, columns), np.iinfo(np.int32).max, np.int32),
            hi=np.zeros((n_groups, columns), np.int32),
            sizes=np.zeros(n_groups, np.int64),
            counts=np.zeros((n_groups, int(self._values.max()) + 1), np.int32),
            totals=np.zeros(n_groups),
            members=members_of(labels.copy(), n_groups),
            rules=rules_of(task.privacy.tables, n_groups) if rules else no_rules(task.k),
            moved=np.zeros(1, MOVED),
        )
        add_up(scan)
        return scan

    def total(self, labels: Ints) -> float:
        return float(self.scan(labels).totals.sum())

    def one_pass(self, labels: Ints, name: str, least: int = 0) -> tuple[Ints, int, float]:
        """`least`: so many records (people) stay in every group."""
        task = self.task
        scan = self.scan(labels, rules=bool(task.privacy.rules) or least > 0)
        count_all(scan.rules, labels)
        move_some(scan, 0, 0, least)
        task.progress.stage(name, len(labels))
        for first in range(0, len(labels), RECORDS_PER_TURN):
            last = min(len(labels), first + RECORDS_PER_TURN)
            move_some(scan, first, last, least)
            task.progress.advance(last - first)
        moved, saved = scan.moved[0].tolist()
        return scan.members.labels, moved, saved

    def merge_small(self, labels: Ints) -> Ints:
        task, scan = self.task, self.scan(labels)
        n_groups = len(scan.sizes)
        into = np.arange(n_groups)
        small = scan.sizes < task.k
        nearest, distances = np.full(n_groups, -1), np.full(n_groups, np.inf)
        task.progress.stage("merging the closest", int(small.sum()))
        for group in np.flatnonzero(small).tolist():
            nearest[group], distances[group] = closest(scan, small, group, per_record=True)
        while small.sum() > 1:
            group = int(np.argmin(distances))
            other = int(nearest[group])
            # A neighbour that has changed is looked for again; what it has become looked at this group meanwhile.
            if other < 0 or not small[other] or into[other] != other:
                nearest[group], distances[group] = closest(scan, small, group, per_record=True)
                continue
            take_in(scan, group, other)
            into[other], small[other], distances[other] = group, False, np.inf
            nearest[nearest == group] = -1
            if scan.sizes[group] >= task.k:
                small[group], distances[group] = False, np.inf
            else:
                nearest[group], distances[group] = closest(scan, small, group, per_record=True)
            task.progress.advance(1)
        for group in np.flatnonzero(small).tolist():
            other, _ = closest(scan, scan.sizes > 0, group, per_record=False)
            if other >= 0:
                into[group] = other
        while not np.array_equal(into, into[into]):
            into = into[into]
        return into[labels].astype(np.int32)


@inlined
def group_total(objective: Objective, lo: Ints, hi: Ints, size: int, counts: Ints) -> float:
    """T of a group."""
    columns = len(lo)
    box = 0.0
    for j in range(columns):
        box += cell_cost(objective.costs, j, lo[j], hi[j])
    known = 0.0
    for value in range(len(counts)):
        if counts[value] > 0:
            part = 0.0
            for j in range(columns):
                part += cell_cost(objective.by_value, value * columns + j, lo[j], hi[j])
            known += counts[value] * part
    return size * box - objective.share * known


@kernel
def add_up(scan: Scan) -> None:
    """Fill in the groups from the records."""
    codes, values, labels = scan.codes, scan.values, scan.members.labels
    lo, hi, sizes, counts, totals = scan.lo, scan.hi, scan.sizes, scan.counts, scan.totals
    for record in range(len(labels)):
        group = labels[record]
        sizes[group] += 1
        counts[group, values[record]] += 1
        for j in range(codes.shape[1]):
            lo[group, j] = min(lo[group, j], codes[record, j])
            hi[group, j] = max(hi[group, j], codes[record, j])
    objective = scan.objective
    for group in range(len(sizes)):
        if sizes[group] > 0:
            totals[group] = group_total(objective, lo[group], hi[group], sizes[group], counts[group])


@kernel
def move_some(scan: Scan, start: int, end: int, least: int) -> None:
    """Ask the records from `start` to `end`; `moved` adds up how many moved and what that saved."""
    codes, objective, members, rules, moved = scan.codes, scan.objective, scan.members, scan.rules, scan.moved
    group_lo, group_hi, sizes, counts, totals = scan.lo, scan.hi, scan.sizes, scan.counts, scan.totals
    columns = codes.shape[1]
    lo, hi = np.empty(columns, np.int32), np.empty(columns, np.int32)
    joined = np.empty(len(sizes))
    for record in range(start, end):
        here, value = members.labels[record], scan.values[record]
        if least > 0 and sizes[here] <= least:
            continue
        without = box_without(codes, members, scan, record, lo, hi)
        counts[here, value] -= 1
        left = group_total(objective, lo, hi, sizes[here] - 1, counts[here]) if without else 0.0
        counts[here, value] += 1
        saved = totals[here] - left
        if not may_leave(rules, record, here, least):
            continue
        join_each(scan, record, joined)
        # A singleton must go; any other goes only where it costs less than it saves here.
        there = cheapest(scan, record, joined, saved - 1e-9 if without else np.inf)
        if there < 0:
            continue
        moved[0].records += 1
        moved[0].saved += saved - (joined[there] - totals[there])
        move(members, record, here, there)
        sizes[here] -= 1
        counts[here, value] -= 1
        totals[here] = left
        sizes[there] += 1
        counts[there, value] += 1
        totals[there] = joined[there]
        for j in range(columns):
            if without:
                group_lo[here, j], group_hi[here, j] = lo[j], hi[j]
            group_lo[there, j] = min(group_lo[there, j], codes[record, j])
            group_hi[there, j] = max(group_hi[there, j], codes[record, j])
        leave(rules, record, here)
        join(rules, record, there)


@allocating
def join_each(scan: Scan, record: int, joined: Floats) -> None:
    """T of each other group if it took in the record, into `joined`; infinite where there is no group."""
    objective, lo, hi, sizes, counts = scan.objective, scan.lo, scan.hi, scan.sizes, scan.counts
    code, here, value = scan.codes[record], scan.members.labels[record], scan.values[record]
    columns = len(code)
    low, high = np.empty(columns, np.int32), np.empty(columns, np.int32)
    for group in range(len(sizes)):
        if group == here or sizes[group] == 0:
            joined[group] = np.inf
            continue
        for j in range(columns):
            low[j], high[j] = min(lo[group, j], code[j]), max(hi[group, j], code[j])
        counts[group, value] += 1
        joined[group] = group_total(objective, low, high, sizes[group] + 1, counts[group])
        counts[group, value] -= 1


@inner
def cheapest(scan: Scan, record: int, joined: Floats, most: float) -> int:
    """The group that a record may join and that costs least, and less than `most`; −1 if there is none."""
    rules, totals = scan.rules, scan.totals
    while True:
        best, there = most, -1
        for group in range(len(totals)):
            if joined[group] - totals[group] < best:
                best, there = joined[group] - totals[group], group
        if there < 0 or may_join(rules, record, there):
            return there
        joined[there] = np.inf


@kernel
def closest(scan: Scan, asked: NDArray[np.bool_], group: int, per_record: bool) -> tuple[int, float]:
    """The other group, of those asked, that it costs least to merge with; and what it costs."""
    objective, lo, hi, sizes, counts, totals = scan.objective, scan.lo, scan.hi, scan.sizes, scan.counts, scan.totals
    columns = lo.shape[1]
    low, high = np.empty(columns, np.int32), np.empty(columns, np.int32)
    both = np.empty(counts.shape[1], np.int32)
    best, chosen = np.inf, -1
    for other in range(len(sizes)):
        if other == group or not asked[other]:
            continue
        for j in range(columns):
            low[j] = min(lo[group, j], lo[other, j])
            high[j] = max(hi[group, j], hi[other, j])
        for value in range(len(both)):
            both[value] = counts[group, value] + counts[other, value]
        whole = group_total(objective, low, high, sizes[group] + sizes[other], both)
        added = whole - totals[group] - totals[other]
        if per_record:
            added /= sizes[group] + sizes[other]
        if added < best:
            best, chosen = added, other
    return chosen, best


@kernel
def take_in(scan: Scan, group: int, other: int) -> None:
    """A group takes in another, which is dead afterwards."""
    lo, hi, sizes, counts = scan.lo, scan.hi, scan.sizes, scan.counts
    for j in range(lo.shape[1]):
        lo[group, j] = min(lo[group, j], lo[other, j])
        hi[group, j] = max(hi[group, j], hi[other, j])
    counts[group] += counts[other]
    sizes[group] += sizes[other]
    sizes[other] = 0
    scan.totals[group] = group_total(scan.objective, lo[group], hi[group], sizes[group], counts[group])
