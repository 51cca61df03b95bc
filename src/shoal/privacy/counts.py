"""The sensitive counts of all groups at once, kept up to date: may this record join, leave; may these merge, split?

Each group has a list of entries (key, count) per bag, in ascending order of the keys: a bag of values per sensitive
column, and where people are counted one of persons and one of (person, value) pairs per column besides. All entries
lie in one pool. A record adds at most one entry per bag, so the pool never needs more than records × bags, however
groups come and go; a walk through a list is as long as the group has different values.

Asking changes nothing. `join` and `leave` undo each other. Where no more is asked than k records, nothing is counted,
and every answer is yes.

Guarantee: after any sequence of joins, leaves and merges the lists are those that counting from scratch would give.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.compiling import allocating, constant, inner, kernel
from shoal.privacy.kernels import column_lacks
from shoal.privacy.rules import NONE, GroupCounts, Rows, Rules
from shoal.privacy.tally import begin, both_lack, end, to_left

Ints = NDArray[np.int32]
JOINING, LEAVING, STAYING = constant(1), constant(-1), constant(0)


@kernel
def recode_bag(rules: Rules, bag: int, moved: Ints) -> None:
    """The keys of a bag get new names, in the same order."""
    heads, entries = rules.counts.heads, rules.counts.entries
    for group in range(len(heads)):
        at = heads[group, bag]
        while at != NONE:
            entries[at].key = moved[entries[at].key]
            at = entries[at].next


@kernel
def count_all(rules: Rules, labels: Ints) -> None:
    """Every record joins its group; those without one (−1) do not."""
    if rules.asked:
        for record in range(len(labels)):
            if labels[record] >= 0:
                join(rules, record, labels[record])


@inner
def join(rules: Rules, record: int, group: int) -> None:
    if not rules.asked:
        return
    counts, values = rules.counts, rules.values
    counts.sizes[group] += 1
    columns = values.shape[1]
    if not rules.by_people:
        counts.people[group] += 1
        for j in range(columns):
            change(counts, group, j, values[record, j], JOINING)
        return
    whose = rules.whose
    if change(counts, group, 2 * columns, whose[record, 0], JOINING) == 1:
        counts.people[group] += 1
    for j in range(columns):
        if change(counts, group, columns + j, whose[record, 1 + j], JOINING) == 1:
            change(counts, group, j, values[record, j], JOINING)


@inner
def leave(rules: Rules, record: int, group: int) -> None:
    if not rules.asked:
        return
    counts, values = rules.counts, rules.values
    counts.sizes[group] -= 1
    columns = values.shape[1]
    if not rules.by_people:
        counts.people[group] -= 1
        for j in range(columns):
            change(counts, group, j, values[record, j], LEAVING)
        return
    whose = rules.whose
    if change(counts, group, 2 * columns, whose[record, 0], LEAVING) == 0:
        counts.people[group] -= 1
    for j in range(columns):
        if change(counts, group, columns + j, whose[record, 1 + j], LEAVING) == 0:
            change(counts, group, j, values[record, j], LEAVING)


@inner
def merge(rules: Rules, group: int, other: int) -> None:
    """All of `other` moves into `group`; `other` is empty afterwards."""
    if not rules.asked:
        return
    counts = rules.counts
    columns = rules.values.shape[1]
    counts.sizes[group] += counts.sizes[other]
    counts.sizes[other] = 0
    if not rules.by_people:
        counts.people[group] += counts.people[other]
    else:
        shared = pour(counts, group, other, 2 * columns)
        counts.people[group] += counts.people[other] - shared
    counts.people[other] = 0
    for j in range(columns):
        if rules.by_people:
            # A pair that both have counts once: its value loses one before the values are added up.
            forget_shared_pairs(rules, group, other, j)
            pour(counts, group, other, columns + j)
        pour(counts, group, other, j)


@inner
def change(counts: GroupCounts, group: int, bag: int, key: int, by: int) -> int:
    """Add `by` to the count of a key; its new count. An entry that falls to 0 goes back to the free ones."""
    heads, entries, pool = counts.heads, counts.entries, counts.pool
    before, at = NONE, heads[group, bag]
    while at != NONE and entries[at].key < key:
        before, at = at, entries[at].next
    if at == NONE or entries[at].key != key:
        new = pool[0].free
        pool[0].free = entries[new].next
        entries[new].key = key
        entries[new].count = by
        entries[new].next = at
        if before == NONE:
            heads[group, bag] = new
        else:
            entries[before].next = new
        return by
    entries[at].count += by
    if entries[at].count == 0:
        if before == NONE:
            heads[group, bag] = entries[at].next
        else:
            entries[before].next = entries[at].next
        entries[at].next = pool[0].free
        pool[0].free = at
        return 0
    return entries[at].count


@inner
def pour(counts: GroupCounts, group: int, other: int, bag: int) -> int:
    """One list of `other` into that of `group`; how many keys both had."""
    heads, entries, pool = counts.heads, counts.entries, counts.pool
    shared = 0
    before, at = NONE, heads[group, bag]
    moving = heads[other, bag]
    heads[other, bag] = NONE
    while moving != NONE:
        following = entries[moving].next
        while at != NONE and entries[at].key < entries[moving].key:
            before, at = at, entries[at].next
        if at != NONE and entries[at].key == entries[moving].key:
            shared += 1
            entries[at].count += entries[moving].count
            entries[moving].next = pool[0].free
            pool[0].free = moving
        else:
            entries[moving].next = at
            if before == NONE:
                heads[group, bag] = moving
            else:
                entries[before].next = moving
            before = moving
        moving = following
    return shared


@inner
def forget_shared_pairs(rules: Rules, group: int, other: int, j: int) -> None:
    counts, entries, columns = rules.counts, rules.counts.entries, rules.values.shape[1]
    at, there = counts.heads[group, columns + j], counts.heads[other, columns + j]
    while at != NONE and there != NONE:
        if entries[at].key < entries[there].key:
            at = entries[at].next
        elif entries[at].key > entries[there].key:
            there = entries[there].next
        else:
            change(counts, other, j, rules.pair_values[entries[at].key], LEAVING)
            at, there = entries[at].next, entries[there].next


@inner
def holds(rules: Rules, group: int) -> bool:
    """Whether a group has k people and satisfies every rule, as it is."""
    if not rules.asked:
        return True
    return rules.counts.people[group] >= rules.k and diverse_if(rules, group, NONE, STAYING, NONE)


@inner
def may_join(rules: Rules, record: int, group: int) -> bool:
    """Whether the rules still hold when the record has joined. (k is not asked: joining never lowers it.)"""
    return len(rules.rules) == 0 or diverse_if(rules, group, record, JOINING, NONE)


@inner
def may_leave(rules: Rules, record: int, group: int, least: int) -> bool:
    """Whether `least` people remain and the rules still hold when the record has left; a group may become empty."""
    if not rules.asked or rules.counts.sizes[group] == 1:
        return True
    people = rules.counts.people[group]
    if not rules.by_people or count_of(rules.counts, group, 2 * rules.values.shape[1], rules.whose[record, 0]) == 1:
        people -= 1
    return people >= least and diverse_if(rules, group, record, LEAVING, NONE)


@inner
def people_if_joined(rules: Rules, record: int, group: int) -> int:
    """How many of those whom k counts are in a group when a record has joined it."""
    people = rules.counts.people[group]
    if not rules.by_people or count_of(rules.counts, group, 2 * rules.values.shape[1], rules.whose[record, 0]) == 0:
        people += 1
    return people


@inner
def may_merge(rules: Rules, group: int, other: int) -> bool:
    """Whether both together have k people and satisfy every rule."""
    if not rules.asked:
        return True
    people = rules.counts.people[group] + rules.counts.people[other]
    if rules.by_people:
        people -= shared_keys(rules.counts, group, other, 2 * rules.values.shape[1])
    return people >= rules.k and diverse_if(rules, group, NONE, STAYING, other)


@inner
def may_split(rules: Rules, records: Ints, left: Ints, least: int) -> bool:
    """Whether both parts of a group have `least` people and satisfy every rule: `left`, and the rest of `records`."""
    if not rules.asked:
        return True
    begin(rules, records)
    to_left(rules, left)
    lacking = both_lack(rules, least)
    end(rules, records)
    return lacking == 0


@allocating
def diverse_if(rules: Rules, group: int, record: int, by: int, other: int) -> bool:
    """Whether the rules hold for a group with a record more (by = 1) or less (−1), or with another group in it."""
    counts, values, whose, by_people = rules.counts, rules.values, rules.whose, rules.by_people
    columns = values.shape[1]
    people = counts.people[group]
    if other != NONE:
        people += counts.people[other]
        if by_people:
            people -= shared_keys(counts, group, other, 2 * columns)
    elif by != 0 and not by_people:
        people += by
    elif by != 0:
        times = count_of(counts, group, 2 * columns, whose[record, 0])
        people += int(times == 0) if by > 0 else -int(times == 1)
    for j in range(columns):
        if other != NONE:
            run = merged_run(rules, group, other, j)
        else:
            change_here = by
            if by != 0 and by_people:
                times = count_of(counts, group, columns + j, whose[record, 1 + j])
                change_here = int(times == 0) if by > 0 else -int(times == 1)
            run = changed_run(rules, group, j, values[record, j] if by != 0 else 0, change_here)
        if column_lacks(rules, j, run, people):
            return False
    return True


@allocating
def changed_run(rules: Rules, group: int, j: int, value: int, by: int) -> Rows:
    """The run of a group's column with one count changed; it lies in `rules.run`."""
    entries, run = rules.counts.entries, rules.run
    length, done = 0, by == 0
    at = rules.counts.heads[group, j]
    while at != NONE or not done:
        if not done and (at == NONE or value < entries[at].key):
            run[length].value, run[length].count = value, by
            done = True
        else:
            run[length].value, run[length].count = entries[at].key, entries[at].count
            if not done and entries[at].key == value:
                run[length].count += by
                done = True
            at = entries[at].next
        if run[length].count > 0:
            length += 1
    return run[:length]


