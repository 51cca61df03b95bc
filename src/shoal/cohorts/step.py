"""One more release: who has a place in it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from shoal.cohorts.forming import form
from shoal.cohorts.parting import part
from shoal.cohorts.places import Floats, Longs, Past, Places, Table
from shoal.cohorts.second import join_again
from shoal.cohorts.vacancies import fill_vacancies
from shoal.progress import SILENT, Progress

FORMING = 1.5  # times the average: what people of a new cohort may lose
JOINING = 2.0  # times the average: what a newcomer to a vacancy may lose, and cost the others


@dataclass(frozen=True)
class Policy:
    """How those who wait are let in."""

    average: float  # what people lose where nobody waits
    method: str = "shoal"
    vacancies: str = "single"
    seed: int | None = None


def next_places(
    table: Table,
    places: Places,
    pasts: Mapping[int, Past],
    patience: Floats,
    policy: Policy,
    next_cohort: int,
    progress: Progress = SILENT,
) -> Places:
    """The places of the next release.

    `places`: those of the last one, with the holders that are left. `pasts`: of records without a place whose people
    have been in a cohort before. `patience`: how much longer each record may wait: 1 has just come, 0 must go out;
    infinity: as long as it takes. New cohorts are numbered from `next_cohort` on.

    Guarantee: that of the package. Whoever has no place in what is returned waits.
    """
    before, places = places, places.without_dead_cohorts()
    places = part(table, places, next_cohort, policy.average)
    # Of cohorts that end now it is still known what they said: whoever was in them is held against that.
    earlier = places.and_also(before.only(~np.isin(before.cohorts, places.cohorts)))
    pasts = {record: _by_now(past, earlier) for record, past in pasts.items()}
    next_cohort = max(next_cohort, int(places.cohorts.max(initial=-1)) + 1)
    progress.stage("filling vacancies")
    newcomers = np.array([one for one in _waiting(table, places).tolist() if one not in pasts], np.int64)
    places = fill_vacancies(table, places, newcomers, JOINING * policy.average, policy.vacancies)
    waiting = _waiting(table, places)
    limits = _limits(patience[waiting], policy.average)
    fresh = np.array([one not in pasts for one in waiting.tolist()], bool)
    labels = np.full(len(waiting), -1, np.int64)
    labels[fresh] = form(
        table, waiting[fresh], limits[fresh], method=policy.method, seed=policy.seed, progress=progress
    )
    again = join_again(table, earlier, waiting, labels, pasts, JOINING / FORMING * limits)
    joined = np.flatnonzero(labels >= 0)
    records = np.concatenate([waiting[joined], np.array(list(again), np.int64)])
    cohorts = np.concatenate([labels[joined], np.array(list(again.values()), np.int64)])
    whose = None if table.records.people is None else table.records.people[records]
    found = places.begun_with(records, next_cohort + cohorts, whose)
    return found.tying({record: pasts[record] for record in again})


def _by_now(past: Past, places: Places) -> Past:
    """The same, if cohorts have been parted: both parts count, the one with the place and the one without."""
    parts = places.cohorts[np.isin(places.ids, list(past.places))]
    return replace(past, cohorts=sorted({*past.cohorts, *parts.tolist()}))


def _waiting(table: Table, places: Places) -> Longs:
    placed = np.zeros(len(table.records), bool)
    placed[places.holders[places.held]] = True
    return np.flatnonzero(~placed)


def _limits(patience: Floats, average: float) -> Floats:
    """What each may lose: the more, the longer it has waited."""
    share = np.where(np.isinf(patience), 1.0, patience)
    return np.where(share > 0, FORMING * average / np.maximum(share, 1e-9), 1e12)
