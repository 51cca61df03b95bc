"""Older formats of the tables, brought up to date: one step per format, all of them in one transaction.

A step from format n is `STEPS[n]`: it changes the tables through the connection that it is given. If one fails, the
vault is as it was.
"""

from __future__ import annotations

from collections.abc import Callable

import sqlalchemy as sa

from shoal.errors import VaultError
from shoal.vault import tables
from shoal.vault.saving import restand
from shoal.vault.store import Store

STEPS: dict[int, Callable[[sa.Connection], None]] = {}


def format_of(store: Store) -> int:
    """The format of a vault; raises VaultError if it was made by a newer shoal, or is none."""
    with store.read() as connection:
        found = connection.scalar(sa.select(tables.vault.c.format))
    if not isinstance(found, int) or found < 1:
        raise VaultError("is not a vault, or is damaged: it has no format.", file=store.where)
    if found > tables.FORMAT:
        raise VaultError(
            f"was made by a newer shoal: its format is {found}, and this one knows formats up to {tables.FORMAT}.",
            hint="Update shoal.",
            file=store.where,
        )
    return found


def migrate(store: Store, wait: float) -> None:
    """Bring a vault up to date, if it is not."""
    if format_of(store) == tables.FORMAT:
        return
    with store.writer(wait), store.write() as connection:
        found = connection.scalar(sa.select(tables.vault.c.format)) or 0  # another may have been faster
        for number in range(found, tables.FORMAT):
            if number not in STEPS:
                raise VaultError(
                    f"has the format {number}, which this shoal cannot bring up to date.", file=store.where
                )
            STEPS[number](connection)
        restand(connection, store.where, format=tables.FORMAT)
