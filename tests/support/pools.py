"""Pools of records by themselves: groups built in one, searched for steps and rings; and the groups that are near."""

from __future__ import annotations

from typing import Any

import numpy as np

from shoal.boxes.changes import new_grouping
from shoal.boxes.costs import CostTables
from shoal.boxes.group_tree.search import near_groups
from shoal.boxes.grouping import Grouping
from shoal.compiling import ZERO, kernel
from shoal.optimize.refine.pool import Crowd, build_groups, new_extremes, new_pool, search, survey
from shoal.optimize.refine.rings import MOST_IN_A_RING, Places, Ring, exchange_in_rings, find_ring, price
from shoal.privacy.rules import no_rules


def search_in(costs: CostTables, k: int, codes: Any, labels: Any, count: int, best: float) -> float:
    return search_all(new_grouping(codes, labels.astype(np.int32), costs, no_rules(k)), labels, count, best)


@kernel
def search_all(g: Grouping, labels: Any, count: int, best: float) -> float:
    pool = new_pool(g.costs, g.codes, Crowd(np.arange(len(g.codes)), np.arange(count), count))
    return search(g, pool, labels, count, best)


@kernel
def build_in(costs: CostTables, k: int, codes: Any, first: int, labels: Any) -> tuple[int, float]:
    return build_groups(new_pool(costs, codes, Crowd(np.arange(len(codes)), np.arange(0), ZERO)), k, first, labels)


@kernel
def near_in(g: Grouping, group: int, largest: float, found: Any, values: Any) -> int:
    return near_groups(g, group + ZERO, largest, 1.0, found, values)


@kernel
def exchange_in(costs: CostTables, k: int, codes: Any, labels: Any, count: int) -> float:
    pool = new_pool(costs, codes, Crowd(np.arange(len(codes)), np.arange(count), count))
    return exchange_in_rings(pool, k, labels, count)


@kernel
def best_ring_in(costs: CostTables, k: int, codes: Any, labels: Any, count: int) -> float:
    """What the best ring gains, or next to nothing."""
    pool = new_pool(costs, codes, Crowd(np.arange(len(codes)), np.arange(count), count))
    extremes = new_extremes(count, pool.ranks.shape[1])
    for group in range(count):
        survey(pool, labels, group + ZERO, extremes)
    size = len(codes)
    places = Places(np.empty((size, size)), np.empty(size), np.empty((size, count)))
    price(pool, k, labels, extremes, np.ones(count, np.bool_), places)
    walk, best = np.empty(MOST_IN_A_RING, np.int64), np.empty(MOST_IN_A_RING, np.int64)
    ring = Ring(walk, best, np.empty(1, np.int64), np.zeros(1))
    find_ring(labels, places, ring)
    return ring.gain[0]
