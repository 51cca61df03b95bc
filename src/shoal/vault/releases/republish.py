"""What a release does to the places of a vault: who holds which after it, and who waits.

`audit`: the release shows records; each has a place, and a cohort is an atom, people whom no release tells apart.
`safe`: the release shows places, in cohorts that never change.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import sqlalchemy as sa

from shoal.cohorts.first import first_cohorts
from shoal.cohorts.places import GHOST, NEW, Longs, Places
from shoal.cohorts.step import Policy, next_places
from shoal.progress import Progress
from shoal.vault.releases.placed import Formers, Placed, contents_texts, texts_of, waited
from shoal.vault.releases.unused_labels import forget_groups
from shoal.vault.state.places import PlaceRow, add_formers
from shoal.vault.state.republication import SAFE, Republication
from shoal.vault.state.state import State
from shoal.vault.store import tables
from shoal.vault.store.queries import chunks, rows_among
from shoal.vault.store.store import Store


class Counts(NamedTuple):
    """What the manifest says of a `safe` release."""

    ghosts: int
    waiting: int
    stale: int


@dataclass(frozen=True)
class Placement:
    """The places after a release, and what must be written for it."""

    places: Places  # those that it shows, by rising number; new ones have theirs
    choice: Republication
    counts: Counts
    inserted: list[PlaceRow]
    held: list[tuple[int, int | None]]  # place, holder
    regrouped: list[tuple[int, int]]  # place, cohort
    entered: list[tuple[int, int]]  # place, since: the first `safe` release shows it
    ended: list[tuple[int, None, str | None, int]]  # place, holder, what it says (null: it is forgotten), until
    formers: Formers
    waiting: list[int]  # numbers of the records that nobody sees


def audited_places(placed: Placed, classes: Longs, choice: Republication) -> Placement:
    """After a release that shows every record, in these classes: everybody has a place, and cohorts are atoms."""
    places, n = placed.places, len(placed.table.records)
    seated = np.zeros(n, bool)
    seated[places.holders[places.held]] = True
    fresh = np.flatnonzero(~seated)
    taint = not len(places) and placed.unknown_past
    every = places.begun_with(fresh, np.full(len(fresh), choice.next_cohort), _people(placed, fresh))
    every = replace(every, tainted=every.tainted | (taint & (every.ids == NEW)))
    shown = np.where(every.held, classes[np.maximum(every.holders, 0)], GHOST)
    # An atom that stays together keeps its number; of one that is told apart, the first part does.
    pairs = np.stack([every.cohorts, shown])
    _, first, atom = np.unique(pairs, axis=1, return_index=True, return_inverse=True)
    atom = atom.reshape(-1)
    old = every.cohorts[first]
    again = np.ones(len(first), bool)
    again[np.unique(old, return_index=True)[1]] = False
    again |= old >= choice.next_cohort
    numbers = np.where(again, choice.next_cohort + np.cumsum(again) - 1, old)
    every = replace(every, cohorts=numbers[atom])
    choice = replace(choice, next_cohort=choice.next_cohort + int(again.sum()))
    return _written(placed, every, choice, version=0, shown_before=False)


def safe_places(
    connection: sa.Connection,
    state: State,
    placed: Placed,
    choice: Republication,
    number: int,
    now: str,
    progress: Progress,
    *,
    switching: bool,
) -> Placement:
    """The places of a `safe` release. `switching`: the releases so far were others."""
    live, table = state.live, placed.table
    groups = live.labels[live.alive()].astype(np.int64)
    places, pasts = placed.places, placed.pasts
    if switching and len(places):
        places = first_cohorts(table, places, groups)
    if len(places):
        policy = Policy(
            average=live.loss() / max(1, len(table.records)),
            method=live.settings.static_method,
            vacancies=choice.vacancies,
            seed=None if state.epoch.seed is None else state.epoch.seed + state.version,
        )
        patience = waited(connection, placed.ids, choice, number, now)
        places = next_places(table, places, pasts, patience, policy, choice.next_cohort, progress)
    else:  # everybody begins, in the groups that there are
        everybody = np.arange(len(table.records))
        places = places.begun_with(everybody, choice.next_cohort + groups, _people(placed, everybody))
        if placed.unknown_past:
            places = replace(places, tainted=np.ones(len(places), bool))
    choice = replace(choice, next_cohort=max(choice.next_cohort, int(places.cohorts.max(initial=-1)) + 1))
    return _written(placed, places, choice, version=state.version, shown_before=not switching)


def _people(placed: Placed, records: Longs) -> Longs | None:
    people = placed.table.records.people
    return None if people is None else people[records].astype(np.int64)


def _written(placed: Placed, places: Places, choice: Republication, *, version: int, shown_before: bool) -> Placement:
    """The difference to what is stored. `shown_before`: `safe` releases have shown these places."""
    stored = placed.stored
    at = {number: i for i, number in enumerate(stored.ids.tolist())}
    own = places.ids != NEW
    index = np.array([at[number] for number in places.ids[own].tolist()], np.int64)
    moved = np.zeros(len(places), bool)  # to another cohort: for releases that show places, that is another place
    moved[own] = stored.cohorts[index] != places.cohorts[own]
    renewed = moved & shown_before
    new = ~own | renewed
    ids = places.ids.copy()
    ids[new] = choice.next_place + np.arange(int(new.sum()))
    choice = replace(choice, next_place=choice.next_place + int(new.sum()))

    record_ids = np.where(places.held, placed.ids[np.maximum(places.holders, 0)] if len(placed.ids) else 0, GHOST)
    own_texts = _own_texts(placed, places, new)
    inserted = [
        PlaceRow(number, cohort, None if holder == GHOST else holder, text, person, int(tainted), version, None)
        for number, cohort, holder, text, person, tainted in zip(
            ids[new].tolist(),
            places.cohorts[new].tolist(),
            record_ids[new].tolist(),
            own_texts,
            places.people[new].tolist(),
            places.tainted[new].tolist(),
            strict=True,
        )
    ]
    kept = own & ~renewed
    kept_index = index[kept[own]]
    other = stored.holders[kept_index] != record_ids[kept]
    held = list(zip(ids[kept][other].tolist(), _or_none(record_ids[kept][other]), strict=True))
    else_grouped = moved & kept
    regrouped = list(zip(ids[else_grouped].tolist(), places.cohorts[else_grouped].tolist(), strict=True))
    entered = [(number, version) for number in ids[kept].tolist()] if version and not shown_before else []
    tainted = stored.tainted[kept_index] != places.tainted[kept]
    regrouped_ids = {number for number, _ in regrouped}
    regrouped += [
        (number, cohort)
        for number, cohort in zip(ids[kept][tainted].tolist(), places.cohorts[kept][tainted].tolist(), strict=True)
        if number not in regrouped_ids
    ]
    ended = _ended(placed, places, renewed, version)
    shown = replace(places, ids=ids).only(np.argsort(ids, kind="stable"))
    seated = np.zeros(len(placed.keys), bool)
    seated[places.holders[places.held]] = True
    waiting = placed.ids[~seated].tolist()
    counts = Counts(int((~places.held).sum()), len(waiting), placed.stale)
    return Placement(shown, choice, counts, inserted, held, regrouped, entered, ended, placed.moved, waiting)


def _or_none(holders: Longs) -> list[int | None]:
    return [None if holder == GHOST else holder for holder in holders.tolist()]


def _own_texts(placed: Placed, places: Places, new: np.ndarray) -> list[str | None]:
    """What new places say, where that is not what their holders say."""
    n = len(placed.keys)
    return [
        None if row == holder else placed.texts[row - n] if row >= n else _text(placed, row)
        for row, holder in zip(places.shows[new].tolist(), places.holders[new].tolist(), strict=True)
    ]


def _text(placed: Placed, record: int) -> str:
    return contents_texts(placed.table.records.passthrough, np.array([record]))[0]


def _ended(
    placed: Placed, places: Places, renewed: np.ndarray, version: int
) -> list[tuple[int, None, str | None, int]]:
    """Places that are shown no more: of cohorts that nobody is left of, and those that have become others."""
    stored = placed.stored
    still = np.isin(stored.ids, places.ids[~renewed])
    again = np.isin(stored.ids, places.ids[renewed])
    before = placed.places
    texts = texts_of(placed, before.shows[again], contents_texts(placed.table.records.passthrough, np.arange(0)))
    rows: list[tuple[int, None, str | None, int]] = [
        (number, None, text, version) for number, text in zip(stored.ids[again].tolist(), texts, strict=True)
    ]
    rows += [(number, None, None, version) for number in stored.ids[~still & ~again].tolist()]
    return rows


def enter_placement(
    store: Store, connection: sa.Connection, placement: Placement, number: int, now: str, *, safe: bool
) -> Republication:
    """Write it, in the transaction that makes the release part of the history. The choice as it is then."""
    places = tables.places
    store.update(connection, places, ("id", "holder"), placement.held)
    tainted = dict(zip(placement.places.ids.tolist(), placement.places.tainted.tolist(), strict=True))
    store.update(
        connection,
        places,
        ("id", "cohort", "tainted"),
        [(one, cohort, int(tainted[one])) for one, cohort in placement.regrouped],
    )
    store.update(connection, places, ("id", "since"), placement.entered)
    _end(store, connection, placement.ended)
    store.insert(connection, places, tables.PLACE, placement.inserted)
    choice = add_formers(store, connection, placement.choice, placement.formers)
    _wait(store, connection, placement.waiting if safe else [], number, now)
    return choice


def forget_places(store: Store, connection: sa.Connection) -> None:
    """A vault that looks at each release alone has no use for places, but for those that some have shown."""
    never = connection.scalars(sa.select(tables.places.c.id).where(tables.places.c.since == 0)).all()
    store.delete(connection, tables.places, "id", np.array(never, np.int64))
    for table in (tables.waiting, tables.formers):
        store.clear(connection, table)


def _end(store: Store, connection: sa.Connection, ended: Sequence[tuple[int, None, str | None, int]]) -> None:
    """Places that are shown no more. What `safe` releases showed of them stays as a number, or goes with the rest."""
    places, releases = tables.places, tables.releases
    numbers = np.array([number for number, *_ in ended], np.int64)
    known = {row[0]: row for row in rows_among(connection, places, ("id", "since", "cohort"), "id", numbers)}
    never = {number for number, since, _ in known.values() if not since}
    store.delete(connection, places, "id", np.array(sorted(never), np.int64))
    ended = [row for row in ended if row[0] not in never]
    store.update(connection, places, ("id", "holder", "carried", "until"), ended)
    forgotten = [known[number] for number, _, text, _ in ended if text is None]
    if not forgotten:
        return
    first = np.array([since for _, since, _ in forgotten], np.int64)
    history = connection.execute(
        sa.select(releases.c.number, releases.c.version, releases.c.erased).where(
            releases.c.republication == SAFE, releases.c.done.is_(True)
        )
    ).all()
    changed = [
        (number, erased + int((first <= version).sum()))
        for number, version, erased in history
        if (first <= version).any()
    ]
    store.update(connection, releases, ("number", "erased"), changed)
    forget_groups(store, connection, np.unique([cohort for _, _, cohort in forgotten]))


def _wait(store: Store, connection: sa.Connection, waiting: Sequence[int], number: int, now: str) -> None:
    """Who waits now, and since when."""
    known = {row[0] for some in chunks(connection, tables.waiting, ("record_id",)) for row in zip(*some, strict=True)}
    gone = known - set(waiting)
    store.delete(connection, tables.waiting, "record_id", np.array(sorted(gone), np.int64))
    store.insert(
        connection, tables.waiting, tables.WAITING, [(one, number, now) for one in waiting if one not in known]
    )
