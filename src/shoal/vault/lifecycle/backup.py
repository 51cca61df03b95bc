"""Copies of a vault: backed up as a file, restored in any store. A copy is there as a whole, or not at all."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import sqlalchemy as sa

from shoal.errors import OutputError, VaultBusy, VaultError
from shoal.files import draft_of, refuse_sources, refuse_vaults, sync_folder
from shoal.progress import Progress
from shoal.release.write import refuse_releases
from shoal.vault.lifecycle.check import refuse_damaged
from shoal.vault.lifecycle.create import fill, refuse_taken
from shoal.vault.lifecycle.migrations import format_of
from shoal.vault.lifecycle.open import Opened, described
from shoal.vault.store import tables
from shoal.vault.store.backend import open_backend
from shoal.vault.store.drafts import noted_draft
from shoal.vault.store.head import new_uid
from shoal.vault.store.queries import chunks, rows_of
from shoal.vault.store.sqlite import IN_MEMORY, Sqlite
from shoal.vault.store.store import Store
from shoal.vault.store.vault_row import update_vault_row


def back_up(store: Store, path: Path, progress: Progress, *, sources: Sequence[str], force: bool) -> None:
    """A copy as a file. It gets its name when it is complete; what had that name before is there until then."""
    try:
        path = path.resolve()
    except (OSError, RuntimeError):  # links in a circle
        raise OutputError("leads nowhere.", file=str(path)) from None
    if path.is_dir():
        raise OutputError("is a folder.", file=str(path))
    if path.exists() and not force:
        raise OutputError("exists already.", hint="Choose another name, or overwrite it (--force).", file=str(path))
    if not path.parent.is_dir():
        raise OutputError(f"the folder {path.parent} does not exist.", hint="Make it first.", file=str(path))
    try:
        refuse_sources(path, sources)
        refuse_vaults(path, own=store.backend.file, but_a_copy=True)
        refuse_releases(path)
        with noted_draft(store, path.parent) as mark:
            draft = draft_of(path, mark, "vault")
            target = Store(file := Sqlite(str(draft)))
            try:
                fill(target, lambda writing: _copy(store, target, writing, progress))
                with target.explaining():
                    file.checkpoint()
            finally:
                target.close()
            _give_name(draft, path)
            sync_folder(path.parent)
    except OSError as problem:
        raise OutputError(f"cannot be written: {problem.strerror or problem}.", file=str(path)) from None


def _give_name(draft: Path, path: Path) -> None:
    """Put the finished copy in its place. (Not by a link: a vault with two names is refused.)"""
    if not os.path.lexists(path):
        draft.replace(path)
        return
    older = Store(file := Sqlite(str(path)))
    try:
        with older.explaining(), file.try_to_be_writer() as worked:
            if not worked:
                raise VaultBusy("another process is using the file that the backup would overwrite.", file=str(path))
            file.replace_by(draft)
    finally:
        older.close()


def restore_vault(backup: str | Path, where: str | Path, progress: Progress, *, dry_run: bool) -> Opened:
    """Make a vault of a backup, in any store. It is checked as a whole before anybody can open it.

    `dry_run`: everything is tried, and the vault is in memory.
    """
    source, target = Store(read := open_backend(backup)), Store(open_backend(where))
    if isinstance(read, Sqlite):
        read.only_read()

    def copy(writing: sa.Connection) -> None:
        _copy(source, target, writing, progress)
        if isinstance(read, Sqlite) and not read.as_found():
            raise VaultBusy("somebody has changed the backup while it was read.", hint="Try again.", file=source.where)

    try:
        with source.explaining():
            if not source.backend.exists():
                raise VaultError("there is no backup here.", file=source.where)
        if format_of(source) < tables.FORMAT:
            hint = "Open the backup once, with shoal status: that brings it up to date."
            raise VaultError("the backup has an older format.", hint=hint, file=source.where)
        with target.explaining():
            refuse_taken(target.backend)
        refuse_damaged(source, progress)
        if dry_run:
            target.close()
            target = Store(open_backend(IN_MEMORY))
        fill(target, copy)
        try:
            return described(target, None)
        except BaseException:  # it is there, but who is told of an error shall not find it
            with suppress(VaultError), target.explaining():
                target.backend.discard()
            raise
    except BaseException:
        target.close()
        raise
    finally:
        source.close()


def _copy(source: Store, target: Store, writing: sa.Connection, progress: Progress) -> None:
    """All rows of one moment, and their checksums with the vault's own row, into tables that are there and empty."""
    with source.read() as reading:
        for table in (table for table in tables.COPIED if table not in (tables.events, tables.releases)):
            names = [column.name for column in table.columns]
            count = reading.scalar(sa.select(sa.func.count()).select_from(table)) or 0
            progress.stage(f"copying {table.name.replace('_', ' ')}", count)
            for columns in chunks(reading, table, names):
                target.backend.insert(writing, table, names, list(zip(*columns, strict=True)))
                progress.advance(len(columns[0]))
        # What somebody is publishing at this moment is not in the copy's history.
        history = rows_of(reading, sa.select(tables.releases).where(tables.releases.c.done.is_(True)))
        if history:
            writing.execute(sa.insert(tables.releases), [{**row, "part": None} for row in history])
        if events := rows_of(reading, sa.select(tables.events)):
            writing.execute(sa.insert(tables.events), events)
    update_vault_row(writing, target.where, uid=new_uid())
