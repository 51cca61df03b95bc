"""Files with originals that are made from a vault: if a process ends halfway, what it has left is removed.

A backup or an export may go to any folder. So the vault notes where a draft will lie before it is begun, and whoever
opens the vault next looks there.
"""

from __future__ import annotations

import platform
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

import sqlalchemy as sa

from shoal.errors import VaultBusy, VaultError
from shoal.files import drafting, new_mark, prefix, sweep_mark
from shoal.vault.store import tables
from shoal.vault.store.queries import rows_of
from shoal.vault.store.rows import now
from shoal.vault.store.store import Store

LONGEST_WAIT = 60.0  # seconds, for a writer whose commit is a large one
SOON = timedelta(hours=1)  # a draft that was noted before has been begun by now, if it ever will be


@contextmanager
def noted_draft(store: Store, folder: Path) -> Iterator[str]:
    """The mark of drafts in a folder; see `files.drafting`. Of a vault that cannot be written, nothing can be noted."""
    mark = new_mark()
    _note(store, mark, folder.absolute())
    try:
        with drafting(folder, mark):
            yield mark
    finally:
        if not _there(folder, mark):
            with suppress(VaultError):
                _forget(store, [mark])


def _note(store: Store, mark: str, folder: Path) -> None:
    row = {"mark": mark, "folder": str(folder), "host": platform.node(), "begun": now()}
    deadline = time.monotonic() + LONGEST_WAIT
    while True:
        try:
            with store.write() as connection:
                connection.execute(sa.insert(tables.drafts), [row])
            return
        except VaultBusy:
            if time.monotonic() >= deadline:
                raise
        except VaultError:  # a read-only or a full disk is no reason to have no copy of what is on it
            return


def _forget(store: Store, marks: list[str]) -> None:
    with store.write() as connection:
        connection.execute(sa.delete(tables.drafts).where(tables.drafts.c.mark.in_(marks)))


def sweep_noted(store: Store) -> list[str]:
    """Remove the drafts that can be seen here and whose makers are no more. The folders where that could not be done.

    Machines change their names, as containers do: what counts is that a draft is there, and that nobody holds its lock.
    """
    with store.read() as connection:
        rows = rows_of(connection, sa.select(tables.drafts))
    gone, left = [], []
    for row in rows:
        folder, mark = Path(row["folder"]), row["mark"]
        if _there(folder, mark):
            found = sweep_mark(folder, mark)
            gone += [mark] if found == "gone" else []
            left += [str(folder)] if found == "left" else []
        elif row["host"] == platform.node() and folder.is_dir() and _long_ago(row["begun"]):
            gone.append(mark)
    if gone:
        with suppress(VaultError):
            _forget(store, gone)
    return left


def _long_ago(begun: str) -> bool:
    return datetime.fromisoformat(begun) < datetime.now(UTC) - SOON


def _there(folder: Path, mark: str) -> bool:
    try:
        return any(folder.glob(f"{prefix(mark)}*"))
    except OSError:
        return False
