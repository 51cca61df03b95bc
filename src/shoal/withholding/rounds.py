"""Withholding records: some are not published where that saves the others more than it costs.

A withheld record counts as if each of its cells were `*`: at the full cost of every column. What falls is the loss of
all groups and the full cost of those withheld, together. In rounds:

1. Of each group those are looked at who hold up the sides of its box, if their leaving alone would save more than they
   cost. The pools of these groups are refined first, so that withholding is not credited with what refining gains.
2. The pool of each is partitioned anew without them (`kernels.py`); what gains most for each record is done first,
   while there is budget.
3. The pools that have changed are refined, and a withheld record that would now cost less in a group comes back.

It ends with a round in which nothing is withheld. Every step is judged by what it really gains; a bad choice costs time
and no loss.

Guarantee: no more are withheld than the budget allows; the loss, those withheld included, never rises; every group has
what is asked, given that it had before; and the same labels, budget and random numbers give the same result.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.boxes.costs import CostTables
from shoal.optimize.refine.memory import LEAST_GAIN
from shoal.optimize.refine.refiner import Refiner
from shoal.optimize.refine.steps import POOL, SPLIT
from shoal.privacy import Privacy
from shoal.progress import Progress
from shoal.withholding.kernels import ALONE, LOOK, READMIT, TAKE, Gains, Terms, withhold

Ints = NDArray[np.int32]
Floats = NDArray[np.float64]
TURN = 1_000  # groups in one call, between which Python may be interrupted
MOST_ROUNDS = 20  # it ends before, but for bad luck
SWEEPS = 2  # over the pools that have changed, in each round


def run(
    codes: Ints,
    labels: Ints,
    costs: CostTables,
    privacy: Privacy,
    budget: int,
    rng: np.random.Generator,
    progress: Progress,
) -> Ints:
    """The group of each record; −1: it is withheld. At most `budget` are."""
    refiner = Refiner.of(codes, labels, costs, privacy, int(rng.integers(2**62)))
    refiner.compile()
    withholder = Withholder(refiner, budget, rng)
    withholder.each(ALONE, np.zeros(0, np.int64))
    withholder.run(progress)
    return refiner.labels


class Withholder:
    """Groups that give up records."""

    def __init__(self, refiner: Refiner, budget: int, rng: np.random.Generator) -> None:
        self.refiner, self.budget, self.rng = refiner, budget, rng
        self.full = refiner.grouping.costs.full

    def withheld(self) -> NDArray[np.int64]:
        return np.flatnonzero(self.refiner.labels < 0)

    def loss(self) -> float:
        """What falls: the loss of all groups, and the full cost of those withheld."""
        return self.refiner.loss() + len(self.withheld()) * self.full

    def run(self, progress: Progress) -> None:
        for _ in range(MOST_ROUNDS):
            progress.stage("withholding records")
            if not self.one_round():
                break

    def one_round(self) -> bool:
        """Withhold what is worth it; whether anything was."""
        if self.left() == 0:
            return False
        self._refine(self.candidates())
        groups = self.candidates()
        gains = self.each(LOOK, groups)
        order = np.argsort(-gains.losses / np.maximum(1, gains.records), kind="stable")
        clock, before = int(self.refiner.memory.state["clock"][0]), self.left()
        self.each(TAKE, groups[order[gains.losses[order] > LEAST_GAIN]])
        if self.left() == before:
            return False
        for _ in range(SWEEPS):
            self._refine(np.flatnonzero(self.refiner.memory.changed > clock))
        large = np.flatnonzero(self.refiner.sizes >= 2 * self.refiner.grouping.k)
        self.refiner.try_all(SPLIT, large)
        self.each(READMIT, self.withheld())
        return True

    def left(self) -> int:
        """How many more may be withheld."""
        return self.budget - len(self.withheld())

    def candidates(self) -> NDArray[np.int64]:
        """Groups in which somebody costs the others more than a withheld record does."""
        groups = self.refiner.alive()
        return groups[self.each(ALONE, groups).losses > LEAST_GAIN]

    def each(self, what: int, items: NDArray[np.int64]) -> Gains:
        """See `kernels.withhold`."""
        refiner = self.refiner
        gains = Gains(np.zeros(len(items)), np.zeros(len(items), np.int64))
        for first in range(0, max(1, len(items)), TURN):
            some = slice(first, first + TURN)
            part = Gains(gains.losses[some], gains.records[some])
            terms = Terms(self.full, self.left(), refiner.neighbours)
            withhold(refiner.grouping, refiner.memory, what, items[some].astype(np.int32), terms, part)
        return gains

    def _refine(self, groups: NDArray[np.integer]) -> None:
        alive = groups[self.refiner.sizes[groups] > 0]
        self.refiner.try_all(POOL, self.rng.permutation(alive), self.refiner.terms(1))
