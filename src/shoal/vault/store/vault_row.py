"""The one row of the table `vault`: which vault this is, and where it stands."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import sqlalchemy as sa

from shoal.errors import VaultBusy
from shoal.vault.store import tables
from shoal.vault.store.damage import damaged
from shoal.vault.store.parts import changes_of
from shoal.vault.store.queries import row_of
from shoal.vault.store.rows import digest


def vault_row(connection: sa.Connection, where: str) -> Mapping[str, Any]:
    """The row, checked."""
    row = row_of(connection, sa.select(tables.vault))
    if row is None or row["sha256"] != digest(row):
        raise damaged(where, "it does not say where it stands")
    return row


def update_vault_row(connection: sa.Connection, where: str, **changed: object) -> None:
    """Change the row, with the checksums of all that the transaction has changed; that is a commit."""
    row = {**vault_row(connection, where), **changed}
    changes = changes_of(connection)
    row |= {"commits": row["commits"] + 1, "sums": changes.applied_to(row["sums"])}
    connection.execute(sa.update(tables.vault).values({**row, "sha256": digest(row)}))
    changes.forget()


def refuse_newer(row: Mapping[str, Any], version: int, where: str) -> None:
    """A writer who has lost his turn, with the connection that held it, must not write over what came since."""
    if row["version"] != version:
        raise VaultBusy("another process has changed the vault meanwhile.", hint="Do it again.", file=where)
