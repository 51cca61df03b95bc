"""Cohorts that are large enough for two are parted, where both parts have what is asked.

The parts say more than the cohort did: as much as if they had been two from the beginning. So ghosts that have what is
asked by themselves go as a part that nobody is left of; and a cohort whose people have moved apart becomes two. A
cohort with a place that more is known of, or in which somebody has a past, stays as it is.
"""

from __future__ import annotations

import numpy as np

from shoal.cluster import cluster
from shoal.cohorts.places import Longs, Places, Table


def part(table: Table, places: Places, next_cohort: int, average: float, method: str, seed: int | None) -> Places:
    """The places in cohorts that lose less. A part in which nobody is left is not among them."""
    numbers, cohort, sizes = np.unique(places.cohorts, return_inverse=True, return_counts=True)
    special = np.bincount(cohort, places.tainted) > 0
    held = np.bincount(cohort, places.held).astype(np.int64)
    large = np.flatnonzero((sizes >= 2 * table.k) & ~special & (held > 0))
    if not len(large):
        return places
    members = np.argsort(cohort, kind="stable")
    starts = np.concatenate([[0], np.cumsum(sizes)])
    cohorts = places.cohorts.copy()
    lo, hi, _, losses = table.boxes(
        table.records.codes[places.holders[places.held]], np.cumsum(held > 0)[cohort[places.held]] - 1, int((held > 0).sum())
    )
    loss_of = np.zeros(len(numbers))
    loss_of[held > 0] = losses
    for number in large.tolist():
        its = members[starts[number] : starts[number + 1]]
        ghosts = ~places.held[its]
        if ghosts.sum() >= table.k and (~ghosts).sum() >= table.k and _holds(table, places.only(its), ghosts):
            cohorts[its[ghosts]] = next_cohort
            next_cohort += 1
        elif loss_of[number] > average:
            shown = table.shown(places.only(its))
            if not table.privacy_of(shown).facts_of(np.zeros(len(its), np.int32), 1).holds(table.k)[0]:
                continue  # what is asked has changed since
            groups = cluster(
                shown, table.k, table.rules, method=method, measure=table.measure, seed=seed, reference=table.reference
            )
            if len(groups) > 1:
                cohorts[its] = np.where(groups.labels > 0, next_cohort - 1 + groups.labels, cohorts[its])
                next_cohort += len(groups) - 1
    parted = Places(places.ids, cohorts, places.holders, places.shows, places.people, places.tainted)
    return parted.without_dead_cohorts()


def _holds(table: Table, places: Places, ghosts: Longs) -> bool:
    """Whether both parts have what is asked. For that, it does not matter where ghosts are: any record will do."""
    somebody = int(places.holders.max())
    for which in (ghosts, ~ghosts):
        some = places.only(which)
        cohort = np.zeros(len(some), np.int64)
        alone = Places(some.ids, cohort, np.full(len(some), somebody), some.shows, some.people, some.tainted)
        if not table.holds(alone)[1].all():
            return False
    return True
