"""Pools of records by themselves: groups built in one, and searched for steps."""

from __future__ import annotations

from typing import Any

import numpy as np

from shoal.boxes.costs import CostTables
from shoal.compiling import kernel
from shoal.optimize.pool import build, new_pool, search


@kernel
def search_in(costs: CostTables, k: int, codes: Any, labels: Any, several: int, best: float) -> float:
    pool = new_pool(costs, codes, np.arange(len(codes)), np.arange(several))
    return search(k, None, None, pool, labels, several, best)


@kernel
def build_in(costs: CostTables, k: int, codes: Any, first: int, labels: Any) -> tuple[int, float]:
    return build(k, new_pool(costs, codes, np.arange(len(codes)), np.arange(0)), first, labels)
