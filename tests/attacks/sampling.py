"""Worlds at random: how likely each value is for whoever holds a place, to an attacker who holds all worlds alike.

A world gives every place a value so that all published counts come out. Within an atom (the places that were in one
class in every release) any permutation does; what ties atoms together is who moved (two places of one person with two
values) and who returned (two places with one value). The walk goes from world to world: it exchanges the values of two
places of an atom, or of all places that somebody has held with others', and stays if the world would break a
tie. Proposals are symmetric, so in the long run all worlds that can be reached are equally likely.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tests.attacks.histories import Case
from tests.attacks.knowledge import Knowledge, Unknown

Place = Any


@dataclass
class Ties:
    """What is known of two places: of one person, and their values differ, or are the same."""

    different: list[tuple[Place, Place]]
    equal: list[tuple[Place, Place]]

    def tied(self) -> set[Place]:
        return {place for pair in [*self.different, *self.equal] for place in pair}


def ties(knowledge: Knowledge) -> Ties:
    held: dict[Unknown, list[Place]] = defaultdict(list)
    for place, unknown in knowledge.equal:
        if place not in held[unknown]:
            held[unknown].append(place)
    equal = [(places[0], other) for places in held.values() for other in places[1:]]
    different = [(one, other) for first, second in knowledge.different for one in held[first] for other in held[second]]
    return Ties(different, equal)


def atoms(knowledge: Knowledge) -> list[list[Place]]:
    """The places that no release tells apart."""
    shown: dict[Place, list[tuple[int, Any]]] = defaultdict(list)
    for number, release in enumerate(knowledge.releases):
        for klass, places in release.holders.items():
            for place in places:
                shown[place].append((number, klass))
    found: dict[tuple[Any, ...], list[Place]] = defaultdict(list)
    for place, classes in shown.items():
        found[tuple(classes)].append(place)
    return list(found.values())


def likely(case: Case, steps: int, seed: int) -> dict[Place, Counter[Any]]:
    """How often each place has each value, over a walk of so many steps that begins with the truth."""
    rng = np.random.default_rng(seed)
    told, groups = ties(case.knowledge), atoms(case.knowledge)
    atom_of = {place: group for group in groups for place in group}
    value = {place: case.truth[place] for place in atom_of}
    others: dict[Place, list[Place]] = defaultdict(list)
    twins: dict[Place, list[Place]] = defaultdict(list)
    for pairs, sides in ((told.different, others), (told.equal, twins)):
        for one, other in pairs:
            sides[one].append(other)
            sides[other].append(one)
    moving = [place for place, group in atom_of.items() if len(group) > 1]
    counts: dict[Place, Counter[Any]] = defaultdict(Counter)
    every = max(1, steps // 4_000)
    for step in range(steps):
        place = moving[rng.integers(len(moving))]
        together = [*twins[place], *(others[place] if rng.random() < 0.5 else [])]
        chosen = [(one, _one_of(atom_of[one], rng)) for one in (place, *together)]
        _exchange(value, chosen)
        touched = {one for pair in chosen for one in pair}
        if any(value[one] == value[other] for one in touched for other in others[one]) or any(
            value[one] != value[other] for one in touched for other in twins[one]
        ):
            _exchange(value, chosen[::-1])
        if step % every == 0:
            for one, now in value.items():
                counts[one][now] += 1
    return dict(counts)


def _one_of(group: Sequence[Place], rng: np.random.Generator) -> Place:
    return group[int(rng.integers(len(group)))]


def _exchange(value: dict[Place, Any], chosen: Sequence[tuple[Place, Place]]) -> None:
    for one, other in chosen:
        value[one], value[other] = value[other], value[one]
