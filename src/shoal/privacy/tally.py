"""Counting one set of records in two parts, by value: for cuts, splits, and looking at each group once.

All records begin on the right; `to_left` takes some to the left. What is counted is the left part and the whole, so
that any number of cuts of the same records can be asked about in one walk, and a cut's left part can be cut further
without being counted again.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.compiling import allocating, constant, inner, kernel
from shoal.privacy.kernels import column_lacks, reached, satisfies
from shoal.privacy.rules import Rows, Rules, rules_of
from shoal.privacy.tables import PrivacyTables

Ints = NDArray[np.int32]
Longs = NDArray[np.int64]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

LEFT, RIGHT = constant(0), constant(1)


@allocating
def begin(rules: Rules, records: Ints) -> None:
    """Count these records, all on the right."""
    tally, values, whose, by_people = rules.tally, rules.values, rules.whose, rules.by_people
    counts, people, seen = tally.values, tally.whose, tally.seen
    for j in range(len(rules.columns)):
        start, n_seen = rules.columns[j].values, 0
        for record in records:
            if by_people:
                pair = whose[record, 1 + j]
                people[pair].total += 1
                if people[pair].total > 1:
                    continue
            value = values[record, j]
            if counts[start + value].total == 0:
                seen[start + n_seen] = value
                n_seen += 1
            counts[start + value].total += 1
        if rules.columns[j].in_order:
            seen[start : start + n_seen].sort()
        tally.seen_counts[j] = n_seen
    sides = tally.people
    if not by_people:
        sides[0].right = len(records)
        return
    for record in records:
        person = whose[record, 0]
        people[person].total += 1
        if people[person].total == 1:
            sides[0].right += 1


@inner
def to_left(rules: Rules, records: Ints) -> None:
    """Bring records from the right to the left."""
    tally, values, whose = rules.tally, rules.values, rules.whose
    counts, people, sides = tally.values, tally.whose, tally.people
    if not rules.by_people:
        sides[0].left += len(records)
        sides[0].right -= len(records)
        for j in range(len(rules.columns)):
            start = rules.columns[j].values
            for record in records:
                counts[start + values[record, j]].left += 1
        return
    for record in records:
        person = whose[record, 0]
        people[person].left += 1
        sides[0].left += people[person].left == 1
        sides[0].right -= people[person].left == people[person].total
        for j in range(len(rules.columns)):
            value, pair = rules.columns[j].values + values[record, j], whose[record, 1 + j]
            people[pair].left += 1
            counts[value].left += people[pair].left == 1
            if people[pair].total > 1:
                counts[value].both += people[pair].left == 1
                counts[value].both -= people[pair].left == people[pair].total


@inner
def to_right(rules: Rules, records: Ints) -> None:
    """Bring records from the left to the right."""
    tally, values, whose = rules.tally, rules.values, rules.whose
    counts, people, sides = tally.values, tally.whose, tally.people
    if not rules.by_people:
        sides[0].left -= len(records)
        sides[0].right += len(records)
        for j in range(len(rules.columns)):
            start = rules.columns[j].values
            for record in records:
                counts[start + values[record, j]].left -= 1
        return
    for record in records:
        person = whose[record, 0]
        sides[0].right += people[person].left == people[person].total
        people[person].left -= 1
        sides[0].left -= people[person].left == 0
        for j in range(len(rules.columns)):
            value, pair = rules.columns[j].values + values[record, j], whose[record, 1 + j]
            if people[pair].total > 1:
                counts[value].both += people[pair].left == people[pair].total
                counts[value].both -= people[pair].left == 1
            people[pair].left -= 1
            counts[value].left -= people[pair].left == 0


@inner
def all_to_right(rules: Rules, on_left: Ints) -> None:
    """Bring all records that are on the left to the right."""
    if rules.by_people:
        to_right(rules, on_left)
        return
    tally = rules.tally
    counts, seen, sides = tally.values, tally.seen, tally.people
    sides[0].right += sides[0].left
    sides[0].left = 0
    for j in range(len(rules.columns)):
        start = rules.columns[j].values
        for at in range(start, start + tally.seen_counts[j]):
            counts[start + seen[at]].left = 0


@inner
def keep_left(rules: Rules, records: Ints, on_left: Ints) -> None:
    """Forget the right part of `records`: the left part is all that is counted now, and on the right."""
    if rules.by_people:
        end(rules, records)
        begin(rules, on_left)
        return
    tally = rules.tally
    counts, seen, sides = tally.values, tally.seen, tally.people
    sides[0].right = sides[0].left
    sides[0].left = 0
    for j in range(len(rules.columns)):
        start, n_seen = rules.columns[j].values, 0
        for at in range(start, start + tally.seen_counts[j]):
            value = seen[at]
            count = counts[start + value].left
            counts[start + value].total = count
            counts[start + value].left = 0
            if count > 0:
                seen[start + n_seen] = value
                n_seen += 1
        tally.seen_counts[j] = n_seen


@inner
def end(rules: Rules, records: Ints) -> None:
    """Forget the records that were counted."""
    tally, whose = rules.tally, rules.whose
    counts, people, seen, sides = tally.values, tally.whose, tally.seen, tally.people
    sides[0].left = sides[0].right = 0
    for j in range(len(rules.columns)):
        start = rules.columns[j].values
        for at in range(start, start + tally.seen_counts[j]):
            value = start + seen[at]
            counts[value].left = counts[value].total = counts[value].both = 0
    if rules.by_people:
        for record in records:
            for i in range(whose.shape[1]):  # the person, and the pairs
                people[whose[record, i]].left = people[whose[record, i]].total = 0


@allocating
def run_of(rules: Rules, side: int, j: int) -> Rows:
    """The run of one part and column; it lies in `rules.run`."""
    tally, run = rules.tally, rules.run
    counts, seen = tally.values, tally.seen
    start, length = rules.columns[j].values, 0
    for at in range(start, start + tally.seen_counts[j]):
        value = seen[at]
        count = counts[start + value].left
        if side == RIGHT:
            count = counts[start + value].total - count + counts[start + value].both
        if count > 0:
            run[length].value = value
            run[length].count = count
            length += 1
    return run[:length]


@allocating
def both_lack(rules: Rules, least: int) -> int:
    """How many records at least must change sides before both parts have `least` people and satisfy every rule."""
    sides = rules.tally.people
    lacking = 0
    for side in (LEFT, RIGHT):
        people = sides[0].left if side == LEFT else sides[0].right
        lacking = max(lacking, least - people)
        for j in range(len(rules.columns)):
            if lacking == 0:
                lacking = column_lacks(rules, j, run_of(rules, side, j), people)
    return lacking


def look_at_groups(tables: PrivacyTables, labels: Ints, ends: Longs) -> tuple[Longs, Floats, Bools]:
    """Of each group: its people, what it reaches under each rule (groups, rules), and whether that is enough.

    `ends`: how many records are in the groups up to each.
    """
    people, found = np.zeros(len(ends), np.int64), np.zeros((len(ends), len(tables.rules)))
    fine = np.ones(found.shape, np.bool_)
    look_at_each(rules_of(tables), by_group(labels, ends), ends, people, found, fine)
    return people, found, fine


@kernel
def by_group(labels: Ints, ends: Longs) -> Ints:
    """The records, those of one group together; `ends`: where each group ends."""
    order = np.empty(len(labels), np.int32)
    nexts = np.empty(len(ends), np.int64)
    for group in range(len(ends)):
        nexts[group] = ends[group - 1] if group > 0 else 0
    for record in range(len(labels)):
        order[nexts[labels[record]]] = record
        nexts[labels[record]] += 1
    return order


@kernel
def look_at_each(rules: Rules, order: Ints, ends: Longs, people: Longs, found: Floats, fine: Bools) -> None:
    """`look_at_groups`, into arrays; group g is order[ends[g − 1]:ends[g]]. In one without people all is fine."""
    first = 0
    for group in range(len(ends)):
        if ends[group] > first:
            records = order[first : ends[group]]
            begin(rules, records)
            people[group] = rules.tally.people[0].right
            for i in range(len(rules.rules)):
                run = run_of(rules, RIGHT, rules.rules[i].column)
                found[group, i] = reached(rules, i, run, people[group])
                fine[group, i] = satisfies(rules, i, found[group, i])
            end(rules, records)
        first = ends[group]
