"""Intersection: the values that somebody can have in every set that contains them and whose values are known.

Such sets are the classes of every release, and what follows from them (`difference.py`).
among those of each set. Where the sets have fewer values in common than a release must have, the releases say together
what none says alone. (What several people can have jointly may be less.)
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from shoal.audit.difference import Sets
from shoal.audit.equations import classes_of_atoms
from shoal.audit.history import History, Members

Longs = NDArray[np.int64]
Bools = NDArray[np.bool_]
CELLS_AT_ONCE = 20_000_000


def narrowed(history: History, members: Members, follows: Sequence[Sets]) -> Longs:
    """Atoms that are left with too few values: fewer than ℓ; where no ℓ is asked, one, if each release leaves more."""
    classes = []
    for of_atoms in classes_of_atoms(history, members):
        present = np.flatnonzero(of_atoms >= 0)
        classes.append(Sets(present, of_atoms[present]))
    few = np.zeros(members.n_atoms, bool)
    for name, values in history.values.items():
        asked = [rule.bound for rule in history.rules if rule.column == name and rule.symbol == "l"]
        wanted = math.ceil(max(asked, default=1))
        n_values = len(values.names) + 1
        left = np.zeros(members.n_atoms, np.int64)
        alone = np.zeros((len(classes), members.n_atoms), np.int64)  # the values of its class in each release
        at_once = max(1, CELLS_AT_ONCE // max(1, members.n_atoms))
        for start in range(0, n_values, at_once):
            some = range(start, min(start + at_once, n_values))
            possible = np.ones((members.n_atoms, len(some)), bool)
            for number, known in enumerate([*classes, *follows]):
                has = _has(history, members, known, values.numbers, some)
                possible[known.atoms] &= has
                if number < len(classes):
                    alone[number, known.atoms] += has.sum(axis=1)
            left += possible.sum(axis=1)
        alone[alone == 0] = n_values  # absent
        few |= (left < wanted) | ((left == 1) & (alone.min(axis=0, initial=n_values) > 1))
    return np.flatnonzero(few)


def _has(history: History, members: Members, known: Sets, numbers: Longs, some: range) -> Bools:
    """Which of some values the set of each atom has. Where some have been forgotten here, it may be any."""
    units, at = members.of(known.atoms)
    sets = known.sets[at]
    has = np.zeros((int(known.sets.max(initial=-1)) + 1, len(some)), bool)
    inside = (numbers[units] >= some.start) & (numbers[units] < some.stop)
    has[sets[inside], numbers[units[inside]] - some.start] = True
    has[sets[~history.known[units]]] = True
    return has[known.sets]
