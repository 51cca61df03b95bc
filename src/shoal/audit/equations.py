"""Which sets of people have counts that follow from the published ones.

A class shows how many of its people have a value: the sum over its atoms. These sums are linear equations, one for each
class of each release, and the counts of a set of atoms follow from them exactly if the set is a combination of classes:
if it is orthogonal to every vector that all classes are orthogonal to. One such vector, drawn at random, decides: a set
that follows has the sum 0 there, and one that does not hardly ever has.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.audit.history import History, Members
from shoal.audit.rows import Rows, rows_of

Longs = NDArray[np.int64]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
DRAWS = 2
NOUGHT = 1e-6  # of a sum, beside the size of what is summed up
PRECISION = 1e-13
MOST_STEPS = 4_000


class Sets(NamedTuple):
    """Some atoms, and the set that each is in; an atom may be in several."""

    atoms: Longs
    sets: Longs

    @property
    def n_sets(self) -> int:
        return int(self.sets.max(initial=-1)) + 1


@dataclass(frozen=True)
class Equations:
    """What the classes of all releases leave open."""

    classes: Sets  # each set of atoms that is a class in some release, once
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


def distinct_classes(history: History, members: Members, rng: np.random.Generator) -> Sets:
    """Each set of atoms that is a class in some release, once."""
    classes = classes_of_atoms(history, members)
    return distinct_sets([inside(of_atoms) for of_atoms in classes], members.n_atoms, rng)


def equations_of(classes: Sequence[Longs], n_atoms: int, rng: np.random.Generator) -> Equations:
    distinct = distinct_sets([inside(of_atoms) for of_atoms in classes], n_atoms, rng)
    vectors, decided, rows = [], True, rows_of(distinct.atoms, distinct.sets, n_atoms)
    for _ in range(DRAWS):
        vector, good = _blind_vector(rows, rng)
        vectors.append(vector)
        decided &= good
    return Equations(distinct, np.array(vectors), decided)


def inside(labels: Longs) -> Sets:
    """The atoms that have a label of at least 0, in sets of those with the same."""
    present = np.flatnonzero(labels >= 0)
    return Sets(present, labels[present])


def distinct_sets(families: Sequence[Sets], n_atoms: int, rng: np.random.Generator) -> Sets:
    """All sets of several families, each once. (Most classes are what they were in the release before.)"""
    names = rng.integers(0, 2**63, n_atoms, np.uint64)  # a set is known by the sum of these, modulo 2^64
    known: set[int] = set()
    atoms, sets, n_sets = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)], 0
    for family in families:
        if not len(family.atoms):
            continue
        order = np.argsort(family.sets, kind="stable")
        ordered = family.sets[order]
        starts = np.flatnonzero(np.diff(ordered, prepend=-1))
        sums = np.add.reduceat(names[family.atoms[order]], starts).tolist()
        new = np.array([total not in known for total in sums])
        known.update(sums)
        of_entry = np.repeat(np.arange(len(starts)), np.diff(np.append(starts, len(ordered))))
        kept = new[of_entry]
        atoms.append(family.atoms[order][kept])
        sets.append((np.cumsum(new) - 1 + n_sets)[of_entry[kept]])
        n_sets += int(new.sum())
    return Sets(np.concatenate(atoms), np.concatenate(sets))


def _blind_vector(rows: Rows, rng: np.random.Generator) -> tuple[Floats, bool]:
    """A random vector without its part in the span of the rows: by conjugate gradients."""
    drawn = rng.standard_normal(rows.n_columns)
    bound, columns = np.unique(rows.columns, return_inverse=True)  # the others are in no row: they may be anything
    vector = drawn[bound]

    def sums(of_columns: Floats) -> Floats:
        found = np.bincount(rows.rows, rows.numbers * of_columns[columns], minlength=rows.n_rows)
        return found.astype(np.float64, copy=False)  # none: whole numbers

    def spread(of_rows: Floats) -> Floats:
        found = np.bincount(columns, rows.numbers * of_rows[rows.rows], minlength=len(bound))
        return found.astype(np.float64, copy=False)

    # Normal equations for the part in the span, scaled by the lengths of the rows. A step of any method that only sums
    # and spreads; this one needs the fewest.
    scale = 1 / np.sqrt(np.maximum(1.0, np.bincount(rows.rows, rows.numbers**2, minlength=rows.n_rows)))
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
    drawn[bound] = vector
    return rows.of_atoms(drawn), left <= 1e4 * wanted
