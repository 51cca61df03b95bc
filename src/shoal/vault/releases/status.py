"""How a vault stands: read from the tables, whoever is writing."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import sqlalchemy as sa

from shoal.schema import Role
from shoal.vault.facts import Status
from shoal.vault.releases.history import last_release
from shoal.vault.state.epoch import read_epoch
from shoal.vault.state.load import load_dictionary
from shoal.vault.state.republication import SAFE, Republication
from shoal.vault.store import tables
from shoal.vault.store.damage import damaged
from shoal.vault.store.integrity import check_part, check_records, stored_sums
from shoal.vault.store.parts import PARTS
from shoal.vault.store.queries import row_of
from shoal.vault.store.store import Store
from shoal.vault.store.vault_row import vault_row

RECORDS = ("keys", "values", "groups")
MANY_OUTSIDE = 0.01  # the share of records outside a domain that is worth a word


def look_at_everything(connection: sa.Connection, where: str) -> None:
    """Raise Damaged if records, what their values are, or what is kept of releases, is not what was stored."""
    load_dictionary(connection, stored_sums(vault_row(connection, where)), where)
    check_records(connection, RECORDS, where)
    for part in (part for part in PARTS if part not in ("dictionary", *RECORDS)):
        check_part(connection, part, where)


def status_of(connection: sa.Connection, store: Store, *, keys_hashed: bool) -> Status:
    where = store.where
    row = vault_row(connection, where)
    epoch = read_epoch(connection, row["epoch"], where)
    for part in ("batches", "releases"):
        check_part(connection, part, where)
    batches = tables.batches
    batch = row_of(connection, sa.select(batches).where(batches.c.version == row["version"]))
    if batch is None:
        raise damaged(where, "its log is not what was stored")
    last = last_release(connection)
    since = batches.c.version > (0 if last is None else last["version"])
    sums = [sa.func.coalesce(sa.func.sum(batches.c[name]), 0) for name in ("inserted", "updated", "deleted")]
    count, inserted, updated, deleted = connection.execute(sa.select(sa.func.count(), *sums).where(since)).one()
    outside = json.loads(batch["outside"])
    many = [name for name, share in outside.items() if share >= MANY_OUTSIDE]
    notes = [
        f"{outside[name]:.0%} of the records lie outside the domain of {name!r}; they cost at most as much as *. "
        "`shoal rebase` measures anew."
        for name in many
    ]
    choice = Republication.from_row(row)
    waiting, ghosts, living = _places(connection, choice, batch["records"], last, where)
    obstacles = [] if living else json.loads(batch["obstacles"])
    return Status(
        vault=where,
        version=row["version"],
        epoch=epoch.number,
        records=batch["records"],
        groups=batch["groups"],
        smallest=batch["smallest"],
        counted="people" if epoch.schema.names(Role.PERSON) else "records",
        k=epoch.k,
        rules=[str(rule) for rule in epoch.settings().rules],
        measure=epoch.measure,
        maintainer=epoch.maintainer,
        loss=batch["loss"],
        publishable=not obstacles,
        obstacles=obstacles,
        outside=outside,
        notes=notes,
        last_release=None if last is None else last["number"],
        last_published=None if last is None else last["published"],
        changes_since=int(count),
        inserted_since=int(inserted),
        updated_since=int(updated),
        deleted_since=int(deleted),
        source_position=row["source_position"],
        keys_hashed=keys_hashed,
        republication=choice.mode,
        max_hold=choice.max_hold,
        vacancies=choice.vacancies,
        waiting=waiting,
        ghosts=ghosts,
        size=store.backend.size(connection),
    )


def _places(
    connection: sa.Connection, choice: Republication, records: int, last: Mapping[str, Any] | None, where: str
) -> tuple[int, int, bool]:
    """Of a vault whose releases are safe: how many wait, how many ghosts there are, and whether anybody has a place."""
    places = tables.places
    if choice.mode != SAFE or last is None or last["republication"] != SAFE:
        return 0, 0, False
    check_part(connection, "places", where)
    shown = (places.c.until.is_(None), places.c.since <= last["version"])
    held = connection.scalar(sa.select(sa.func.count(places.c.holder)).where(*shown)) or 0
    every = connection.scalar(sa.select(sa.func.count()).select_from(places).where(*shown)) or 0
    return (records - int(held) if every else 0), int(every - held), held > 0
