"""Making a vault: from a table, or as a copy of another. It is there as a whole, or not at all."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import sqlalchemy as sa

from shoal.errors import OutputError, VaultBusy, VaultError
from shoal.files import draft_of, refuse_sources, refuse_vaults, sync_folder
from shoal.privacy.requirements import Requirements, check_k
from shoal.release.write import refuse_releases
from shoal.schema import Role, Schema
from shoal.vault import tables
from shoal.vault.drafts import noted_draft
from shoal.vault.head import new_uid
from shoal.vault.loading import State
from shoal.vault.rebasing import save_all
from shoal.vault.saving import Saving, now
from shoal.vault.settings import Epoch, digest, schema_facts, schema_from
from shoal.vault.sqlite import Sqlite
from shoal.vault.store import Backend, Store

FIRST_ID = 1
TAKEN = "Choose another name. (To change what a vault is held to, there is shoal rebase.)"


def refuse_taken(backend: Backend) -> None:
    """Before any work is done for it: is the place free?"""
    if backend.exists():
        raise VaultError("exists already.", hint=TAKEN, file=backend.where)


def empty_table(schema: Schema) -> pa.Table:
    """No records yet, but their columns."""
    return pa.table({name: pa.nulls(0) for name in schema.columns if name not in schema.names(Role.IDENTIFIER)})


def first_epoch(
    schema: Schema,
    requirements: Requirements,
    measure: str,
    maintainer: str,
    method: str | None,
    seed: int | None,
) -> Epoch:
    """What a vault is held to in the beginning; what is frozen comes with the records."""
    stored = schema_from(schema_facts(schema))  # what is opened later is equal to what is made now
    files = tuple(str(Path(file).resolve()) for file in schema.files)
    checked = replace(requirements, k=check_k(requirements.k))
    return Epoch(1, 1, stored, checked, measure, maintainer, method, seed, [], pa.schema([]), {}, None, files)


def make(store: Store, state: State, key_check: str | None) -> None:
    """The tables, with all records of a live partition in them."""

    def write(connection: sa.Connection) -> None:
        row: dict[str, Any] = {
            "id": 1,
            "format": tables.FORMAT,
            "created": now(),
            "uid": new_uid(),
            "commits": 0,
            "version": 0,
            "epoch": state.epoch.number,
            "next_id": FIRST_ID,
            "next_values": "{}",
            "key_check": key_check,
            "source_position": None,
            "sums": "{}",
        }
        row["sha256"] = digest(row)
        connection.execute(sa.insert(tables.vault), [row])
        saving = Saving(store, connection, row)
        numbers = save_all(saving, state, FIRST_ID, "create")
        saving.stand(version=saving.version, **numbers)

    fill(store, write)


def fill(store: Store, write: Callable[[sa.Connection], None]) -> None:
    """Make the tables and fill them, in one transaction: whoever opens the vault before finds none.

    What is left of one that was never finished is taken over; its maker is no more, or would have the writer's turn.
    """
    with store.writer(wait=0):
        with store.explaining():
            store.backend.create()
        try:
            with store.write() as connection:
                tables.metadata.create_all(connection)
                write(connection)
        except BaseException:
            with store.explaining():
                store.backend.discard()
            raise


def backup(
    store: Store,
    path: Path,
    copy: Callable[[Store, sa.Connection], None],
    *,
    sources: Sequence[str],
    force: bool,
) -> None:
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
                fill(target, lambda writing: copy(target, writing))
                with target.explaining():
                    file.settle()
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
