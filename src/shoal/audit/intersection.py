"""Intersection: the values that are still possible for somebody, given all sets whose values are known.

Such sets are the classes of every release, and what follows from them (`difference.py`). A person's value is among
those of each set that contains them; and if the others of a set can have a value only so often, the rest is theirs.
Both are repeated until nothing changes: bounds of how many people of each atom have each value. Then it is added who
has changed: if a value is certain before, it is another one after. (What is possible for several people jointly may be
less still.)
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.arrays import runs
from shoal.audit.changes import shown_successors
from shoal.audit.equations import Sets, distinct_sets
from shoal.audit.history import History, Members

Longs = NDArray[np.int64]
Bools = NDArray[np.bool_]
MOST_ROUNDS = 200


class Narrowed(NamedTuple):
    few: Longs  # atoms that are left with too few values
    by_change: Longs  # and those that are only for whoever knows who has changed
    settled: Longs  # atoms whose counts are known


def narrowed(
    history: History, members: Members, lacking: Bools, sets: Sequence[Sets], rng: np.random.Generator
) -> Narrowed:
    """Too few are fewer than ℓ; where no ℓ is asked, one, if no class of theirs has only one.

    `sets`: first the classes, then what follows from them. Only atoms that hang together with some that are `lacking`,
    or with somebody who has changed, are looked at: the others can have all values of their atom.
    """
    pairs = shown_successors(history)
    edges = history.atoms[pairs]
    wanted = lacking.copy()
    wanted[edges] = True
    classes = _near(sets[0], wanted, edges)
    known = distinct_sets([classes, *sets[1:]], members.n_atoms, rng)
    units, at = members.of(known.atoms)
    forgotten = np.zeros(known.n_sets, bool)
    forgotten[known.sets[at][~history.known[units]]] = True
    usable = ~forgotten[known.sets]
    known = Sets(known.atoms[usable], known.sets[usable])
    few, changed, settled = (np.zeros(members.n_atoms, bool) for _ in range(3))
    for name, values in history.values.items():
        asked = [rule.bound for rule in history.rules if rule.column == name and rule.symbol == "l"]
        bounds = _Bounds(members, known, values.numbers, len(values.names) + 1)
        bounds.narrow()
        alone = _alone(members, classes, values.numbers, len(values.names) + 1)
        enough = math.ceil(max(asked, default=1))
        left = bounds.possible()
        few |= (left < enough) | ((left == 1) & (alone > 1))
        settled |= bounds.settled()
        if len(pairs):
            other = values.numbers[pairs[:, 0]] != values.numbers[pairs[:, 1]]
            both_known = history.known[pairs].all(axis=1)
            while bounds.keep_apart(edges[other & both_known]):
                bounds.narrow()
            left = bounds.possible()
            changed |= (left < enough) | ((left == 1) & (alone > 1))
            settled |= bounds.settled()
    return Narrowed(np.flatnonzero(few), np.flatnonzero(changed & ~few), np.flatnonzero(settled))


def _near(classes: Sets, wanted: Bools, edges: Longs) -> Sets:
    """The classes that hang together with wanted atoms."""
    reached, size = wanted.copy(), -1
    inside = np.zeros(classes.n_sets, bool)
    while size != (size := int(reached.sum())):
        inside[classes.sets[reached[classes.atoms]]] = True
        reached[classes.atoms[inside[classes.sets]]] = True
        reached[edges[reached[edges].any(axis=1)]] = True
    there = inside[classes.sets]
    names = np.cumsum(inside) - 1
    return Sets(classes.atoms[there], names[classes.sets[there]])


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

    def keep_apart(self, pairs: Longs) -> bool:
        """One of the first atom and one of the second have two values, for each of these pairs. Returns whether that
        says anything new: if all of one atom have a value, so many of the other one have not."""
        before = self.most.copy()
        first = np.searchsorted(self.atoms, np.arange(self.n_atoms + 1))
        certain = np.full(self.n_atoms, -1, np.int64)  # the value that all of an atom have
        whole = self.least >= self.sizes[self.atoms]
        certain[self.atoms[whole]] = self.values[whole]
        for one, other in ((0, 1), (1, 0)):
            chosen = pairs[certain[pairs[:, one]] >= 0]
            keys, times = np.unique(np.stack([chosen[:, other], certain[chosen[:, one]]]), axis=1, return_counts=True)
            entry, at = runs(first[keys[0]], first[keys[0] + 1] - first[keys[0]])
            meant = self.values[entry] == keys[1][at]
            entry, at = entry[meant], at[meant]
            self.most[entry] = np.minimum(self.most[entry], self.sizes[keys[0][at]] - times[at])
        return not np.array_equal(before, self.most)

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
