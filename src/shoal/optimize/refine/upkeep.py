"""Upkeep: refining a little at a time, so that groups do not age while records come and go.

Around a change alone there is too little to gain: where a group was left alone its neighbours have become others, and
a record that came far away may be what it lacks. So a part of the work goes to groups wherever they are, whether
anything has happened to them or not. There are two kinds of it:

- **loosen**: a run of groups, from a place by chance. Each record goes where it costs less than it saves by going, then
  the whole group, if that costs less. This is the cheapest step of all, and finds what is far away. It leaves fewer
  groups, and larger ones; of those
- **pools** make more. A group that has changed is tried with few neighbours first: most of what there is to gain is
  gained there, at a fraction of the time of many. Where that was in vain it is tried with many, and after that again
  when all others have had their turn: pools are made by chance, and the next one may find what the last one has not.

Of those whose turn it is, the groups that lose most are tried most often. The work is counted in groups that are looked
at, never in seconds, so what comes of it depends on data and seed only.

Guarantee: that of refining. The loss never rises, and groups that had what is asked still have it.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from shoal.arrays import grow
from shoal.boxes.costs import CostTables
from shoal.optimize.refine.memory import LEAST_GAIN, note_changes
from shoal.optimize.refine.refiner import POOL_RECORDS, Refiner, neighbours_for, until
from shoal.optimize.refine.steps import LOOSEN, POOL
from shoal.privacy import Privacy
from shoal.progress import SILENT, Progress

Ints = NDArray[np.int32]
Longs = NDArray[np.int64]
Over = Callable[[], bool]
NEVER = -1
ROUNDS = 8  # of a sweep over all groups: pools follow soon on what was loosened
POOLS_IN_A_SWEEP = 3  # groups in pools for every group that is loosened
LEAST = 1e-4  # a sweep that gains a smaller share of the loss is the last


def run(codes: Ints, labels: Ints, costs: CostTables, privacy: Privacy, progress: Progress, max_seconds: float) -> Ints:
    """Upkeep for so many seconds, or as long as there is anything to gain; the next time it begins elsewhere."""
    chance = np.random.default_rng(secrets.randbits(128))
    refiner = Refiner.of(codes, labels, costs, privacy, int(chance.integers(2**62)))
    refiner.compile()
    upkeep, over = Upkeep(chance), until(max_seconds)
    progress.stage("refining")
    gained, before = np.inf, refiner.loss()
    while not over() and gained > LEAST * before:
        gained, before = 0.0, refiner.loss()
        for _ in range(ROUNDS):
            some = len(refiner.alive()) / ROUNDS
            gained += upkeep.work(refiner, some, POOLS_IN_A_SWEEP * some, progress, over)
    return refiner.labels


class Upkeep:
    """What is remembered from one time to the next: when the pools of each group were last tried in vain."""

    def __init__(self, chance: np.random.Generator) -> None:
        self.chance = chance
        self.few = np.full(0, NEVER, np.int64)  # with few neighbours
        self.many = np.full(0, NEVER, np.int64)

    def work(
        self, refiner: Refiner, loosened: float, pooled: float, progress: Progress = SILENT, over: Over = bool
    ) -> float:
        """Loosen so many groups, and try pools of so many in all; by how much the loss has fallen.

        A part of one is one by chance.
        """
        loosened, left = self._whole(loosened), self._whole(pooled)
        gained = refiner.try_all(LOOSEN, self._some_in_a_row(refiner, loosened), over=over)
        most = refiner.neighbours
        few = neighbours_for(POOL_RECORDS // 2, refiner.grouping.k)
        chosen = self._few_first(refiner, left // 2 // (few + 1))
        gained += self._try(refiner, chosen, few, self.few, progress, over)
        left -= len(chosen) * (few + 1)
        for choose in (self._then_many, self._then_again):
            chosen = choose(refiner, left // (most + 1))
            gained += self._try(refiner, chosen, most, self.many, progress, over)
            left -= len(chosen) * (most + 1)
        before = refiner.sizes.copy()  # a split is a change, too
        refiner.split_large()
        note_changes(refiner.memory, np.flatnonzero(refiner.sizes != before))
        return gained

    def _whole(self, number: float) -> int:
        return int(number + self.chance.random())

    def _some_in_a_row(self, refiner: Refiner, count: int) -> Longs:
        """Numbers that are close are often those of neighbours."""
        alive = refiner.alive()
        first = int(self.chance.integers(max(1, len(alive))))
        return np.roll(alive, -first)[:count]

    # Whose turn it is

    def _few_first(self, refiner: Refiner, count: int) -> Longs:
        """Groups that have changed since they were last tried."""
        groups = self._losing(refiner)
        changed = refiner.memory.changed[groups]
        return self._those_that_lose(refiner, groups[changed > np.maximum(self.few[groups], self.many[groups])], count)

    def _then_many(self, refiner: Refiner, count: int) -> Longs:
        """Groups that were tried in vain with few neighbours only."""
        groups = self._losing(refiner)
        changed = refiner.memory.changed[groups]
        waiting = (changed <= self.few[groups]) & (changed > self.many[groups])
        return self._those_that_lose(refiner, groups[waiting], count)

    def _then_again(self, refiner: Refiner, count: int) -> Longs:
        """Groups that were tried in vain with many, those first that have waited longest."""
        groups = self._losing(refiner)
        since = self.many[groups]
        resting = since >= refiner.memory.changed[groups]
        groups, since = groups[resting], since[resting]
        return groups[np.argsort(since, kind="stable")[:count]]

    def _losing(self, refiner: Refiner) -> Longs:
        """The groups that lose anything."""
        room = len(refiner.sizes)
        self.few, self.many = grow(self.few, room, NEVER), grow(self.many, room, NEVER)
        return np.flatnonzero((refiner.sizes > 0) & (refiner.grouping.groups.losses > LEAST_GAIN))

    def _those_that_lose(self, refiner: Refiner, groups: Longs, count: int) -> Longs:
        """So many of some groups by chance; one that loses twice as much has four times the chance."""
        if len(groups) <= count:
            return groups
        losses = refiner.grouping.groups.losses[groups] * refiner.sizes[groups]
        waits = self.chance.exponential(size=len(groups)) / losses**2
        return groups[np.argpartition(waits, count)[:count]]

    def _try(
        self, refiner: Refiner, groups: Longs, neighbours: int, in_vain: Longs, progress: Progress, over: Over
    ) -> float:
        """The pools of these groups; which of them were in vain is noted."""
        tried = refiner.memory.tried
        tried[groups] = NEVER  # whatever was tried: chance is another
        gained = refiner.try_all(POOL, np.sort(groups), 1, progress, over, neighbours=neighbours)
        failed = groups[tried[groups] != NEVER]
        in_vain[failed] = tried[failed]
        return gained
