"""Places follow a batch: who is deleted leaves a ghost, who is updated keeps the place.

What a place says is fixed when a release has shown it. As long as its holder says the same, it is not written down
twice; when the holder goes or changes, the place keeps it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import sqlalchemy as sa

from shoal.schema import Role
from shoal.vault.state.republication import Republication
from shoal.vault.store import tables
from shoal.vault.store.queries import rows_among
from shoal.vault.store.rows import Record
from shoal.vault.store.store import Store


class PlaceRow(NamedTuple):
    """A row of the table `places`."""

    id: int
    cohort: int
    holder: int | None
    carried: str | None
    person: int
    tainted: int
    since: int
    until: int | None


class Former(NamedTuple):
    """A row of the table `formers`."""

    id: int
    hash: str
    place: int
    moved: int


def follow_batch(
    store: Store,
    connection: sa.Connection,
    republication: Republication,
    deleted: Sequence[Record],
    replaced: Mapping[int, tuple[Record, int]],
    handed_over: Sequence[Record] = (),
) -> Republication:
    """Places as a batch leaves them. `replaced`: by number, what records were and the number that they have now.

    `handed_over`: records that are somebody else's now. The one whose they were has left; the other is a newcomer.
    """
    gone = {record.id: record for record in [*deleted, *handed_over]}
    others = {record.id for record in handed_over}
    ids = np.array([*gone, *replaced], np.int64)
    held = [PlaceRow(*row) for row in rows_among(connection, tables.places, tables.PLACE, "holder", ids)]
    formers: list[tuple[str, int, int]] = []
    changed: list[tuple[int, int | None, str]] = []
    for place in held:
        number = place.holder
        assert number is not None
        if number in gone:
            record = gone[number]
            changed.append((place.id, None, record.carried if place.carried is None else place.carried))
            rows = former_rows(republication, record.key, record.person, place.id, moved=False)
            formers += rows[1:] if number in others else rows
        else:
            record, new = replaced[number]
            changed.append((place.id, new, record.carried if place.carried is None else place.carried))
    store.update(connection, tables.places, ("id", "holder", "carried"), changed)
    formers += _went_away(store, connection, republication, deleted)
    _follow_waiting(store, connection, replaced, ids)
    return add_formers(store, connection, republication, formers)


def former_rows(
    republication: Republication, key: str, person: str | None, place: int, *, moved: bool
) -> list[tuple[str, int, int]]:
    """Who has left a place, without numbers yet."""
    rows = [(republication.hash_of(key, str(Role.KEY)), place, int(moved))]
    if person is not None and not moved:
        rows.append((republication.hash_of(person, str(Role.PERSON)), place, 0))
    return rows


def add_formers(
    store: Store, connection: sa.Connection, republication: Republication, rows: Sequence[tuple[str, int, int]]
) -> Republication:
    first = republication.next_former
    numbered = [Former(first + i, *row) for i, row in enumerate(rows)]
    store.insert(connection, tables.formers, tables.FORMER, numbered)
    return replace(republication, next_former=first + len(rows))


def _follow_waiting(
    store: Store, connection: sa.Connection, replaced: Mapping[int, tuple[Record, int]], ids: np.ndarray
) -> None:
    rows = store.delete(connection, tables.waiting, "record_id", ids)
    again = [(replaced[number][1], release, since) for number, release, since in rows if number in replaced]
    store.insert(connection, tables.waiting, tables.WAITING, again)


def _went_away(
    store: Store, connection: sa.Connection, republication: Republication, deleted: Sequence[Record]
) -> list[tuple[str, int, int]]:
    """Whoever has moved and is deleted before a release shows the new value was away, if ever he comes back.

    Returns by what else he is known then: as the person whose record it was.
    """
    whose = {republication.hash_of(record.key, str(Role.KEY)): record.person for record in deleted}
    names = ("id", "hash", "place")
    moved = rows_among(connection, tables.formers, names, "hash", list(whose), tables.formers.c.moved == 1)
    store.update(connection, tables.formers, ("id", "moved"), [(number, 0) for number, _, _ in moved])
    return [
        (republication.hash_of(str(whose[hashed]), str(Role.PERSON)), place, 0)
        for _, hashed, place in moved
        if whose[hashed] is not None
    ]
