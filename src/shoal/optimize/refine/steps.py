"""The steps of refining, one after the other, as one kernel."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.boxes.changes import split_large
from shoal.boxes.group_tree.update import rebuild_if_stale
from shoal.boxes.grouping import Grouping
from shoal.compiling import ZERO, kernel
from shoal.optimize.refine.memory import SearchMemory
from shoal.optimize.refine.moving import try_dissolving, try_loosening, try_move
from shoal.optimize.refine.regroup import Terms, try_pool, try_refilling

Ints = NDArray[np.int32]
MOVE, DISSOLVE, SPLIT, POOL, REFILL, LOOSEN = range(6)


@kernel
def step(g: Grouping, memory: SearchMemory, what: int, items: Ints, terms: Terms) -> float:
    """Try one kind of step for each item, a record or a group; by how much the loss has fallen."""
    gained = 0.0
    for item in items:
        one = item + ZERO
        if what == MOVE:
            gained += try_move(g, memory, one)
        elif what == DISSOLVE:
            gained += try_dissolving(g, memory, one)
        elif what == SPLIT:
            split_large(g, one)
        elif what == REFILL:
            try_refilling(g, memory, one, terms.rebuilds)
        elif what == LOOSEN:
            gained += try_loosening(g, memory, one)
        else:
            gained += try_pool(g, memory, one, terms)
        rebuild_if_stale(g)
    return gained
