"""What a release does to the places of a vault: who holds which after it, and who waits.

`audit`: the release shows records; each has a place, and a cohort is an atom, people whom no release tells apart.
`safe`: the release shows places, in cohorts that never change.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import sqlalchemy as sa
from numpy.typing import NDArray

from shoal.cohorts.first import first_cohorts
from shoal.cohorts.places import GHOST, NEW, TAINTED, Bools, Longs, Places, Table
from shoal.cohorts.step import Policy, next_places
from shoal.progress import Progress
from shoal.vault.releases.placed import Formers, Placed, last_safe_version, waited
from shoal.vault.releases.unused_labels import forget_groups
from shoal.vault.state.erased_values import without_domains
from shoal.vault.state.places import add_formers
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
    inserted: list[tuple[Any, ...]]  # rows of `places`
    held: list[tuple[int, int | None]]  # place, holder
    regrouped: list[tuple[int, ...]]  # place, cohort, tainted
    entered: list[tuple[int, ...]]  # place, since: of those that are in another cohort now
    parted: list[tuple[int, ...]]  # as `memberships` has it: in which cohort a place was
    ended: list[tuple[int, int]]  # place, until: nobody of its cohort is left
    formers: Formers
    waiting: list[int]  # numbers of the records that nobody sees
    last_safe: int  # the version of the last `safe` release before this one
    unknown_past: bool  # there are releases from before places were kept
    with_past: bool  # somebody comes who had a place before, with other values or after an absence
    told_apart: int = 0  # of a release that shows records: whom it tells apart in sets too small, with those before


def audited_places(placed: Placed, classes: Longs, choice: Republication, version: int) -> Placement:
    """After a release that shows every record, in these classes: everybody has a place, and cohorts are atoms."""
    places, n = placed.places, len(placed.table.records)
    seated = np.zeros(n, bool)
    seated[places.holders[places.held]] = True
    fresh = np.flatnonzero(~seated)
    taint = not len(places) and placed.unknown_past
    every = places.begun_with(fresh, np.full(len(fresh), choice.next_cohort), _people(placed, fresh))
    every = replace(every, tainted=np.where(taint & (every.ids == NEW), TAINTED, every.tainted))
    every = every.tying(placed.pasts)
    shown = np.where(every.held, classes[np.maximum(every.holders, 0)], GHOST)
    # An atom that stays together keeps its number; of one that is told apart, the first part does.
    _, cohort = np.unique(every.cohorts, return_inverse=True)
    pairs = cohort * (int(shown.max(initial=GHOST)) + 2) + shown - GHOST
    _, first, atom = np.unique(pairs, return_index=True, return_inverse=True)
    old = every.cohorts[first]
    again = np.ones(len(first), bool)
    again[np.unique(old, return_index=True)[1]] = False
    again |= old >= choice.next_cohort
    numbers = np.where(again, choice.next_cohort + np.cumsum(again) - 1, old)
    told_apart = _told_apart(placed.table, every, replace(every, cohorts=numbers[atom]), shown)
    every = replace(every, cohorts=numbers[atom])
    choice = replace(choice, next_cohort=choice.next_cohort + int(again.sum()))
    return replace(_written(placed, every, choice, version), told_apart=told_apart)


def _told_apart(table: Table, before: Places, now: Places, classes: Longs) -> int:
    """Of how many people (or records) an atom lacks what is asked, that was larger before, or that nobody saw yet; or
    has one value of a sensitive column, where those whom it is told apart from have others.

    `classes`: of each place in the release; GHOST: it is in none.
    """
    sizes = [np.unique(places.cohorts, return_inverse=True, return_counts=True)[1:] for places in (before, now)]
    (of_old, old), (of_new, new) = sizes
    doubtful = (now.ids == NEW) | (new[of_new] < old[of_old])
    if not doubtful.any():
        return 0
    # An atom is doubtful as a whole: if it became smaller, it did for all of it; who is new was in none.
    few = np.zeros(len(now), bool)
    atoms, holds = table.holds(now.only(doubtful))
    few[doubtful] = ~holds[np.searchsorted(atoms, now.cohorts[doubtful])]
    for values in table.sensitive[now.shows].T:
        from_others = (now.ids == NEW) | _several(values, of_old)
        says_so = now.held & ~_several(values, classes - GHOST)  # the class itself
        few |= doubtful & ~_several(values, of_new) & from_others & ~says_so
    return int(few.sum())


def _several(values: NDArray[np.integer], sets: Longs) -> Bools:
    """Of each, whether the set that it is in has several values."""
    one = np.zeros(int(sets.max(initial=0)) + 1, values.dtype)
    one[sets] = values
    several = np.zeros(len(one), bool)
    several[sets[values != one[sets]]] = True
    return several[sets]


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
    unchanged: bool,
) -> Placement:
    """The places of a `safe` release. `switching`: the releases so far were others; `unchanged`: so is the vault."""
    live, table = state.live, placed.table
    groups = live.labels[live.alive()].astype(np.int64)
    places, pasts = placed.places, placed.pasts
    if switching and len(places):
        places = first_cohorts(table, places, groups)
    if len(places) and unchanged:
        pass  # what one version shows, every release of it shows
    elif len(places):
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
            places = replace(places, tainted=np.full(len(places), TAINTED))
    choice = replace(choice, next_cohort=max(choice.next_cohort, int(places.cohorts.max(initial=-1)) + 1))
    return _written(placed, places, choice, state.version)


def _people(placed: Placed, records: Longs) -> Longs | None:
    people = placed.table.records.people
    return None if people is None else people[records].astype(np.int64)


def _written(placed: Placed, places: Places, choice: Republication, version: int) -> Placement:
    """The difference to what is stored. `version`: of the release."""
    stored = placed.stored
    own = places.ids != NEW
    index = np.searchsorted(stored.ids, places.ids[own])
    ids = places.ids.copy()
    # In no order: the numbers of places must not tell who came after whom.
    ids[~own] = choice.next_place + np.random.default_rng(secrets.randbits(128)).permutation(int((~own).sum()))
    count = int((~own).sum())
    with_past = bool(placed.moved) or bool(placed.pasts)
    doubtful = choice.doubtful or with_past or placed.unknown_past
    choice = replace(choice, next_place=choice.next_place + count, doubtful=doubtful)
    holders = np.where(places.held, placed.ids[np.maximum(places.holders, 0)] if len(placed.ids) else 0, GHOST)
    columns = (ids, places.cohorts, holders, None, places.people, places.tainted, version, None)
    inserted = sorted(
        zip(
            *([one] * count if one is None or isinstance(one, int) else one[~own].tolist() for one in columns),
            strict=True,
        )
    )
    other = holders[own] != stored.holders[index]
    held = list(zip(ids[own][other].tolist(), _or_none(holders[own][other]), strict=True))
    cohorts, since = places.cohorts[own], stored.since[index]
    moved = cohorts != stored.cohorts[index]
    regrouped = moved | (places.tainted[own] != stored.tainted[index])
    parted = moved & (since <= placed.last_safe)  # what earlier releases show of them is where they were
    left = ~np.isin(stored.ids, places.ids)
    seated = np.zeros(len(placed.keys), bool)
    seated[places.holders[places.held]] = True
    waiting = placed.ids[~seated].tolist()
    return Placement(
        places=replace(places, ids=ids).only(np.argsort(ids, kind="stable")),
        choice=choice,
        counts=Counts(int((~places.held).sum()), len(waiting), placed.stale),
        inserted=inserted,
        held=held,
        regrouped=_rows(regrouped, ids[own], cohorts, places.tainted[own]),
        entered=_rows(parted, ids[own], np.full(len(since), version)),
        parted=_rows(parted, -ids[own], since, np.full(len(since), version), stored.cohorts[index]),
        ended=[(number, version) for number in stored.ids[left].tolist()],
        formers=placed.moved,
        waiting=waiting,
        last_safe=placed.last_safe,
        unknown_past=placed.unknown_past,
        with_past=with_past,
    )


def _rows(which: Bools, *columns: Longs) -> list[tuple[int, ...]]:
    return list(zip(*(column[which].tolist() for column in columns), strict=True))


def _or_none(holders: Longs) -> list[int | None]:
    return [None if holder == GHOST else holder for holder in holders.tolist()]


def enter_placement(
    store: Store, connection: sa.Connection, placement: Placement, number: int, now: str, *, safe: bool
) -> Republication:
    """Write it, in the transaction that makes the release part of the history. The choice as it is then."""
    places = tables.places
    store.update(connection, places, ("id", "holder"), placement.held)
    store.update(connection, places, ("id", "cohort", "tainted"), placement.regrouped)
    store.update(connection, places, ("id", "since"), placement.entered)
    store.insert(connection, tables.memberships, tables.MEMBERSHIP, placement.parted)
    _end(store, connection, placement.ended, np.unique(placement.places.cohorts), placement.last_safe)
    store.insert(connection, places, tables.PLACE, placement.inserted)
    choice = add_formers(store, connection, placement.choice, placement.formers)
    _wait(store, connection, placement.waiting if safe else [], number, now)
    return choice


def forget_places(store: Store, connection: sa.Connection) -> None:
    """A vault that looks at each release alone has no use for places, but for those that some have shown."""
    places = tables.places
    new = places.c.since > last_safe_version(connection), places.c.until.is_(None)
    never = connection.scalars(sa.select(places.c.id).where(*new)).all()
    store.delete(connection, tables.places, "id", np.array(never, np.int64))
    for table in (tables.waiting, tables.formers):
        store.clear(connection, table)


def _end(
    store: Store, connection: sa.Connection, ended: Sequence[tuple[int, int]], living: Longs, last_safe: int
) -> None:
    """Places of cohorts that nobody is left of: of what releases showed of them, numbers stay, and nothing else.

    `living`: the cohorts that somebody is left of. Places that have come since `last_safe` were never shown.
    """
    places, releases = tables.places, tables.releases
    numbers = np.array([number for number, _ in ended], np.int64)
    known = rows_among(connection, places, ("id", "since", "cohort"), "id", numbers)
    never = {number for number, since, _ in known if since > last_safe}
    store.delete(connection, places, "id", np.array(sorted(never), np.int64))
    forgotten = [(number, None, None, until) for number, until in ended if number not in never]
    store.update(connection, places, ("id", "holder", "carried", "until"), forgotten)
    if not forgotten:
        return
    first = {number: since for number, since, _ in known if number not in never}
    before = rows_among(connection, tables.memberships, ("record_id", "since", "group_id"), "record_id", -numbers)
    for number, since, _ in before:
        first[-number] = min(first.get(-number, since), since)
    shown_since = np.array(list(first.values()), np.int64)
    columns = ("number", "version", "erased", "manifest")
    shown = releases.c.republication == SAFE, releases.c.done.is_(True)
    history = connection.execute(sa.select(*(releases.c[name] for name in columns)).where(*shown)).all()
    changed = [
        (number, erased + int((shown_since <= version).sum()), without_domains(manifest))
        for number, version, erased, manifest in history
        if (shown_since <= version).any()
    ]
    store.update(connection, releases, ("number", "erased", "manifest"), changed)
    cohorts = np.unique([cohort for _, _, cohort in [*known, *before]])
    needed = np.union1d(living, _of_the_living(connection, cohorts))
    forget_groups(store, connection, np.setdiff1d(cohorts, needed))


def _of_the_living(connection: sa.Connection, cohorts: Longs) -> Longs:
    """Those of the cohorts that places were in, before they were parted, of whose cohort somebody is left."""
    past = rows_among(connection, tables.memberships, ("record_id", "group_id"), "group_id", cohorts)
    places = np.array([-number for number, _ in past if number < 0], np.int64)
    ends = rows_among(connection, tables.places, ("id", "until"), "id", np.unique(places))
    living = {number for number, until in ends if until is None}
    return np.array([cohort for number, cohort in past if -number in living], np.int64)


def _wait(store: Store, connection: sa.Connection, waiting: Sequence[int], number: int, now: str) -> None:
    """Who waits now, and since when."""
    known = {row[0] for some in chunks(connection, tables.waiting, ("record_id",)) for row in zip(*some, strict=True)}
    gone = known - set(waiting)
    store.delete(connection, tables.waiting, "record_id", np.array(sorted(gone), np.int64))
    store.insert(
        connection, tables.waiting, tables.WAITING, [(one, number, now) for one in waiting if one not in known]
    )
