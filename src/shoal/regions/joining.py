"""Joining: a region that is too small, or not diverse, becomes one with a neighbour."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from shoal.regions.asked import Counts

Ints = NDArray[np.int32]


def joined(counts: Sequence[Counts], neighbours: Sequence[Sequence[int]], has: Callable[[Counts], bool]) -> Ints:
    """The region of each leaf, numbered from 0.

    A leaf that lacks something joins the nearest region with which it has what is asked; where there is none, the
    nearest, and both are looked at again. `neighbours` are those of `Cuts`: of each leaf all others, the nearest first.

    Guarantee: every region has what is asked, given that the whole table has.
    """
    region = np.arange(len(counts))
    held = dict(enumerate(counts))
    lacking = [leaf for leaf in held if not has(held[leaf])]
    while lacking:
        leaf = lacking.pop(0)
        if leaf not in held or has(held[leaf]) or len(held) == 1:
            continue
        near = list(dict.fromkeys(int(region[other]) for other in neighbours[leaf] if region[other] != leaf))
        enough = (other for other in near if has(held[leaf] + held[other]))
        other = next(enough, near[0])
        held[other] = held.pop(leaf) + held[other]
        region[region == leaf] = other
        if not has(held[other]):
            lacking.append(other)
    return np.unique(region, return_inverse=True)[1].astype(np.int32)
