"""Whether one group satisfies the rules, for kernels.

A group's values of one column come as a run: the codes that occur (ascending, where closeness is asked), and how many
people (records, where people are not counted) have each.

Decisions. A person with several values in a group counts for each of them, and once among the people: the share of a
value is that of the people who have it. Entropy, recursive diversity and closeness, which need shares that add up to
one, take the pairs of person and value. A value that every person of a group has is never diverse, whatever else they
have. Numbers are compared with a tolerance of 1e-9, so that ℓ = ℓ₀ can be asked for.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from shoal.compiling import inlined, kernel
from shoal.privacy.tables import (
    DISTINCT,
    ENTROPY,
    EQUAL,
    FREQUENCY,
    HIERARCHICAL,
    ORDERED,
    RECURSIVE,
    SHARE,
    Layout,
    PrivacyTables,
)

Ints = NDArray[np.int32]
Longs = NDArray[np.int64]
TOLERANCE = 1e-9
STEPS = 8  # from so many places on a binary search is cheaper than walking

# Plain numbers, for Numba.
(
    VALUES, SIZE, FIRST, SHARES, SUMS, SUMS_OF_SUMS, DEPTH, PATHS, WEIGHTS, NODE_SHARES, TREE_TOTAL, IN_ORDER
) = map(int, Layout)  # fmt: skip


@inlined
def column_lacks(tables: PrivacyTables, j: int, values: Ints, counts: Longs, length: int, people: int) -> int:
    """How many records at least would have to come or go before a run of column j can satisfy its rules; 0: it does.

    A group without people satisfies all.
    """
    if people == 0:
        return 0
    for rule in range(len(tables.rules)):
        if tables.rules[rule, 1] == j:
            found = reached(tables, rule, values, counts, length, people)
            if not satisfies(tables, rule, found):
                return moves_needed(tables, rule, found, counts, length, people)
    return 0


@inlined
def moves_needed(tables: PrivacyTables, rule: int, found: float, counts: Longs, length: int, people: int) -> int:
    """How many records at least must join or leave a group before it can satisfy a rule that it does not. At least 1.

    A record that joins raises a count and the people by at most one; one that leaves lowers them by at most one. It
    moves a distribution by at most 1 / total, and no two values are farther apart than 1. It raises an entropy by at
    most (1 + log total) / (total − 1), and it takes half of the group to halve the total. Where a value is everybody's,
    one record may be enough.
    """
    kind, bound = tables.rules[rule, 0], tables.bounds[rule, 0]
    total, largest = 0, 0
    for place in range(length):
        total += counts[place]
        largest = max(largest, counts[place])
    moves = 1.0
    if tables.by_people and largest == people and kind in (ENTROPY, DISTINCT, RECURSIVE):
        return 1
    if kind == DISTINCT:
        moves = bound - found
    elif kind == ENTROPY:
        lacking = math.log(bound / found)
        moves = min(total / 2, lacking * (total / 2 - 1) / (1 + math.log(1.5 * total)))
    elif kind == RECURSIVE:
        moves = (largest - tables.bounds[rule, 1] * largest / found) / (1 + tables.bounds[rule, 1])
    elif kind in (FREQUENCY, SHARE):
        share = 1 / found if kind == FREQUENCY else found
        most = 1 / bound if kind == FREQUENCY else bound
        excess = people * (share - most)
        leaving = excess if tables.by_people else excess / (1 - most)
        moves = min(leaving, excess / most) if most > 0 else leaving
    elif kind in (EQUAL, ORDERED, HIERARCHICAL):
        moves = (found - bound) * total / (1 + found - bound)
    return max(1, math.ceil(moves - 1e-6))


@inlined
def satisfies(tables: PrivacyTables, rule: int, found: float) -> bool:
    """Whether what a group reaches is enough."""
    kind, bound = tables.rules[rule, 0], tables.bounds[rule, 0]
    if kind in (FREQUENCY, ENTROPY, DISTINCT):
        return found >= bound * (1 - TOLERANCE)
    if kind == RECURSIVE:
        return found < tables.bounds[rule, 1] * (1 - TOLERANCE)
    return found <= bound + TOLERANCE


@inlined
def reached(tables: PrivacyTables, rule: int, values: Ints, counts: Longs, length: int, people: int) -> float:
    """What a run reaches under a rule: the ℓ it has, the c it needs, its distance t or its largest share."""
    kind, j = tables.rules[rule, 0], tables.rules[rule, 1]
    total, largest = 0, 0
    for place in range(length):
        total += counts[place]
        largest = max(largest, counts[place])
    if kind == SHARE:
        most = 0
        for place in range(length):
            if tables.rules[rule, 2] < 0 or tables.rules[rule, 2] == values[place]:
                most = max(most, counts[place])
        return most / people
    if kind == EQUAL:
        return equal_distance(tables, j, values, counts, length, total)
    if kind == ORDERED:
        return ordered_distance(tables, j, values, counts, length, total)
    if kind == HIERARCHICAL:
        return hierarchical_distance(tables, j, values, counts, length, total)
    everybodys = tables.by_people and largest == people and tables.bounds[rule, 0] > 1
    if kind == FREQUENCY:
        return people / largest
    if kind == DISTINCT:
        return 1.0 if everybodys else float(length)
    if kind == ENTROPY:
        if everybodys:
            return 1.0
        entropy = math.log(total)
        for place in range(length):
            entropy -= counts[place] * math.log(counts[place]) / total
        return math.exp(entropy)
    if everybodys:
        return math.inf
    tail = total - most_common(counts, length, int(tables.bounds[rule, 0]) - 1)
    return largest / tail if tail > 0 else math.inf


@kernel
def most_common(counts: Longs, length: int, several: int) -> int:
    """How many have one of the `several` most common values."""
    found, last, ties = 0, np.iinfo(np.int64).max, 0
    for _ in range(min(several, length)):  # the next largest: a tie of the last, or the largest below it
        largest, times = 0, 0
        for place in range(length):
            count = counts[place]
            if count == last:
                times += 1
            elif largest < count < last:
                largest = count
        if times > ties:
            ties += 1
        else:
            last, ties = largest, 1
        found += last
    return found


@kernel
def equal_distance(tables: PrivacyTables, j: int, values: Ints, counts: Longs, length: int, total: int) -> float:
    """Half the difference of two distributions; summed over what the group has more of."""
    moved = 0.0
    for place in range(length):
        moved += max(0.0, counts[place] / total - tables.numbers[tables.layout[j, SHARES] + values[place]])
    return moved


@kernel
def ordered_distance(tables: PrivacyTables, j: int, values: Ints, counts: Longs, length: int, total: int) -> float:
    """Σ |difference of the cumulated shares| / (places − 1), over all places of the table.

    Between two values of the group its own cumulated share stands still while the table's grows: one binary search
    finds where they cross, and sums of sums give both parts; neighbouring values need no search. A group of ten costs
    the same whatever the domain.
    """
    size, first = tables.layout[j, SIZE], tables.layout[j, FIRST]
    if size - first < 2:
        return 0.0
    sums, sums_of_sums = tables.layout[j, SUMS], tables.layout[j, SUMS_OF_SUMS]
    distance, cumulated = 0.0, 0.0
    at = first
    for place in range(length + 1):
        to = np.int64(values[place]) if place < length else size - 1
        if to - at < STEPS:
            while at < to:
                distance += abs(tables.numbers[sums + at] - cumulated)
                at += 1
        else:
            low, high = at, to
            while low < high:  # the first place of at..to where the table's share is above the group's
                middle = (low + high) // 2
                if tables.numbers[sums + middle] > cumulated:
                    high = middle
                else:
                    low = middle + 1
            crossing = tables.numbers[sums_of_sums + low]
            distance += (low - at) * cumulated - (crossing - tables.numbers[sums_of_sums + at])
            distance += tables.numbers[sums_of_sums + to] - crossing - (to - low) * cumulated
            at = to
        if place < length:
            cumulated += counts[place] / total
    return max(0.0, distance / (size - first - 1))


@kernel
def hierarchical_distance(tables: PrivacyTables, j: int, values: Ints, counts: Longs, length: int, total: int) -> float:
    """Σ weight · |difference of the shares below an edge|: see `tables._tree_tables`.

    Edges that the group does not touch stand in the total; the values of one node are neighbours.
    """
    distance = tables.numbers[tables.layout[j, TREE_TOTAL]]
    depth = tables.layout[j, DEPTH]
    for step in range(depth):
        node, below = -1, 0.0
        for place in range(length + 1):
            here = -1
            if place < length:
                here = tables.paths[tables.layout[j, PATHS] + values[place] * depth + step]
            if here != node or place == length:
                if node >= 0:
                    share = tables.numbers[tables.layout[j, NODE_SHARES] + node]
                    distance += tables.numbers[tables.layout[j, WEIGHTS] + node] * (abs(below - share) - share)
                node, below = here, 0.0
            if place < length:
                below += counts[place] / total
    return max(0.0, distance)
