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

from shoal.arrays import runs
from shoal.audit.equations import Equations, Sets, classes_of_atoms, equations_of, inside
from shoal.audit.history import History, Members
from shoal.audit.surplus import outside, surplus

Longs = NDArray[np.int64]
Bools = NDArray[np.bool_]
MOST_PAIRS = 300  # of releases that are held against each other
MOST_WORK = 10_000_000  # atoms, over these pairs
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

    sets: Sets  # that come out, each once
    releases: Longs  # the two that cut each set out, a row for each set; −1: all
    classes: Sets  # each once
    follows: list[Sets]  # whatever follows from them, where it is about atoms that lack something
    exposed: Bools  # atoms
    undecided: Longs  # atoms
    decided: bool  # whether what follows could be computed


def differences(history: History, members: Members, lacking: Bools, rng: np.random.Generator) -> Revealed:
    """`lacking`: the atoms that do not have what is asked of a class."""
    n_atoms, nobody = len(lacking), Sets(np.zeros(0, np.int64), np.zeros(0, np.int64))
    found = [nobody]
    releases = [np.zeros((0, 2), np.int64)]
    exposed, all_follow, n_found = np.zeros(n_atoms, bool), [], 0
    if not lacking.any():
        return Revealed(nobody, releases[0], nobody, [], exposed, nobody.atoms, True)
    classes = classes_of_atoms(history, members)
    equations = equations_of(classes, n_atoms, rng)
    for candidates in _candidates(history, members, classes, lacking, exposed, equations):
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
        if bad.any():
            numbers, their_sets = np.unique(sets[bad], return_inverse=True)
            found.append(Sets(atoms[bad], n_found + their_sets))
            releases.append(np.tile([candidates.before, candidates.after], (len(numbers), 1)))
            n_found += len(numbers)
            exposed[atoms[bad]] = True
    undecided = np.flatnonzero(lacking & ~exposed)
    revealed, kept = _smallest(Sets(*map(np.concatenate, zip(*found, strict=True))))
    cut_out = np.concatenate(releases)[kept]
    return Revealed(revealed, cut_out, equations.classes, all_follow, exposed, undecided, equations.decided)


def _smallest(found: Sets) -> tuple[Sets, Longs]:
    """Without those that are made of smaller ones: each atom's smallest set is kept, the first that was found. Also
    says which these were."""
    size = np.bincount(found.sets, minlength=found.n_sets)
    order = np.lexsort((found.sets, size[found.sets], found.atoms))
    best = order[np.flatnonzero(np.diff(found.atoms[order], prepend=-1))]
    kept = np.unique(found.sets[best])
    inside_kept = np.isin(found.sets, kept)
    atoms, sets = found.atoms[inside_kept], np.searchsorted(kept, found.sets[inside_kept])
    order = np.lexsort((atoms, sets))
    return Sets(atoms[order], sets[order]), kept


def _candidates(
    history: History,
    members: Members,
    classes: Sequence[Longs],
    lacking: Bools,
    exposed: Bools,
    equations: Equations,
) -> Iterator[Candidates]:
    """`exposed` is filled on the way: of what is yielded late, only what is about others matters."""
    every = np.arange(len(lacking))
    pairs = [(before, after) for after in range(len(classes)) for before in range(after)]
    pairs.sort(key=lambda pair: pair[1] - pair[0])  # neighbours first
    for before, after in pairs[: len(classes) - 1]:
        for candidates in _cut_out(_near(classes[before], classes[after], lacking), before, after):
            yield candidates._replace(first=True)
    yield Candidates(every, every, len(every), -1, -1, first=True)
    yield _cancelling(equations)
    for at, of_atoms in enumerate(classes):
        small = inside(np.where(lacking, of_atoms, -1))
        yield Candidates(*small, small.n_sets, at, at)
    work = 0
    for before, after in pairs[:MOST_PAIRS]:
        near = _near(classes[before], classes[after], lacking & ~exposed)
        yield from _cut_out(near, before, after)
        yield from _surplus(history, members, near, before, after)
        work += len(near.atoms)
        if work > MOST_WORK:
            return


class _Near(NamedTuple):
    """The atoms of some connected components of two releases' classes, and their classes, numbered without gaps."""

    atoms: Longs
    old: Longs
    new: Longs
    n_old: int
    n_new: int

    def candidates(self, sets: Sets, n_sets: int, before: int, after: int, *, certain: bool = False) -> Candidates:
        """Of sets of these atoms by their places here."""
        return Candidates(self.atoms[sets.atoms], sets.sets, n_sets, before, after, certain=certain)


