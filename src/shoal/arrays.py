"""Arrays with room to grow, with named fields, and runs of their entries."""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

A = TypeVar("A", bound=np.ndarray[Any, Any])
Longs = NDArray[np.int64]


def grow(array: A, size: int, fill: int = 0) -> A:
    """The same entries with room for `size` of them, and `fill` behind. Room that is not used takes no memory.

    In one piece, whatever `array` is a view of: kernels would be compiled again for one that is not.
    """
    grown: Any
    if len(array) >= size:
        grown = np.ascontiguousarray(array)
        return grown
    shape = (size, *array.shape[1:])
    grown = np.zeros(shape, array.dtype) if fill == 0 else np.full(shape, fill, array.dtype)
    grown[: len(array)] = array
    return grown


def row_type(fields: list[Any]) -> np.dtype[Any]:
    """The type of an array whose rows have named fields: `nodes[i].parent`, in kernels and in plain Python alike."""
    taken = [name for name, *_ in fields if name in dir(np.void)]
    if taken:
        raise ValueError(f"A field cannot be named {taken[0]!r}: numpy's rows have an attribute of that name.")
    return np.dtype((np.record, np.dtype(fields, align=True)))


def runs(starts: Longs, lengths: Longs) -> tuple[Longs, Longs]:
    """The indices start, start + 1, … of each run, one after the other; and at which run each is."""
    at = np.repeat(np.arange(len(lengths)), lengths)
    within = np.arange(len(at)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    return np.repeat(starts, lengths) + within, at
