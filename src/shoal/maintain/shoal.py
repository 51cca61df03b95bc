"""The default maintainer: I3M, then upkeep, so that the loss does not drift.

A batch is applied as I3M does: join the group that costs least, split at 2k. But those who come do so before anything
is dispersed: they may fill a group that has fewer than k left. What then has fewer is not dispersed where it and its
neighbours have enough records for all: those are partitioned anew, and no group is lost. Then groups are refined, those
that were touched among them (`optimize/refine/upkeep.py`). The budget follows the batch: a change buys the same work,
however many records there are, and more where groups have aged. Every batch bears its own.

Where refining cannot mend what has aged, a large batch begins again (`beginning_again.py`): groups that take little
time to make, and then upkeep. Two things tell together that it is worth trying: a record has lost less before
(`ageing.py`), and there is much more left to find than usual. Only where no rules are asked: to keep them takes its own
time; and not in tables so small that the default method has several starts, which quick groups do not come near.

Guarantee: that of I3M, after every batch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from shoal.boxes.geometry import numbered_as
from shoal.cluster.shoal import SMALL
from shoal.maintain.beginning_again import has_aged, other_groups
from shoal.maintain.i3m import I3M
from shoal.optimize.refine.memory import grow_memory, new_memory, note_changes
from shoal.optimize.refine.refiner import Refiner
from shoal.optimize.refine.steps import REFILL
from shoal.optimize.refine.upkeep import Upkeep
from shoal.progress import Progress

if TYPE_CHECKING:
    from shoal.maintain.live import LivePartition

Ints = NDArray[np.int32]
MOST_AT_ONCE = 7.0  # for every record that there is: a batch that changes much is not worth more
REFILLS = 3  # tries
MUCH = 0.05  # changes for every record: with fewer, to begin again takes too long beside the batch
TRIAL = 3  # a part of the work, in so many, which tells how much there is left to find
MUCH_LEFT = 2.4  # times what may be left: in large batches tables of other kinds have at most 2.2
AGED, MORE = 1.017, 0.01  # times what a record has lost before; and more of it whenever it was in vain
HARDLY_MORE = 1.005  # times the loss: upkeep takes more off groups that are new


class Shoal(I3M):
    """The engine of a live partition that keeps its loss low."""

    def __init__(self, live: LivePartition) -> None:
        super().__init__(live)
        self.aged = AGED
        self.memory = new_memory(len(self.sizes), int(live.rng.integers(2**62)))
        self.upkeep = Upkeep(live.rng, live.k)

    def apply(self, gone: Ints, come: Ints, replaced: Ints, progress: Progress) -> None:
        before = self.live.labels.copy()
        super().apply(gone, come, replaced, progress)
        moved = np.flatnonzero(self.live.labels != before)
        touched = np.unique(np.concatenate([before[moved], self.live.labels[moved]]))
        changes = len(gone) + len(come)
        self.memory = grow_memory(self.memory, len(self.sizes))
        records = int(self.sizes.sum())
        note_changes(self.memory, touched[touched >= 0])
        progress.stage("refining")
        upkeep, budget = self.upkeep, min(self.upkeep.worth_looking() * changes, MOST_AT_ONCE * records)
        if changes >= MUCH * records and records > SMALL and self.live.privacy is None:
            upkeep.work(self._refiner(), budget / TRIAL, progress)
            budget -= budget / TRIAL
            if upkeep.left() > MUCH_LEFT and has_aged(self.live, self.aged) and self._begun_again(progress):
                upkeep = Upkeep(self.live.rng, self.live.k)  # what new groups gain says nothing of later batches
        upkeep.work(self._refiner(), budget, progress)

    def _begun_again(self, progress: Progress) -> bool:
        """Other groups altogether, if they lose hardly more before there is any upkeep."""
        live = self.live
        alive, loss, before = live.alive(), self.loss(), live.labels.copy()
        known = self.grouping, self._large
        live.labels[alive] = numbered_as(other_groups(live, loss, progress), before[alive])
        progress.stage("refining")
        self._take_groups()
        better = self.loss() <= HARDLY_MORE * loss
        if better:
            self.aged = AGED
            self.memory = new_memory(len(self.sizes), int(live.rng.integers(2**62)))
            self.upkeep.forget_groups()
        else:  # it may be the records that have become others
            self.aged += MORE
            live.labels[:] = before
            self.grouping, self._large = known
        return better

    def _settle(self, small: Ints, come: Ints, progress: Progress) -> None:
        """Whoever comes may fill a group that has too little, or leave its neighbours one to spare."""
        self._insert(come, progress)
        refiner = self._refiner()
        refiner.try_all(REFILL, small, refiner.terms(REFILLS))
        self._disperse(small, progress)

    def _refiner(self) -> Refiner:
        self.memory = grow_memory(self.memory, len(self.sizes))
        return Refiner(self.grouping, self.memory)
