"""Upkeep: refining a little at a time, so that groups do not age while records come and go.

Around a change alone there is too little to gain: where a group was left alone its neighbours have become others, and
a record that came far away may be what it lacks. So a part of the work goes to groups wherever they are, whether
anything has happened to them or not. There are four kinds of it:

- **loosen**: a run of groups, from a place by chance. Each record goes where it costs less than it saves by going, then
  the whole group, if that costs less. This is the cheapest step of all, and finds what is far away. It leaves fewer
  groups, and larger ones; of those
- **excess pools** (`excess.py`) make more, where they have more than k; and
- **pools** find better ones. A group that has changed is tried with **few** neighbours first: most of what there is to
  gain is gained there, at a fraction of the time of many. Where that was in vain it is tried with **many**, and after
  that again when all others have had their turn: pools are made by chance, and the next one may find what the last one
  has not.

Of those whose turn it is, the groups that lose most are tried most often. Which kind gains most depends on the table,
so most work goes to the kinds whose last work has gained most (shares are as the squares of what it gained).

How much is done in all follows from what is left to find: what loosening and pools with many neighbours gain, as a
share of what the groups lose around which they are tried. Those look wherever there are groups, so what they gain tells
how far all are from where refining ends; `maintain/drift.py` measures much the same. What all work gains would not
tell: most of it mends what the batch has done, and that is much where groups are as good as new, too.

In pools records change places in rings, too (`rings.py`): that gains more than other groups from nothing in the same
time. The neighbours of a group are not quite the nearest, which takes a third of the time to find.

Pools may end with a little more loss, if their groups are others than before: what comes of that later is more. Groups
that are worked on for ever would otherwise end where no pool gains anything, and starting again ends lower.

The work is counted in records that are looked at, never in seconds, so what comes of it depends on data and seed only.

Guarantee: groups that had what is asked still have it. The loss may rise by what pools are allowed, and falls as a
rule; what `run` returns never loses more than what it was given.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from shoal.arrays import grow
from shoal.boxes.costs import CostTables
from shoal.optimize.refine.excess import make_more
from shoal.optimize.refine.memory import LEAST_GAIN, note_changes
from shoal.optimize.refine.refiner import POOL_RECORDS, Refiner, neighbours_for, until
from shoal.optimize.refine.regroup import Terms
from shoal.optimize.refine.steps import LOOSEN, POOL
from shoal.privacy import Privacy
from shoal.progress import SILENT, Progress

Ints = NDArray[np.int32]
Longs = NDArray[np.int64]
Over = Callable[[], bool]
NEVER = -1
KINDS = LOOSENING, EXCESS, FEW, MANY = range(4)
TELLING = [LOOSENING, MANY]  # how much is left to find
TURNS = 6  # in which the most is done
LEAST_TURN = 300.0  # records
LEAST_SHARES = np.array([0.1, 0.05, 0.05, 0.08])  # of a turn, for each kind
LASTING = 40_000.0  # records, after which what was gained counts half
AT_FIRST, USUAL = 1_000.0, 0.01  # looks, and what each gains: before anything is known
LOOSENED_SIZE = 1.5  # groups: to loosen one takes as long as so many in a pool;
EXCESS_SIZE = 3  # and so does an excess pool
AIM, AIM_BY_K = 0.003, 0.052  # what may be left to find, as a share of the loss; and more of that where k is small
WORK = 78.0  # records that are looked at for every record that comes or goes where just that is left; elsewhere
LEAST_WORK, MOST_WORK = 40.0, 140.0  # fewer or more, as the square of what is left
TOLERANCE = 0.01  # how much more, as a share, a pool may lose
SLACK = 2.0  # of neighbours: another pool is as good
IN_A_SWEEP = 4  # times that a record is looked at
LEAST = 1e-4  # a sweep that gains a smaller share of the loss is the last


def run(codes: Ints, labels: Ints, costs: CostTables, privacy: Privacy, progress: Progress, max_seconds: float) -> Ints:
    """Upkeep for so many seconds, or as long as there is anything to gain; the next time it begins elsewhere."""
    chance = np.random.default_rng(secrets.randbits(128))
    refiner = Refiner.of(codes, labels, costs, privacy, int(chance.integers(2**62)))
    refiner.compile()
    upkeep, over = Upkeep(chance, privacy.k), until(max_seconds)
    progress.stage("refining")
    best, least, some = refiner.labels.copy(), refiner.loss(), IN_A_SWEEP * len(codes)
    while not over():
        before = refiner.loss()
        upkeep.work(refiner, some, progress, over)
        after = refiner.loss()
        if after < least:
            best, least = refiner.labels.copy(), after
        if before - after <= LEAST * before:
            break
    return best


def many_neighbours(k: int) -> int:
    """Of a group in its pool. Of small groups more than usual: they take the same time, and pairs gain much by it."""
    return max(neighbours_for(POOL_RECORDS, k), POOL_RECORDS // k - 1)


class Upkeep:
    """What is remembered from one time to the next: what each kind of work has gained, and what was tried in vain."""

    def __init__(self, chance: np.random.Generator, k: int) -> None:
        self.chance, self.k = chance, k
        self.neighbours = {FEW: neighbours_for(POOL_RECORDS // 2, k), MANY: many_neighbours(k)}
        sizes = (LOOSENED_SIZE, EXCESS_SIZE, self.neighbours[FEW] + 1, self.neighbours[MANY] + 1)
        self.sizes = k * np.array(sizes, float)  # the records that are looked at for one group
        self.forget_groups()
        # What was done of late: records that were looked at; what the groups lost around which that was, and what it
        # gained, in losses of a record. Before anything is known there is as much left to find as there may be.
        self.looked_at = np.full(len(KINDS), AT_FIRST)
        self.lost = self.looked_at * k / self.sizes
        self.gained = USUAL * self.looked_at
        self.gained[TELLING] = self._aim() / len(TELLING) * self.lost[TELLING]

    def forget_groups(self) -> None:
        """They are others."""
        self.in_vain = np.full((len(KINDS), 0), NEVER, np.int64)  # of each kind and group: when it was last tried so

    def _aim(self) -> float:
        return AIM + AIM_BY_K / self.k

    def left(self) -> float:
        """How much is left to find, as a multiple of what may be.

        What loosening and pools with many neighbours find, wherever they look, tells how far the groups are from where
        refining ends; much as in `maintain/drift.py`.
        """
        return float((self.gained[TELLING] / (self.lost[TELLING] + LEAST_GAIN)).sum()) / self._aim()

    def worth_looking(self) -> float:
        """How many records are looked at for every record that comes or goes."""
        return float(np.clip(WORK * self.left() ** 2, LEAST_WORK, MOST_WORK))

    def work(self, refiner: Refiner, budget: float, progress: Progress = SILENT, over: Over = bool) -> float:
        """Look at so many records; by how much the loss falls."""
        loss, records = refiner.loss(), int(refiner.sizes.sum())
        if loss <= LEAST_GAIN:
            return 0.0
        one, gained, spent, turn = loss / records, 0.0, 0.0, max(LEAST_TURN, budget / TURNS)
        while not over() and spent < budget:
            used, found = self._turn(refiner, min(turn, budget - spent), one, progress, over)
            if used == 0.0:
                break
            spent, gained = spent + used, gained + found
        return gained

    def _turn(self, refiner: Refiner, budget: float, one: float, progress: Progress, over: Over) -> tuple[float, float]:
        """All kinds of work, each with its share: how many records were looked at, and by how much the loss has fallen.

        `one`: what a record loses.
        """
        rates = (self.gained + LEAST_GAIN) / (self.looked_at + 1.0)  # what nobody has looked at for long has faded
        shares = LEAST_SHARES + (1.0 - LEAST_SHARES.sum()) * rates**2 / (rates**2).sum()
        fade = 0.5 ** (budget / LASTING)
        used, gained = 0.0, 0.0
        for kind in KINDS:
            size = self.sizes[kind]
            count = int(shares[kind] * budget / size + self.chance.random())  # a part of one is one by chance
            if not count:
                continue
            groups = self._chosen(refiner, kind, count)
            lost = float(refiner.sizes[groups] @ refiner.grouping.groups.losses[groups])
            found = self._try(refiner, kind, groups, progress, over)
            self.looked_at[kind] = fade * self.looked_at[kind] + len(groups) * size
            self.gained[kind] = fade * self.gained[kind] + max(0.0, found) / one
            self.lost[kind] = fade * self.lost[kind] + lost / one
            used, gained = used + len(groups) * size, gained + found
        before = refiner.sizes.copy()  # a split is a change, too
        refiner.split_large()
        note_changes(refiner.memory, np.flatnonzero(refiner.sizes != before))
        return used, gained

    # Whose turn it is

    def _chosen(self, refiner: Refiner, kind: int, count: int) -> Longs:
        """So many groups for one kind of work."""
        if kind == LOOSENING:  # a run: numbers that are close are often those of neighbours
            alive = refiner.alive()
            return np.roll(alive, -int(self.chance.integers(max(1, len(alive)))))[:count]
        room = len(refiner.sizes)
        if room > self.in_vain.shape[1]:
            self.in_vain = np.stack([grow(times, room, NEVER) for times in self.in_vain])
        groups = np.flatnonzero((refiner.sizes > 0) & (refiner.grouping.groups.losses > LEAST_GAIN))
        changed, (_, excess, few, many) = refiner.memory.changed[groups], self.in_vain[:, groups]
        if kind == EXCESS:
            waiting = (refiner.sizes[groups] > refiner.grouping.k) & (changed > excess)
            return self._those_that_lose(refiner, groups[waiting], count)
        if kind == FEW:
            return self._those_that_lose(refiner, groups[changed > np.maximum(few, many)], count)
        waiting = (changed <= few) & (changed > many)
        first = self._those_that_lose(refiner, groups[waiting], count)
        resting = many >= changed
        longest = np.argsort(many[resting], kind="stable")[: count - len(first)]
        return np.concatenate([first, groups[resting][longest]])

    def _those_that_lose(self, refiner: Refiner, groups: Longs, count: int) -> Longs:
        """So many of some groups by chance; one that loses twice as much has four times the chance."""
        if len(groups) <= count:
            return groups
        losses = refiner.grouping.groups.losses[groups] * refiner.sizes[groups]
        waits = self.chance.exponential(size=len(groups)) / losses**2
        return groups[np.argpartition(waits, count)[:count]]

    def _try(self, refiner: Refiner, kind: int, groups: Longs, progress: Progress, over: Over) -> float:
        """One kind of work on these groups; which of them were in vain is noted."""
        if kind == LOOSENING:
            return refiner.try_all(LOOSEN, groups, over=over)
        if kind == EXCESS:
            self.in_vain[kind, groups] = refiner.memory.state["clock"][0]
            return make_more(refiner.grouping, refiner.memory, np.sort(groups).astype(np.int32), SLACK)
        tried = refiner.memory.tried
        tried[groups] = NEVER  # whatever was tried: chance is another
        terms = Terms(self.neighbours[kind], 1, TOLERANCE, True, SLACK)
        gained = refiner.try_all(POOL, np.sort(groups), terms, progress, over)
        failed = groups[tried[groups] != NEVER]
        self.in_vain[kind, failed] = tried[failed]
        return gained
