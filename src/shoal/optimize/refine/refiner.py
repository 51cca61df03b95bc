"""The refiner: which steps are tried on which groups, and how long."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.boxes.changes import new_grouping, total_loss
from shoal.boxes.costs import CostTables
from shoal.boxes.geometry import without_gaps
from shoal.boxes.grouping import Grouping
from shoal.optimize.refine import many_pools
from shoal.optimize.refine.excess import make_more
from shoal.optimize.refine.many_pools import try_many_pools
from shoal.optimize.refine.memory import SearchMemory, new_memory
from shoal.optimize.refine.moving import dissolve_many, move_many
from shoal.optimize.refine.regroup import EXACT, MOST, Terms
from shoal.optimize.refine.steps import DISSOLVE, LOOSEN, MOVE, POOL, REFILL, SPLIT, step
from shoal.privacy import Privacy
from shoal.privacy.counts import count_all
from shoal.privacy.rules import rules_of
from shoal.progress import SILENT, Progress, seconds_spent_compiling

Ints = NDArray[np.int32]
Longs = NDArray[np.int64]
# Items between two looks at the clock.
TURN = {MOVE: 5_000, DISSOLVE: 1_000, SPLIT: 1_000, POOL: 200, REFILL: 200, LOOSEN: 1_000}
POOL_RECORDS = 35  # a pool is not much larger, unless k is
MANY, MANY_GROUPS = 2_000, 1_000  # so many items look around side by side, where there are so many groups to look at
FEWEST = 2  # neighbours of a group in its pool; MOST in `regroup.py`


class Sweep(NamedTuple):
    """Over all groups, once."""

    records: int  # in a pool, about
    rebuilds: int  # from nothing, in each pool; 0: no pools
    tolerance: float = 0.0  # how much more, as a share, a pool may lose by it


class Effort(NamedTuple):
    """How long to go on."""

    sweeps: tuple[Sweep, ...]
    least: float = 1.0  # the last is repeated as long as it gains this share of the loss


# Small pools first: most of what there is to gain is gained there, and the large ones begin with better groups.
FEW_RECORDS = POOL_RECORDS // 2
# Where no pool gains anything any more, others that lose a little more lead on to better ones: threshold accepting.
TOLERANT = tuple(Sweep(POOL_RECORDS, 4, float(share)) for share in np.geomspace(0.05, 0.003, 32))
EFFORTS = {
    "fast": Effort((Sweep(POOL_RECORDS, 1),)),
    "balanced": Effort((Sweep(FEW_RECORDS, 2), Sweep(POOL_RECORDS, 3)), least=1.5e-2),
    "thorough": Effort((Sweep(FEW_RECORDS, 4), Sweep(POOL_RECORDS, 4), *TOLERANT, Sweep(POOL_RECORDS, 8)), least=1e-4),
}
DEFAULT_EFFORT = "balanced"
ROUGH = "rough"  # not for users: who asks for it refines the groups again (`regions/`)
ALL_EFFORTS = {ROUGH: Effort((Sweep(0, 0),)), **EFFORTS}


class Refiner:
    """Groups that are being refined, and what is remembered of it."""

    def __init__(self, grouping: Grouping, memory: SearchMemory) -> None:
        self.grouping, self.memory = grouping, memory
        self.neighbours = neighbours_for(POOL_RECORDS, grouping.k)

    @classmethod
    def of(cls, codes: Ints, labels: Ints, costs: CostTables, privacy: Privacy, seed: int) -> Refiner:
        """For groups that have what is asked."""
        labels = without_gaps(labels)
        room = max(int(labels.max()) + 1, len(codes) // privacy.k) + 1
        rules = rules_of(privacy.tables, room)
        count_all(rules, labels)
        return cls(new_grouping(codes, labels, costs, rules, room=room), new_memory(room, seed))

    def loss(self) -> float:
        return total_loss(self.grouping.groups)

    @property
    def sizes(self) -> Longs:
        """Of all groups; 0 of those that are no more."""
        return self.grouping.groups.sizes

    @property
    def labels(self) -> Ints:
        """The group of each record."""
        return self.grouping.members.labels

    def alive(self) -> Longs:
        return np.flatnonzero(self.sizes)

    def compile(self) -> None:
        g, memory, none = self.grouping, self.memory, np.zeros(0, np.int32)
        step(g, memory, MOVE, none, Terms(1, 0))
        move_many(g, memory, none, g.k)
        dissolve_many(g, memory, none)
        make_more(g, memory, none, EXACT)
        many_pools.compile_for(g, memory)

    def terms(self, rebuilds: int = 0) -> Terms:
        """Those of pools as large as usual."""
        return Terms(self.neighbours, rebuilds)

    def try_all(
        self,
        what: int,
        items: NDArray[np.integer],
        terms: Terms | None = None,
        progress: Progress = SILENT,
        over: Callable[[], bool] = bool,
    ) -> float:
        """One kind of step for all items, some at a time; by how much the loss has fallen. `terms`: of pools."""
        gained, waiting = 0.0, items.astype(np.int32)
        terms = self.terms() if terms is None else terms
        if len(items) >= MANY and np.count_nonzero(self.sizes) >= MANY_GROUPS:
            gained, waiting = self._try_many(what, waiting, terms, progress, over)
        for first in range(0, len(waiting), TURN[what]):
            if over():
                break
            some = waiting[first : first + TURN[what]]
            gained += step(self.grouping, self.memory, what, some, terms)
            progress.advance(len(some))
            if what == POOL and progress is not SILENT:  # to add up what all groups lose takes longer than some pools
                progress.note(f"loss {self.loss():,.0f}".replace(",", " "))
        return gained

    def _try_many(
        self, what: int, items: Ints, terms: Terms, progress: Progress, over: Callable[[], bool]
    ) -> tuple[float, Ints]:
        """The same side by side, where that can be; and the items that are left."""
        g, memory, none = self.grouping, self.memory, items[:0]
        if what == MOVE:
            return move_many(g, memory, items, g.k, over, progress.advance), none
        if what == LOOSEN and not g.rules.asked:
            records = np.flatnonzero(np.isin(self.labels, items)).astype(np.int32)
            gained = move_many(g, memory, records, g.k, over)
            return gained + dissolve_many(g, memory, items, over), none
        if what == DISSOLVE and not g.rules.asked:
            return dissolve_many(g, memory, items, over), none
        if what == POOL and not g.rules.asked:
            return try_many_pools(g, memory, items, terms, over, progress.advance)
        return 0.0, items

    def run(self, effort: Effort, progress: Progress = SILENT, over: Callable[[], bool] = bool) -> Ints:
        """Sweep until it is no longer worth it, or `over()`; the best labels that were found.

        Groups go in the order of their numbers (`starts.py`).
        """
        records = np.flatnonzero(self.labels >= 0)
        sweeps, count = effort.sweeps, 0
        best, least = None, np.inf  # before what is tolerated has raised the loss
        while True:
            sweep = sweeps[min(count, len(sweeps) - 1)]
            count += 1
            self.split_large()
            before = self.loss()
            if sweep.tolerance and before < least:
                best, least = self.labels.copy(), before
            progress.stage("moving records", len(records))
            self.try_all(MOVE, records, progress=progress, over=over)
            self.try_all(DISSOLVE, self.alive(), over=over)
            if count == 1:
                self.make_more(over)
            if sweep.rebuilds:
                pools, neighbours = self.alive(), neighbours_for(sweep.records, self.grouping.k)
                progress.stage(f"refining, sweep {count}", len(pools))
                self.try_all(POOL, pools, Terms(neighbours, sweep.rebuilds, sweep.tolerance), progress, over)
            enough = count >= len(sweeps) and before - self.loss() <= effort.least * before
            if over() or enough:
                break
        self.split_large()
        return self.labels if best is None or self.loss() <= least else best

    def make_more(self, over: Callable[[], bool] = bool) -> float:
        """One group more of some that have more than k, wherever that gains anything; by how much the loss falls."""
        g, memory, gained = self.grouping, self.memory, 0.0
        groups = np.flatnonzero(self.sizes > g.k).astype(np.int32)
        if len(groups) >= MANY and not g.rules.asked:
            gained, groups = try_many_pools(g, memory, groups, self.terms(1), over, lambda done: None, excess=True)
        for first in range(0, len(groups), TURN[POOL]):
            if over():
                break
            gained += make_more(g, memory, groups[first : first + TURN[POOL]], EXACT)
        return gained

    def split_large(self) -> None:
        """Groups of 2k and more become two."""
        self.try_all(SPLIT, np.flatnonzero(self.sizes >= 2 * self.grouping.k))


def neighbours_for(records: int, k: int) -> int:
    """How many neighbours a group has in a pool of about so many records."""
    return max(FEWEST, min(MOST, records // k))


def until(max_seconds: float | None) -> Callable[[], bool]:
    """A question that is answered with yes when so many seconds are over."""
    if max_seconds is None:
        return bool

    def now() -> float:
        return time.monotonic() - seconds_spent_compiling()  # the compiler's time is not the method's

    end = now() + max_seconds
    return lambda: now() >= end


def run(codes: Ints, labels: Ints, costs: CostTables, privacy: Privacy, progress: Progress) -> Ints:
    refiner = Refiner.of(codes, labels, costs, privacy, 1)
    refiner.compile()
    return refiner.run(EFFORTS[DEFAULT_EFFORT], progress)
