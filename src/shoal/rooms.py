"""Arrays with room to grow."""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np

A = TypeVar("A", bound=np.ndarray[Any, Any])


def roomier(array: A, room: int, fill: int = 0) -> A:
    """The same entries with room for `room` of them, and `fill` behind. Room that is not used takes no memory."""
    if len(array) >= room:
        return array
    grown: Any = (
        np.zeros((room, *array.shape[1:]), array.dtype)
        if fill == 0
        else np.full((room, *array.shape[1:]), fill, array.dtype)
    )
    grown[: len(array)] = array
    return grown
