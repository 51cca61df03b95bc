"""Whether one group satisfies the rules, for kernels.

A group's values of one column come as a run (`rules.RUN`): the codes that occur (ascending, where closeness is asked),
and how many people (records, where people are not counted) have each.

Decisions. A person with several values in a group counts for each of them, and once among the people: the share of a
value is that of the people who have it. Entropy, recursive diversity and closeness, which need shares that add up to
one, take the pairs of person and value. A value that every person of a group has is never diverse, whatever else they
have. Numbers are compared with a tolerance of 1e-9, so that ℓ = ℓ₀ can be asked for.
"""

from __future__ import annotations

import math

import numpy as np

from shoal.compiling import ZERO, inner
from shoal.privacy.rules import Rows, Rules
from shoal.privacy.tables import DISTINCT, ENTROPY, EQUAL, FREQUENCY, HIERARCHICAL, ORDERED, RECURSIVE, SHARE

TOLERANCE = 1e-9
STEPS = 8  # from so many ranks on a binary search is cheaper than walking


@inner
def column_lacks(rules: Rules, j: int, run: Rows, people: int) -> int:
    """How many records at least would have to come or go before a run of column j can satisfy its rules; 0: it does.

    A group without people satisfies all.
    """
    if people == 0:
        return 0
    asked = rules.rules
    for i in range(len(asked)):
        if asked[i].column == j:
            found = reached(rules, i, run, people)
            if not satisfies(rules, i, found):
                return moves_needed(rules, i, found, run, people)
    return 0


@inner
def moves_needed(rules: Rules, i: int, found: float, run: Rows, people: int) -> int:
    """How many records at least must join or leave a group before it can satisfy a rule that it does not. At least 1.

    A record that joins raises a count and the people by at most one; one that leaves lowers them by at most one. It
    moves a distribution by at most 1 / total, and no two values are farther apart than 1. It raises an entropy by at
    most (1 + log total) / (total − 1), and it takes half of the group to halve the total. Where a value is everybody's,
    one record may be enough.
    """
    rule = rules.rules[i]
    kind, bound = rule.kind, rule.bound
    total, largest = ZERO, ZERO
    for at in range(len(run)):
        total += run[at].count
        largest = max(largest, run[at].count)
    moves = 1.0
    if rules.by_people and largest == people and kind in (ENTROPY, DISTINCT, RECURSIVE):
        return 1
    if kind == DISTINCT:
        moves = bound - found
    elif kind == ENTROPY:
        lacking = math.log(bound / found)
        moves = min(total / 2, lacking * (total / 2 - 1) / (1 + math.log(1.5 * total)))
    elif kind == RECURSIVE:
        moves = (largest - rule.c * largest / found) / (1 + rule.c)
    elif kind in (FREQUENCY, SHARE):
        share = 1 / found if kind == FREQUENCY else found
        most = 1 / bound if kind == FREQUENCY else bound
        excess = people * (share - most)
        leaving = excess if rules.by_people else excess / (1 - most)
        moves = min(leaving, excess / most) if most > 0 else leaving
    elif kind in (EQUAL, ORDERED, HIERARCHICAL):
        moves = (found - bound) * total / (1 + found - bound)
    return max(1, math.ceil(moves - 1e-6))


@inner
def satisfies(rules: Rules, i: int, found: float) -> bool:
    """Whether what a group reaches is enough."""
    rule = rules.rules[i]
    if rule.kind in (FREQUENCY, ENTROPY, DISTINCT):
        return found >= rule.bound * (1 - TOLERANCE)
    if rule.kind == RECURSIVE:
        return found < rule.c * (1 - TOLERANCE)
    return found <= rule.bound + TOLERANCE


