"""Vacancies: a newcomer with the value of a ghost takes its place, if that costs little.

Counts stay as they are, nobody waits, and the ghost is gone. Whoever has left a place, knows what it says and sees who
came instead knows what that person has; `pairs` lets two newcomers of different sensitive values take two places at
once, so that nobody can tell who took which.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from shoal.boxes.costs import cost_tables
from shoal.cohorts.places import GHOST, Floats, Longs, Places, Table
from shoal.records.codebook import Codes

VACANCIES = ("single", "pairs", "off")
MOST = 16  # cohorts that are thought of for each newcomer


@dataclass
class _Cohorts:
    """The cohorts with vacancies: their boxes as newcomers join, and their free places by value."""

    table: Table
    lo: Codes
    hi: Codes
    sizes: Floats
    losses: Floats
    free: dict[tuple[int, int], list[int]]  # of a cohort and a value: places
    people: dict[int, set[int]]  # of each cohort, where people are counted

    def cost(self, cohort: int, codes: Codes) -> float:
        """Of these records joining a cohort together."""
        lo, hi = np.minimum(self.lo[cohort], codes.min(axis=0)), np.maximum(self.hi[cohort], codes.max(axis=0))
        loss = float(self.table.losses(lo[None], hi[None])[0])
        return loss * len(codes) + self.sizes[cohort] * (loss - self.losses[cohort])

    def join(self, cohort: int, codes: Codes) -> None:
        self.lo[cohort] = np.minimum(self.lo[cohort], codes.min(axis=0))
        self.hi[cohort] = np.maximum(self.hi[cohort], codes.max(axis=0))
        self.losses[cohort] = self.table.losses(self.lo[cohort][None], self.hi[cohort][None])[0]
        self.sizes[cohort] += len(codes)

    def may_join(self, cohort: int, person: int | None) -> bool:
        """Nobody is twice among the people of a cohort because of a vacancy."""
        return person is None or person not in self.people[cohort]


def fill_vacancies(table: Table, places: Places, newcomers: Longs, limit: float, how: str) -> Places:
    """The places with newcomers in them, where joining the cohort costs at most `limit`.

    `newcomers`: records of people who were in no cohort before.
    """
    vacant = np.flatnonzero(~places.held & (places.tainted == 0))
    wanted = newcomers[np.isin(table.values[newcomers], table.values[places.shows[vacant]])]
    if how == "off" or not len(wanted):
        return places
    cohorts = _vacant_cohorts(table, places, vacant)
    offers = _offers(table, cohorts, wanted, limit)
    taken = _singly(cohorts, offers, limit) if how == "single" else _in_pairs(cohorts, offers, limit)
    chosen = np.array(list(taken), np.int64).reshape(-1, 2)
    assert (places.holders[chosen[:, 0]] == GHOST).all()
    return places.filled(chosen[:, 0], chosen[:, 1])


def _vacant_cohorts(table: Table, places: Places, vacant: Longs) -> _Cohorts:
    numbers = np.unique(places.cohorts[vacant])
    members = np.flatnonzero(places.held & np.isin(places.cohorts, numbers))
    labels = np.searchsorted(numbers, places.cohorts[members])
    boxes = table.boxes(table.records.codes[places.holders[members]], labels, len(numbers))
    free: dict[tuple[int, int], list[int]] = {}
    of_place = np.searchsorted(numbers, places.cohorts[vacant])
    for cohort, value, place in zip(
        of_place.tolist(), table.values[places.shows[vacant]].tolist(), vacant.tolist(), strict=True
    ):
        free.setdefault((cohort, value), []).append(place)
    people: dict[int, set[int]] = {}
    if table.records.people is not None:
        whose = table.records.people[places.holders[members]]
        for cohort, person in zip(labels.tolist(), whose.tolist(), strict=True):
            people.setdefault(cohort, set()).add(person)
    return _Cohorts(table, boxes.lo, boxes.hi, boxes.sizes.astype(np.float64), boxes.losses, free, people)


def _offers(table: Table, cohorts: _Cohorts, newcomers: Longs, limit: float) -> list[tuple[float, int, int]]:
    """What newcomers could join at little cost: the cost, the record, the cohort."""
    from shoal.boxes.cheapest import Boxes, Candidates, cheapest_boxes  # loads Numba

    by_value = np.array(sorted((value, cohort) for cohort, value in cohorts.free), np.int64).reshape(-1, 2)
    values = table.values[newcomers]
    candidates = Candidates(
        np.ascontiguousarray(by_value[:, 1]),
        np.searchsorted(by_value[:, 0], values),
        np.searchsorted(by_value[:, 0], values, side="right"),
    )
    boxes = Boxes(cohorts.lo, cohorts.hi, cohorts.sizes, cohorts.losses)
    codes = np.ascontiguousarray(table.records.codes[newcomers])
    found = cheapest_boxes(cost_tables(table.records.books, table.measure), codes, boxes, candidates, limit, MOST)
    rows, slots = np.nonzero(found.boxes >= 0)
    prices, which = found.costs[rows, slots].tolist(), found.boxes[rows, slots].tolist()
    return list(zip(prices, newcomers[rows].tolist(), which, strict=True))


def _singly(cohorts: _Cohorts, offers: list[tuple[float, int, int]], limit: float) -> Iterator[tuple[int, int]]:
    """Places and who takes them: the cheapest first, as it is when its turn comes."""
    codes, values, people = _facts(cohorts.table)
    seated: set[int] = set()
    joined = dict.fromkeys(range(len(cohorts.sizes)), 0)
    queue = [(price, record, cohort, 0) for price, record, cohort in offers]
    heapq.heapify(queue)
    while queue:
        price, record, cohort, known = heapq.heappop(queue)
        free = cohorts.free.get((cohort, int(values[record])))
        person = None if people is None else int(people[record])
        if record in seated or not free or not cohorts.may_join(cohort, person):
            continue
        if known != joined[cohort]:  # others have joined since: it costs something else now
            price = cohorts.cost(cohort, codes[[record]])
            if price <= limit:
                heapq.heappush(queue, (price, record, cohort, joined[cohort]))
            continue
        cohorts.join(cohort, codes[[record]])
        joined[cohort] += 1
        seated.add(record)
        if person is not None:
            cohorts.people[cohort].add(person)
        yield free.pop(), record


def _in_pairs(cohorts: _Cohorts, offers: list[tuple[float, int, int]], limit: float) -> Iterator[tuple[int, int]]:
    """The same, by twos: newcomers to the same cohort whose sensitive values differ."""
    codes, values, people = _facts(cohorts.table)
    sensitive = cohorts.table.sensitive
    waiting: dict[int, list[int]] = {}
    seated: set[int] = set()
    for _, record, cohort in sorted(offers):
        if record in seated or not cohorts.free.get((cohort, int(values[record]))):
            continue
        others = waiting.setdefault(cohort, [])
        for other in others:
            pair = [other, record]
            persons = {None} if people is None else {int(people[one]) for one in pair}
            differ = bool((sensitive[other] != sensitive[record]).all()) and sensitive.shape[1] > 0
            if (
                other in seated
                or not differ
                or (people is not None and len(persons) < 2)
                or not all(cohorts.may_join(cohort, person) for person in persons)
                or not all(cohorts.free.get((cohort, int(values[one]))) for one in pair)
                or cohorts.cost(cohort, codes[pair]) > 2 * limit
            ):
                continue
            cohorts.join(cohort, codes[pair])
            seated.update(pair)
            if people is not None:
                cohorts.people[cohort].update(person for person in persons if person is not None)
            for one in pair:
                yield cohorts.free[cohort, int(values[one])].pop(), one
            break
        else:
            others.append(record)


def _facts(table: Table) -> tuple[Codes, Longs, Codes | None]:
    return table.records.codes, table.values, table.records.people
