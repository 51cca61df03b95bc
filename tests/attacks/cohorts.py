"""A publisher that gives nothing away, in thirty lines: what the attacks must let pass.

People are published together as a cohort, once there are k with several values who wait. A cohort is published for
ever with the rows that it began with. Who leaves, or changes, leaves a place with its row; who returns takes it again,
and somebody new takes one whose row shows the same. It knows nothing of boxes: the class of a row is its cohort.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path

from tests.attacks.histories import History, Living, Plan
from tests.attacks.sources import Record
from tests.attacks.steward import Row


@dataclass
class _Place:
    name: str
    cells: tuple[str, ...]
    shows: Record
    first: str  # the key of who has held it first
    holder: str | None


def lived_in_cohorts(folder: Path, plan: Plan, k: int, ell: int) -> History:
    """As `histories.lived`, by this publisher."""
    living = Living(plan)
    living.first()
    history, places = History(plan, people=living.people), list[_Place]()
    for number in range(1, plan.releases + 1):
        if number > 1:
            living.changes()
        _place(plan, places, living.here, k, ell)
        history.files.append(folder / f"{number}.csv")
        _write(history.files[-1], plan, places)
        history.rows.append([Row(place.cells, place.holder, place.name) for place in places])
        history.records.append(dict(living.here))
    return history


def _place(plan: Plan, places: list[_Place], here: dict[str, Record], k: int, ell: int) -> None:
    def fits(record: Record | None, place: _Place) -> bool:
        names = plan.source.sensitive, plan.source.insensitive
        return record is not None and all(record[name] == place.shows[name] for name in names)

    for place in places:
        if place.holder is not None and not fits(here.get(place.holder), place):
            place.holder = None
        if place.holder is None and fits(here.get(place.first), place):
            place.holder = place.first
    known = {place.first for place in places} | {place.holder for place in places}
    waiting = {key: record for key, record in here.items() if key not in known}
    for key in list(waiting):
        free = [place for place in places if place.holder is None and fits(waiting[key], place)]
        if free:
            free[0].holder = key
            del waiting[key]
    if len(waiting) >= k and len({record[plan.source.sensitive] for record in waiting.values()}) >= ell:
        several = len(plan.source.quasi_identifiers)
        for key, record in waiting.items():
            cells = (f"cohort {len(places)}", *["*"] * (several - 1))
            places.append(_Place(f"place of {key}", cells, record, key, key))
        for place in places[-len(waiting) :]:
            place.cells = places[-len(waiting)].cells


def _write(path: Path, plan: Plan, places: list[_Place]) -> None:
    names, others = plan.source.quasi_identifiers, [plan.source.insensitive, plan.source.sensitive]
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow([*names, *others])
        writer.writerows([*place.cells, *(place.shows[name] for name in others)] for place in places)