@allocating
def merged_run(rules: Rules, group: int, other: int, j: int) -> Rows:
    """The run of two groups' column together; it lies in `rules.run`."""
    heads, entries, run = rules.counts.heads, rules.counts.entries, rules.run
    length = 0
    at, there = heads[group, j], heads[other, j]
    while at != NONE or there != NONE:
        if there == NONE or (at != NONE and entries[at].key < entries[there].key):
            run[length].value, run[length].count = entries[at].key, entries[at].count
            at = entries[at].next
        elif at == NONE or entries[there].key < entries[at].key:
            run[length].value, run[length].count = entries[there].key, entries[there].count
            there = entries[there].next
        else:
            run[length].value = entries[at].key
            run[length].count = entries[at].count + entries[there].count
            at, there = entries[at].next, entries[there].next
        length += 1
    if rules.by_people:
        columns = rules.values.shape[1]
        at, there = heads[group, columns + j], heads[other, columns + j]
        while at != NONE and there != NONE:
            if entries[at].key < entries[there].key:
                at = entries[at].next
            elif entries[at].key > entries[there].key:
                there = entries[there].next
            else:
                run[find(run[:length], rules.pair_values[entries[at].key])].count -= 1
                at, there = entries[at].next, entries[there].next
    return run[:length]


@inner
def find(run: Rows, value: int) -> int:
    """Where a run has a value that it has."""
    low, high = 0, len(run) - 1
    while low < high:
        middle = (low + high) // 2
        if run[middle].value < value:
            low = middle + 1
        else:
            high = middle
    return low


@inner
def count_of(counts: GroupCounts, group: int, bag: int, key: int) -> int:
    entries = counts.entries
    at = counts.heads[group, bag]
    while at != NONE and entries[at].key < key:
        at = entries[at].next
    return entries[at].count if at != NONE and entries[at].key == key else 0


@inner
def shared_keys(counts: GroupCounts, group: int, other: int, bag: int) -> int:
    entries = counts.entries
    shared = 0
    at, there = counts.heads[group, bag], counts.heads[other, bag]
    while at != NONE and there != NONE:
        if entries[at].key == entries[there].key:
            shared += 1
            at, there = entries[at].next, entries[there].next
        elif entries[at].key < entries[there].key:
            at = entries[at].next
        else:
            there = entries[there].next
    return shared
