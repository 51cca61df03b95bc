"""Cohorts that are large enough for two are parted, where both parts have what is asked and lose less.

The parts say more than the cohort did: as much as if they had been two from the beginning. Somebody must be left of
each: what nobody is left of is forgotten, and then nobody could tell any more that it had what is asked. A cohort with
a place that more is known of, or in which somebody has a past, stays as it is.
"""

from __future__ import annotations

from collections.abc import Sequence
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
    members = np.split(np.argsort(cohort, kind="stable"), np.cumsum(sizes)[:-1])
    wide = np.flatnonzero(large & (boxes.losses > average))
    wide = wide[np.argsort(-boxes.losses[wide], kind="stable")][:MOST_PARTED]
    apart = _cut(table, [places.only(members[number]) for number in wide.tolist()])
    cohorts = places.cohorts.copy()
    for number, goes in zip(wide.tolist(), apart, strict=True):
        if goes is not None:
            cohorts[members[number][goes]] = next_cohort
            next_cohort += 1
    return replace(places, cohorts=cohorts)


def _cut(table: Table, cohorts: Sequence[Places]) -> list[Bools | None]:
    """Of each, who goes where a cut through one column leaves two parts that lose less and have what is asked; or None.

    All cuts of all cohorts are looked at together: asking for a few takes as long as for many.
    """
    sides = [_cuts(table, places) for places in cohorts]
    found: list[Bools | None] = [None] * len(cohorts)
    for tried in range(MOST_TRIED):
        left = [i for i, its in enumerate(sides) if found[i] is None and len(its) > tried]
        if not left:
            break
        parts = [
            replace(cohorts[i], cohorts=2 * turn + sides[i][tried].astype(np.int64)) for turn, i in enumerate(left)
        ]
        together = parts[0]
        for one in parts[1:]:
            together = together.and_also(one)
        holds = table.holds(together)[1].reshape(-1, 2)
        for i, both in zip(left, holds, strict=True):
            if both.all():
                found[i] = sides[i][tried]
    return found


def _cuts(table: Table, places: Places) -> list[Bools]:
    """Ways to cut a cohort into two that lose less, the best first; each is who is above the cut."""
    codes, n = table.codes_of(places), len(places)
    sides, lo, hi = [], [codes.min(axis=0)], [codes.max(axis=0)]
    for j in range(codes.shape[1]):
        for end in np.unique(codes[:, j])[:-1].tolist():
            above = codes[:, j] > end
            if table.k <= int(above.sum()) <= n - table.k and places.held[above].any() and places.held[~above].any():
                sides.append(above)
                lo += [codes[above].min(axis=0), codes[~above].min(axis=0)]
                hi += [codes[above].max(axis=0), codes[~above].max(axis=0)]
    losses = table.losses(np.stack(lo), np.stack(hi))
    sizes = np.array([[above.sum(), n - above.sum()] for above in sides]).reshape(-1, 2)
    totals = (losses[1:].reshape(-1, 2) * sizes).sum(axis=1)
    return [sides[i] for i in np.argsort(totals, kind="stable").tolist() if totals[i] < n * losses[0]]
