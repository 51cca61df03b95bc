"""Compacting a vault: room is given back, and what was overwritten is forgotten."""

from __future__ import annotations

import sqlalchemy as sa

from shoal.vault.facts import Compacted
from shoal.vault.store import tables
from shoal.vault.store.store import Store


def compact_vault(store: Store) -> Compacted:
    """Give back room, and forget what was overwritten. The caller has the writer's turn."""
    with store.write() as connection:
        before = store.backend.size(connection)
        store.clear(connection, tables.touches)
        _forget_contents(store, connection)
    store.compact()
    with store.read() as connection:
        return Compacted(before, store.backend.size(connection))


def _forget_contents(store: Store, connection: sa.Connection) -> None:
    """Checksums of what batches were: whoever knows nearly all of one could try what the rest was."""
    batches = tables.batches.c
    known = connection.scalars(sa.select(batches.version).where(batches.content.is_not(None))).all()
    store.update(connection, tables.batches, ("version", "content"), [(version, None) for version in known])
