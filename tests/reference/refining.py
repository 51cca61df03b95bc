"""The local search inside a pool of records, as plainly as it can be said: every move, swap and ring is tried out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate, combinations, pairwise, permutations

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


def best_ring(records: Sequence[Record], labels: Sequence[int], cost: Cost, k: int, most: int) -> float:
    """By how much the best ring of two records, up to so many, lowers the loss; 0 if none does (`rings.py`).

    Of rings that end in one more group, which may have one record, those whose every step lowers the sum so far.
    """
    groups = sorted(set(labels))

    def members(group: int) -> list[Record]:
        return [record for record, label in zip(records, labels, strict=True) if label == group]

    losses = {group: group_loss(members(group), cost) for group in groups}
    best = 0.0
    for length in range(1, most + 1):
        for walk in permutations(range(len(records)), length):
            theirs = [labels[i] for i in walk]
            if len(set(theirs)) < length:
                continue
            steps = []  # what each adds to the loss of the group that the next one leaves
            for come, go in pairwise(walk):
                rest = members(labels[go])
                rest.remove(records[go])
                steps.append(group_loss([*rest, records[come]], cost) - losses[labels[go]])
            first, last = members(theirs[0]), records[walk[-1]]
            first.remove(records[walk[0]])
            if length > 1:
                best = max(best, -(sum(steps) + group_loss([*first, last], cost) - losses[theirs[0]]))
            sums = list(accumulate([group_loss(first, cost) - losses[theirs[0]], *steps]))
            if len(first) >= k and max(sums) < 0:
                for group in set(groups) - set(theirs):
                    best = max(best, -(sums[-1] + group_loss([*members(group), last], cost) - losses[group]))
    return best
