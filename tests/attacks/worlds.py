"""All worlds, one after the other: what `solver` must come to, for a handful of unknowns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import product

from tests.attacks.knowledge import Filler, Knowledge, Unknown, Value, complete, same

World = dict[Unknown, Value]


def worlds(knowledge: Knowledge) -> Iterator[World]:
    """Every way to give each unknown a value so that the published counts come out."""
    releases, stands = complete(knowledge), same(knowledge.equal)
    unknowns = list(dict.fromkeys(one for seen in releases for named in seen.holders.values() for one in named))
    values = list(dict.fromkeys(value for seen in releases for counts in seen.counts.values() for value in counts))
    for chosen in product(values, repeat=len(unknowns)):
        world = dict(zip(unknowns, chosen, strict=True))
        world.update({one: world[other] for one, other in stands.items() if other in world})
        if (
            all(
                Counter(world[one] for one in named) == +seen.counts[klass]
                for seen in releases
                for klass, named in seen.holders.items()
            )
            and all(world[a] != world[b] for a, b in knowledge.different if a in world and b in world)
            and all(world[one] in values for one, values in knowledge.allowed.items() if one in world)
        ):
            yield world


def possible_values(knowledge: Knowledge) -> dict[Unknown, frozenset[Value]]:
    found: dict[Unknown, set[Value]] = {}
    for world in worlds(knowledge):
        for one, value in world.items():
            if not isinstance(one, Filler):
                found.setdefault(one, set()).add(value)
    return {one: frozenset(values) for one, values in found.items()}
