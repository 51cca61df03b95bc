"""Withholding records of a group, as plainly as it can be said: what the group loses with them and without them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import combinations

from tests.reference.refining import Cost, Record, group_loss


def gain_alone(group: Sequence[Record], goers: Collection[int], cost: Cost, full: float) -> float:
    """What is saved if some of a group are withheld at the full cost, and the others stay together."""
    others = [record for i, record in enumerate(group) if i not in goers]
    return group_loss(group, cost) - group_loss(others, cost) - len(goers) * full


def best_gain_of_one(group: Sequence[Record], cost: Cost, full: float) -> float:
    """The most that any single record saves; 0 if none does."""
    return max([0.0, *(gain_alone(group, [i], cost, full) for i in range(len(group)) if len(group) > 1)])


def best_gain(group: Sequence[Record], cost: Cost, full: float, most: int) -> float:
    """The most that any set of records saves, up to so many; 0 if none does. Somebody stays."""
    sets = (
        set(goers)
        for count in range(1, min(most, len(group) - 1) + 1)
        for goers in combinations(range(len(group)), count)
    )
    return max([0.0, *(gain_alone(group, goers, cost, full) for goers in sets)])
