"""Counting one set of records in two parts, by value: for cuts, splits, and looking at each group once.

All records begin on the right; `to_left` takes one to the left. What is counted is the left part and the whole, so that
any number of cuts of the same records can be asked about in one walk, and a cut's left part can be cut further without
being counted again.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.compiling import constant, inlined, kernel
from shoal.privacy.kernels import IN_ORDER, SIZE, VALUES, column_lacks, reached, satisfies
from shoal.privacy.tables import PrivacyTables

Ints = NDArray[np.int32]
Longs = NDArray[np.int64]

LEFT, RIGHT = constant(0), constant(1)  # in `marks`: people, or records, on either side
SEEN = 2  # in `marks`, from here on: how many different values of each column occur
ALL, BOTH = 1, 2  # rows of `counts` beside LEFT


class Tally(NamedTuple):
    """Two parts of a set of records. All zero between uses."""

    # (3, values): how many people, or records, have each value: on the left, in all, and people who have it on both
    # sides. Columns one after the other.
    counts: Longs
    seen: Ints  # the values that occur, each column's from its own place on
    whose: Ints  # (2, persons and pairs): how many records each has, on the left and in all
    marks: Longs
    run_values: Ints  # room for the run of one part and column
    run_counts: Longs


def new_tally(tables: PrivacyTables) -> Tally:
    values = int(tables.layout[:, SIZE].sum())
    return Tally(
        counts=np.zeros((3, values), np.int64),
        seen=np.zeros(values, np.int32),
        whose=np.zeros((2, len(tables.pair_values)), np.int32),
        marks=np.zeros(SEEN + len(tables.layout), np.int64),
        run_values=np.zeros(values, np.int32),
        run_counts=np.zeros(values, np.int64),
    )


@kernel
def begin(tables: PrivacyTables, tally: Tally, records: Ints) -> None:
    """Count these records, all on the right."""
    for j in range(tables.values.shape[1]):
        start, seen = tables.layout[j, VALUES], 0
        for record in records:
            if tables.by_people:
                pair = tables.whose[record, 1 + j]
                tally.whose[ALL, pair] += 1
                if tally.whose[ALL, pair] > 1:
                    continue
            value = tables.values[record, j]
            if tally.counts[ALL, start + value] == 0:
                tally.seen[start + seen] = value
                seen += 1
            tally.counts[ALL, start + value] += 1
        if tables.layout[j, IN_ORDER]:
            tally.seen[start : start + seen].sort()
        tally.marks[SEEN + j] = seen
    if not tables.by_people:
        tally.marks[RIGHT] = len(records)
        return
    for record in records:
        person = tables.whose[record, 0]
        tally.whose[ALL, person] += 1
        if tally.whose[ALL, person] == 1:
            tally.marks[RIGHT] += 1


@kernel
def to_left(tables: PrivacyTables, tally: Tally, records: Ints) -> None:
    """Bring records from the right to the left. (Several at once: a call costs as much as its arguments are many.)"""
    if not tables.by_people:
        tally.marks[LEFT] += len(records)
        tally.marks[RIGHT] -= len(records)
        for j in range(tables.values.shape[1]):
            start = tables.layout[j, VALUES]
            for record in records:
                tally.counts[LEFT, start + tables.values[record, j]] += 1
        return
    for record in records:
        person = tables.whose[record, 0]
        tally.whose[LEFT, person] += 1
        tally.marks[LEFT] += tally.whose[LEFT, person] == 1
        tally.marks[RIGHT] -= tally.whose[LEFT, person] == tally.whose[ALL, person]
        for j in range(tables.values.shape[1]):
            value, pair = tables.layout[j, VALUES] + tables.values[record, j], tables.whose[record, 1 + j]
            tally.whose[LEFT, pair] += 1
            tally.counts[LEFT, value] += tally.whose[LEFT, pair] == 1
            if tally.whose[ALL, pair] > 1:
                tally.counts[BOTH, value] += tally.whose[LEFT, pair] == 1
                tally.counts[BOTH, value] -= tally.whose[LEFT, pair] == tally.whose[ALL, pair]


@kernel
def to_right(tables: PrivacyTables, tally: Tally, records: Ints) -> None:
    """Bring records from the left to the right."""
    if not tables.by_people:
        tally.marks[LEFT] -= len(records)
        tally.marks[RIGHT] += len(records)
        for j in range(tables.values.shape[1]):
            start = tables.layout[j, VALUES]
            for record in records:
                tally.counts[LEFT, start + tables.values[record, j]] -= 1
        return
    for record in records:
        person = tables.whose[record, 0]
        tally.marks[RIGHT] += tally.whose[LEFT, person] == tally.whose[ALL, person]
        tally.whose[LEFT, person] -= 1
        tally.marks[LEFT] -= tally.whose[LEFT, person] == 0
        for j in range(tables.values.shape[1]):
            value, pair = tables.layout[j, VALUES] + tables.values[record, j], tables.whose[record, 1 + j]
            if tally.whose[ALL, pair] > 1:
                tally.counts[BOTH, value] += tally.whose[LEFT, pair] == tally.whose[ALL, pair]
                tally.counts[BOTH, value] -= tally.whose[LEFT, pair] == 1
            tally.whose[LEFT, pair] -= 1
            tally.counts[LEFT, value] -= tally.whose[LEFT, pair] == 0


@kernel
def all_to_right(tables: PrivacyTables, tally: Tally, on_left: Ints) -> None:
    """Bring all records that are on the left to the right."""
    if tables.by_people:
        to_right(tables, tally, on_left)
        return
    tally.marks[RIGHT] += tally.marks[LEFT]
    tally.marks[LEFT] = 0
    for j in range(len(tables.layout)):
        start = tables.layout[j, VALUES]
        for place in range(tally.marks[SEEN + j]):
            tally.counts[LEFT, start + tally.seen[start + place]] = 0


@kernel
def keep_left(tables: PrivacyTables, tally: Tally, records: Ints, on_left: Ints) -> None:
    """Forget the right part of `records`: the left part is all that is counted now, and on the right."""
    if tables.by_people:
        end(tables, tally, records)
        begin(tables, tally, on_left)
        return
    tally.marks[RIGHT] = tally.marks[LEFT]
    tally.marks[LEFT] = 0
    for j in range(len(tables.layout)):
        start, seen = tables.layout[j, VALUES], 0
        for place in range(tally.marks[SEEN + j]):
            value = tally.seen[start + place]
            count = tally.counts[LEFT, start + value]
            tally.counts[ALL, start + value] = count
            tally.counts[LEFT, start + value] = 0
            if count > 0:
                tally.seen[start + seen] = value
                seen += 1
        tally.marks[SEEN + j] = seen


@kernel
def end(tables: PrivacyTables, tally: Tally, records: Ints) -> None:
    """Forget the records that were counted."""
    tally.marks[LEFT] = tally.marks[RIGHT] = 0
    for j in range(len(tables.layout)):
        start = tables.layout[j, VALUES]
        for place in range(tally.marks[SEEN + j]):
            value = start + tally.seen[start + place]
            tally.counts[LEFT, value] = tally.counts[ALL, value] = tally.counts[BOTH, value] = 0
    if tables.by_people:
        for record in records:
            person = tables.whose[record, 0]
            tally.whose[LEFT, person] = tally.whose[ALL, person] = 0
            for pair in tables.whose[record, 1:]:
                tally.whose[LEFT, pair] = tally.whose[ALL, pair] = 0


@inlined
def run(tables: PrivacyTables, tally: Tally, side: int, j: int) -> int:
    """Write the run of one part and column into `run_values` and `run_counts`; how long it is."""
    start, length = tables.layout[j, VALUES], 0
    for place in range(start, start + tally.marks[SEEN + j]):
        value = tally.seen[place]
        count = tally.counts[LEFT, start + value]
        if side == RIGHT:
            count = tally.counts[ALL, start + value] - count + tally.counts[BOTH, start + value]
        if count > 0:
            tally.run_values[length] = value
            tally.run_counts[length] = count
            length += 1
    return length


@kernel
def both_lack(tables: PrivacyTables, tally: Tally, least: int) -> int:
    """How many records at least must change sides before both parts have `least` people and satisfy every rule."""
    lacking = 0
    for side in range(2):
        people = tally.marks[side]
        lacking = max(lacking, least - people)
        for j in range(len(tables.layout)):
            if lacking == 0:
                length = run(tables, tally, side, j)
                lacking = column_lacks(tables, j, tally.run_values, tally.run_counts, length, people)
    return lacking


@kernel
def by_group(labels: Ints, ends: Longs) -> Ints:
    """The records, those of one group together; `ends`: where each group ends."""
    order = np.empty(len(labels), np.int32)
    places = np.empty(len(ends), np.int64)
    for group in range(len(ends)):
        places[group] = ends[group - 1] if group > 0 else 0
    for record in range(len(labels)):
        order[places[labels[record]]] = record
        places[labels[record]] += 1
    return order


@kernel
def look_at_groups(
    tables: PrivacyTables,
    tally: Tally,
    order: Ints,
    ends: Longs,
    people: Longs,
    found: NDArray[np.float64],
    fine: NDArray[np.bool_],
) -> None:
    """For each group order[ends[g − 1]:ends[g]]: its people, what it reaches under each rule, and whether it holds."""
    first = 0
    for group in range(len(ends)):
        if ends[group] == first:  # nobody is there to be harmed
            fine[group] = True
            continue
        records = order[first : ends[group]]
        begin(tables, tally, records)
        people[group] = tally.marks[RIGHT]
        for rule in range(len(tables.rules)):
            length = run(tables, tally, RIGHT, tables.rules[rule, 1])
            found[group, rule] = reached(tables, rule, tally.run_values, tally.run_counts, length, tally.marks[RIGHT])
            fine[group, rule] = satisfies(tables, rule, found[group, rule])
        end(tables, tally, records)
        first = ends[group]
