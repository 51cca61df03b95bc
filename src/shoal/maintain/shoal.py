"""The default maintainer: I3M, then upkeep, so that the loss does not drift.

A batch is applied as I3M does: join the group that costs least, split at 2k. But those who come do so before anything
is dispersed: they may fill a group that has fewer than k left. What then has fewer is not dispersed where it and its
neighbours have enough records for all: those are partitioned anew, and no group is lost. Then groups are refined, those
that were touched among them (`optimize/refine/upkeep.py`). The budget follows the batch: a change buys the same work,
however many records there are, and more where groups have aged. Every batch bears its own.

Guarantee: that of I3M, after every batch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from shoal.maintain.i3m import I3M
from shoal.optimize.refine.memory import grow_memory, new_memory, note_changes
from shoal.optimize.refine.refiner import Refiner
from shoal.optimize.refine.steps import REFILL
from shoal.optimize.refine.upkeep import Upkeep
from shoal.progress import Progress

if TYPE_CHECKING:
    from shoal.maintain.live import LivePartition

Ints = NDArray[np.int32]
MOST_AT_ONCE = 8.0  # for every record that there is: a batch that changes much is not worth more
REFILLS = 3  # tries


class Shoal(I3M):
    """The engine of a live partition that keeps its loss low."""

    def __init__(self, live: LivePartition) -> None:
        super().__init__(live)
        self.memory = new_memory(len(self.sizes), int(live.rng.integers(2**62)))
        self.upkeep = Upkeep(live.rng, live.k)

    def apply(self, gone: Ints, come: Ints, replaced: Ints, progress: Progress) -> None:
        before = self.live.labels.copy()
        super().apply(gone, come, replaced, progress)
        moved = np.flatnonzero(self.live.labels != before)
        touched = np.unique(np.concatenate([before[moved], self.live.labels[moved]]))
        changes = len(gone) + len(come)
        refiner = self._refiner()
        note_changes(self.memory, touched[touched >= 0])
        progress.stage("refining")
        most = MOST_AT_ONCE * int(self.sizes.sum())
        self.upkeep.work(refiner, min(self.upkeep.worth_looking() * changes, most), progress)

    def _settle(self, small: Ints, come: Ints, progress: Progress) -> None:
        """Whoever comes may fill a group that has too little, or leave its neighbours one to spare."""
        self._insert(come, progress)
        refiner = self._refiner()
        refiner.try_all(REFILL, small, refiner.terms(REFILLS))
        self._disperse(small, progress)

    def _refiner(self) -> Refiner:
        self.memory = grow_memory(self.memory, len(self.sizes))
        return Refiner(self.grouping, self.memory)
