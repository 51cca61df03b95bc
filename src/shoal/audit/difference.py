"""Differences: sets of people without what is asked of a class, whose counts follow from published counts.

Candidates are the sets that two releases cut out: those who were in one and not in the other, by connected component of
their classes; those who share a class in both; what is left of a class without its large atoms; and atoms, alone and in
pairs. Whether the counts of a candidate follow is decided by all releases together (`equations.py`). An atom that lacks
something and is in no set that follows is *undecided*: no sum of classes gives it away, but larger sets were not tried,
and counts that cannot be negative may say more than sums do.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.audit.equations import Equations, Sets, classes_of_atoms, equations_of, inside
from shoal.audit.history import History, Members
from shoal.audit.surplus import outside, surplus

Longs = NDArray[np.int64]
Bools = NDArray[np.bool_]
MOST_PAIRS = 300  # of releases that are held against each other
ALIKE = 1e-7  # how near two entries of a blind vector must be to cancel each other


class Candidates(NamedTuple):
    """Some atoms, each in one set; and the two releases that cut the sets out (the same one, or −1 for all)."""

    atoms: Longs
    sets: Longs
    n_sets: int
    before: int
    after: int
    certain: bool = False  # they follow, and not by a sum
    first: bool = False  # the simplest ones: to be looked at even if those concerned are exposed already


class Revealed(NamedTuple):
    """What the counts say."""

    sets: list[tuple[Longs, int, int]]  # atoms, and the two releases; each set once
    classes: Sets  # each once
    follows: list[Sets]  # whatever follows from them, where it is about atoms that lack something
    exposed: Bools  # atoms
    undecided: Longs  # atoms
    decided: bool  # whether what follows could be computed


def differences(history: History, members: Members, lacking: Bools, rng: np.random.Generator) -> Revealed:
    """`lacking`: the atoms that do not have what is asked of a class."""
    n_atoms = len(lacking)
    if not lacking.any():
        nobody = np.zeros(0, np.int64)
        return Revealed([], Sets(nobody, nobody), [], lacking, nobody, True)
    classes = classes_of_atoms(history, members)
    equations = equations_of(classes, n_atoms, rng)
    found: dict[bytes, tuple[Longs, int, int]] = {}
    exposed, all_follow = np.zeros(n_atoms, bool), []
    for candidates in _candidates(history, members, classes, lacking, equations):
        open_ones = lacking if candidates.first else lacking & ~exposed
        if not open_ones.any():
            break
        follows = np.ones(candidates.n_sets, bool)
        if not candidates.certain:
            follows = equations.follows(candidates.atoms, candidates.sets, candidates.n_sets)
        concerned = np.zeros(candidates.n_sets, bool)
        concerned[candidates.sets[open_ones[candidates.atoms]]] = True
        chosen = (follows & concerned)[candidates.sets]
        if not chosen.any():
            continue
        which, sets = np.unique(candidates.sets[chosen], return_inverse=True)
        atoms = candidates.atoms[chosen]
        all_follow.append(Sets(atoms, sets))
        units, at = members.of(atoms)
        bad = history.lacking(units, sets[at], len(which))[sets]
        for its_atoms in _parted(atoms[bad], sets[bad]):
            found.setdefault(its_atoms.tobytes(), (its_atoms, candidates.before, candidates.after))
            exposed[its_atoms] = True
    undecided = np.flatnonzero(lacking & ~exposed)
    revealed = _smallest(list(found.values()))
    return Revealed(revealed, equations.classes, all_follow, exposed, undecided, equations.decided)


def _parted(atoms: Longs, sets: Longs) -> list[Longs]:
    """The atoms of each set, in their order."""
    order = np.lexsort((atoms, sets))
    return [part for part in np.split(atoms[order], np.flatnonzero(np.diff(sets[order])) + 1) if len(part)]


def _smallest(sets: list[tuple[Longs, int, int]]) -> list[tuple[Longs, int, int]]:
    """Without those that are made of smaller ones: each atom's smallest set is kept."""
    best: dict[int, int] = {}
    for at in sorted(range(len(sets)), key=lambda at: len(sets[at][0])):
        for atom in sets[at][0].tolist():
            best.setdefault(atom, at)
    return [sets[at] for at in sorted(set(best.values()))]


