"""Events: what has been done to a vault that is no batch, and by whom."""

from __future__ import annotations

import getpass
import json
import secrets
import time
from contextlib import suppress
from typing import Any

import sqlalchemy as sa

from shoal.errors import VaultBusy, VaultError
from shoal.vault.store import tables
from shoal.vault.store.damage import damaged
from shoal.vault.store.drafts import LONGEST_WAIT
from shoal.vault.store.integrity import check_part
from shoal.vault.store.queries import rows_of
from shoal.vault.store.rows import as_json, digest, now
from shoal.vault.store.store import Store
from shoal.vault.store.vault_row import vault_row


def current_user() -> str | None:
    """The user of the system; None where it does not say."""
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):
        return None


def note_event(store: Store, kind: str, *, in_turn: bool, **facts: object) -> None:
    """Keep what has just been done. It has been, whether this works or not: a read-only disk is no reason to fail.

    `in_turn`: the caller has the writer's turn. Where somebody else has it, the row is left to the next writer to sum.
    """
    with suppress(VaultError):
        if in_turn:
            _note(store, kind, facts, summed=True)
            return
        with suppress(VaultBusy), store.writer(0):
            _note(store, kind, facts, summed=True)
            return
        _note_patiently(store, kind, facts)


def _note_patiently(store: Store, kind: str, facts: dict[str, object]) -> None:
    """Between two transactions of somebody else."""
    deadline = time.monotonic() + LONGEST_WAIT
    while True:
        try:
            _note(store, kind, facts, summed=False)
            return
        except VaultBusy:
            if time.monotonic() >= deadline:
                raise


def _note(store: Store, kind: str, facts: dict[str, object], *, summed: bool) -> None:
    with store.write() as connection:
        row: dict[str, object] = {
            "id": secrets.randbits(62),
            "at": now(),
            "who": current_user(),
            "kind": kind,
            "version": vault_row(connection, store.where)["version"],
            "facts": as_json(facts),
        }
        row |= {"sha256": digest(row), "summed": summed}
        store.insert(connection, tables.events, tuple(row), [tuple(row.values())])


def sum_events(store: Store) -> None:
    """Bring what was noted beside a writer under the checksum of the log. The caller has the writer's turn."""
    events = tables.events.c
    waiting = sa.select(events.id).where(events.summed.is_(False))
    with suppress(VaultError):  # the next writer will
        with store.read() as connection:
            found = connection.scalars(waiting).all()
        if found:
            with store.write() as connection:
                store.update(connection, tables.events, ("id", "summed"), [(number, True) for number in found])


def events_of(connection: sa.Connection, where: str) -> list[dict[str, Any]]:
    """All of them, checked, in the order in which they were."""
    check_part(connection, "events", where)
    found = rows_of(connection, sa.select(tables.events).order_by(tables.events.c.at, tables.events.c.id))
    if any(row["sha256"] != digest({name: row[name] for name in tables.EVENT}) for row in found):
        raise damaged(where, "the log: not what was stored")
    return [{**row, "facts": json.loads(row["facts"])} for row in found]
