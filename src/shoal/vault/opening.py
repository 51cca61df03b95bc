"""Opening a vault: one that is made now, one that is there, one from a backup."""

from __future__ import annotations

import warnings
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from shoal.errors import ShoalWarning, VaultError
from shoal.fit import warn_of_keys
from shoal.privacy import warn_of_several_records
from shoal.privacy.requirements import Requirements
from shoal.progress import Progress
from shoal.records.changes import key_of
from shoal.records.reading import read_for
from shoal.schema import Schema
from shoal.vault import care, making, publishing, tables
from shoal.vault.damage import readable
from shoal.vault.drafts import sweep_noted
from shoal.vault.head import refuse_lost, stored_head
from shoal.vault.keys import KeyHash, right_secret
from shoal.vault.loading import State, current_epoch, stands
from shoal.vault.migrations import format_of, migrate
from shoal.vault.rebasing import started
from shoal.vault.settings import Epoch
from shoal.vault.sqlite import IN_MEMORY
from shoal.vault.store import Store, open_backend


class HeldTo(NamedTuple):
    """What a new vault is held to, as it was given."""

    requirements: Requirements
    measure: str
    maintainer: str
    method: str | None
    seed: int | None


class Opened(NamedTuple):
    """What the facade needs."""

    store: Store
    epoch: Epoch
    hashing: KeyHash | None  # where keys are hashed, and the secret was given
    keys_hashed: bool
    state: State | None = None  # if the records are in memory already


def created(
    where: str | Path,
    schema: Schema,
    held_to: HeldTo,
    data: object,
    key_secret: str | bytes | None,
    progress: Progress,
    *,
    dry_run: bool,
    strict: bool = False,
) -> Opened:
    """Make a vault. `dry_run`: all is tried, and the vault is in memory; `strict`: no column may act as a key."""
    key_of(schema)
    making.first_epoch(schema, *held_to).settings()  # says what is wrong with it
    hashing = None if key_secret is None else KeyHash(key_secret)
    store = Store(open_backend(where))
    try:
        with store.explaining():
            making.refuse_taken(store.backend)
        if dry_run:
            store.close()
            store = Store(open_backend(IN_MEMORY))
        state = _first_state(schema, held_to, data, hashing, progress, strict=strict)
        progress.stage("storing")
        making.make(store, state, None if hashing is None else hashing.check())
        return Opened(store, state.epoch, hashing, hashing is not None, state)
    except BaseException:
        store.close()
        raise


def _first_state(
    schema: Schema, held_to: HeldTo, data: object, hashing: KeyHash | None, progress: Progress, *, strict: bool
) -> State:
    """The records in memory, in their first groups."""
    progress.stage("reading")
    table, file = (making.empty_table(schema), None) if data is None else read_for(schema, data)
    if hashing is not None:
        table = hashing.table(table, schema)
    epoch = making.first_epoch(schema, *held_to)
    if file is not None:
        epoch = replace(epoch, files=(*epoch.files, str(Path(file).resolve())))
    state = started(epoch, table, 0, progress)
    records = state.live.records()
    warn_of_several_records(records)
    warn_of_keys(records, strict=strict)
    if len(records) and not state.live.feasible():
        obstacles = "; ".join(state.live.partition().obstacles())
        warnings.warn(f"the vault cannot be published as it is: {obstacles}.", ShoalWarning, stacklevel=4)
    return state


def opened(where: str | Path, key_secret: str | bytes | None, wait: float) -> Opened:
    """Open a vault that is there: brought up to date, and tidied up."""
    store = Store(open_backend(where))
    try:
        with readable(store.where), store.explaining():
            there = store.backend.exists()
        if not there:
            hint = "Make one with: shoal init."
            raise VaultError("there is no vault here, or it was never finished.", hint=hint, file=store.where)
        with readable(store.where):
            migrate(store, wait)
        described = _described(store, key_secret)
        _tidy(store)
        return described
    except BaseException:
        store.close()
        raise


def _described(store: Store, key_secret: str | bytes | None) -> Opened:
    acknowledged = store.backend.acknowledged()
    with readable(store.where), store.read() as connection:
        stand = stands(connection, store.where)
        refuse_lost(acknowledged, stored_head(connection), store.where)
        epoch = current_epoch(connection, stand["epoch"], store.where)
    hashing = right_secret(key_secret, stand["key_check"], store.where)
    return Opened(store, epoch, hashing, stand["key_check"] is not None)


def _tidy(store: Store) -> None:
    """Finish or undo what a publisher has left behind who is no more; if one is at work, leave it to him."""
    with readable(store.where):
        left_behind = publishing.unfinished(store)
        sweep_noted(store)
    if left_behind:
        with store.explaining(), store.backend.try_to_be_writer() as worked:
            if worked:
                publishing.recover(store)


def restored(backup: str | Path, where: str | Path, progress: Progress, *, dry_run: bool) -> Opened:
    """Make a vault of a backup, in any store. It is checked as a whole before anybody can open it.

    `dry_run`: everything is tried, and the vault is in memory.
    """
    source, target = Store(open_backend(backup)), Store(open_backend(where))
    try:
        with source.explaining():
            if not source.backend.exists():
                raise VaultError("there is no backup here.", file=source.where)
        if format_of(source) < tables.FORMAT:
            hint = "Open the backup once, with shoal status: that brings it up to date."
            raise VaultError("the backup has an older format.", hint=hint, file=source.where)
        with target.explaining():
            making.refuse_taken(target.backend)
        care.refuse_damaged(source, progress)
        if dry_run:
            target.close()
            target = Store(open_backend(IN_MEMORY))
        making.fill(target, lambda writing: care.copy(source, target, writing, progress))
        try:
            return _described(target, None)
        except BaseException:  # it is there, but who is told of an error shall not find it
            with suppress(VaultError), target.explaining():
                target.backend.discard()
            raise
    except BaseException:
        target.close()
        raise
    finally:
        source.close()
