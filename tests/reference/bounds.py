"""The bound of Total-IL by looking at everything, and what it is a bound of: the best of all partitions."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

from tests.reference.clustering import Cost, Record, loss

Pairs = Sequence[Sequence[float]]  # the cost of the box around each two records; of each alone, in the diagonal


def neighbour_cost(pairs: Pairs, r: int, k: int) -> float:
    """The cost of the pair with the (k − 1)-th nearest other record; of the record alone for k = 1."""
    others = sorted(cost for s, cost in enumerate(pairs[r]) if s != r)
    return others[k - 2] if k > 1 else pairs[r][r]


def company_cost(pairs: Pairs, r: int, k: int, least: Sequence[float], own_weight: float) -> float:
    """The smallest v − y over all sets of k − 1 others: for each v, those with the largest `least` that it lets in."""
    reached = {s: max(least[r], least[s], pairs[r][s]) for s in range(len(least)) if s != r}
    found = []
    for v in set(reached.values()):
        company = sorted((least[s] for s, at in reached.items() if at <= v), reverse=True)[: k - 1]
        if len(company) == k - 1:
            found.append(v - own_weight * least[r] - (1 - own_weight) * sum(company) / (k - 1))
    return min(found)


def partitions(records: Sequence[int], k: int) -> Iterator[list[list[int]]]:
    """All partitions into groups of k or more."""
    if not records:
        yield []
        return
    first, rest = records[0], records[1:]
    for size in range(k - 1, len(rest) + 1):
        for company in itertools.combinations(rest, size):
            for others in partitions([record for record in rest if record not in company], k):
                yield [[first, *company], *others]


def best_loss(records: Sequence[Record], k: int, cost: Cost) -> float:
    """The least that any partition into groups of k or more loses."""
    return min(
        sum(len(group) * loss([records[i] for i in group], cost) for group in groups)
        for groups in partitions(range(len(records)), k)
    )
