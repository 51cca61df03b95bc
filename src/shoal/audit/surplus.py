"""Surplus: what a class has more of than another can account for.

Of a class A, those who are not in a class B of another release have every value at least as often as A has it more
often than B. If these are as many as they are people, nothing else is left for them: their counts follow, although no
sum of classes gives them.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from shoal.arrays import runs
from shoal.audit.equations import Sets
from shoal.audit.history import History

Longs = NDArray[np.int64]


def surplus(history: History, units: Longs, at: Longs, here: Longs, there: Longs) -> Iterator[Sets]:
    """For each sensitive column: of every set here, those outside a set there that it overlaps, where that follows.

    `here`, `there`: the set of each of some atoms in two releases, or −1. `units`: theirs, and `at` which atom's.
    """
    present, other = here[at], there[at]
    size = max(1, int(there.max(initial=-1)) + 1)
    both = (present >= 0) & (other >= 0)
    pairs, common = np.unique(present[both] * size + other[both], return_counts=True)
    first, second = pairs // size, pairs % size
    n_here = np.bincount(present[present >= 0], minlength=int(here.max(initial=-1)) + 1)
    rest = n_here[first] - common
    chosen = rest > 0
    for set_of_unit, sets in ((present, first), (other, second)):  # what is forgotten cannot be counted
        unknown = np.unique(set_of_unit[~history.known[units]])
        chosen &= ~np.isin(sets, unknown)
    first, second, rest = first[chosen], second[chosen], rest[chosen]
    for values in history.values.values():
        width = len(values.names) + 1
        keys, counts = np.unique((present * width + values.numbers[units])[present >= 0], return_counts=True)
        others, there_counts = np.unique((other * width + values.numbers[units])[other >= 0], return_counts=True)
        starts = np.searchsorted(keys, first * width)
        entry, pair = runs(starts, np.searchsorted(keys, (first + 1) * width) - starts)
        wanted = second[pair] * width + keys[entry] % width
        found = np.minimum(np.searchsorted(others, wanted), max(0, len(others) - 1))
        accounted = np.where(others[found] == wanted, there_counts[found], 0) if len(others) else 0
        more = np.bincount(pair, np.maximum(0, counts[entry] - accounted), minlength=len(first))
        yield outside(here, there, first[more == rest], second[more == rest])


def outside(here: Longs, there: Longs, first: Longs, second: Longs) -> Sets:
    """The atoms of each set here that are not in the set there that it is held against."""
    order = np.argsort(here, kind="stable")
    starts = np.searchsorted(here[order], first)
    entry, pair = runs(starts, np.searchsorted(here[order], first, side="right") - starts)
    atoms = order[entry]
    beyond = there[atoms] != second[pair]
    return Sets(atoms[beyond], pair[beyond])
