"""A heap: what has the smallest key comes out first."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.compiling import inner

Rows = NDArray[np.void]  # of named fields

HEAP = np.dtype([("key", "f8"), ("item", "i8")], align=True)


@inner
def push(heap: Rows, size: int, key: float, item: int) -> int:
    """One more entry beside `size` others; how many there are now."""
    at = size
    while at > 0 and heap[(at - 1) // 2].key > key:
        above = (at - 1) // 2
        heap[at] = heap[above]
        at = above
    heap[at].key = key
    heap[at].item = item
    return size + 1


@inner
def pop(heap: Rows, size: int) -> int:
    """Take out the first of `size` entries; how many are left."""
    size -= 1
    key, item = heap[size].key, heap[size].item
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
    heap[at].item = item
    return size
