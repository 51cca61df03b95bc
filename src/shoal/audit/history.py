"""What the attacker has: for each release who was in which class, and the values that its classes show."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.arrays import runs
from shoal.privacy.requirements import Rule
from shoal.verify.models import Values, count, reached, satisfied

Longs = NDArray[np.int64]
Bools = NDArray[np.bool_]
ABSENT = -1


@dataclass(frozen=True)
class Shown:
    """A release: the class of each unit, or ABSENT. Classes have numbers from 0 on, not necessarily all."""

    number: int
    classes: Longs


class Members(NamedTuple):
    """The units of each atom: `units[starts[atom]:starts[atom + 1]]`."""

    units: Longs
    starts: Longs

    @property
    def n_atoms(self) -> int:
        return len(self.starts) - 1

    def of(self, atoms: Longs) -> tuple[Longs, Longs]:
        """The units of these atoms, and at which of the atoms each is."""
        index, at = runs(self.starts[atoms], self.starts[atoms + 1] - self.starts[atoms])
        return self.units[index], at


@dataclass
class History:
    """Releases of one table, and what is asked of each of their classes.

    A *unit* is what has one value of each sensitive column as long as it is in the table: a record, and after a change
    of a sensitive value another one. `people` says whose it is: the holder of several records, or of what a record was
    and what it is. `known`: whether its values are known here (the vault forgets those of people who are erased).
    """

    k: int
    rules: Sequence[Rule]
    people: Longs  # of each unit
    values: Mapping[str, Values]  # of each sensitive column that a rule is about: the value of each unit
    known: Bools
    references: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    by_people: bool = False  # k and the rules count people; else units
    # Pairs of units: what somebody was, and what they were next, with other sensitive values.
    successors: Longs = field(default_factory=lambda: np.zeros((0, 2), np.int64))
    # Units of people whom nobody can name any more: they may have come back as others. Default: none.
    nameless: Bools = field(default_factory=lambda: np.zeros(0, bool))
    releases: list[Shown] = field(default_factory=list)
    atoms: Longs = field(init=False)  # of each unit: kept up to date by `show`

    def __post_init__(self) -> None:
        self.atoms = np.zeros(len(self.people), np.int64)
        if not len(self.nameless):
            self.nameless = np.zeros(len(self.people), bool)

    def show(self, shown: Shown) -> None:
        """One more release. What it takes grows with the number of units; with more only where atoms part."""
        classes, n_classes = _by_first_units(shown.classes)
        if not len(classes):
            pass
        elif not self.releases:
            self.atoms = classes - classes.min()
        else:
            # Whoever goes with the first unit of an atom keeps its number; the others get new ones.
            n_atoms = int(self.atoms.max()) + 1
            goes = _last_written(n_atoms, self.atoms[::-1], classes[::-1])
            apart = np.flatnonzero(classes != goes[self.atoms])
            names = self.atoms[apart] * (n_classes + 1) + classes[apart] + 1
            self.atoms = self.atoms.copy()
            self.atoms[apart] = n_atoms + np.unique(names, return_inverse=True)[1]
        self.releases.append(Shown(shown.number, classes))

    def members(self) -> Members:
        order = np.argsort(self.atoms, kind="stable")
        n_atoms = int(self.atoms.max(initial=-1)) + 1
        return Members(order, np.searchsorted(self.atoms[order], np.arange(n_atoms + 1)))

    def seen(self) -> Bools:
        """The units that are in any release."""
        seen = np.zeros(len(self.people), bool)
        for shown in self.releases:
            seen |= shown.classes >= 0
        return seen

    def sizes(self, units: Longs, sets: Longs, n_sets: int) -> Longs:
        """How many people there are in each set: `sets` says in which one each of these units is."""
        if not self.by_people:
            return np.bincount(sets, minlength=n_sets)
        n_people = int(self.people.max(initial=0)) + 1
        return np.bincount(np.unique(sets * n_people + self.people[units]) // n_people, minlength=n_sets)

    def lacking(self, units: Longs, sets: Longs, n_sets: int) -> Bools:
        """Which sets do not have what is asked of a class; one with values that are not known here is not among them
        for its values, only for its size."""
        lacking = self.sizes(units, sets, n_sets) < self.k
        if not self.rules or not len(units):
            return lacking
        judged = ~lacking
        judged[sets[~self.known[units]]] = False
        chosen = judged[sets]
        if not chosen.any():
            return lacking
        which, within = np.unique(sets[chosen], return_inverse=True)
        persons = self.people[units[chosen]] if self.by_people else None
        for rule in self.rules:
            values = self.values[rule.column]
            of_these = Values(values.numbers[units[chosen]], values.names, values.column, values.spellings)
            counts = count(within, of_these, persons)
            found = reached(rule, counts, of_these, self.by_people, self.references.get(rule.column))
            lacking[which[~satisfied(rule, found)]] = True
        return lacking


def _by_first_units(classes: Longs) -> tuple[Longs, int]:
    """Classes numbered by their first units, without gaps: what is found must not depend on how somebody has numbered
    them. And how many there are.
    """
    present = np.flatnonzero(classes >= 0)[::-1]
    first = _last_written(int(classes.max(initial=-1)) + 1, classes[present], present)
    there = np.flatnonzero(first >= 0)
    rank = np.empty(len(first) + 1, np.int64)
    rank[there[np.argsort(first[there])]] = np.arange(len(there))
    rank[-1] = ABSENT
    return rank[np.maximum(classes, ABSENT)], len(there)


def _last_written(size: int, at: Longs, written: Longs) -> Longs:
    """Of each place what is written there last; ABSENT: nothing."""
    found = np.full(size, ABSENT, np.int64)
    found[at] = written
    return found
