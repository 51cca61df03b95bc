"""Search memory: when groups changed, and which pools were tried in vain, so that they need not be tried again.

And chance, for kernels.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.arrays import grow, row_type
from shoal.compiling import ZERO, allocating, inner
from shoal.compiling.structs import Struct, struct

Longs = NDArray[np.int64]
Chance = NDArray[np.uint64]  # one number, from which the next ones follow
STATE = row_type([("clock", np.int64), ("chance", np.uint64)])
LEAST_GAIN = 1e-9  # of a step: what is less may be rounding
FACTOR, MORE, SPREAD = np.uint64(6364136223846793005), np.uint64(1442695040888963407), np.uint64(0x9E3779B97F4A7C15)


@struct
class SearchMemory(Struct):
    """When groups changed, and when their pools were last tried in vain; times count pools."""

    changed: Longs
    tried: Longs
    state: NDArray[np.void]  # STATE, one


def new_memory(n_groups: int, seed: int) -> SearchMemory:
    return SearchMemory(
        changed=np.zeros(n_groups, np.int64),
        tried=np.full(n_groups, -1, np.int64),
        state=np.array([(0, seed)], STATE),
    )


def grow_memory(memory: SearchMemory, n_groups: int) -> SearchMemory:
    """The same memory, for so many groups."""
    if n_groups <= len(memory.changed):
        return memory
    return memory.replace(changed=grow(memory.changed, n_groups), tried=grow(memory.tried, n_groups, -1))


def note_changes(memory: SearchMemory, groups: NDArray[np.integer]) -> None:
    """These groups have changed, in ways that no step of refining has noted."""
    memory.state["clock"][0] += 1
    memory.changed[groups] = memory.state["clock"][0]


@inner
def note_change(memory: SearchMemory, group: int) -> None:
    memory.changed[group] = memory.state[0].clock


@allocating
def chance_of(memory: SearchMemory, turn: int) -> Chance:
    """Chance for one pool, the same for the same seed. Turn 0: the next; other turns leave the memory as it is."""
    state, chance = memory.state[0], np.empty(1, np.uint64)
    if turn == 0:
        state.chance = state.chance * FACTOR + MORE
        chance[0] = state.chance
    else:
        chance[0] = (state.chance ^ (np.uint64(turn) * SPREAD)) * FACTOR + MORE
        chance[0] = (chance[0] ^ (chance[0] >> np.uint64(31))) * FACTOR + MORE
    return chance


@inner
def draw(chance: Chance, most: int) -> int:
    """A number below `most`, by chance."""
    drawn = ZERO + int((chance[0] >> np.uint64(33)) % np.uint64(most))
    chance[0] = chance[0] * FACTOR + MORE
    return drawn
