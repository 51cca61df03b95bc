"""The log: every batch, release, epoch, backup and erasure, by whom and when. Numbers and files, no values."""

from __future__ import annotations

import sqlalchemy as sa

from shoal.vault.facts import Logged
from shoal.vault.releases.history import entries
from shoal.vault.store import tables
from shoal.vault.store.events import events_of
from shoal.vault.store.integrity import check_part
from shoal.vault.store.queries import rows_of

PUBLISH, BACKUP = "publish", "backup"


def log_of(connection: sa.Connection, where: str) -> list[Logged]:
    """All that has been done, oldest first, checked."""
    check_part(connection, "batches", where)
    events = events_of(connection, where)
    found = [
        Logged(
            at=row["at"],
            who=row["who"],
            what=row["kind"],
            version=row["version"],
            inserted=row["inserted"],
            updated=row["updated"],
            deleted=row["deleted"],
            records=row["records"],
            batch_id=row["batch_id"],
        )
        for row in rows_of(connection, sa.select(tables.batches).order_by(tables.batches.c.version))
    ]
    publishers = {event["facts"]["release"]: event["who"] for event in events if event["kind"] == PUBLISH}
    for entry in entries(connection, where):
        who = publishers.get(entry.number)  # None: the power failed before it was noted, or an older shoal published
        found.append(
            Logged(
                at=entry.published, who=who, what=PUBLISH, version=entry.version, release=entry.number, file=entry.file
            )
        )
    found += [
        Logged(at=event["at"], who=event["who"], what=BACKUP, version=event["version"], file=event["facts"]["file"])
        for event in events
        if event["kind"] == BACKUP
    ]
    # Of one second: what has changed, then its releases, then backups of them.
    rank = {PUBLISH: 1, BACKUP: 2}
    return sorted(found, key=lambda one: (one.at, one.version, rank.get(one.what, 0), one.release or 0))
