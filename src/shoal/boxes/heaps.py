"""A heap in two arrays: what has the smallest key comes out first."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.compiling import inner

Floats = NDArray[np.float64]
Longs = NDArray[np.int64]


@inner
def push(keys: Floats, items: Longs, size: int, key: float, item: int) -> int:
    """One more entry beside `size` others; how many there are now."""
    at = size
    while at > 0 and keys[(at - 1) // 2] > key:
        above = (at - 1) // 2
        keys[at], items[at] = keys[above], items[above]
        at = above
    keys[at], items[at] = key, item
    return size + 1


@inner
def pop(keys: Floats, items: Longs, size: int) -> int:
    """Take out the first of `size` entries; how many are left."""
    size -= 1
    key, item = keys[size], items[size]
    at = 0
    while 2 * at + 1 < size:
        below = 2 * at + 1
        if below + 1 < size and keys[below + 1] < keys[below]:
            below += 1
        if keys[below] >= key:
            break
        keys[at], items[at] = keys[below], items[below]
        at = below
    keys[at], items[at] = key, item
    return size
