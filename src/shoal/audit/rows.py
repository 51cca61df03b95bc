"""The classes as rows of a matrix, in fewer numbers: the same equations, and less to do.

Most classes are what an earlier one was, but for a few atoms. Instead of such a class stands what it has more (+1) and
less (−1) than that one: rows that span the same. What a vector must be that all rows are orthogonal to can be said at
once where a row has one atom left (0), or two (the one is the other, or minus the other): these are taken out of all
rows, until no row is left with so few.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.arrays import runs

Longs = NDArray[np.int64]
Floats = NDArray[np.float64]


class Rows(NamedTuple):
    """A matrix: in which column, in which row, which number; and the column that stands for each atom, with its sign.

    Sign 0: the atom follows at once.
    """

    columns: Longs
    rows: Longs
    numbers: Floats
    n_columns: int
    n_rows: int
    column_of: Longs
    signs: Floats

    def of_atoms(self, of_columns: Floats) -> Floats:
        """The vector of atoms that a vector of columns stands for."""
        vector: Floats = self.signs * of_columns[self.column_of] if self.n_columns else np.zeros(len(self.signs))
        return vector


def rows_of(atoms: Longs, sets: Longs, n_atoms: int) -> Rows:
    """Guarantee: the vectors of atoms that are orthogonal to all of these sets are those that vectors of columns stand
    for that are orthogonal to all rows.
    """
    columns, rows, numbers = _differences(atoms, sets, n_atoms)
    stand = _Standing(n_atoms)
    while True:
        columns, rows, numbers = _summed(stand.root[columns], rows, numbers * stand.sign[columns], n_atoms)
        few = np.bincount(rows)[rows]
        if not stand.take(columns[few == 1], columns[few == 2].reshape(-1, 2), numbers[few == 2].reshape(-1, 2)):
            break
    left, column_of = np.unique(stand.root, return_inverse=True)
    names, row = np.unique(rows, return_inverse=True)
    return Rows(np.searchsorted(left, columns), row, numbers, len(left), len(names), column_of, stand.sign)


class _Standing:
    """Which atom stands for each, with which sign (0: it is nought)."""

    def __init__(self, n_atoms: int) -> None:
        self.root, self.sign = np.arange(n_atoms), np.ones(n_atoms)

    def take(self, nought: Longs, pairs: Longs, numbers: Floats) -> bool:
        """Those that stand for themselves: some are nought, and in some pairs both are the same but for the sign.
        Returns whether that says anything new.
        """
        equal = np.abs(numbers[:, 0]) == np.abs(numbers[:, 1])
        pairs, numbers = pairs[equal], numbers[equal]
        if not len(nought) and not len(pairs):
            return False
        above: dict[int, tuple[int, int]] = {}  # of an atom: another one, and the sign

        def stands(atom: int) -> tuple[int, int]:
            way, sign = [], 1
            while atom in above:
                way.append((atom, sign))
                atom, factor = above[atom]
                sign *= factor
            for one, before in way:
                above[one] = atom, sign * before  # signs are their own inverses
            return atom, sign

        none = set(nought.tolist())
        same = np.where(numbers[:, 0] == numbers[:, 1], -1, 1)
        for (one, other), sign in zip(pairs.tolist(), same.tolist(), strict=True):
            (a, of_one), (b, of_other) = stands(one), stands(other)
            if a != b:
                above[a] = b, sign * of_one * of_other
            elif of_one != sign * of_other:
                none.add(a)  # it is its own opposite
        none |= {stands(one)[0] for one in none}
        root, factor = np.arange(len(self.root)), np.ones(len(self.root))
        for one in [*above, *none]:
            root[one], factor[one] = stands(one)
            if root[one] in none:
                factor[one] = 0
        self.sign *= factor[self.root]
        self.root = root[self.root]
        return True


def _summed(columns: Longs, rows: Longs, numbers: Floats, n_columns: int) -> tuple[Longs, Longs, Floats]:
    """Numbers in the same row and column added up, without noughts; by rows."""
    names, at = np.unique(rows * n_columns + columns, return_inverse=True)
    sums = np.bincount(at, numbers, minlength=len(names))
    names, sums = names[sums != 0], sums[sums != 0]
    return names % n_columns, names // n_columns, sums.astype(np.float64, copy=False)


def _differences(atoms: Longs, sets: Longs, n_atoms: int) -> tuple[Longs, Longs, Floats]:
    """Each set, or what it has more and less than an earlier one with which it has much in common."""
    n_sets = int(sets.max(initial=-1)) + 1
    names = sets * n_atoms + atoms
    order = np.argsort(names)
    names, atoms, sets = names[order], atoms[order], sets[order]
    sizes = np.bincount(sets, minlength=n_sets)

    # The last set before that an atom was in, of each entry that has one.
    by_atom = np.lexsort((sets, atoms))
    again = np.flatnonzero(np.diff(atoms[by_atom]) == 0)
    entry, before = by_atom[again + 1], sets[by_atom[again]]
    pairs, common = np.unique(sets[entry] * n_sets + before, return_counts=True)
    which, earlier = pairs // max(1, n_sets), pairs % max(1, n_sets)
    differing = sizes[which] + sizes[earlier] - 2 * common
    best = np.lexsort((differing, which))
    best = best[np.flatnonzero(np.diff(which[best], prepend=-1))]
    best = best[differing[best] < sizes[which[best]]]
    mate = np.full(n_sets, -1, np.int64)
    mate[which[best]] = earlier[best]

    has_mate = mate[sets] >= 0
    more = ~has_mate
    more[has_mate] = ~_among(names, mate[sets[has_mate]] * n_atoms + atoms[has_mate])
    compared = np.flatnonzero(mate >= 0)
    starts = np.searchsorted(sets, mate[compared])
    of_mate, at = runs(starts, sizes[mate[compared]])
    less = ~_among(names, compared[at] * n_atoms + atoms[of_mate])
    return (
        np.concatenate([atoms[more], atoms[of_mate][less]]),
        np.concatenate([sets[more], compared[at][less]]),
        np.concatenate([np.ones(int(more.sum())), -np.ones(int(less.sum()))]),
    )


def _among(ordered: Longs, wanted: Longs) -> NDArray[np.bool_]:
    if not len(ordered):
        return np.zeros(len(wanted), bool)
    found: NDArray[np.bool_] = ordered[np.minimum(np.searchsorted(ordered, wanted), len(ordered) - 1)] == wanted
    return found
