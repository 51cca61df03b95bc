"""When groups changed, and which pools were tried in vain: what need not be tried again. And chance, for kernels."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.arrays import grow
from shoal.compiling import ZERO, inlined

Longs = NDArray[np.int64]


class Diary(NamedTuple):
    """When groups changed, and when their pools were last tried in vain; times count pools."""

    changed: Longs
    tried: Longs
    clock: Longs
    chance: NDArray[np.uint64]


def new_diary(groups: int, seed: int) -> Diary:
    return Diary(
        np.zeros(groups, np.int64),
        np.full(groups, -1, np.int64),
        np.zeros(1, np.int64),
        np.array([seed], np.uint64),
    )


def diary_with_room(diary: Diary, groups: int) -> Diary:
    """The same diary, for so many groups."""
    return diary._replace(changed=grow(diary.changed, groups), tried=grow(diary.tried, groups, -1))


@inlined
def note(diary: Diary, group: int) -> None:
    diary.changed[group] = diary.clock[0]


@inlined
def draw(diary: Diary, several: int) -> int:
    """A number below `several`, by chance: the same ones for the same seed."""
    diary.chance[0] = diary.chance[0] * np.uint64(6364136223846793005) + np.uint64(1442695040888963407)
    return ZERO + int((diary.chance[0] >> np.uint64(33)) % np.uint64(several))
