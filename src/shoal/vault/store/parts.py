"""The parts of the tables that are not read when records are changed, and their seals."""

from __future__ import annotations

import json
from typing import NamedTuple

import sqlalchemy as sa

from shoal.vault.state.load import in_order, stands
from shoal.vault.store import tables
from shoal.vault.store.checksums import moved, seal
from shoal.vault.store.damage import damaged
from shoal.vault.store.store import chunks


class Part(NamedTuple):
    table: sa.Table
    columns: tuple[str, ...]  # that are sealed
    what: str  # for people


PARTS = {
    "past": Part(tables.past_records, tables.PAST_RECORD, "past records"),
    "memberships": Part(tables.memberships, tables.MEMBERSHIP, "memberships"),
    "classes": Part(tables.classes, tables.CLASSES, "classes"),
    "batches": Part(tables.batches, tables.BATCH, "the log"),
    "touches": Part(tables.touches, tables.TOUCH, "the log"),
    "releases": Part(tables.releases, tables.RELEASE, "releases"),
}


def seal_of_part(connection: sa.Connection, part: str, where: str) -> int:
    """The seal of a part as it is now."""
    table, columns, _ = PARTS[part]
    in_history = [tables.releases.c.done.is_(True)] if part == "releases" else []
    found = 0
    for some in in_order(chunks(connection, table, columns, *in_history), where):
        found = moved(found, added=seal(*some))
    return found


def check_part(connection: sa.Connection, part: str, where: str) -> None:
    """Raise Damaged if a part is not what was stored."""
    sums = json.loads(stands(connection, where)["sums"])
    if int(sums.get(part, "0"), 16) != seal_of_part(connection, part, where):
        raise damaged(where, f"{PARTS[part].what}: not what was stored")
