"""What follows from several releases, the plain way: fractions, every set of atoms, every world."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import combinations, product

Class = int | None  # of a unit in a release; None: absent


def atoms_of(releases: Sequence[Sequence[Class]]) -> list[frozenset[int]]:
    """The units that no release tells apart."""
    atoms: dict[tuple[Class, ...], set[int]] = {}
    for unit, history in enumerate(zip(*releases, strict=True)):
        if any(one is not None for one in history):
            atoms.setdefault(history, set()).add(unit)
    return [frozenset(units) for units in atoms.values()]


def revealed(releases: Sequence[Sequence[Class]]) -> Iterator[frozenset[int]]:
    """Every union of atoms whose counts are a combination of those of the classes."""
    atoms = atoms_of(releases)
    classes = [
        [Fraction(int(release[min(atom)] == number)) for atom in atoms]
        for release in releases
        for number in sorted({one for one in release if one is not None})
    ]
    basis = _reduced(classes)
    for size in range(1, len(atoms) + 1):
        for chosen in combinations(range(len(atoms)), size):
            if _in_span([Fraction(int(i in chosen)) for i in range(len(atoms))], basis):
                yield frozenset().union(*(atoms[i] for i in chosen))


def _reduced(rows: Sequence[list[Fraction]]) -> list[list[Fraction]]:
    basis: list[list[Fraction]] = []
    for row in rows:
        left = _remainder(row, basis)
        if any(left):
            basis.append(left)
    return basis


def _remainder(row: list[Fraction], basis: Sequence[list[Fraction]]) -> list[Fraction]:
    row = list(row)
    for other in basis:
        first = next(i for i, entry in enumerate(other) if entry)
        factor = row[first] / other[first]
        row = [entry - factor * its for entry, its in zip(row, other, strict=True)]
    return row


def _in_span(row: list[Fraction], basis: Sequence[list[Fraction]]) -> bool:
    return not any(_remainder(row, basis))


def worlds(
    releases: Sequence[Sequence[Class]],
    values: Sequence[int],
    n_values: int,
    pairs: Sequence[tuple[int, int]] = (),
) -> list[tuple[int, ...]]:
    """Every assignment of values to units that publishes the same, and in which the units of each pair are equal or
    different as they are."""

    def published(world: Sequence[int]) -> list[tuple[int, int, int]]:
        return sorted(
            (number, one, value)
            for number, release in enumerate(releases)
            for one, value in zip(release, world, strict=True)
            if one is not None
        )

    truth = published(values)
    return [
        world
        for world in product(range(n_values), repeat=len(values))
        if all((world[a] == world[b]) == (values[a] == values[b]) for a, b in pairs) and published(world) == truth
    ]
