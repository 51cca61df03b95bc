"""The default maintainer: I3M, then refining around what has changed, so that the loss does not drift.

A batch is applied as I3M does: join the group that costs least, split at 2k. Groups that have fewer than k left are not
dispersed where they and their neighbours have enough records for all: those are partitioned anew, and no group is lost.
Then every group that was touched is tried as a pool, together with its neighbours (`optimize/refine/`), and again as
long as that helps. The budget follows the batch: a change costs about the same, however many records there are.

Single records do not move here. A record that leaves lowers the loss, but also what is left to make another group of:
with moves there are fewer groups, and a higher loss, after some hundred batches.

Guarantee: that of I3M, after every batch; and refining never raises the loss.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from shoal.maintain.i3m import I3M
from shoal.optimize.refine.memory import grow_memory, new_memory
from shoal.optimize.refine.refiner import Refiner
from shoal.optimize.refine.steps import POOL, REFILL, SPLIT
from shoal.progress import Progress

if TYPE_CHECKING:
    from shoal.maintain.live import LivePartition

Ints = NDArray[np.int32]
POOLS_PER_CHANGE = 3  # at most
REFILLS = 3  # tries


class Shoal(I3M):
    """The engine of a live partition that keeps its loss low."""

    def __init__(self, live: LivePartition) -> None:
        super().__init__(live)
        self.memory = new_memory(len(self.sizes), int(live.rng.integers(2**62)))

    def apply(self, gone: Ints, come: Ints, replaced: Ints, progress: Progress) -> None:
        before = self.live.labels.copy()
        super().apply(gone, come, replaced, progress)
        moved = np.flatnonzero(self.live.labels != before)
        touched = np.unique(np.concatenate([before[moved], self.live.labels[moved]]))
        self._refine(touched[touched >= 0], POOLS_PER_CHANGE * max(len(gone), len(come)), progress)

    def _refill(self, small: Ints) -> None:
        self._refiner().try_all(REFILL, small, REFILLS)

    def _refiner(self) -> Refiner:
        self.memory = grow_memory(self.memory, len(self.sizes))
        return Refiner(self.grouping, self.memory)

    def _refine(self, touched: NDArray[np.integer], budget: int, progress: Progress) -> None:
        """Try the pools of the groups that were touched, and again those that gave something, while there is budget."""
        refiner = self._refiner()
        changed, clock = self.memory.changed, self.memory.state["clock"]
        clock[0] += 1
        changed[touched] = clock[0]
        progress.stage("refining what has changed", len(touched))
        groups = touched
        while budget > 0:
            groups = self.live.rng.permutation(groups[self.sizes[groups] > 0])[:budget]
            if not len(groups):
                break
            now, budget = int(clock[0]), budget - len(groups)
            refiner.try_all(POOL, groups, 1, progress)
            groups = groups[changed[groups] > now]
        refiner.try_all(SPLIT, np.flatnonzero(self.sizes >= 2 * self.live.k))
