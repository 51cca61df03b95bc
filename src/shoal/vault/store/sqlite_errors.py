"""What SQLite's errors mean."""

from __future__ import annotations

from sqlalchemy.exc import DBAPIError

from shoal.errors import VaultBusy, VaultError

NO_ROOM = ("there is no room left on the disk; what the vault holds is as it was.", "Make room, and do it again.")
UNREADABLE = ("the vault is damaged: SQLite cannot read it.", "Restore a backup: shoal restore BACKUP VAULT.")

# By a part of their text or code. (Texts may quote a value: they are not passed on.)
MEANINGS = {
    "full": NO_ROOM,
    "shmsize": NO_ROOM,  # for the index of the write-ahead log
    "readonly": ("the vault cannot be written to: the file, its folder or its disk is read-only.", None),
    "read-only": ("the vault cannot be written to: the file, its folder or its disk is read-only.", None),
    "not a database": ("is not a vault.", None),
    "malformed": UNREADABLE,
    "could not decode": UNREADABLE,
    "notadb": UNREADABLE,
    "corrupt": UNREADABLE,
    "ioerr_short_read": UNREADABLE,
    "unable to open": ("the vault cannot be opened.", "Do the folder and the file exist, and are they yours?"),
    "no such table": ("is not a vault: it has other tables, or none.", None),
    "no such column": ("is not a vault: its tables are different.", None),
}


def explained(problem: DBAPIError, where: str) -> VaultError:
    text = f"{problem.orig} {getattr(problem.orig, 'sqlite_errorname', '')}".lower()
    if "locked" in text or "busy" in text:
        return VaultBusy("the database is locked by another program.", hint="Try again.", file=where)
    for part, (message, hint) in MEANINGS.items():
        if part in text:
            return VaultError(message, hint=hint, file=where)
    kind = getattr(problem.orig, "sqlite_errorname", type(problem.orig).__name__)
    return VaultError(f"the vault cannot be used: {kind}.", file=where)