def _near(old: Longs, new: Longs, wanted: Bools) -> _Near:
    """The components that have some of the wanted atoms."""
    reached, size = wanted & ((old >= 0) | (new >= 0)), -1
    while size != (size := int(reached.sum())):
        for of_atoms in (old, new):
            classes = np.zeros(int(of_atoms.max(initial=-1)) + 2, bool)  # the last one: of those who are absent
            classes[of_atoms[reached]] = True
            classes[-1] = False
            reached |= classes[of_atoms]
    atoms = np.flatnonzero(reached)
    here, there = _without_gaps(old[atoms]), _without_gaps(new[atoms])
    return _Near(atoms, here, there, int(here.max(initial=-1)) + 1, int(there.max(initial=-1)) + 1)


def _without_gaps(classes: Longs) -> Longs:
    names = np.zeros(int(classes.max(initial=-1)) + 2, bool)
    names[classes] = True
    names[-1] = False
    numbers = np.cumsum(names) - 1
    numbers[-1] = -1
    found: Longs = numbers[classes]
    return found


def _cancelling(equations: Equations) -> Candidates:
    """Pairs of atoms whose counts follow together: their entries cancel each other in every blind vector."""
    entries = equations.blind[0]
    order = np.argsort(np.abs(entries))
    order = order[np.abs(entries[order]) > ALIKE]
    sizes = np.abs(entries[order])
    alike = np.cumsum(np.diff(sizes, prepend=-1.0) > ALIKE * (1 + sizes))  # a number for those of one size
    by_sign = np.lexsort((entries[order] > 0, alike))
    order, alike = order[by_sign], alike[by_sign]
    starts = np.flatnonzero(np.diff(alike, prepend=-1))
    lengths = np.diff(np.append(starts, len(order)))
    below = np.add.reduceat(entries[order] < 0, starts, dtype=np.int64) if len(starts) else starts
    both = (below > 0) & (below < lengths)
    starts, lengths, below = starts[both], lengths[both], below[both]
    # Each of the more numerous sign with one of the other.
    place, at = runs(starts, np.maximum(below, lengths - below))
    within = place - starts[at]
    negative = starts[at] + np.minimum(within, below[at] - 1)
    positive = starts[at] + below[at] + np.minimum(within, (lengths - below)[at] - 1)
    atoms = order[np.concatenate([negative, positive])]
    return Candidates(atoms, np.tile(np.arange(len(at)), 2), len(at), -1, -1)


def _cut_out(near: _Near, before: int, after: int) -> Iterator[Candidates]:
    """What two releases cut out."""
    if not len(near.atoms):
        return
    _, old, new, n_old, n_new = near
    both = np.flatnonzero((old >= 0) & (new >= 0))
    component = _components(old[both], new[both], n_old, n_new)
    left, joined = np.flatnonzero((old >= 0) & (new < 0)), np.flatnonzero((old < 0) & (new >= 0))
    for sets in (Sets(left, component[old[left]]), Sets(joined, component[n_old + new[joined]])):
        yield near.candidates(sets, n_old + n_new, before, after)
    cells, cell = np.unique(old[both] * max(1, n_new) + new[both], return_inverse=True)
    yield near.candidates(Sets(both, cell), len(cells), before, after)
    # What a class of one release has beyond a class of the other: if the common part follows, so does the rest.
    first, second = cells // max(1, n_new), cells % max(1, n_new)
    for rest in (outside(old, new, first, second), outside(new, old, second, first)):
        yield near.candidates(rest, len(cells), before, after)


def _surplus(history: History, members: Members, near: _Near, before: int, after: int) -> Iterator[Candidates]:
    """What the classes of two releases, and their components, have more of than the other release accounts for."""
    if not len(near.atoms):
        return
    atoms, old, new, n_old, n_new = near
    both = np.flatnonzero((old >= 0) & (new >= 0))
    component = _components(old[both], new[both], n_old, n_new)
    in_old = np.where(old >= 0, component[np.maximum(old, 0)], -1) if n_old else old
    in_new = np.where(new >= 0, component[n_old + np.maximum(new, 0)], -1) if n_new else new
    units, at = members.of(atoms)
    for here, there in ((old, new), (new, old), (in_old, in_new), (in_new, in_old)):
        for rest in surplus(history, units, at, here, there):
            yield near.candidates(rest, rest.n_sets, before, after, certain=True)


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
