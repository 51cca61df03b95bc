"""Which sets of people have counts that follow from the published ones.

A class shows how many of its people have a value: the sum over its atoms. These sums are linear equations, one for each
class of each release, and the counts of a set of atoms follow from them exactly if the set is a combination of classes:
if it is orthogonal to every vector that all classes are orthogonal to. One such vector, drawn at random, decides: a set
that follows has the sum 0 there, and one that does not hardly ever has.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shoal.audit.history import History, Members

Longs = NDArray[np.int64]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
DRAWS = 2
NOUGHT = 1e-6  # of a sum, beside the size of what is summed up
PRECISION = 1e-13
MOST_STEPS = 4_000


@dataclass(frozen=True)
class Equations:
    """The classes of all releases as sets of atoms, each set once."""

    n_atoms: int
    rows: Longs  # of each entry: the class
    atoms: Longs  # of each entry: one of its atoms
    blind: Floats  # vectors that all classes are orthogonal to, one per row
    decided: bool  # whether they could be computed well enough

    def follows(self, atoms: Longs, sets: Longs, n_sets: int) -> Bools:
        """Whether the counts of each set of atoms follow: `sets` says in which one each of these atoms is."""
        follows = np.ones(n_sets, bool)
        for vector in self.blind:
            sums = np.bincount(sets, vector[atoms], minlength=n_sets)
            sizes = np.bincount(sets, np.abs(vector[atoms]), minlength=n_sets)
            follows &= np.abs(sums) <= NOUGHT * (1 + sizes)
        return follows


def classes_of_atoms(history: History, members: Members) -> list[Longs]:
    """The class of each atom in each release."""
    first = members.units[members.starts[:-1]]
    return [shown.classes[first] for shown in history.releases]


def equations_of(classes: list[Longs], n_atoms: int, rng: np.random.Generator) -> Equations:
    rows, atoms = _distinct_classes(classes, n_atoms, rng)
    n_rows = int(rows.max(initial=-1)) + 1
    vectors, decided = [], True
    for _ in range(DRAWS):
        vector, good = _blind_vector(rows, atoms, n_rows, n_atoms, rng)
        vectors.append(vector)
        decided &= good
    return Equations(n_atoms, rows, atoms, np.array(vectors), decided)


def _distinct_classes(classes: list[Longs], n_atoms: int, rng: np.random.Generator) -> tuple[Longs, Longs]:
    """Most classes are what they were in the release before: the same atoms make the same equation."""
    names = rng.integers(0, 2**63, n_atoms, np.uint64)  # a set is known by the sum of these, modulo 2^64
    known: set[int] = set()
    all_rows, all_atoms = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    n_rows = 0
    for of_atoms in classes:
        present = np.flatnonzero(of_atoms >= 0)
        present = present[np.argsort(of_atoms[present], kind="stable")]
        if not len(present):
            continue
        ordered = of_atoms[present]
        starts = np.flatnonzero(np.diff(ordered, prepend=-1))
        sums = np.add.reduceat(names[present], starts).tolist()
        new = np.array([total not in known for total in sums])
        known.update(sums)
        number = np.cumsum(new) - 1 + n_rows
        of_entry = np.repeat(np.arange(len(starts)), np.diff(np.append(starts, len(present))))
        kept = new[of_entry]
        all_rows.append(number[of_entry[kept]])
        all_atoms.append(present[kept])
        n_rows += int(new.sum())
    return np.concatenate(all_rows), np.concatenate(all_atoms)


def _blind_vector(
    rows: Longs, atoms: Longs, n_rows: int, n_atoms: int, rng: np.random.Generator
) -> tuple[Floats, bool]:
    """A random vector without its part in the span of the classes: by conjugate gradients."""
    vector = rng.standard_normal(n_atoms)

    def sums(of_atoms: Floats) -> Floats:
        return np.bincount(rows, of_atoms[atoms], minlength=n_rows).astype(
            np.float64, copy=False
        )  # none: whole numbers

    def spread(of_rows: Floats) -> Floats:
        return np.bincount(atoms, of_rows[rows], minlength=n_atoms).astype(np.float64, copy=False)

    # Normal equations for the part in the span, scaled by the sizes of the classes. A step of any method that only
    # sums and spreads; this one needs the fewest.
    scale = 1 / np.sqrt(np.maximum(1.0, np.bincount(rows, minlength=n_rows)))
    residual = scale * sums(vector)
    direction = residual.copy()
    left = float(residual @ residual)
    wanted = PRECISION**2 * max(left, 1.0)
    for _ in range(MOST_STEPS):
        if left <= wanted:
            break
        moved = spread(scale * direction)
        step = left / float(moved @ moved)
        vector -= step * moved
        residual = scale * sums(vector)  # anew: what rounding has done to the vector is mended on the way
        before, left = left, float(residual @ residual)
        direction = residual + (left / before) * direction
    return vector, left <= 1e4 * wanted
