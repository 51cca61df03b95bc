"""The local search inside a pool of records, as plainly as it can be said: every move and every swap is tried out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations

Record = tuple[int, ...]
Cost = Callable[[int, int, int], float]


def group_loss(records: Sequence[Record], cost: Cost) -> float:
    """What all records of a group lose together."""
    if not records:
        return 0.0
    return len(records) * sum(cost(j, min(column), max(column)) for j, column in enumerate(zip(*records, strict=True)))


def total(records: Sequence[Record], labels: Sequence[int], cost: Cost) -> float:
    return sum(
        group_loss([record for record, label in zip(records, labels, strict=True) if label == group], cost)
        for group in set(labels)
    )


def best_step(records: Sequence[Record], labels: Sequence[int], cost: Cost, k: int) -> float:
    """By how much the best move out of a group of more than k, or the best swap, lowers the loss; 0 if none does."""
    before, best = total(records, labels, cost), 0.0
    for place, here in enumerate(labels):
        for there in set(labels) - {here}:
            if list(labels).count(here) > k:
                after = [there if i == place else label for i, label in enumerate(labels)]
                best = max(best, before - total(records, after, cost))
    for one, other in combinations(range(len(labels)), 2):
        if labels[one] != labels[other]:
            after = list(labels)
            after[one], after[other] = labels[other], labels[one]
            best = max(best, before - total(records, after, cost))
    return best
