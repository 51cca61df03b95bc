"""What is done in one part of a table: its records are grouped, or its groups refined. Plain arrays in, labels out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from shoal.boxes.costs import CostTables
from shoal.boxes.geometry import without_gaps
from shoal.cluster import cluster
from shoal.privacy import Privacy, Rule
from shoal.privacy.sensitive import Distribution
from shoal.records.encode import Records

Ints = NDArray[np.int32]
Longs = NDArray[np.int64]
# A start in a region is worth no more than one sweep: rounds gain more in the same time.
START = {"fast": "fast", "balanced": "fast", "thorough": "balanced"}


@dataclass(frozen=True)
class Asked:
    """What every part is told: what groups must have, what they should lose least of, and how they are found."""

    k: int
    rules: tuple[Rule, ...] = ()
    reference: Mapping[str, Distribution] = field(default_factory=dict)  # the whole table's, by sensitive column
    method: str = "shoal"
    measure: str = "il"
    effort: str = "balanced"
    options: Mapping[str, object] = field(default_factory=dict)  # of the method
    seed: int = 0

    def chance(self, *place: int) -> int:
        """A seed of its own for each round and part."""
        return int(np.random.SeedSequence([self.seed, *place]).generate_state(1, np.uint64)[0] >> np.uint64(2))

    def privacy_of(self, records: Records) -> Privacy:
        return Privacy.of(records, self.k, self.rules, reference=self.reference, quiet=True)


def grouped(records: Records, asked: Asked, region: int) -> Ints:
    """The group of each record of a region.

    Guarantee: every group has what is asked, given that the region has.
    """
    options = dict(asked.options)
    if asked.method == "shoal":
        options["effort"] = START[asked.effort]
    partition = cluster(
        records,
        asked.k,
        asked.rules,
        method=asked.method,
        measure=asked.measure,
        seed=asked.chance(0, region),
        options=options,
        reference=asked.reference,
    )
    return partition.labels


def refined(records: Records, labels: Longs, costs: CostTables, asked: Asked, turn: int, part: int) -> Ints:
    """The groups of a part after one round. Neighbours should be numbered together, as for any refining.

    Guarantee: the loss has not risen, and every group has what is asked, given that it had.
    """
    from shoal.optimize.refine.refiner import EFFORTS, Effort, Refiner  # loads Numba

    effort = Effort(sweeps=1, rebuilds=8, least=1.0) if asked.effort == "thorough" else EFFORTS["fast"]
    privacy = asked.privacy_of(records)
    refiner = Refiner.of(records.codes, without_gaps(labels), costs, privacy, asked.chance(turn, part))
    refiner.run(effort)
    return without_gaps(refiner.labels)


def lost(codes: Ints, labels: Ints, costs: CostTables) -> float:
    """What groups lose in all, under the measure of the costs."""
    from shoal.boxes.changes import groups_of  # loads Numba

    groups = groups_of(codes, labels, costs)
    return float((groups.sizes * groups.losses).sum())


def middles(codes: Ints, labels: Ints) -> Ints:
    """The place of each group: in every column the middle one of its records' codes.

    Near groups have near places, and places lie where records lie, so that parts are about as large as a sample of the
    records says. Of a box's centre only the first is true.
    """
    sizes = np.bincount(labels)
    at = np.cumsum(sizes) - sizes + sizes // 2
    places = np.empty((len(sizes), codes.shape[1]), np.int32)
    for j in range(codes.shape[1]):
        places[:, j] = codes[np.lexsort((codes[:, j], labels)), j][at]
    return places
