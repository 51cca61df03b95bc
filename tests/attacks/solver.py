"""Which values are still possible, given all releases at once: nothing that follows from the counts is missed.

A world gives every unknown a value so that each class of each release has the published counts. A value is possible
for an unknown if some world gives it that. Unknowns that were always in the same classes can be exchanged, so it is
enough to count: an *atom* is a set of them, and a whole number says how many of an atom have a value. HiGHS finds
worlds; every world settles all numbers that are positive in it, and when no world makes one of the rest positive, the
rest is impossible.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import csr_array

from tests.attacks.knowledge import Class, Contradiction, Knowledge, Person, Seen, Unknown, Value, alone, complete, same

Possible = dict[Unknown, frozenset[Value]]
Spot = tuple[int, Class]  # a class of a release
PATIENCE = 120.0  # seconds for one question; an attack that gives up must not pass for one that finds nothing


def possible_values(knowledge: Knowledge) -> Possible:
    """The values that each named unknown can have.

    Guarantee: a value is listed if and only if there is a world with it. Raises Contradiction if there is no world.
    """
    stands = same(knowledge.equal)
    atoms = _atoms(knowledge, stands)
    settled: Possible = {}
    for component in _components(atoms):
        for atom, values in zip(component, _solved(component), strict=True):
            settled.update(dict.fromkeys(atom.unknowns, values))
    named = {one for seen in knowledge.releases for some in seen.holders.values() for one in some}
    named |= {one for one in stands if stands[one] in settled}
    return {one: settled[stands.get(one, one)] for one in named}


def determined(possible: Mapping[Unknown, frozenset[Value]]) -> dict[Unknown, Value]:
    """The unknowns that can have one value only."""
    return {one: value for one, values in possible.items() if len(values) == 1 for value in values}


def given_away(
    knowledge: Knowledge, possible: Mapping[Unknown, frozenset[Value]], ell: int = 2, *, part: int | None = None
) -> dict[Person, Unknown]:
    """The people of whom fewer than `ell` values are possible for something, although each release alone leaves so
    many: what only the releases together say. With the unknown that tells. `part`: where values are tuples, the part
    that matters.
    """
    by_one = alone(knowledge)
    if part is not None:
        possible, by_one = projected(possible, part), projected(by_one, part)
    return {
        knowledge.person(one): one
        for one, values in possible.items()
        if len(values) < ell and len(by_one.get(one, values)) >= ell
    }


def projected(possible: Mapping[Unknown, frozenset[Value]], part: int) -> Possible:
    """Where values are tuples: what is possible for one part of them."""
    return {one: frozenset(value[part] for value in values) for one, values in possible.items()}


@dataclass(frozen=True)
class _Atom:
    """Unknowns that can be exchanged: where they are, how often, and what else binds them."""

    unknowns: tuple[Unknown, ...]
    spots: Mapping[Spot, int]
    counts: Mapping[Spot, Counter[Value]]
    values: tuple[Value, ...]  # that no single class rules out
    different: frozenset[Unknown]  # unknowns with another value; who has some is alone in an atom


def _atoms(knowledge: Knowledge, stands: Mapping[Unknown, Unknown]) -> list[_Atom]:
    releases = complete(knowledge)
    spots: dict[Unknown, Counter[Spot]] = {}
    for release, seen in enumerate(releases):
        for klass, named in seen.holders.items():
            for one in named:
                spots.setdefault(one, Counter())[release, klass] += 1
    apart: dict[Unknown, set[Unknown]] = {}
    for a, b in knowledge.different:
        one, other = stands.get(a, a), stands.get(b, b)
        if one == other:
            raise Contradiction("something is said to be equal and different")
        if one in spots and other in spots:
            apart.setdefault(one, set()).add(other)
            apart.setdefault(other, set()).add(one)
    allowed: dict[Unknown, frozenset[Value]] = {}
    for name, values in knowledge.allowed.items():
        one = stands.get(name, name)
        allowed[one] = allowed.get(one, values) & values
    gathered: dict[Hashable, list[Unknown]] = {}
    for one, where in spots.items():
        kind = (frozenset(where.items()), allowed.get(one), one if one in apart else None)
        gathered.setdefault(kind, []).append(one)
    return [
        _atom(tuple(some), spots[some[0]], releases, allowed.get(some[0]), frozenset(apart.get(some[0], ())))
        for some in gathered.values()
    ]


def _atom(
    unknowns: tuple[Unknown, ...],
    spots: Counter[Spot],
    releases: list[Seen],
    allowed: frozenset[Value] | None,
    different: frozenset[Unknown],
) -> _Atom:
    counts = {(release, klass): releases[release].counts[klass] for release, klass in spots}
    first, *others = counts.values()
    values = [value for value in +first if all(other[value] > 0 for other in others)]
    kept = tuple(value for value in values if allowed is None or value in allowed)
    return _Atom(unknowns, spots, counts, kept, different)


def _components(atoms: list[_Atom]) -> list[list[_Atom]]:
    """Atoms that have no class and no condition in common with others can be asked by themselves."""
    pairs: list[tuple[Hashable, Hashable]] = []
    for number, atom in enumerate(atoms):
        pairs += [(("atom", number), ("spot", spot)) for spot in atom.spots]
        pairs += [(("unknown", atom.unknowns[0]), ("atom", number)) for _ in atom.different]
        pairs += [(("unknown", other), ("atom", number)) for other in atom.different]
    stands = same(pairs)
    found: dict[Hashable, list[_Atom]] = {}
    for number, atom in enumerate(atoms):
        found.setdefault(stands["atom", number], []).append(atom)
    return list(found.values())


def _solved(atoms: list[_Atom]) -> list[frozenset[Value]]:
    """The possible values of each atom of a component."""
    if len(atoms) == 1 and not atoms[0].different and set(atoms[0].spots.values()) == {1}:
        return [_of_one_atom(atoms[0])]
    problem = _Problem(atoms)
    open_ones = np.ones(len(problem.variables), np.bool_)
    positive = np.zeros(len(problem.variables), np.bool_)
    while open_ones.any():
        world = problem.world(open_ones)
        if not (world[open_ones] > 0).any():
            break
        positive |= world > 0
        open_ones &= ~positive
    if not problem.variables:
        raise Contradiction("somebody can have no value")
    found: list[set[Value]] = [set() for _ in atoms]
    for number in np.flatnonzero(positive):
        atom, value = problem.variables[number]
        found[atom].add(value)
    return [frozenset(values) for values in found]


def _of_one_atom(atom: _Atom) -> frozenset[Value]:
    """Nobody else is in its classes: they all must say the same, and that is what the atom has."""
    first, *others = (+counts for counts in atom.counts.values())
    if any(other != first for other in others) or set(first) != set(atom.values):
        raise Contradiction("classes with the same people have other counts")
    return frozenset(first)


class _Problem:
    """The conditions on the worlds of a component, as equations of whole numbers.

    The numbers are: how many of an atom have a value; then, for each of these, one that is at most that and at most 1.
    Their sum is what is made as large as it can be: a world in which as many as possible are positive.
    """

    def __init__(self, atoms: list[_Atom]) -> None:
        self.variables = [(number, value) for number, atom in enumerate(atoms) for value in atom.values]
        index = {variable: i for i, variable in enumerate(self.variables)}
        self._sizes = np.array([len(atoms[atom].unknowns) for atom, _ in self.variables], np.int64)
        rows: list[list[tuple[int, int]]] = []
        wanted: list[int] = []
        for number, atom in enumerate(atoms):  # everybody has one value
            rows.append([(index[number, value], 1) for value in atom.values])
            wanted.append(len(atom.unknowns))
        spots: dict[Spot, list[int]] = {}
        for number, atom in enumerate(atoms):
            for spot in atom.spots:
                spots.setdefault(spot, []).append(number)
        for spot, numbers in spots.items():  # every class has its counts
            counts = atoms[numbers[0]].counts[spot]
            for value in +counts:
                rows.append([(index[n, value], atoms[n].spots[spot]) for n in numbers if (n, value) in index])
                wanted.append(counts[value])
        self._equations, self._wanted = _matrix(rows, len(self.variables)), np.array(wanted, np.int64)
        number_of = {atom.unknowns[0]: number for number, atom in enumerate(atoms)}
        clashes = []
        for number, atom in enumerate(atoms):  # who has changed has two values
            for other in sorted(number_of[one] for one in atom.different):
                if number < other:
                    common = [value for value in atom.values if (other, value) in index]
                    clashes += [[(index[number, value], 1), (index[other, value], 1)] for value in common]
        self._clashes = _matrix(clashes, len(self.variables))

    def world(self, wished: NDArray[np.bool_]) -> NDArray[np.int64]:
        """A world in which many of the wished numbers are positive; if any can be, at least one is."""
        size, several = len(self.variables), int(wished.sum())
        shown = np.flatnonzero(wished)
        capped = csr_array(
            (
                np.concatenate([np.ones(several), -np.ones(several)]),
                (np.tile(np.arange(several), 2), np.concatenate([shown, size + np.arange(several)])),
            ),
            shape=(several, size + several),
        )
        conditions = [
            LinearConstraint(_wider(self._equations, several), self._wanted, self._wanted),
            LinearConstraint(capped, 0, np.inf),
        ]
        if self._clashes.shape[0]:
            conditions.append(LinearConstraint(_wider(self._clashes, several), -np.inf, 1))
        found = milp(
            c=np.concatenate([np.zeros(size), -np.ones(several)]),
            integrality=np.concatenate([np.ones(size), np.zeros(several)]),
            bounds=Bounds(0, np.concatenate([self._sizes, np.ones(several)])),
            constraints=conditions,
            options={"time_limit": PATIENCE, "mip_rel_gap": 0.5},  # half as many are well enough; none is not
        )
        if found.status == 2:
            raise Contradiction("no world has these counts")
        if found.x is None or found.status not in (0, 1):
            raise TimeoutError(f"the solver did not come to an end: {found.message}")
        world = np.rint(found.x[:size]).astype(np.int64)
        if found.status == 1 and not (world[wished] > 0).any():
            raise TimeoutError("the solver did not come to an end")
        self._refuse_false(world)
        return world

    def _refuse_false(self, world: NDArray[np.int64]) -> None:
        """The solver reckons with fractions: what it calls a world is looked at in whole numbers."""
        assert (world >= 0).all()
        assert (self._equations @ world == self._wanted).all()
        assert (self._clashes @ world <= 1).all()


def _matrix(rows: list[list[tuple[int, int]]], columns: int) -> csr_array:
    ends = np.cumsum([0, *map(len, rows)])
    places = np.array([place for row in rows for place, _ in row], np.int64)
    factors = np.array([factor for row in rows for _, factor in row], np.int64)
    return csr_array((factors, places, ends), shape=(len(rows), columns))


def _wider(matrix: csr_array, more: int) -> csr_array:
    """With columns of noughts on the right."""
    return csr_array((matrix.data, matrix.indices, matrix.indptr), shape=(matrix.shape[0], matrix.shape[1] + more))
