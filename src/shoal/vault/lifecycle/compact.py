"""Compacting a vault: room is given back, and what was overwritten is forgotten."""

from __future__ import annotations

from shoal.vault.facts import Compacted
from shoal.vault.store import tables
from shoal.vault.store.store import Store


def compact_vault(store: Store) -> Compacted:
    """Give back room, and forget what was overwritten. The caller has the writer's turn."""
    with store.write() as connection:
        before = store.backend.size(connection)
        store.clear(connection, tables.touches)
    store.compact()
    with store.read() as connection:
        return Compacted(before, store.backend.size(connection))
