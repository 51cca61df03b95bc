"""Rules: the whole of what is asked of every group, as one thing that kernels take.

Where no more is asked than k records (`asked` is False), nothing is counted and all arrays are empty: who joins, leaves
or merges changes nothing, and every question is answered by yes. Whether a group has k records its own size says.
"""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray

from shoal.arrays import grow, row_type
from shoal.compiling import constant
from shoal.compiling.structs import Struct, struct
from shoal.privacy.tables import COLUMN, RULE, PrivacyTables, RecordCodes

Ints = NDArray[np.int32]
Longs = NDArray[np.int64]
Floats = NDArray[np.float64]
Rows = NDArray[np.void]  # of named fields

NONE = constant(-1)

# An entry of a list: how often a key is there. Of a free entry: `next` is the next free one.
ENTRY = row_type([("key", "i4"), ("count", "i4"), ("next", "i4")])
POOL = row_type([("free", "i4")])  # the first free entry

# How many people, or records, have a value (or records a person): on the left, in all, and on both sides.
VALUE_COUNT = row_type([("left", "i8"), ("total", "i8"), ("both", "i8")])
PERSON_COUNT = row_type([("left", "i4"), ("total", "i4")])
SIDES = row_type([("left", "i8"), ("right", "i8")])

# A value of a group, and how many people (records, where people are not counted) have it.
RUN = row_type([("value", "i8"), ("count", "i8")])


@struct
class GroupCounts(Struct):
    """What is known of every group: see `counts.py`."""

    sizes: Longs  # records
    people: Longs  # people; records where people are not counted
    heads: Ints  # (groups, bags): the first entry of each list
    entries: Rows  # ENTRY
    pool: Rows  # [POOL]


@struct
class Tally(Struct):
    """Two parts of a set of records: see `tally.py`. All zero between uses."""

    values: Rows  # VALUE_COUNT of each value, columns one after the other
    whose: Rows  # PERSON_COUNT of each person and pair
    seen: Ints  # the values that occur, each column's from where its values begin
    seen_counts: Longs  # how many different values of each column occur
    people: Rows  # [SIDES]: people, or records, on either side


@struct
class Rules(Struct):
    """What is asked of every group, and what is known of them. Up to `paths`: see `PrivacyTables`."""

    asked: bool
    k: int
    by_people: bool
    values: Ints
    whose: Ints
    pair_values: Ints
    columns: Rows
    rules: Rows
    numbers: Floats
    paths: Ints
    counts: GroupCounts
    tally: Tally
    run: Rows  # RUN: room for the values of one group and column


def rules_over(tables: PrivacyTables, counts: GroupCounts, tally: Tally) -> Rules:
    """Rules over counts that are there already."""
    longest = int(tables.columns["n_values"].max(initial=1)) + 1
    return Rules(*tables, counts, tally, np.zeros(longest, RUN))


def rules_of(tables: PrivacyTables, groups: int = 0, records: int | None = None) -> Rules:
    """Rules with room to count so many groups (all empty) of so many records (those of the tables).

    Where nothing is counted by group, 0 groups are enough.
    """
    if not tables.asked:
        return no_rules(tables.k)
    if records is None:
        records = len(tables.values) if groups else 0
    return rules_over(tables, new_counts(tables, groups, records), new_tally(tables))


@cache
def no_rules(k: int) -> Rules:
    """k records, and nothing else. Nothing is ever written to it, so one is enough."""
    nobody = RecordCodes(False, np.zeros((0, 0), np.int32), np.zeros((0, 1), np.int32), np.zeros(0, np.int32))
    tables = PrivacyTables(
        False, k, *nobody, np.zeros(0, COLUMN), np.zeros(0, RULE), np.zeros(0), np.zeros(0, np.int32)
    )
    return rules_over(tables, new_counts(tables, 0, 0), new_tally(tables))


def new_tally(tables: PrivacyTables) -> Tally:
    values = int(tables.columns["n_values"].sum())
    return Tally(
        values=np.zeros(values, VALUE_COUNT),
        whose=np.zeros(len(tables.pair_values), PERSON_COUNT),
        seen=np.zeros(values, np.int32),
        seen_counts=np.zeros(len(tables.columns), np.int64),
        people=np.zeros(1, SIDES),
    )


def new_counts(tables: PrivacyTables, groups: int, records: int) -> GroupCounts:
    """Room for so many groups, all empty, and records."""
    bags = _bags(tables)
    entries = np.zeros(records * bags, ENTRY)
    entries["next"] = np.arange(1, len(entries) + 1)
    entries["next"][-1:] = NONE
    return GroupCounts(
        sizes=np.zeros(groups, np.int64),
        people=np.zeros(groups, np.int64),
        heads=np.full((groups, bags), NONE, np.int32),
        entries=entries,
        pool=np.array([(0 if len(entries) else NONE,)], POOL),
    )


def with_room(counts: GroupCounts, tables: PrivacyTables, groups: int, records: int) -> GroupCounts:
    """The same counts with room for so many groups and records."""
    used, room = len(counts.entries), records * _bags(tables)
    entries, pool = grow(counts.entries, room), counts.pool
    if room > used:
        entries["next"][used:] = np.arange(used + 1, room + 1)
        entries["next"][-1] = pool["free"][0]
        pool = np.array([(used,)], POOL)
    return GroupCounts(
        sizes=grow(counts.sizes, groups),
        people=grow(counts.people, groups),
        heads=grow(counts.heads, groups, -1),
        entries=entries,
        pool=pool,
    )


def records_of_room(counts: GroupCounts, tables: PrivacyTables) -> int:
    """How many records there is room to count."""
    return len(counts.entries) // max(1, _bags(tables))


def _bags(tables: PrivacyTables) -> int:
    return tables.values.shape[1] * (2 if tables.by_people else 1) + tables.by_people
