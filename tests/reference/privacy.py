"""The privacy models as their papers define them, for one group: lists, counters and plain arithmetic.

A group is a list of (person, value) pairs, one per record. Where people are not counted, every record is a person.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import pairwise

Group = Sequence[tuple[object, object]]
Distance = Callable[[object, object], float]


def people(group: Group) -> int:
    return len({person for person, _ in group})


def counts(group: Group) -> Counter[object]:
    """How many people have each value."""
    return Counter(value for _, value in set(group))


def everybodys(group: Group) -> bool:
    """Whether some value is had by every person although a person may have several."""
    return max(counts(group).values()) == people(group)


def frequency(group: Group) -> float:
    """Goldberger & Tassa, Section 7: 1 / the largest share."""
    return people(group) / max(counts(group).values())


def distinct(group: Group) -> float:
    return len(counts(group))


def entropy(group: Group) -> float:
    """Machanavajjhala et al. 2007: the ℓ for which the entropy is log ℓ."""
    shares = [count / sum(counts(group).values()) for count in counts(group).values()]
    return math.exp(-sum(share * math.log(share) for share in shares))


def recursive_needs(group: Group, ell: int) -> float:
    """The same: r₁ < c · (r_ℓ + … + r_m); the c that is not enough by a hair."""
    ranked = sorted(counts(group).values(), reverse=True)
    tail = sum(ranked[ell - 1 :])
    return ranked[0] / tail if tail else math.inf


def share(group: Group, value: object) -> float:
    """Wong et al. 2006: the share of people with a value."""
    return counts(group)[value] / people(group)


def distribution(group: Group) -> dict[object, Fraction]:
    found = counts(group)
    return {value: Fraction(count, sum(found.values())) for value, count in found.items()}


def earth_mover(group: Group, table: Group, places: Sequence[object], distance: Distance) -> float:
    """Li et al. 2007: the least work to turn one distribution into the other, by trying flows until none helps.

    Solved exactly as a transport problem: successive cheapest augmenting paths between surplus and lack (Bellman–Ford
    over the residual graph), which is optimal because every augmentation is a shortest path.
    """
    here, there = distribution(group), distribution(table)
    supply = {place: here.get(place, Fraction(0)) - there.get(place, Fraction(0)) for place in places}
    flow: dict[tuple[object, object], Fraction] = {}
    total = 0.0
    while any(rest > 0 for rest in supply.values()):
        costs: dict[object, float] = {place: 0.0 for place, rest in supply.items() if rest > 0}
        came: dict[object, object] = {}
        for _ in places:
            changed = False
            for a in list(costs):
                for b in places:
                    if a == b:
                        continue
                    way = -distance(b, a) if flow.get((b, a), 0) > 0 else distance(a, b)
                    if costs[a] + way < costs.get(b, math.inf) - 1e-12:
                        costs[b], came[b], changed = costs[a] + way, a, True
            if not changed:
                break
        target = min((place for place, rest in supply.items() if rest < 0), key=lambda place: costs[place])
        path = [target]
        while path[-1] in came and len(path) <= len(places):
            path.append(came[path[-1]])
        path.reverse()
        amount = min(supply[path[0]], -supply[target])
        for a, b in pairwise(path):
            if flow.get((b, a), 0) > 0:
                amount = min(amount, flow[b, a])
        for a, b in pairwise(path):
            if flow.get((b, a), 0) > 0:
                flow[b, a] -= amount
                total -= float(amount) * distance(b, a)
            else:
                flow[a, b] = flow.get((a, b), Fraction(0)) + amount
                total += float(amount) * distance(a, b)
        supply[path[0]] -= amount
        supply[target] += amount
    return total
