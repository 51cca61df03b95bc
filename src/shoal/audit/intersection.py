"""Intersection: the values that are still possible for somebody, given all sets whose values are known.

Such sets are the classes of every release, and what follows from them (`difference.py`). A person's value is among
those of each set that contains them; and if the others of a set can have a value only so often, the rest is theirs.
Both are repeated until nothing changes: bounds of how many people of each atom have each value. (What is possible for
several people jointly may be less still.)
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.arrays import runs
from shoal.audit.equations import Sets, distinct_sets
from shoal.audit.history import History, Members

Longs = NDArray[np.int64]
Bools = NDArray[np.bool_]
MOST_ROUNDS = 200


class Narrowed(NamedTuple):
    few: Longs  # atoms that are left with too few values
    settled: Longs  # atoms whose counts are known


def narrowed(
    history: History, members: Members, classes: Sets, follows: Sequence[Sets], rng: np.random.Generator
) -> Narrowed:
    """Too few are fewer than ℓ; where no ℓ is asked, one, if no class of theirs has only one."""
    known = distinct_sets([classes, *follows], members.n_atoms, rng)
    units, at = members.of(known.atoms)
    forgotten = np.zeros(known.n_sets, bool)
    forgotten[known.sets[at][~history.known[units]]] = True
    usable = ~forgotten[known.sets]
    known = Sets(known.atoms[usable], known.sets[usable])
    few, settled = np.zeros(members.n_atoms, bool), np.zeros(members.n_atoms, bool)
    for name, values in history.values.items():
        asked = [rule.bound for rule in history.rules if rule.column == name and rule.symbol == "l"]
        bounds = _Bounds(members, known, values.numbers, len(values.names) + 1)
        bounds.narrow()
        left, alone = bounds.possible(), _alone(members, classes, values.numbers, len(values.names) + 1)
        enough = math.ceil(max(asked, default=1))
        few |= (left < enough) | ((left == 1) & (alone > 1))
        settled |= bounds.settled()
    return Narrowed(np.flatnonzero(few), np.flatnonzero(settled))


def _alone(members: Members, classes: Sets, numbers: Longs, width: int) -> Longs:
    """How many values an atom's classes have, the one with the fewest."""
    units, at = members.of(classes.atoms)
    keys = np.unique(classes.sets[at] * width + numbers[units])
    n_values = np.bincount(keys // width, minlength=classes.n_sets)
    alone = np.full(members.n_atoms, width)
    np.minimum.at(alone, classes.atoms, n_values[classes.sets])
    return alone


class _Bounds:
    """How many people of an atom have a value, at least and at most; for each value that its sets have (an *entry*)."""

    def __init__(self, members: Members, known: Sets, numbers: Longs, width: int) -> None:
        self.n_atoms = members.n_atoms
        units, at = members.of(known.atoms)
        keys, counts = np.unique(known.sets[at] * width + numbers[units], return_counts=True)
        n_values = np.bincount(keys // width, minlength=known.n_sets)  # of each set
        starts = np.searchsorted(keys, np.arange(known.n_sets) * width)

        # The entries of an atom are the values of the set that has the fewest.
        order = np.lexsort((n_values[known.sets], known.atoms))
        atoms, sets = known.atoms[order], known.sets[order]
        first = np.flatnonzero(np.diff(atoms, prepend=-1))
        base, lengths = sets[first], n_values[sets[first]]
        key, at_first = runs(starts[base], lengths)
        self.atoms, self.values = atoms[first][at_first], keys[key] % width

        # Each entry stands in the sum of each of its atom's sets.
        n_sets = np.diff(np.append(first, len(atoms)))
        repeated = n_sets[at_first]
        of_atom, self.entries = runs(first[at_first], repeated)
        wanted = sets[of_atom] * width + self.values[self.entries]
        found = np.minimum(np.searchsorted(keys, wanted), max(0, len(keys) - 1))
        there = keys[found] == wanted if len(keys) else np.zeros(0, bool)
        self.sums = np.where(there, found, len(keys))  # the last: a value that a set does not have
        self.totals = np.append(counts, 0).astype(np.float64)
        self.first = np.cumsum(repeated) - repeated  # of each entry among its sums
        sizes = np.diff(members.starts).astype(np.float64)
        self.sizes = sizes
        self.least, self.most = np.zeros(len(self.atoms)), sizes[self.atoms]

    def narrow(self) -> None:
        if not len(self.atoms):
            return
        for _ in range(MOST_ROUNDS):
            least, most = self.least[self.entries], self.most[self.entries]
            others_least = np.bincount(self.sums, least, minlength=len(self.totals))[self.sums] - least
            others_most = np.bincount(self.sums, most, minlength=len(self.totals))[self.sums] - most
            upper = np.minimum.reduceat(self.totals[self.sums] - others_least, self.first)
            lower = np.maximum.reduceat(self.totals[self.sums] - others_most, self.first)
            in_atom = self.sizes[self.atoms]
            upper = np.minimum(upper, in_atom - (self._of_atom(self.least) - self.least))
            lower = np.maximum(lower, in_atom - (self._of_atom(self.most) - self.most))
            upper, lower = np.minimum(self.most, upper), np.maximum(self.least, lower)
            if np.array_equal(upper, self.most) and np.array_equal(lower, self.least):
                return
            self.most, self.least = upper, lower

    def _of_atom(self, entries: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.bincount(self.atoms, entries, minlength=self.n_atoms).astype(np.float64, copy=False)[self.atoms]

    def possible(self) -> Longs:
        """How many values each atom can have."""
        left = np.full(self.n_atoms, np.iinfo(np.int64).max)
        left[self.atoms] = 0
        np.add.at(left, self.atoms, self.most >= 1)
        return left

    def settled(self) -> Bools:
        """Atoms of whom all counts are known."""
        settled = np.zeros(self.n_atoms, bool)
        settled[self.atoms] = True
        settled[self.atoms[self.least < self.most]] = False
        return settled
