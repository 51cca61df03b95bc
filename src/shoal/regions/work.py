"""What is done in one part of a table: its records are grouped, or its groups refined. Plain arrays in, labels out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

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
# What rounds will mend need not be good: pools in the start take a sixth of all the time, and gain nothing in the end.
START = {"fast": "rough", "balanced": "rough", "thorough": "balanced"}


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


def grouped(records: Records, asked: Asked, region: int, *, to_the_end: bool) -> Ints:
    """The group of each record of a region. `to_the_end`: no round will refine the groups.

    Guarantee: every group has what is asked, given that the region has.
    """
    options = dict(asked.options)
    if asked.method == "shoal":
        options["effort"] = asked.effort if to_the_end else START[asked.effort]
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


def refined(
    records: Records, labels: Longs, costs: CostTables, asked: Asked, place: tuple[int, int], most: int
) -> Ints:
    """The groups of a part after one round. Groups that are numbered together should be neighbours.

    `place`: the round and the part. A part of more than `most` records is worked on in pieces.

    Guarantee: the loss has not risen, and every group has what is asked, given that it had.
    """
    from shoal.optimize.refine.refiner import EFFORTS, POOL_RECORDS, Effort, Refiner, Sweep  # loads Numba

    effort = Effort((Sweep(POOL_RECORDS, 8),)) if asked.effort == "thorough" else EFFORTS["fast"]
    groups, made = without_gaps(labels), 0
    found = np.empty(len(groups), np.int32)
    pieces = -(-len(groups) // most)
    piece = ((np.cumsum(np.bincount(groups)) - 1) * pieces // len(groups))[groups]
    for number in np.unique(piece).tolist():  # a group may be larger than a piece
        inside = np.flatnonzero(piece == number)
        some = in_order(records, inside)
        seed = asked.chance(*place, number)
        refiner = Refiner.of(some.codes, without_gaps(groups[inside]), costs, asked.privacy_of(some), seed)
        found[inside] = without_gaps(refiner.run(effort)) + made
        made = int(found[inside].max()) + 1
    return found


def in_order(records: Records, order: Longs) -> Records:
    """These records, in this order."""
    return replace(
        records,
        codes=np.ascontiguousarray(records.codes[order]),
        passthrough=records.passthrough.take(order) if records.passthrough.num_columns else records.passthrough,
        people=None if records.people is None else records.people[order],
    )


def lost(codes: Ints, labels: Ints, costs: CostTables) -> float:
    """What groups lose in all, under the measure of the costs."""
    from shoal.boxes.changes import groups_of  # loads Numba

    groups = groups_of(codes, labels, costs)
    return float((groups.sizes * groups.losses).sum())


def middles(codes: Ints, labels: Ints) -> Ints:
    """The place of each group: in every column the middle one of its records' codes.

    Near groups have near places, and places lie where records lie. Of a box's centre only the first is true.
    """
    sizes = np.bincount(labels)
    at = np.cumsum(sizes) - sizes + sizes // 2
    places = np.empty((len(sizes), codes.shape[1]), np.int32)
    for j in range(codes.shape[1]):
        both = np.sort(
            (labels.astype(np.int64) << 32) | codes[:, j]
        )  # one number each: many times faster than two keys
        places[:, j] = both[at] & 0xFFFFFFFF
    return places
