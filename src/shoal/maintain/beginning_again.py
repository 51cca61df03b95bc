"""Beginning again: whether a live partition's groups have aged, and other groups that take little time to make."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from shoal.boxes.costs import box_costs
from shoal.cluster import cluster
from shoal.optimize.refine.refiner import EFFORTS, Refiner
from shoal.partition import Partition
from shoal.progress import Progress
from shoal.records.encode import Records

if TYPE_CHECKING:
    from shoal.maintain.live import LivePartition

Ints = NDArray[np.int32]
EFFORT = "fast"
NOT_FAR = 1.3  # times the loss: from there one sweep comes as near as from the default start, in half the time


def has_aged(live: LivePartition, above: float) -> bool:
    """Whether a record loses more than so many times what it has before."""
    if live.ageing.shown(0.0) > above:
        return True
    return live.ageing.has_grown() and live.ageing.shown(power_of_growth(live)) > above


def power_of_growth(live: LivePartition) -> float:
    """With twice as many of these records each would lose 2^−power times as much: about, and at least 0.

    Straight cuts of half of them have one level less, so it is the records that make the difference.
    """
    records = live.records()
    half = np.sort(live.rng.permutation(len(records))[: len(records) // 2])
    fewer = replace(records, codes=np.ascontiguousarray(records.codes[half]))
    of_half, of_all = (loss_of_one(live, straight_cuts(live, some)) for some in (fewer, records))
    return max(0.0, float(np.log2(of_half / of_all))) if of_all > 0.0 else 0.0


def other_groups(live: LivePartition, loss: float, progress: Progress) -> Ints:
    """Of each record there is; in the order of their slots. `loss`: what all lose as they are."""
    records, seed = live.records(), int(live.rng.integers(2**32))
    labels = straight_cuts(live, records).labels
    refiner = Refiner.of(records.codes, labels, live.costs, live.privacy_of(records), seed)
    if refiner.loss() <= NOT_FAR * loss:
        refiner.compile()
        return refiner.run(EFFORTS[EFFORT], progress)
    made = cluster(
        records,
        live.k,
        measure=live.settings.measure,
        seed=seed,
        progress=progress,
        options={"effort": EFFORT},
    )
    return made.labels


def straight_cuts(live: LivePartition, records: Records) -> Partition:
    return cluster(records, live.k, method="mondrian", measure=live.settings.measure, seed=0)


def loss_of_one(live: LivePartition, partition: Partition) -> float:
    """What a record loses, in the mean."""
    costs = box_costs(live.books, live.settings.measure, partition.lo, partition.hi).sum(axis=1)
    return float(partition.sizes @ costs) / int(partition.sizes.sum())
