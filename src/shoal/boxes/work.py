"""Records in groups that change: who is where, the boxes, and the group tree over them; for kernels.

`tables`, `counts` and `tally` are `PrivacyTables`, `GroupCounts` and `Tally`, or None where no more is asked than k
records in every group.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.arrays import grow
from shoal.boxes.costs import CostTables
from shoal.boxes.geometry import group_boxes
from shoal.boxes.group_changes import absorb, add, settle
from shoal.boxes.group_tree import Groups, GroupTree, build, new_group_tree, new_groups, weigh
from shoal.boxes.kernels import box_cost
from shoal.boxes.members import Members, members_of, put_in, take_out
from shoal.boxes.splitting import box_of, order_of_going
from shoal.compiling import ZERO, constant, inlined, inner
from shoal.privacy.counts import holds, join, leave, may_split, merge

Ints = NDArray[np.int32]
Longs = NDArray[np.int64]
NOBODY = constant(-1)
SPARE = 0  # in `marks`: how many group numbers are not in use


class Work(NamedTuple):
    """Everything that changes."""

    codes: Ints
    members: Members
    groups: Groups
    tree: GroupTree
    spare: Ints  # a stack of group numbers that are not in use
    marks: Longs
    retry: Longs  # of each group: how many records it must have before it is split; 2k, or more after a refusal


def work_of(codes: Ints, labels: Ints, costs: CostTables, room: int, *, reshapes: bool) -> Work:
    """Records with these labels (−1: in no group), and room for so many groups. `reshapes`: see `group_changes.py`."""
    there = labels >= 0
    numbers, dense = np.unique(labels[there], return_inverse=True)
    groups = new_groups(room, codes.shape[1])
    if len(numbers):
        boxes = group_boxes(codes[there], dense.astype(np.int32), len(numbers))
        groups.lo[numbers], groups.hi[numbers], groups.sizes[numbers] = boxes
    weigh(costs, groups)
    tree = new_group_tree(groups, reshapes=reshapes)
    build(tree, costs, groups)
    free = np.setdiff1d(np.arange(room, dtype=np.int32), numbers)[::-1]  # the lowest number is taken first
    return Work(
        codes,
        members_of(labels, room),
        groups,
        tree,
        spare=grow(free, room),
        marks=np.array([len(free)]),
        retry=np.zeros(room, np.int64),
    )


@inlined
def crowd(work: Work, counts: Any, group: int) -> int:
    """How many of those whom k counts are in a group."""
    if counts is None:
        return work.groups.sizes[group]
    return counts.people[group]


@inlined
def satisfied(work: Work, k: int, tables: Any, counts: Any, group: int) -> bool:
    if tables is None:
        return work.groups.sizes[group] >= k
    return holds(tables, counts, group)


@inlined
def widen(work: Work, costs: CostTables, record: int, group: int) -> None:
    """The box of a group that a record has joined."""
    work.groups.sizes[group] += 1
    for j in range(work.codes.shape[1]):
        code = work.codes[record, j]
        work.groups.lo[group, j] = min(work.groups.lo[group, j], code)
        work.groups.hi[group, j] = max(work.groups.hi[group, j], code)
    work.groups.losses[group] = box_cost(costs, work.groups.lo[group], work.groups.hi[group])


@inlined
def enter(work: Work, costs: CostTables, tables: Any, counts: Any, record: int, group: int) -> None:
    """A record that is in no group joins one."""
    put_in(work.members, record, group)
    widen(work, costs, record, group)
    if tables is not None:
        join(tables, counts, record, group)
    settle(work.tree, costs, work.groups, group)


@inlined
def depart(work: Work, tables: Any, counts: Any, record: int) -> None:
    """A record leaves its group, whose box is as it was until `refresh`."""
    group = work.members.labels[record] + ZERO
    take_out(work.members, record, group)
    work.groups.sizes[group] -= 1
    if tables is not None:
        leave(tables, counts, record, group)


@inner
def refresh(work: Work, costs: CostTables, group: int) -> None:
    """The box of a group that some have left; a group without records is no more."""
    if work.groups.sizes[group] > 0:
        make_box(work, costs, group, listed(work, group))
    else:
        give_back(work, group)
    settle(work.tree, costs, work.groups, group)


@inner
def listed(work: Work, group: int) -> Ints:
    """The records of a group."""
    records = np.empty(work.groups.sizes[group], np.int32)
    record = work.members.heads[group]
    for place in range(len(records)):
        records[place] = record
        record = work.members.nexts[record]
    return records


@inlined
def make_box(work: Work, costs: CostTables, group: int, records: Ints) -> None:
    box_of(work.codes, records, work.groups.lo[group], work.groups.hi[group])
    work.groups.losses[group] = box_cost(costs, work.groups.lo[group], work.groups.hi[group])
    work.groups.sizes[group] = len(records)


@inner
def new_group(work: Work, costs: CostTables, tables: Any, counts: Any, records: Ints) -> int:
    """Records that are in no group become one."""
    if work.marks[SPARE] == 0:
        raise IndexError("no group number is left")  # the batch is taken back; see `I3M.apply` for why it cannot be
    work.marks[SPARE] -= 1
    group = work.spare[work.marks[SPARE]] + ZERO
    for record in records:
        put_in(work.members, record + ZERO, group)
        if tables is not None:
            join(tables, counts, record + ZERO, group)
    make_box(work, costs, group, records)
    work.retry[group] = 0
    add(work.tree, costs, work.groups, group)
    return group


@inlined
def give_back(work: Work, group: int) -> None:
    """A group number is not in use any more."""
    work.spare[work.marks[SPARE]] = group
    work.marks[SPARE] += 1


@inlined
def is_large(work: Work, k: int, counts: Any, group: int) -> bool:
    """Whether a group is to be split."""
    return crowd(work, counts, group) >= 2 * k and work.groups.sizes[group] >= work.retry[group]


@inner
def split_large(work: Work, costs: CostTables, k: int, tables: Any, counts: Any, tally: Any, group: int) -> None:
    """Split a group, and what comes of it, as long as anything has 2k."""
    todo = np.empty(2 + work.groups.sizes[group] // k, np.int64)
    todo[0] = group
    several = 1
    while several > 0:
        part = todo[several - 1]
        new = NOBODY
        if is_large(work, k, counts, part):
            new = split_2k(work, costs, k, tables, counts, tally, part)
        if new < 0:
            several -= 1
        elif crowd(work, counts, new) >= 2 * k:
            todo[several] = new
            several += 1


@inner
def split_2k(work: Work, costs: CostTables, k: int, tables: Any, counts: Any, tally: Any, group: int) -> int:
    """Split a group in two; the new one, or −1 if no split keeps the rules (and none is tried before it has grown)."""
    records = listed(work, group)
    size = len(records)
    goers = k if tables is None else size - k
    losses = np.empty(goers)
    order_of_going(work.codes, costs, records, goers, losses)
    if tables is not None:
        best, goers = np.inf, 0
        for going in range(k, size - k + 1):
            if losses[going - 1] < best and may_split(tables, tally, records, records[:going], k):
                best, goers = losses[going - 1], going
        if goers == 0:
            work.retry[group] = size + k
            return NOBODY
    for record in records[:goers]:
        depart(work, tables, counts, record + ZERO)
    make_box(work, costs, group, records[goers:])
    work.retry[group] = 0
    settle(work.tree, costs, work.groups, group)
    return new_group(work, costs, tables, counts, records[:goers])


@inner
def merge_groups(work: Work, costs: CostTables, tables: Any, counts: Any, group: int, other: int) -> None:
    """A group takes in another, which is no more."""
    for record in listed(work, other):
        take_out(work.members, record + ZERO, other)
        put_in(work.members, record + ZERO, group)
    merge(tables, counts, group, other)
    absorb(work.tree, costs, work.groups, group, other)
    work.retry[group] = 0
    give_back(work, other)
