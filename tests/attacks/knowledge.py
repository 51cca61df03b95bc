"""What an attacker has: the counts that each release published, and whose values they count.

An *unknown* is one sensitive value that nobody has told the attacker, and that does not change: what a person has in a
spell, or what stands in a place of a class whoever holds it. Every published row shows the value of one unknown.
People may have several unknowns: spells with other values, or several records.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeVar

# Whatever can be a key of a dict:
Unknown = Any
Value = Any
Class = Any  # of a release: what its rows have in common
Person = Any
Told = TypeVar("Told")
Pair = tuple[Unknown, Unknown]


class Filler(NamedTuple):
    """The unknown of a row of which the attacker cannot say whose it is."""

    release: int
    klass: Class
    number: int


@dataclass(frozen=True)
class Seen:
    """One release: of each class, how often each value is published, and which unknowns its rows show.

    Where fewer unknowns are named than there are rows, the others may be anything.
    """

    counts: Mapping[Class, Counter[Value]]
    holders: Mapping[Class, Sequence[Unknown]]


@dataclass(frozen=True)
class Knowledge:
    """All releases, and what is known of the unknowns besides.

    `people`: whose each unknown is; one that is not named is a person by itself. `equal` and `different`: pairs of
    unknowns with the same value, or with two values. `allowed`: all values that an unknown may have, where the
    attacker knows that.
    """

    releases: Sequence[Seen]
    people: Mapping[Unknown, Person] = field(default_factory=dict)
    equal: Sequence[Pair] = ()
    different: Sequence[Pair] = ()
    allowed: Mapping[Unknown, frozenset[Value]] = field(default_factory=dict)

    def person(self, unknown: Unknown) -> Person:
        return self.people.get(unknown, unknown)


class Contradiction(Exception):
    """What the attacker believes cannot be: no world has these counts."""


def same(pairs: Iterable[Pair]) -> dict[Unknown, Unknown]:
    """One unknown to stand for all that are equal, for each that is in a pair."""
    stands: dict[Unknown, Unknown] = {}

    def find(one: Unknown) -> Unknown:
        way = []
        while stands.setdefault(one, one) != one:
            way.append(one)
            one = stands[one]
        stands.update(dict.fromkeys(way, one))
        return one

    for a, b in pairs:
        stands[find(b)] = find(a)
    return {one: find(one) for one in list(stands)}


def complete(knowledge: Knowledge) -> list[Seen]:
    """The releases with one unknown for each row: equal ones are one, and fillers stand where nobody is named.

    Guarantee: in every class there are as many unknowns as rows, or Contradiction is raised.
    """
    stands = same(knowledge.equal)
    found = []
    for release, seen in enumerate(knowledge.releases):
        holders = {}
        for klass, counts in seen.counts.items():
            named = [stands.get(one, one) for one in seen.holders.get(klass, ())]
            rows = counts.total()
            if len(named) > rows:
                raise Contradiction(f"release {release} has {rows} rows in a class where {len(named)} are said to be")
            holders[klass] = [*named, *(Filler(release, klass, i) for i in range(rows - len(named)))]
        if any(named and klass not in seen.counts for klass, named in seen.holders.items()):
            raise Contradiction(f"release {release} does not have a class where somebody is said to be")
        found.append(Seen(seen.counts, holders))
    return found


def alone(knowledge: Knowledge) -> dict[Unknown, frozenset[Value]]:
    """The values that each unknown may have by the one release that says most: what no comparison is needed for."""
    stands = same(knowledge.equal)
    found: dict[Unknown, frozenset[Value]] = {}
    for seen in knowledge.releases:
        for klass, named in seen.holders.items():
            values = frozenset(+seen.counts[klass])
            for one in {stands.get(one, one) for one in named}:
                if one not in found or len(values) < len(found[one]):
                    found[one] = values
    return spread(knowledge, found)


def spread(knowledge: Knowledge, found: Mapping[Unknown, Told]) -> dict[Unknown, Told]:
    """What was found of unknowns, for all that are equal to them as well: of a place, for whoever has held it."""
    stands = same(knowledge.equal)
    of_one = {stands.get(one, one): told for one, told in found.items()}
    return {**found, **{one: of_one[other] for one, other in stands.items() if other in of_one}}