@inner
def reached(rules: Rules, i: int, run: Rows, people: int) -> float:
    """What a run reaches under a rule: the ℓ it has, the c it needs, its distance t or its largest share."""
    rule = rules.rules[i]
    kind, j = rule.kind, rule.column
    total, largest = ZERO, ZERO
    for at in range(len(run)):
        total += run[at].count
        largest = max(largest, run[at].count)
    if kind == SHARE:
        most = 0
        for at in range(len(run)):
            if rule.value < 0 or rule.value == run[at].value:
                most = max(most, run[at].count)
        return most / people
    if kind == EQUAL:
        return equal_distance(rules, j, run, total)
    if kind == ORDERED:
        return ordered_distance(rules, j, run, total)
    if kind == HIERARCHICAL:
        return hierarchical_distance(rules, j, run, total)
    everybodys = rules.by_people and largest == people and rule.bound > 1
    if kind == FREQUENCY:
        return people / largest
    if kind == DISTINCT:
        return 1.0 if everybodys else float(len(run))
    if kind == ENTROPY:
        if everybodys:
            return 1.0
        entropy = math.log(total)
        for at in range(len(run)):
            entropy -= run[at].count * math.log(run[at].count) / total
        return math.exp(entropy)
    if everybodys:
        return math.inf
    tail = total - most_common(run, int(rule.bound) - 1)
    return largest / tail if tail > 0 else math.inf


@inner
def most_common(run: Rows, n_values: int) -> int:
    """How many have one of the `n_values` most common values."""
    found, last, ties = 0, np.iinfo(np.int64).max, 0
    for _ in range(min(n_values, len(run))):  # the next largest: a tie of the last, or the largest below it
        largest, times = 0, 0
        for at in range(len(run)):
            count = run[at].count
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


@inner
def equal_distance(rules: Rules, j: int, run: Rows, total: int) -> float:
    """Half the difference of two distributions; summed over what the group has more of."""
    shares = rules.numbers[rules.columns[j].shares :]
    moved = 0.0
    for at in range(len(run)):
        moved += max(0.0, run[at].count / total - shares[run[at].value])
    return moved


@inner
def ordered_distance(rules: Rules, j: int, run: Rows, total: int) -> float:
    """Σ |difference of the cumulated shares| / (ranks − 1), over all ranks of the table.

    Between two values of the group its own cumulated share stands still while the table's grows: one binary search
    finds where they cross, and sums of sums give both parts; neighbouring values need no search. A group of ten costs
    the same whatever the domain.
    """
    column = rules.columns[j]
    size, first = column.n_values, column.first
    if size - first < 2:
        return 0.0
    sums, sums_of_sums = rules.numbers[column.sums :], rules.numbers[column.sums_of_sums :]
    distance, cumulated = 0.0, 0.0
    rank = first
    for at in range(len(run) + 1):
        to = run[at].value if at < len(run) else size - 1
        if to - rank < STEPS:
            while rank < to:
                distance += abs(sums[rank] - cumulated)
                rank += 1
        else:
            low, high = rank, to
            while low < high:  # the first rank up to `to` where the table's share is above the group's
                middle = (low + high) // 2
                if sums[middle] > cumulated:
                    high = middle
                else:
                    low = middle + 1
            crossing = sums_of_sums[low]
            distance += (low - rank) * cumulated - (crossing - sums_of_sums[rank])
            distance += sums_of_sums[to] - crossing - (to - low) * cumulated
            rank = to
        if at < len(run):
            cumulated += run[at].count / total
    return max(0.0, distance / (size - first - 1))


@inner
def hierarchical_distance(rules: Rules, j: int, run: Rows, total: int) -> float:
    """Σ weight · |difference of the shares below an edge|: see `tables._tree_tables`.

    Edges that the group does not touch stand in the total; the values of one node are neighbours.
    """
    column = rules.columns[j]
    paths, depth = rules.paths[column.paths :], column.depth
    weights, shares = rules.numbers[column.weights :], rules.numbers[column.node_shares :]
    distance = column.tree_total
    for step in range(depth):
        node, below = -1, 0.0
        for at in range(len(run) + 1):
            here = -1
            if at < len(run):
                here = paths[run[at].value * depth + step]
            if here != node or at == len(run):
                if node >= 0:
                    distance += weights[node] * (abs(below - shares[node]) - shares[node])
                node, below = here, 0.0
            if at < len(run):
                below += run[at].count / total
    return max(0.0, distance)