def _candidates(
    history: History, members: Members, classes: Sequence[Longs], lacking: Bools, equations: Equations
) -> Iterator[Candidates]:
    every = np.arange(len(lacking))
    pairs = [(before, after) for after in range(len(classes)) for before in range(after)]
    pairs.sort(key=lambda pair: pair[1] - pair[0])  # neighbours first
    for before, after in pairs[: len(classes) - 1]:
        for candidates in _cut_out(classes, before, after):
            yield candidates._replace(first=True)
    yield Candidates(every, every, len(every), -1, -1, first=True)
    yield _cancelling(equations)
    for at, of_atoms in enumerate(classes):
        small = inside(np.where(lacking, of_atoms, -1))
        yield Candidates(*small, small.n_sets, at, at)
    for before, after in pairs[:MOST_PAIRS]:
        yield from _cut_out(classes, before, after)
        yield from _surplus(history, members, classes, before, after)


def _cancelling(equations: Equations) -> Candidates:
    """Pairs of atoms whose counts follow together: their entries cancel each other in every blind vector."""
    entries = equations.blind[0]
    order = np.argsort(np.abs(entries))
    near = np.abs(entries[order[1:]] + entries[order[:-1]]) <= ALIKE * (1 + np.abs(entries[order[1:]]))
    first = np.flatnonzero(near & (np.abs(entries[order[1:]]) > ALIKE))
    atoms = np.concatenate([order[first], order[first + 1]])
    return Candidates(atoms, np.tile(np.arange(len(first)), 2), len(first), -1, -1)


def _cut_out(classes: Sequence[Longs], before: int, after: int) -> Iterator[Candidates]:
    """What two releases cut out."""
    old, new = classes[before], classes[after]
    both = np.flatnonzero((old >= 0) & (new >= 0))
    n_old, n_new = int(old.max(initial=-1)) + 1, int(new.max(initial=-1)) + 1
    component = _components(old[both], new[both], n_old, n_new)
    left, joined = np.flatnonzero((old >= 0) & (new < 0)), np.flatnonzero((old < 0) & (new >= 0))
    yield Candidates(left, component[old[left]], n_old + n_new, before, after)
    yield Candidates(joined, component[n_old + new[joined]], n_old + n_new, before, after)
    cells, cell = np.unique(old[both] * max(1, n_new) + new[both], return_inverse=True)
    yield Candidates(both, cell, len(cells), before, after)
    # What a class of one release has beyond a class of the other: if the common part follows, so does the rest.
    first, second = cells // max(1, n_new), cells % max(1, n_new)
    for rest in (outside(old, new, first, second), outside(new, old, second, first)):
        yield Candidates(*rest, len(cells), before, after)


def _surplus(
    history: History, members: Members, classes: Sequence[Longs], before: int, after: int
) -> Iterator[Candidates]:
    """What the classes of two releases, and their components, have more of than the other release accounts for."""
    old, new = classes[before], classes[after]
    both = np.flatnonzero((old >= 0) & (new >= 0))
    n_old, n_new = int(old.max(initial=-1)) + 1, int(new.max(initial=-1)) + 1
    component = _components(old[both], new[both], n_old, n_new)
    in_old = np.where(old >= 0, component[np.maximum(old, 0)], -1) if n_old else old
    in_new = np.where(new >= 0, component[n_old + np.maximum(new, 0)], -1) if n_new else new
    for here, there in ((old, new), (new, old), (in_old, in_new), (in_new, in_old)):
        for rest in surplus(history, members, here, there):
            yield Candidates(*rest, rest.n_sets, before, after, certain=True)


def _components(old: Longs, new: Longs, n_old: int, n_new: int) -> Longs:
    """The connected component of each class, first of the one release, then of the other: the smallest number in it."""
    labels = np.arange(n_old + n_new)
    ends = np.unique(old * max(1, n_new) + new)
    left, right = ends // max(1, n_new), n_old + ends % max(1, n_new)
    while True:
        smaller = np.minimum(labels[left], labels[right])
        before = labels.copy()
        np.minimum.at(labels, labels[left], smaller)  # whole components at once: their roots move
        np.minimum.at(labels, labels[right], smaller)
        labels = labels[labels]
        labels = labels[labels]
        if np.array_equal(labels, before):
            return labels
