"""The bound of Total-IL by looking at everything, and what it is a bound of: the best of all partitions."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

import numpy as np
from scipy.optimize import LinearConstraint, milp

from tests.reference.clustering import Cost, Record, loss

Pairs = Sequence[Sequence[float]]  # the cost of the box around each two records; of each alone, in the diagonal


def neighbour_cost(pairs: Pairs, r: int, k: int) -> float:
    """The cost of the pair with the (k − 1)-th nearest other record; of the record alone for k = 1."""
    others = sorted(cost for s, cost in enumerate(pairs[r]) if s != r)
    return others[k - 2] if k > 1 else pairs[r][r]


def company_cost(
    records: Sequence[Record], r: int, k: int, least: Sequence[float], own_weight: float, cost: Cost
) -> float:
    """The smallest c − y over all sets of k − 1 others: c, the box around them and r; y, what they need at least."""
    others = [s for s in range(len(records)) if s != r]
    return min(
        loss([records[r], *(records[s] for s in company)], cost)
        - own_weight * least[r]
        - (1 - own_weight) * sum(least[s] for s in company) / (k - 1)
        for company in itertools.combinations(others, k - 1)
    )


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


def best_loss_by_program(records: Sequence[Record], k: int, cost: Cost) -> float:
    """The same by an integer program: which groups there are, such that each record is in one.

    Groups of k to 2k − 1 are enough: a larger one in two parts loses no more.
    """
    sizes = range(k, min(2 * k, len(records) + 1))
    groups = [group for size in sizes for group in itertools.combinations(range(len(records)), size)]
    losses = [len(group) * loss([records[i] for i in group], cost) for group in groups]
    inside = np.array([[i in group for group in groups] for i in range(len(records))], float)
    found = milp(losses, constraints=LinearConstraint(inside, 1, 1), integrality=np.ones(len(groups)), bounds=(0, 1))
    assert found.success, found.message
    return float(found.fun)
