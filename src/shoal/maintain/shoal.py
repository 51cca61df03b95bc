"""The default maintainer: I3M, then upkeep, so that the loss does not drift.

A batch is applied as I3M does: join the group that costs least, split at 2k. Groups that have fewer than k left are not
dispersed where they and their neighbours have enough records for all: those are partitioned anew, and no group is lost.
Then groups are refined, those that were touched among them (`optimize/refine/upkeep.py`). The budget follows the batch:
a change buys the same work, however many records there are, and what that work gains buys more, so that most is done
where most is to be gained. Every batch bears its own.

Guarantee: that of I3M, after every batch; and refining never raises the loss.
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
WORK = 20.0  # records that are looked at for every record that comes or goes, and
MOST_WORK = 200.0  # where much is gained
MOST_AT_ONCE = 6.0  # for every record that there is: a batch that changes much is not worth more
REFILLS = 3  # tries


class Shoal(I3M):
    """The engine of a live partition that keeps its loss low."""

    def __init__(self, live: LivePartition) -> None:
        super().__init__(live)
        self.memory = new_memory(len(self.sizes), int(live.rng.integers(2**62)))
        self.upkeep = Upkeep(live.rng)

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
        self.upkeep.work(refiner, min(WORK * changes, most), min(MOST_WORK * changes, most), progress)

    def _refill(self, small: Ints) -> None:
        self._refiner().try_all(REFILL, small, REFILLS)

    def _refiner(self) -> Refiner:
        self.memory = grow_memory(self.memory, len(self.sizes))
        return Refiner(self.grouping, self.memory)
