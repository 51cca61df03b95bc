"""The sensitive counts of all groups at once, kept up to date: may this record join, leave; may these merge, split?

Each group has a list of entries (key, count) per bag, in ascending order of the keys: a bag of values per sensitive
column, and where people are counted one of persons and one of (person, value) pairs per column besides. All entries
lie in one pool. A record adds at most one entry per bag, so the pool never needs more than records × bags, however
groups come and go; a walk through a list is as long as the group has different values.

Asking changes nothing. `join` and `leave` undo each other.

Guarantee: after any sequence of joins, leaves and merges the lists are those that counting from scratch would give.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.arrays import grow
from shoal.compiling import constant, kernel
from shoal.privacy.kernels import SIZE, column_lacks
from shoal.privacy.tables import PrivacyTables
from shoal.privacy.tally import Tally, begin, both_lack, end, to_left

Ints = NDArray[np.int32]
Longs = NDArray[np.int64]
NONE = constant(-1)
JOINING, LEAVING, STAYING = constant(1), constant(-1), constant(0)


class GroupCounts(NamedTuple):
    """What is known of every group."""

    sizes: Longs  # records
    people: Longs  # people; records where people are not counted
    heads: Ints  # (groups, bags): the first entry of each list
    keys: Ints  # of each entry
    counts: Ints
    nexts: Ints  # the next entry of the same list; of a free entry, the next free one
    free: Ints  # [the first free entry]
    run_values: Ints  # room for one run
    run_counts: Longs
    room: Longs  # [for how many records]


def new_counts(tables: PrivacyTables, groups: int, records: int | None = None) -> GroupCounts:
    """Room for so many groups (all empty) and records (those of the tables)."""
    records = len(tables.values) if records is None else records
    bags = _bags(tables)
    entries = records * bags
    nexts = np.arange(1, entries + 1, dtype=np.int32)
    if entries:
        nexts[-1] = NONE
    longest = _longest(tables)
    return GroupCounts(
        sizes=np.zeros(groups, np.int64),
        people=np.zeros(groups, np.int64),
        heads=np.full((groups, bags), NONE, np.int32),
        keys=np.zeros(entries, np.int32),
        counts=np.zeros(entries, np.int32),
        nexts=nexts,
        free=np.array([0 if entries else NONE], np.int32),
        run_values=np.zeros(longest, np.int32),
        run_counts=np.zeros(longest, np.int64),
        room=np.array([records]),
    )


def with_room(counts: GroupCounts, tables: PrivacyTables, groups: int, records: int) -> GroupCounts:
    """The same counts with room for so many groups and records."""
    used, entries, longest = len(counts.keys), records * _bags(tables), _longest(tables)
    nexts = grow(counts.nexts, entries)
    free = counts.free
    if entries > used:
        nexts[used:] = np.arange(used + 1, entries + 1)
        nexts[-1] = free[0]
        free = np.array([used], np.int32)
    return GroupCounts(
        sizes=grow(counts.sizes, groups),
        people=grow(counts.people, groups),
        heads=grow(counts.heads, groups, -1),
        keys=grow(counts.keys, entries),
        counts=grow(counts.counts, entries),
        nexts=nexts,
        free=free,
        run_values=np.zeros(longest, np.int32),
        run_counts=np.zeros(longest, np.int64),
        room=np.array([max(records, int(counts.room[0]))]),
    )


def _bags(tables: PrivacyTables) -> int:
    return tables.values.shape[1] * (2 if tables.by_people else 1) + tables.by_people


def _longest(tables: PrivacyTables) -> int:
    return int(tables.layout[:, SIZE].max(initial=1)) + 1


@kernel
def recode_bag(counts: GroupCounts, bag: int, moved: Ints) -> None:
    """The keys of a bag get new names, in the same order."""
    for group in range(len(counts.heads)):
        at = counts.heads[group, bag]
        while at != NONE:
            counts.keys[at] = moved[counts.keys[at]]
            at = counts.nexts[at]


@kernel
def count_all(tables: PrivacyTables, counts: GroupCounts, labels: Ints) -> None:
    """Every record joins its group; those without one (−1) do not."""
    for record in range(len(labels)):
        if labels[record] >= 0:
            join(tables, counts, record, labels[record])


@kernel
def join(tables: PrivacyTables, counts: GroupCounts, record: int, group: int) -> None:
    counts.sizes[group] += 1
    columns = tables.values.shape[1]
    if not tables.by_people:
        counts.people[group] += 1
        for j in range(columns):
            change(counts, group, j, tables.values[record, j], JOINING)
        return
    if change(counts, group, 2 * columns, tables.whose[record, 0], JOINING) == 1:
        counts.people[group] += 1
    for j in range(columns):
        if change(counts, group, columns + j, tables.whose[record, 1 + j], JOINING) == 1:
            change(counts, group, j, tables.values[record, j], JOINING)


@kernel
def leave(tables: PrivacyTables, counts: GroupCounts, record: int, group: int) -> None:
    counts.sizes[group] -= 1
    columns = tables.values.shape[1]
    if not tables.by_people:
        counts.people[group] -= 1
        for j in range(columns):
            change(counts, group, j, tables.values[record, j], LEAVING)
        return
    if change(counts, group, 2 * columns, tables.whose[record, 0], LEAVING) == 0:
        counts.people[group] -= 1
    for j in range(columns):
        if change(counts, group, columns + j, tables.whose[record, 1 + j], LEAVING) == 0:
            change(counts, group, j, tables.values[record, j], LEAVING)


@kernel
def merge(tables: PrivacyTables, counts: GroupCounts, group: int, other: int) -> None:
    """All of `other` moves into `group`; `other` is empty afterwards."""
    columns = tables.values.shape[1]
    counts.sizes[group] += counts.sizes[other]
    counts.sizes[other] = 0
    if not tables.by_people:
        counts.people[group] += counts.people[other]
    else:
        shared = pour(counts, group, other, 2 * columns)
        counts.people[group] += counts.people[other] - shared
    counts.people[other] = 0
    for j in range(columns):
        if tables.by_people:
            # A pair that both have counts once: its value loses one before the values are added up.
            forget_shared_pairs(tables, counts, group, other, j)
            pour(counts, group, other, columns + j)
        pour(counts, group, other, j)


@kernel
def change(counts: GroupCounts, group: int, bag: int, key: int, by: int) -> int:
    """Add `by` to the count of a key; its new count. An entry that falls to 0 goes back to the free ones."""
    before, at = NONE, counts.heads[group, bag]
    while at != NONE and counts.keys[at] < key:
        before, at = at, counts.nexts[at]
    if at == NONE or counts.keys[at] != key:
        new = counts.free[0]
        counts.free[0] = counts.nexts[new]
        counts.keys[new] = key
        counts.counts[new] = by
        counts.nexts[new] = at
        if before == NONE:
            counts.heads[group, bag] = new
        else:
            counts.nexts[before] = new
        return by
    counts.counts[at] += by
    if counts.counts[at] == 0:
        if before == NONE:
            counts.heads[group, bag] = counts.nexts[at]
        else:
            counts.nexts[before] = counts.nexts[at]
        counts.nexts[at] = counts.free[0]
        counts.free[0] = at
        return 0
    return counts.counts[at]


@kernel
def pour(counts: GroupCounts, group: int, other: int, bag: int) -> int:
    """One list of `other` into that of `group`; how many keys both had."""
    shared = 0
    before, at = NONE, counts.heads[group, bag]
    moving = counts.heads[other, bag]
    counts.heads[other, bag] = NONE
    while moving != NONE:
        following = counts.nexts[moving]
        while at != NONE and counts.keys[at] < counts.keys[moving]:
            before, at = at, counts.nexts[at]
        if at != NONE and counts.keys[at] == counts.keys[moving]:
            shared += 1
            counts.counts[at] += counts.counts[moving]
            counts.nexts[moving] = counts.free[0]
            counts.free[0] = moving
        else:
            counts.nexts[moving] = at
            if before == NONE:
                counts.heads[group, bag] = moving
            else:
                counts.nexts[before] = moving
            before = moving
        moving = following
    return shared


@kernel
def forget_shared_pairs(tables: PrivacyTables, counts: GroupCounts, group: int, other: int, j: int) -> None:
    columns = tables.values.shape[1]
    at, there = counts.heads[group, columns + j], counts.heads[other, columns + j]
    while at != NONE and there != NONE:
        if counts.keys[at] < counts.keys[there]:
            at = counts.nexts[at]
        elif counts.keys[at] > counts.keys[there]:
            there = counts.nexts[there]
        else:
            change(counts, other, j, tables.pair_values[counts.keys[at]], LEAVING)
            at, there = counts.nexts[at], counts.nexts[there]


@kernel
def holds(tables: PrivacyTables, counts: GroupCounts, group: int) -> bool:
    """Whether a group has k people and satisfies every rule, as it is."""
    return counts.people[group] >= tables.k and diverse_if(tables, counts, group, NONE, STAYING, NONE)


@kernel
def may_join(tables: PrivacyTables, counts: GroupCounts, record: int, group: int) -> bool:
    """Whether the rules still hold when the record has joined. (k is not asked: joining never lowers it.)"""
    return len(tables.rules) == 0 or diverse_if(tables, counts, group, record, JOINING, NONE)


@kernel
def may_leave(tables: PrivacyTables, counts: GroupCounts, record: int, group: int, least: int) -> bool:
    """Whether `least` people remain and the rules still hold when the record has left; a group may become empty."""
    if counts.sizes[group] == 1:
        return True
    people = counts.people[group]
    if not tables.by_people or count_of(counts, group, 2 * tables.values.shape[1], tables.whose[record, 0]) == 1:
        people -= 1
    return people >= least and diverse_if(tables, counts, group, record, LEAVING, NONE)


@kernel
def may_merge(tables: PrivacyTables, counts: GroupCounts, group: int, other: int) -> bool:
    """Whether both together have k people and satisfy every rule."""
    people = counts.people[group] + counts.people[other]
    if tables.by_people:
        people -= shared_keys(counts, group, other, 2 * tables.values.shape[1])
    return people >= tables.k and diverse_if(tables, counts, group, NONE, STAYING, other)


@kernel
def may_split(tables: PrivacyTables, tally: Tally, records: Ints, left: Ints, least: int) -> bool:
    """Whether both parts of a group have `least` people and satisfy every rule: `left`, and the rest of `records`."""
    begin(tables, tally, records)
    to_left(tables, tally, left)
    lacking = both_lack(tables, tally, least)
    end(tables, tally, records)
    return lacking == 0


@kernel
def diverse_if(tables: PrivacyTables, counts: GroupCounts, group: int, record: int, by: int, other: int) -> bool:
    """Whether the rules hold for a group with a record more (by = 1) or less (−1), or with another group in it."""
    columns = tables.values.shape[1]
    people = counts.people[group]
    if other != NONE:
        people += counts.people[other]
        if tables.by_people:
            people -= shared_keys(counts, group, other, 2 * columns)
    elif by != 0 and not tables.by_people:
        people += by
    elif by != 0:
        times = count_of(counts, group, 2 * columns, tables.whose[record, 0])
        people += int(times == 0) if by > 0 else -int(times == 1)
    for j in range(columns):
        if other != NONE:
            length = merged_run(tables, counts, group, other, j)
        else:
            change_here = by
            if by != 0 and tables.by_people:
                times = count_of(counts, group, columns + j, tables.whose[record, 1 + j])
                change_here = int(times == 0) if by > 0 else -int(times == 1)
            length = changed_run(counts, group, j, tables.values[record, j] if by != 0 else 0, change_here)
        if column_lacks(tables, j, counts.run_values, counts.run_counts, length, people):
            return False
    return True


@kernel
def changed_run(counts: GroupCounts, group: int, j: int, value: int, by: int) -> int:
    """The run of a group's column with one count changed; how long it is."""
    length, done = 0, by == 0
    at = counts.heads[group, j]
    while at != NONE or not done:
        if not done and (at == NONE or value < counts.keys[at]):
            counts.run_values[length], counts.run_counts[length] = value, by
            done = True
        else:
            counts.run_values[length], counts.run_counts[length] = counts.keys[at], counts.counts[at]
            if not done and counts.keys[at] == value:
                counts.run_counts[length] += by
                done = True
            at = counts.nexts[at]
        if counts.run_counts[length] > 0:
            length += 1
    return length


