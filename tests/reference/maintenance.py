"""I3M by looking at every group and every record (Truta & Campan 2007, Figures 1 and 2)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tests.reference.clustering import Cost, Record, loss


def joining(record: Record, group: Sequence[Record], cost: Cost) -> float:
    """How much the total loss rises when a record joins a group."""
    return total([*group, record], cost) - total(group, cost)


def best_rise(record: Record, groups: Mapping[int, Sequence[Record]], cost: Cost) -> float:
    """FindBestCluster: the least that any group would do."""
    return min(joining(record, group, cost) for group in groups.values())


def total(group: Sequence[Record], cost: Cost) -> float:
    return len(group) * loss(group, cost) if group else 0.0


def is_split(group: Sequence[Record], going: Sequence[Record], cost: Cost) -> bool:
    """Whether Split2kCluster may bring these records over, in some order, each the best of its step (ties are open)."""
    if not going:
        return True

    def steps(left: list[Record], gone: list[Record], to_go: list[Record]) -> bool:
        if not to_go:
            return True
        values = [total([*left[:i], *left[i + 1 :]], cost) + total([*gone, left[i]], cost) for i in range(len(left))]
        least = min(values)
        for i, value in enumerate(values):
            if value <= least + 1e-9 and left[i] in to_go:
                rest = list(to_go)
                rest.remove(left[i])
                if steps([*left[:i], *left[i + 1 :]], [*gone, left[i]], rest):
                    return True
        return False

    return steps(list(group), [], list(going))
