"""The places of a vault in memory, held against its records as they are now.

Between two releases people leave, come back and change. Here it shows: whoever says something else of a sensitive
column than the place does has moved out of it; whoever is back, and says what the place says, has it again if it is
free.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, NamedTuple

import numpy as np
import sqlalchemy as sa

from shoal.cohorts.places import GHOST, TAINTED, Floats, Longs, Past, Places, Table
from shoal.maintain.live import LivePartition
from shoal.privacy import Privacy
from shoal.privacy.requirements import CLOSENESS
from shoal.privacy.sensitive import Distribution
from shoal.records.encode import Records
from shoal.schema import Role
from shoal.vault.state.epoch import Epoch
from shoal.vault.state.passthrough import from_texts
from shoal.vault.state.places import former_rows
from shoal.vault.state.republication import SAFE, Republication
from shoal.vault.store import tables
from shoal.vault.store.checksums import adjusted, checksum
from shoal.vault.store.integrity import check_part, compare_checksum, stored_sums
from shoal.vault.store.queries import chunks, rows_among
from shoal.vault.store.vault_row import vault_row

Formers = Sequence[tuple[str, int, int]]  # hash, place, moved


class Stored(NamedTuple):
    """The places that are, or may be, shown by the next release, as they are stored."""

    ids: Longs
    cohorts: Longs
    holders: Longs  # numbers of records; GHOST: nobody
    carried: list[str | None]
    people: Longs
    tainted: Longs
    since: Longs


@dataclass(frozen=True)
class Placed:
    """Records and places as they are now."""

    table: Table
    places: Places
    stored: Stored
    keys: list[str]  # of the records
    ids: Longs  # the same
    moved: Formers  # who has moved out of a place since the last release
    pasts: dict[int, Past]  # of records without a place
    stale: int  # places whose holders say something else by now, that is not sensitive
    unknown_past: bool  # there are releases from before places were kept
    last_safe: int  # the version of the last `safe` release; 0: there is none


def placed(connection: sa.Connection, live: LivePartition, epoch: Epoch, choice: Republication, where: str) -> Placed:
    """What the vault says of its places, checked."""
    check_part(connection, "formers", where)
    alive = live.alive()
    records = live.records()
    ids = live.ids[alive].astype(np.int64)
    key_of_slot = {slot: key for key, slot in live.keys.items()}
    keys = [key_of_slot[slot] for slot in alive.tolist()]
    stored = _read(connection, where)
    texts = [text for text in stored.carried if text is not None]
    kept = from_texts(texts, epoch.passthrough, where)
    reference = _now(records, live)
    table = Table.of(records, kept, epoch.k, live.settings.rules, epoch.measure, reference, len(texts))
    order = np.argsort(ids)
    holders = _index(ids, order, stored.holders)
    own = np.array([text is not None for text in stored.carried], bool)
    shows = np.where(own, len(records) + np.cumsum(own) - 1, holders)
    places = Places(stored.ids, stored.cohorts, holders, shows, stored.people, stored.tainted)
    places, moved = _move_out(places, table, keys, choice)
    places, pasts = _come_back(connection, places, table, keys, live, choice, moved)
    changed = places.held & (table.values[places.shows] != table.values[np.maximum(places.holders, 0)])
    releases = tables.releases
    shown = connection.scalar(sa.select(releases.c.number).where(releases.c.done.is_(True)).limit(1)) is not None
    unknown = shown and not len(places)
    last = last_safe_version(connection)
    return Placed(table, places, stored, keys, ids, moved, pasts, int(changed.sum()), unknown, last)


def last_safe_version(connection: sa.Connection) -> int:
    """The version of the last release that shows places: it shows those that are not younger. 0: there is none."""
    releases = tables.releases
    safe = releases.c.republication == SAFE, releases.c.done.is_(True)
    return int(connection.scalar(sa.select(sa.func.max(releases.c.version)).where(*safe)) or 0)


def _read(connection: sa.Connection, where: str) -> Stored:
    """All places that have not ended, checked with all others."""
    columns: list[list[Any]] = [[] for _ in tables.PLACE]
    found = 0
    for some in chunks(connection, tables.places, tables.PLACE):
        found = adjusted(found, added=checksum(*some))
        for column, values in zip(columns, some, strict=True):
            column.extend(values)
    compare_checksum(where, stored_sums(vault_row(connection, where)), "places", found, "places")
    ids, cohorts, holders, carried, people, tainted, since, until = columns
    living = np.array([end is None for end in until], bool)
    return Stored(
        np.array(ids, np.int64)[living],
        np.array(cohorts, np.int64)[living],
        np.array([GHOST if holder is None else holder for holder in holders], np.int64)[living],
        [text for text, lives in zip(carried, living.tolist(), strict=True) if lives],
        np.array(people, np.int64)[living],
        np.array(tainted, np.int64)[living],
        np.array(since, np.int64)[living],
    )


def _index(ids: Longs, order: Longs, wanted: Longs) -> Longs:
    """Where the records with these numbers are; GHOST: nowhere."""
    if not len(ids):
        return np.full(len(wanted), GHOST)
    at = np.minimum(np.searchsorted(ids, wanted, sorter=order), len(ids) - 1)
    return np.where(ids[order[at]] == wanted, order[at], GHOST)


def _now(records: Records, live: LivePartition) -> dict[str, Distribution] | None:
    """What closeness is measured against when a cohort begins: the table as it is."""
    if not any(rule.model == CLOSENESS for rule in live.settings.rules) or not len(records):
        return None
    return Privacy.of(records, live.k, live.settings.rules, quiet=True).distributions()


def _move_out(places: Places, table: Table, keys: list[str], choice: Republication) -> tuple[Places, Formers]:
    """Without those who say something else of a sensitive column than their place does.

    If releases show records instead of places, of any column: the release says what has changed.
    """
    held = np.flatnonzero(places.held)
    says = table.sensitive if choice.mode == SAFE else table.values[:, np.newaxis]
    gone = held[(says[places.holders[held]] != says[places.shows[held]]).any(axis=1)]
    moved = [
        row
        for place, holder in zip(places.ids[gone].tolist(), places.holders[gone].tolist(), strict=True)
        for row in former_rows(choice, keys[holder], None, place, moved=True)
    ]
    return places.filled(gone, np.full(len(gone), GHOST)), moved


def _come_back(
    connection: sa.Connection,
    places: Places,
    table: Table,
    keys: list[str],
    live: LivePartition,
    choice: Republication,
    moved: Formers,
) -> tuple[Places, dict[int, Past]]:
    """With those again who are back and say what their place does, if it is free; and the pasts of all others.

    `moved`: who has left a place just now.
    """
    seated = np.zeros(len(keys), bool)
    seated[places.holders[places.held]] = True
    waiting = np.flatnonzero(~seated).tolist()
    if not waiting or not (moved or connection.scalar(sa.select(tables.formers.c.id).limit(1)) is not None):
        return places, {}
    whose = live.table.people()
    by_hash: dict[str, list[int]] = {}
    own = {}
    for record in waiting:
        own[record] = choice.hash_of(keys[record], str(Role.KEY))
        by_hash.setdefault(own[record], []).append(record)
        if whose is not None:
            by_hash.setdefault(choice.hash_of(whose[record], str(Role.PERSON)), []).append(record)
    rows = [*rows_among(connection, tables.formers, ("hash", "place", "moved"), "hash", list(by_hash)), *moved]
    before: dict[int, list[tuple[str, int, int]]] = {}
    for hashed, place, went in rows:
        for record in by_hash.get(hashed, ()):
            before.setdefault(record, []).append((hashed, place, went))
    numbers = np.unique([place for left in before.values() for _, place, _ in left])
    living = np.flatnonzero(np.isin(places.ids, numbers))
    at = dict(zip(places.ids[living].tolist(), living.tolist(), strict=True))
    holders = places.holders.copy()
    doubtful = set(places.cohorts[places.tainted == TAINTED].tolist())
    pasts = {}
    for record, left in before.items():
        free = [
            at[place]
            for hashed, place, _ in left
            if hashed == own[record]
            and place in at
            and holders[at[place]] == GHOST
            and table.values[places.shows[at[place]]] == table.values[record]
        ]
        if free:
            holders[free[0]] = record
            continue
        known = [at[place] for _, place, _ in left if place in at]
        cohorts = set(places.cohorts[known].tolist())
        others = (table.sensitive[places.shows[known]] != table.sensitive[record]).any(axis=1)
        other_rows = table.values[places.shows[known]] != table.values[record]
        pasts[record] = Past(
            cohorts=sorted(cohorts),
            places=places.ids[known].tolist(),
            moved=all(went for _, _, went in left) and bool(others.all()),  # else: as before, or that again
            changed=bool(other_rows.any()),
            known=len(known) == len(left) and not cohorts & doubtful,
        )
    return replace(places, holders=holders), pasts


def waited(connection: sa.Connection, ids: Longs, choice: Republication, number: int, now: str) -> Floats:
    """How much longer each record may wait: 1 has just come, 0 must go out; infinity: as long as it takes."""
    patience = np.full(len(ids), np.inf)
    releases, days = choice.hold_in_releases, choice.hold_in_days
    if releases is None and days is None:
        return patience
    patience[:] = 1.0
    rows = [row for some in chunks(connection, tables.waiting, tables.WAITING) for row in zip(*some, strict=True)]
    index = {record: i for i, record in enumerate(ids.tolist())}
    for record, release, since in rows:
        if releases is not None:
            passed = (number - release) / releases
        else:
            assert days is not None
            passed = (datetime.fromisoformat(now) - datetime.fromisoformat(since)).total_seconds() / 86_400 / days
        if record in index:
            patience[index[record]] = max(0.0, 1.0 - passed)
    return patience
