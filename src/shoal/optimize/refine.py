"""Refining: local search on the group tree, the engine of the method and of the maintainer `shoal`.

Four kinds of steps, each taken only if the total loss falls and every group that it touches still has what is asked:

- **move**: a record goes to the best of all groups, out of a group that can do without it;
- **dissolve**: each record of a group goes to the best of all others, and the group is no more;
- **split**: a group of 2k becomes two, as in maintenance (the loss cannot rise: both boxes lie in the old one);
- **pool**: a group and its nearest neighbours are partitioned anew among themselves (`pool.py`): first by moves and
  swaps from what they are, then from nothing, with a first seed by chance; the best is kept.

Maintenance has a fifth, **refill**: a group that has too few records and neighbours that have enough for all are a pool
that is made from nothing. The loss may rise, but less than where the group is dispersed.

A pool that gave nothing is not tried again before one of its groups has changed; then there is less to do in every
sweep. Steps end with everything in its place: whoever stops between two of them has a valid partition.

Guarantee: the loss never rises (but for a refill), and groups that had what is asked still have it, after every step.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.boxes.costs import CostTables
from shoal.boxes.geometry import without_gaps
from shoal.boxes.work import Work, work_of
from shoal.compiling import ZERO, announced
from shoal.optimize.diary import Diary, new_diary
from shoal.optimize.regrouping import MOST
from shoal.optimize.steps import DISSOLVE, MOVE, POOL, REFILL, SPLIT, step
from shoal.privacy import Privacy
from shoal.privacy.counts import count_all, new_counts
from shoal.privacy.tally import new_tally
from shoal.progress import SILENT, Progress

Ints = NDArray[np.int32]
Longs = NDArray[np.int64]
TURN = {MOVE: 5_000, DISSOLVE: 1_000, SPLIT: 1_000, POOL: 200, REFILL: 200}  # items between two looks at the clock
POOL_RECORDS = 35  # a pool is not much larger, unless k is
FEWEST = 2  # neighbours of a group in its pool; MOST in `regrouping.py`


class Effort(NamedTuple):
    """How long to go on."""

    sweeps: int  # over all pools, at most
    rebuilds: int  # from nothing, in each pool
    least: float  # a sweep that gains a smaller share of the loss is the last


EFFORTS = {
    "fast": Effort(sweeps=1, rebuilds=1, least=1.0),
    "balanced": Effort(sweeps=8, rebuilds=1, least=2e-2),
    "thorough": Effort(sweeps=100, rebuilds=3, least=1e-4),
}
DEFAULT_EFFORT = "balanced"


class Refiner:
    """Groups that are being refined. `asked`: k, PrivacyTables, GroupCounts and Tally (None: no more than k)."""

    def __init__(self, work: Work, costs: CostTables, asked: tuple[int, Any, Any, Any], diary: Diary) -> None:
        self.work, self.costs, self.asked, self.diary = work, costs, asked, diary
        self.neighbours = max(FEWEST, min(MOST, POOL_RECORDS // asked[0]))

    @classmethod
    def of(cls, codes: Ints, labels: Ints, costs: CostTables, privacy: Privacy, seed: int) -> Refiner:
        """For groups that have what is asked."""
        labels = without_gaps(labels)
        work = work_of(codes, labels, costs, max(int(labels.max()) + 1, len(codes) // privacy.k) + 1, reshapes=True)
        diary = new_diary(len(work.groups.sizes), seed)
        if not privacy.asks_more:
            return cls(work, costs, (privacy.k, None, None, None), diary)
        counts = new_counts(privacy.tables, len(work.groups.sizes))
        count_all(privacy.tables, counts, work.members.labels)
        return cls(work, costs, (privacy.k, privacy.tables, counts, new_tally(privacy.tables)), diary)

    def loss(self) -> float:
        return float(self.work.groups.sizes @ self.work.groups.losses)

    def alive(self) -> Longs:
        return np.flatnonzero(self.work.groups.sizes)

    def compile(self) -> None:
        step(self.work, self.costs, *self.asked, self.diary, MOVE, np.zeros(0, np.int32), ZERO, ZERO)

    def try_all(
        self,
        what: int,
        items: NDArray[np.integer],
        rebuilds: int = 0,
        progress: Progress = SILENT,
        over: Callable[[], bool] = bool,
    ) -> float:
        """One kind of step for all items, some at a time; by how much the loss has fallen."""
        gained = 0.0
        for first in range(0, len(items), TURN[what]):
            if over():
                break
            some = items[first : first + TURN[what]].astype(np.int32)
            gained += step(self.work, self.costs, *self.asked, self.diary, what, some, self.neighbours, rebuilds)
            progress.advance(len(some))
            if what == POOL:
                progress.note(f"loss {self.loss():,.0f}".replace(",", " "))
        return gained

    def run(self, effort: Effort, progress: Progress = SILENT, over: Callable[[], bool] = bool) -> None:
        """Sweep until it is no longer worth it, or `over()`. Groups go in the order of their numbers (`starts.py`)."""
        records = np.flatnonzero(self.work.members.labels >= 0)
        for sweep in range(effort.sweeps):
            self._split_large()
            before = self.loss()
            progress.stage("moving records", len(records))
            self.try_all(MOVE, records, progress=progress, over=over)
            self.try_all(DISSOLVE, self.alive(), over=over)
            pools = self.alive()
            progress.stage(f"refining, sweep {sweep + 1}", len(pools))
            self.try_all(POOL, pools, effort.rebuilds, progress, over)
            if over() or before - self.loss() < effort.least * before:
                break
        self._split_large()

    def _split_large(self) -> None:
        self.try_all(SPLIT, np.flatnonzero(self.work.groups.sizes >= 2 * self.asked[0]))


def until(max_seconds: float | None) -> Callable[[], bool]:
    """A question that is answered with yes when so many seconds are over."""
    if max_seconds is None:
        return bool
    end = time.monotonic() + max_seconds
    return lambda: time.monotonic() >= end


def run(codes: Ints, labels: Ints, costs: CostTables, privacy: Privacy, progress: Progress) -> Ints:
    with announced(progress):
        refiner = Refiner.of(codes, labels, costs, privacy, 1)
        refiner.compile()
    refiner.run(EFFORTS[DEFAULT_EFFORT], progress)
    return refiner.work.members.labels
