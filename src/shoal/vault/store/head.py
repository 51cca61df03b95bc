"""The head of a vault in a file: which commit was acknowledged last, kept beside the file as well.

A write-ahead log that is damaged loses its tail without a word: SQLite takes what it can read, and that is an earlier
state of the vault, whole and consistent. So every commit is counted, and its number and checksum are brought to disk in
`VAULT.head` before it is acknowledged. A vault whose own count is lower has lost commits.

The file has two slots that are written in turn: a write that is cut off spoils the older one only. It names no record.
"""

from __future__ import annotations

import os
import secrets
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple
from zlib import crc32

import sqlalchemy as sa

from shoal.files import OWNER_ONLY, sync_folder
from shoal.vault.store import tables
from shoal.vault.store.damage import Damaged, damaged

SLOT = 256  # bytes


class Head(NamedTuple):
    uid: str  # of the vault: a copy is another vault
    commits: int
    sha256: str  # of the row that says where the vault stands

    def slot(self) -> bytes:
        text = f"{self.uid} {self.commits} {self.sha256}"
        return f"{text} {crc32(text.encode()):08x}\n".encode().ljust(SLOT, b"\0")

    @classmethod
    def of(cls, slot: bytes) -> Head | None:
        """What a slot says; None if it says nothing that can be read."""
        text, _, found = slot.rstrip(b"\0").decode("ascii", "replace").strip().rpartition(" ")
        parts = text.split(" ")
        if len(parts) != 3 or found != f"{crc32(text.encode()):08x}":
            return None
        return cls(parts[0], int(parts[1]), parts[2])


def new_uid() -> str:
    return secrets.token_hex(8)


def stored_head(connection: sa.Connection) -> Head | None:
    """As the vault itself has it."""
    row = connection.execute(sa.select(tables.vault.c.uid, tables.vault.c.commits, tables.vault.c.sha256)).first()
    return None if row is None or row.uid is None else Head(row.uid, int(row.commits), row.sha256)


def acknowledged_head(path: Path) -> Head | None:
    """The last one that was acknowledged; None if the file is not there, or no slot can be read."""
    try:
        content = path.read_bytes()
    except OSError:
        return None
    found = [Head.of(content[:SLOT]), Head.of(content[SLOT : 2 * SLOT])]
    return max((head for head in found if head is not None), key=lambda head: head.commits, default=None)


def refuse_lost(acknowledged: Head | None, stored: Head | None, where: str) -> None:
    """Raise Damaged if the vault is not what was acknowledged last, or came after. (Read that before the vault.)"""
    if acknowledged is None or stored is None or acknowledged.uid != stored.uid:
        return
    lost = acknowledged.commits - stored.commits
    if lost > 0:
        raise Damaged(
            f"the vault is damaged: it has gone back to an earlier state; commits that are lost: {lost}.",
            hint="Restore a backup: shoal restore BACKUP VAULT. If an older copy was put here on purpose, remove the "
            "file beside it that ends in .head.",
            file=where,
        )
    if lost == 0 and stored.sha256 != acknowledged.sha256:
        raise damaged(where, "its last change is not what was stored")


def acknowledge(path: Path, head: Head) -> None:
    """Bring a head to disk. The commit lasts already: if this fails, only a later loss of it would not be noticed."""
    with suppress(OSError):
        new = not path.exists()
        handle = os.open(path, os.O_RDWR | os.O_CREAT, OWNER_ONLY)
        try:
            before = acknowledged_head(path)
            if before is None or before.uid != head.uid:  # damaged, or of a vault that was here before
                os.ftruncate(handle, 0)
            elif before.commits >= head.commits:
                return
            os.lseek(handle, SLOT * (head.commits % 2), os.SEEK_SET)
            os.write(handle, head.slot())
            os.fsync(handle)
        finally:
            os.close(handle)
        if new:
            sync_folder(path.parent)
