"""The stack of a branch-and-bound search: nodes that are still to be looked at, the most promising last."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.arrays import row_type
from shoal.compiling import inner

Rows = NDArray[np.void]  # of named fields

# A search that keeps more of its nodes adds fields to these two.
WAITING = row_type([("node", "i8"), ("bound", "f8")])


@inner
def push_ordered(stack: Rows, bottom: int, top: int, node: int, bound: float) -> int:
    """One more node among those from `bottom` to `top`, the smallest bound last; where it lies now."""
    at = top
    while at > bottom and stack[at - 1].bound < bound:
        stack[at] = stack[at - 1]
        at -= 1
    stack[at].node = node
    stack[at].bound = bound
    return at
