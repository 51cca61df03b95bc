"""Which records a group has, as lists that a record leaves and joins in no time."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.compiling import inlined, kernel

Ints = NDArray[np.int32]


class Members(NamedTuple):
    """A list per group."""

    labels: Ints  # the group of each record; −1 if it is in none
    heads: Ints  # of each group: its first record, −1 if it has none
    nexts: Ints  # of each record: the next of its group, −1 at the end
    befores: Ints


def members_of(labels: Ints, groups: int) -> Members:
    """The lists of so many groups; `labels` is copied."""
    records = len(labels)
    members = Members(
        labels=labels.astype(np.int32),
        heads=np.full(groups, -1, np.int32),
        nexts=np.full(records, -1, np.int32),
        befores=np.full(records, -1, np.int32),
    )
    link(members)
    return members


@kernel
def link(members: Members) -> None:
    for record in range(len(members.labels) - 1, -1, -1):
        group = members.labels[record]
        if group < 0:
            continue
        first = members.heads[group]
        members.nexts[record] = first
        if first >= 0:
            members.befores[first] = record
        members.heads[group] = record


@kernel
def move(members: Members, record: int, here: int, there: int) -> None:
    """Take a record out of one group and put it at the head of another."""
    take_out(members, record, here)
    put_in(members, record, there)


@inlined
def take_out(members: Members, record: int, here: int) -> None:
    """A record leaves its group, and is in none."""
    before, after = members.befores[record], members.nexts[record]
    if before >= 0:
        members.nexts[before] = after
    else:
        members.heads[here] = after
    if after >= 0:
        members.befores[after] = before
    members.labels[record] = -1


@inlined
def put_in(members: Members, record: int, there: int) -> None:
    """A record that is in no group becomes the head of one."""
    first = members.heads[there]
    members.nexts[record], members.befores[record] = first, -1
    if first >= 0:
        members.befores[first] = record
    members.heads[there] = record
    members.labels[record] = there


@kernel
def box_without(codes: Ints, members: Members, box_lo: Ints, box_hi: Ints, record: int, lo: Ints, hi: Ints) -> bool:
    """The box of a record's group without the record, into `lo` and `hi`; False if nobody remains.

    `box_lo` and `box_hi`: the group's box. A record inside it holds no side up, and nothing is looked at.
    """
    first = members.heads[members.labels[record]]
    if first == record and members.nexts[record] < 0:
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
        other = members.nexts[other]
    return True
