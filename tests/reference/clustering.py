"""Clustering decisions by looking at everything: what a choice costs, and the least that any choice would cost."""

from __future__ import annotations

from collections.abc import Callable, Sequence

Record = tuple[int, ...]
Cost = Callable[[int, int, int], float]  # of column, smallest code, largest code


def loss(records: Sequence[Record], cost: Cost) -> float:
    """What one record of the group loses: the cost of the box around all of them."""
    return sum(cost(j, min(codes), max(codes)) for j, codes in enumerate(zip(*records, strict=True)))


def group_loss(records: Sequence[Record], cost: Cost, mutual: bool) -> float:
    """What all records of a group lose. `mutual`: under mi a record loses its cost less that of the record alone."""
    alone = sum(loss([record], cost) for record in records) if mutual else 0.0
    return len(records) * loss(records, cost) - alone if records else 0.0


def distance(one: Record, other: Record, cost: Cost, mutual: bool) -> float:
    """Byun, Definition 4, as what both lose together: the same order as the loss of one of them."""
    return group_loss([one, other], cost, mutual)
