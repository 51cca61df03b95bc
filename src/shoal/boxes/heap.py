"""A heap: what has the smallest key comes out first."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.arrays import row_type
from shoal.compiling import inner

Rows = NDArray[np.void]  # of named fields

HEAP = row_type([("key", "f8"), ("entry", "i8")])


@inner
def push(heap: Rows, size: int, key: float, entry: int) -> int:
    """One more entry beside `size` others; how many there are now."""
    at = size
    while at > 0 and heap[(at - 1) // 2].key > key:
        above = (at - 1) // 2
        heap[at] = heap[above]
        at = above
    heap[at].key = key
    heap[at].entry = entry
    return size + 1


@inner
def pop(heap: Rows, size: int) -> int:
    """Take out the first of `size` entries; how many are left."""
    size -= 1
    key, entry = heap[size].key, heap[size].entry
    at = 0
    while 2 * at + 1 < size:
        below = 2 * at + 1
        if below + 1 < size and heap[below + 1].key < heap[below].key:
            below += 1
        if heap[below].key >= key:
            break
        heap[at] = heap[below]
        at = below
    heap[at].key = key
    heap[at].entry = entry
    return size
