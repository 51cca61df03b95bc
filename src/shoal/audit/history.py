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
    """A release: the class of each unit, or ABSENT. Classes are numbered from 0."""

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
    releases: list[Shown] = field(default_factory=list)
    atoms: Longs = field(init=False)  # of each unit: kept up to date by `show`

    def __post_init__(self) -> None:
        self.atoms = np.zeros(len(self.people), np.int64)

    def show(self, shown: Shown) -> None:
        """One more release."""
        _, first, numbers = np.unique(shown.classes, return_index=True, return_inverse=True)
        # By their first units: what is found must not depend on how somebody has numbered the classes.
        rank = np.empty(len(first), np.int64)
        rank[np.argsort(first)] = np.arange(len(first))
        classes = np.where(shown.classes < 0, ABSENT, rank[numbers])
        self.atoms = np.unique(self.atoms * (len(first) + 1) + classes + 1, return_inverse=True)[1]
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
