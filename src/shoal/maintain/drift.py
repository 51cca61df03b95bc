"""How far the groups have drifted from what starting again would give, without starting again.

Copies of the groups are refined: all are loosened once, then each is tried as a pool once (`optimize/refine/`). What
those pools gain tells how far the groups are from where refining ends. Groups that have just been made leave something
to gain, too; and one turn of pools does not find all that there is. So the drift is estimated as

    1 + FOUND × (share of the loss that pools gain − LEFT)

and never as less than 1: groups that lose less than starting again would look like new ones. Pools are the large ones
of upkeep. FOUND was fitted to eleven of the histories of `benchmarks/drift.py` (one seed; an earlier maintainer, and
the same with a fourth of its work), LEFT to all of them (one seed; the maintainer as it is). It is an estimate:
refining sees what refining can gain, so the drift is larger than this says where starting again ends elsewhere. That is
so on columns that have nothing to do with each other (docs/method.md).

Of many groups some are tried, by chance that is always the same. Nothing changes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from shoal.optimize.refine.refiner import Refiner
from shoal.optimize.refine.regroup import Terms
from shoal.optimize.refine.steps import LOOSEN, POOL
from shoal.optimize.refine.upkeep import many_neighbours

if TYPE_CHECKING:
    from shoal.maintain.live import LivePartition

FOUND = 1.75  # what there is to gain, for what one turn of pools gains
LEFT = 0.0013  # what pools still gain where groups are new
MOST = 4_000  # groups that are tried


def estimated_drift(live: LivePartition) -> float | None:
    """The loss as a multiple of starting again's; None where not every group has what is asked."""
    records, alive = live.records(), live.alive()
    if not len(alive) or not live.partition(records).publishable:
        return None
    refiner = Refiner.of(records.codes, live.labels[alive], live.costs, live.privacy_of(records), 1)
    groups = np.random.default_rng(1).permutation(refiner.alive())[:MOST]
    before = float(refiner.sizes[groups] @ refiner.grouping.groups.losses[groups])
    refiner.try_all(LOOSEN, groups)
    gained = refiner.try_all(POOL, groups, Terms(many_neighbours(live.k), 1))
    return 1.0 + FOUND * max(0.0, gained / before - LEFT) if before > 0.0 else 1.0
