"""Cohorts that are large enough for two are parted, where both parts have what is asked and lose less.

The parts say more than the cohort did: as much as if they had been two from the beginning. Somebody must be left of
each: what nobody is left of is forgotten, and then nobody could tell any more that it had what is asked. A cohort with
a place that more is known of, or in which somebody has a past, stays as it is.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from shoal.cohorts.places import Bools, Places, Table

MOST_PARTED = 100  # cohorts that are looked at for each release, those that lose most first
MOST_TRIED = 4  # cuts of a cohort that are held against what is asked, the best first


def part(table: Table, places: Places, next_cohort: int, average: float) -> Places:
    """The places, with cohorts that lose more than the average in two. Somebody must be left of each cohort."""
    numbers, cohort, sizes = np.unique(places.cohorts, return_inverse=True, return_counts=True)
    special = np.bincount(cohort, places.tainted, minlength=len(numbers)) > 0
    held = np.bincount(cohort, places.held, minlength=len(numbers))
    large = (sizes >= 2 * table.k) & ~special & (held >= 2)
    if not large.any():
        return places
    boxes = table.boxes(table.records.codes[places.holders[places.held]], cohort[places.held], len(numbers))
    cohorts = places.cohorts.copy()
    members = np.split(np.argsort(cohort, kind="stable"), np.cumsum(sizes)[:-1])
    wide = np.flatnonzero(large & (boxes.losses > average))
    for number in wide[np.argsort(-boxes.losses[wide], kind="stable")][:MOST_PARTED].tolist():
        its = members[number]
        apart = _cut(table, places.only(its))
        if apart is not None:
            cohorts[its[apart]] = next_cohort
            next_cohort += 1
    return replace(places, cohorts=cohorts)


def _cut(table: Table, places: Places) -> Bools | None:
    """Who goes, where a cut through one column leaves two parts that lose less and have what is asked; or None."""
    codes, n = table.codes_of(places), len(places)
    loss = float(table.losses(codes.min(axis=0)[None], codes.max(axis=0)[None])[0])
    cuts = []
    for j in range(codes.shape[1]):
        for end in np.unique(codes[:, j])[:-1].tolist():
            above = codes[:, j] > end
            size = int(above.sum())
            if table.k <= size <= n - table.k and places.held[above].any() and places.held[~above].any():
                lo = np.stack([codes[above].min(axis=0), codes[~above].min(axis=0)])
                hi = np.stack([codes[above].max(axis=0), codes[~above].max(axis=0)])
                total = float(table.losses(lo, hi) @ [size, n - size])
                if total < n * loss:
                    cuts.append((total, j, end))
    for _, j, end in sorted(cuts)[:MOST_TRIED]:
        above = codes[:, j] > end
        if table.holds(replace(places, cohorts=above.astype(np.int64)))[1].all():
            return above
    return None
