"""Creating a vault from a table. It is there as a whole, or not at all."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import sqlalchemy as sa

from shoal.errors import ShoalWarning, VaultError
from shoal.fit import warn_of_keys
from shoal.privacy import warn_of_several_records
from shoal.privacy.requirements import Requirements, check_k
from shoal.progress import Progress
from shoal.records.changes import key_of
from shoal.records.reading import read_for
from shoal.schema import Role, Schema
from shoal.vault.keys import KeyHash
from shoal.vault.lifecycle.open import Opened
from shoal.vault.state.epoch import Epoch
from shoal.vault.state.republication import Republication
from shoal.vault.state.save import Saving
from shoal.vault.state.schema_json import schema_facts, schema_from
from shoal.vault.state.start import save_all, started
from shoal.vault.state.state import State
from shoal.vault.store import tables
from shoal.vault.store.backend import Backend, open_backend
from shoal.vault.store.head import new_uid
from shoal.vault.store.rows import digest, now
from shoal.vault.store.sqlite import IN_MEMORY
from shoal.vault.store.store import Store

FIRST_ID = 1
TAKEN = "Choose another name. (To change what a vault is held to, there is shoal rebase.)"


class HeldTo(NamedTuple):
    """What a new vault is held to, as it was given."""

    requirements: Requirements
    measure: str
    maintainer: str
    method: str | None
    seed: int | None
    republication: Republication


def create_vault(
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
    first_epoch(schema, held_to).settings()  # says what is wrong with it
    hashing = None if key_secret is None else KeyHash(key_secret)
    store = Store(open_backend(where))
    try:
        with store.explaining():
            refuse_taken(store.backend)
        if dry_run:
            store.close()
            store = Store(open_backend(IN_MEMORY))
        state = _first_state(schema, held_to, data, hashing, progress, strict=strict)
        progress.stage("storing")
        _make(store, state, held_to.republication, None if hashing is None else hashing.check())
        return Opened(store, state.epoch, hashing, hashing is not None, state)
    except BaseException:
        store.close()
        raise


def _first_state(
    schema: Schema, held_to: HeldTo, data: object, hashing: KeyHash | None, progress: Progress, *, strict: bool
) -> State:
    """The records in memory, in their first groups."""
    progress.stage("reading")
    table, file = (empty_table(schema), None) if data is None else read_for(schema, data)
    if hashing is not None:
        table = hashing.table(table, schema)
    epoch = first_epoch(schema, held_to)
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


def refuse_taken(backend: Backend) -> None:
    """Before any work is done for it: is the place free?"""
    if backend.exists():
        raise VaultError("exists already.", hint=TAKEN, file=backend.where)


def empty_table(schema: Schema) -> pa.Table:
    """No records yet, but their columns."""
    return pa.table({name: pa.nulls(0) for name in schema.columns if name not in schema.names(Role.IDENTIFIER)})


def first_epoch(schema: Schema, held_to: HeldTo) -> Epoch:
    """What a vault is held to in the beginning; what is frozen comes with the records."""
    stored = schema_from(schema_facts(schema))  # what is opened later is equal to what is made now
    files = tuple(str(Path(file).resolve()) for file in schema.files)
    checked = replace(held_to.requirements, k=check_k(held_to.requirements.k))
    how = held_to.measure, held_to.maintainer, held_to.method, held_to.seed
    return Epoch(1, 1, stored, checked, *how, [], pa.schema([]), {}, None, files)


def _make(store: Store, state: State, republication: Republication, key_check: str | None) -> None:
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
            "republication": republication.stored(),
            "sums": "{}",
        }
        row["sha256"] = digest(row)
        connection.execute(sa.insert(tables.vault), [row])
        saving = Saving(store, connection, row)
        numbers = save_all(saving, state, FIRST_ID, "create")
        saving.finish(**numbers)

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