@kernel
def merged_run(tables: PrivacyTables, counts: GroupCounts, group: int, other: int, j: int) -> int:
    """The run of two groups' column together; how long it is."""
    length = 0
    at, there = counts.heads[group, j], counts.heads[other, j]
    while at != NONE or there != NONE:
        if there == NONE or (at != NONE and counts.keys[at] < counts.keys[there]):
            counts.run_values[length], counts.run_counts[length] = counts.keys[at], counts.counts[at]
            at = counts.nexts[at]
        elif at == NONE or counts.keys[there] < counts.keys[at]:
            counts.run_values[length], counts.run_counts[length] = counts.keys[there], counts.counts[there]
            there = counts.nexts[there]
        else:
            counts.run_values[length] = counts.keys[at]
            counts.run_counts[length] = counts.counts[at] + counts.counts[there]
            at, there = counts.nexts[at], counts.nexts[there]
        length += 1
    if tables.by_people:
        columns = tables.values.shape[1]
        at, there = counts.heads[group, columns + j], counts.heads[other, columns + j]
        while at != NONE and there != NONE:
            if counts.keys[at] < counts.keys[there]:
                at = counts.nexts[at]
            elif counts.keys[at] > counts.keys[there]:
                there = counts.nexts[there]
            else:
                value = tables.pair_values[counts.keys[at]]
                place = np.searchsorted(counts.run_values[:length], value)
                counts.run_counts[place] -= 1
                at, there = counts.nexts[at], counts.nexts[there]
    return length


@kernel
def count_of(counts: GroupCounts, group: int, bag: int, key: int) -> int:
    at = counts.heads[group, bag]
    while at != NONE and counts.keys[at] < key:
        at = counts.nexts[at]
    return counts.counts[at] if at != NONE and counts.keys[at] == key else 0


@kernel
def shared_keys(counts: GroupCounts, group: int, other: int, bag: int) -> int:
    shared = 0
    at, there = counts.heads[group, bag], counts.heads[other, bag]
    while at != NONE and there != NONE:
        if counts.keys[at] == counts.keys[there]:
            shared += 1
            at, there = counts.nexts[at], counts.nexts[there]
        elif counts.keys[at] < counts.keys[there]:
            at = counts.nexts[at]
        else:
            there = counts.nexts[there]
    return shared
