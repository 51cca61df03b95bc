"""Which records a group has: joining, leaving, listing. See `Members` in `grouping.py`."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from shoal.boxes.grouping import Grouping, Members
from shoal.compiling import allocating, inner, kernel

Ints = NDArray[np.int32]


class Boxes(Protocol):
    """Whatever has the boxes of groups."""

    @property
    def lo(self) -> Ints: ...

    @property
    def hi(self) -> Ints: ...


def members_of(labels: Ints, groups: int) -> Members:
    """The lists of so many groups; `labels` becomes theirs."""
    records = len(labels)
    members = Members(
        labels=labels,
        heads=np.full(groups, -1, np.int32),
        nexts=np.full(records, -1, np.int32),
        previous=np.full(records, -1, np.int32),
    )
    link(members)
    return members


@kernel
def link(members: Members) -> None:
    labels, heads, nexts, previous = members.labels, members.heads, members.nexts, members.previous
    for record in range(len(labels) - 1, -1, -1):
        group = labels[record]
        if group < 0:
            continue
        first = heads[group]
        nexts[record] = first
        if first >= 0:
            previous[first] = record
        heads[group] = record


@inner
def move(members: Members, record: int, here: int, there: int) -> None:
    """Take a record out of one group and put it at the head of another."""
    take_out(members, record, here)
    put_in(members, record, there)


@inner
def take_out(members: Members, record: int, here: int) -> None:
    """A record leaves its group, and is in none."""
    before, after = members.previous[record], members.nexts[record]
    if before >= 0:
        members.nexts[before] = after
    else:
        members.heads[here] = after
    if after >= 0:
        members.previous[after] = before
    members.labels[record] = -1


@inner
def put_in(members: Members, record: int, there: int) -> None:
    """A record that is in no group becomes the head of one."""
    first = members.heads[there]
    members.nexts[record], members.previous[record] = first, -1
    if first >= 0:
        members.previous[first] = record
    members.heads[there] = record
    members.labels[record] = there


@allocating
def records_of(g: Grouping, group: int) -> Ints:
    """The records of a group."""
    nexts = g.members.nexts
    records = np.empty(g.groups.sizes[group], np.int32)
    record = g.members.heads[group]
    for i in range(len(records)):
        records[i] = record
        record = nexts[record]
    return records


@inner
def box_without(codes: Ints, members: Members, groups: Boxes, record: int, lo: Ints, hi: Ints) -> bool:
    """The box of a record's group without the record, into `lo` and `hi`; False if nobody remains.

    A record inside the box holds no side up, and nothing is looked at.
    """
    nexts, group = members.nexts, members.labels[record]
    box_lo, box_hi = groups.lo[group], groups.hi[group]
    first = members.heads[group]
    if first == record and nexts[record] < 0:
        return False
    columns = len(lo)
    shrinks = False
    for j in range(columns):
        lo[j], hi[j] = box_lo[j], box_hi[j]
        if lo[j] < hi[j] and (codes[record, j] == lo[j] or codes[record, j] == hi[j]):
            shrinks = True
    if not shrinks:
        return True
    empty, other = True, first
    while other >= 0:
        if other != record:
            for j in range(columns):
                code = codes[other, j]
                lo[j] = code if empty else min(lo[j], code)
                hi[j] = code if empty else max(hi[j], code)
            empty = False
        other = nexts[other]
    return True
