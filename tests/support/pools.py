"""Pools of records by themselves: groups built in one, and searched for steps; and the groups that are near."""

from __future__ import annotations

from typing import Any

import numpy as np

from shoal.boxes.changes import new_grouping
from shoal.boxes.costs import CostTables
from shoal.boxes.group_tree.search import near_groups
from shoal.boxes.grouping import Grouping
from shoal.compiling import ZERO, kernel
from shoal.optimize.refine.pool import Crowd, build_groups, new_pool, search
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
    return near_groups(g, group + ZERO, largest, found, values)
