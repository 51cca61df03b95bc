"""Cohorts that are large enough for two are parted, where both parts have what is asked and lose less.

The parts say more than the cohort did: as much as if they had been two from the beginning. Somebody must be left of
each: what nobody is left of is forgotten, and then nobody could tell any more that it had what is asked. A cohort with
a place that more is known of, or in which somebody has a past, stays as it is.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from shoal.cluster import cluster
from shoal.cohorts.places import Places, Table


def part(table: Table, places: Places, next_cohort: int, average: float, method: str, seed: int | None) -> Places:
    """The places, with cohorts that lose more than the average in parts. Somebody must be left of each cohort."""
    numbers, cohort, sizes = np.unique(places.cohorts, return_inverse=True, return_counts=True)
    special = np.bincount(cohort, places.tainted, minlength=len(numbers)) > 0
    held = np.bincount(cohort, places.held, minlength=len(numbers))
    large = (sizes >= 2 * table.k) & ~special & (held >= 2)
    if not large.any():
        return places
    boxes = table.boxes(table.records.codes[places.holders[places.held]], cohort[places.held], len(numbers))
    cohorts = places.cohorts.copy()
    members = np.split(np.argsort(cohort, kind="stable"), np.cumsum(sizes)[:-1])
    for number in np.flatnonzero(large & (boxes.losses > average)).tolist():
        its = members[number]
        some = places.only(its)
        if not table.holds(some)[1].all():
            continue  # what is asked has changed since
        groups = cluster(
            table.shown(some), table.k, table.rules, method=method, measure=table.measure, seed=seed,
            reference=table.reference,
        )  # fmt: skip
        left = np.bincount(groups.labels, some.held, minlength=len(groups))
        if len(groups) > 1 and left.all():
            parts = groups.labels.astype(np.int64)
            cohorts[its] = np.where(parts > 0, next_cohort - 1 + parts, cohorts[its])
            next_cohort += len(groups) - 1
    return replace(places, cohorts=cohorts)
