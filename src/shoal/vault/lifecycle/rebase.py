"""Rebase: a new epoch. k, rules, roles, types and domains may change; groups are made anew from all records.

Every record comes in a new version, so that releases of the epochs before can still be rebuilt: what they show stays
as past records and memberships. A column that becomes an identifier is taken out of everything, history included.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import sqlalchemy as sa

from shoal.errors import ParameterError, SchemaError, whole_number
from shoal.privacy.requirements import check_k
from shoal.progress import Progress
from shoal.records.changes import key_of
from shoal.release.manifest import Manifest
from shoal.schema import PUBLISHED, Role, Schema
from shoal.vault.facts import Rebased
from shoal.vault.releases import snapshots
from shoal.vault.releases.history import last_release
from shoal.vault.releases.placed import last_safe_version
from shoal.vault.state.epoch import Epoch, read_epoch
from shoal.vault.state.originals import originals
from shoal.vault.state.passthrough import encode
from shoal.vault.state.record_cache import RecordCache
from shoal.vault.state.republication import SAFE, Republication
from shoal.vault.state.save import Saving
from shoal.vault.state.schema_json import schema_facts, schema_from
from shoal.vault.state.start import save_all, started
from shoal.vault.state.state import State
from shoal.vault.store import tables
from shoal.vault.store.queries import chunks, rows_among, rows_of
from shoal.vault.store.rows import Record, as_json
from shoal.vault.store.store import Store
from shoal.vault.store.vault_row import refuse_newer, vault_row


def rebase_vault(
    store: Store, changes: Mapping[str, Any], progress: Progress, *, break_guarantee: bool, dry_run: bool
) -> tuple[State, Rebased]:
    """A new epoch of the vault. `break_guarantee`: also where its releases were safe together, as they are then not."""
    with store.read() as connection:
        row = vault_row(connection, store.where)
        refuse_break(connection, row, store.where, meant=break_guarantee)
        old = read_epoch(connection, row["epoch"], store.where)
        epoch = settings_changed(old, changes)
        check_columns(old.schema, epoch.schema)
        epoch.settings()  # says what is wrong with it
        progress.stage("reading")
        table = originals(connection, old, RecordCache("keys", "values").now(connection, store.where), store.where)
    state = started(epoch, table, row["version"], progress)
    if len(state.live):
        state.live.refuse_infeasible()
    standing = state.live.standing()
    if not dry_run:
        progress.stage("storing")
        with store.write() as connection:
            row = vault_row(connection, store.where)
            refuse_newer(row, state.version, store.where)
            saving = Saving(store, connection, row)
            end_places(saving)  # the next release begins anew
            replace_all(saving, state.epoch.schema)
            numbers = save_all(saving, state, row["next_id"], "rebase")
            saving.finish(epoch=state.epoch.number, **numbers)
    facts = Rebased(state.version, state.epoch.number, len(state.live), standing.groups, standing.loss, dry_run)
    return state, facts


def refuse_break(connection: sa.Connection, row: Mapping[str, Any], where: str, *, meant: bool) -> None:
    """Cohorts are made anew in a new epoch: what old and new ones say together is not what one of them says."""
    if Republication.from_row(row).mode != SAFE or meant or last_release(connection) is None:
        return
    raise ParameterError(
        "the releases of this vault are safe together, and those of a new epoch will not be with those before.",
        hint="Say that you mean it: --break-guarantee (in Python, break_guarantee=True).",
        file=where,
    )


def end_places(saving: Saving) -> None:
    """No release to come shows the places of now; those that some have shown keep what they say."""
    connection, places, records = saving.connection, tables.places, tables.records
    last = last_safe_version(connection)
    names = ("id", "holder", "carried", "since")
    rows = [
        row for some in chunks(connection, places, names, places.c.until.is_(None)) for row in zip(*some, strict=True)
    ]
    never = [number for number, _, _, since in rows if since > last]
    holders = np.array(
        [holder for _, holder, text, since in rows if since <= last and text is None and holder is not None], np.int64
    )
    says: dict[int, str] = dict(rows_among(connection, records, ("id", "carried"), "id", holders))
    ended = [
        (number, None, text if text is not None or holder is None else says[holder], saving.version)
        for number, holder, text, since in rows
        if since <= last
    ]
    saving.store.delete(connection, places, "id", np.array(never, np.int64))
    saving.store.update(connection, places, ("id", "holder", "carried", "until"), ended)
    for table in (tables.waiting, tables.formers):
        saving.store.clear(connection, table)


def check_columns(old: Schema, new: Schema) -> None:
    """A new schema is about the columns that there are."""
    if key_of(old) != key_of(new):
        raise SchemaError(f"the key is {key_of(old)!r}, and stays so as long as the vault does.", file=new.source)
    kept = [*PUBLISHED, Role.PERSON]
    lacking = [name for name in old.names(*kept) if name not in new.columns]
    if lacking:
        raise SchemaError(
            f"the new schema does not name {', '.join(map(repr, lacking))}.",
            hint='Give each a role: "identifier" takes it out of the vault.',
            file=new.source,
        )
    unknown = [name for name in new.names(*kept) if name not in old.names(*kept)]
    if unknown:
        raise SchemaError(
            f"the vault has no values for {', '.join(map(repr, unknown))}.",
            hint="Identifiers were never kept. Make a new vault from the table.",
            file=new.source,
        )


def settings_changed(epoch: Epoch, changes: Mapping[str, Any]) -> Epoch:
    """The epoch that is held to something else, from now on."""
    given = {name: value for name, value in changes.items() if value is not None}
    if "maintainer" in given and "method" not in given:
        given["method"] = None
    if "seed" in given:
        whole_number("seed", given["seed"], least=0)
    requirements = given.pop("requirements", epoch.requirements)
    k = check_k(given.pop("k")) if "k" in given else epoch.k
    if "schema" in given:
        files = (str(Path(file).resolve()) for file in given["schema"].files)
        given["files"] = tuple(dict.fromkeys([*epoch.files, *files]))
        given["schema"] = schema_from(schema_facts(given["schema"]))  # as it will be when it is opened
    return replace(epoch, number=epoch.number + 1, requirements=replace(requirements, k=k), **given)


def replace_all(saving: Saving, schema: Schema) -> None:
    """The records of the epoch before go; what releases show of them stays, but for what is an identifier now."""
    records = tables.records
    for columns in chunks(saving.connection, records, tables.RECORD):
        saving.retire([Record(*row) for row in zip(*columns, strict=True)])
    saving.store.clear(saving.connection, records)
    thaw(saving)
    hidden = set(schema.names(Role.IDENTIFIER))
    if hidden:
        _hide_in_records(saving, hidden)
        _hide_in_releases(saving, hidden)


def thaw(saving: Saving) -> None:
    """What earlier epochs froze is of no use any more, and names values of people who may have been deleted."""
    for row in rows_of(saving.connection, sa.select(tables.epochs)):
        epoch = Epoch.from_row(row, saving.store.where)
        saving.save_epoch(replace(epoch, domains={}, reference=None))


def _hide_in_releases(saving: Saving, hidden: set[str]) -> None:
    """Take columns out of what earlier releases looked like, and were said to be."""
    connection, releases = saving.connection, tables.releases
    history = rows_of(connection, sa.select(releases).where(releases.c.done.is_(True)))
    changed = []
    for row in history:
        layout, manifest = json.loads(row["layout"]), Manifest.from_json(json.loads(row["manifest"]))
        gone = [name for name in layout["order"] if name in hidden]
        if not gone:
            continue
        layout["order"] = [name for name in layout["order"] if name not in hidden]
        changed.append((row["number"], as_json(layout), as_json(manifest.hiding(gone).to_json()), None))
    saving.store.update(connection, releases, ("number", "layout", "manifest", "content"), changed)
    kept = snapshots.hide(connection, hidden, saving.store.where)
    saving.store.clear(connection, tables.classes)
    saving.store.insert(connection, tables.classes, tables.CLASSES, kept)


def _hide_in_records(saving: Saving, hidden: set[str]) -> None:
    """Take columns out of past records, and of what places say."""

    def without(text: str) -> str:
        return encode({name: value for name, value in json.loads(text).items() if name not in hidden})

    places = [
        (number, without(text))
        for numbers, texts in chunks(saving.connection, tables.places, ("id", "carried"))
        for number, text in zip(numbers, texts, strict=True)
        if text is not None
    ]
    saving.store.update(saving.connection, tables.places, ("id", "carried"), places)
    past, kept = tables.past_records, []
    for numbers, keys, texts in chunks(saving.connection, past, tables.PAST_RECORD):
        kept += [(number, key, without(text)) for number, key, text in zip(numbers, keys, texts, strict=True)]
    saving.store.clear(saving.connection, past)
    saving.store.insert(saving.connection, past, tables.PAST_RECORD, kept)
