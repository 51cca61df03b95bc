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
import pyarrow as pa
import sqlalchemy as sa

from shoal.errors import SchemaError, whole_number
from shoal.maintain.live import LivePartition
from shoal.privacy.requirements import check_k
from shoal.progress import Progress
from shoal.records.changes import key_of
from shoal.release.manifest import Manifest
from shoal.schema import PUBLISHED, Role, Schema
from shoal.vault import sheets, tables
from shoal.vault.carried import check_types, encode, from_texts
from shoal.vault.dictionary import Dictionary, typed
from shoal.vault.loading import State, load_dictionary, stands, unpacked
from shoal.vault.parts import seal_of_part
from shoal.vault.saving import Saving, frozen, outside
from shoal.vault.seals import seal_rows
from shoal.vault.settings import Epoch, as_json, schema_facts, schema_from
from shoal.vault.store import chunks, rows_of


def originals(connection: sa.Connection, epoch: Epoch, records: pa.Table, where: str) -> pa.Table:
    """Every record as it came, but for identifiers: the holder's secret. `records`: keys and values, as stored."""
    sums = json.loads(stands(connection, where)["sums"])
    texts: dict[str, dict[int, str | None]] = {name: {0: None} for name in epoch.schema.quasi_identifiers}
    for value in load_dictionary(connection, sums, where):
        texts[value.name][value.id] = value.value
    columns: dict[str, Any] = {key_of(epoch.schema): records["key"]}
    columns |= dict.fromkeys(epoch.schema.names(Role.PERSON), records["person"])
    cells = unpacked(tuple(records["cells"].to_pylist()), len(texts), where)
    for j, name in enumerate(epoch.schema.quasi_identifiers):
        ids = np.array(sorted(texts[name]))  # leaves without a name among them, which nobody has
        values = typed(epoch.schema.columns[name], [texts[name][i] for i in ids.tolist()]).combine_chunks()
        columns[name] = values.take(pa.array(np.searchsorted(ids, cells[:, j])))
    carried = from_texts(records["carried"].to_pylist(), epoch.carried, where)
    columns |= {name: carried[name] for name in carried.column_names}
    order = [name for name in columns if name not in epoch.order]
    return pa.table({name: columns[name] for name in [*order, *epoch.order]})


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


def started(epoch: Epoch, table: pa.Table, version: int, progress: Progress) -> State:
    """A live partition of all records, with numbers that nobody has had."""
    live = LivePartition.start(table, epoch.schema, epoch.settings(version), progress)
    carried = live.records().carried
    check_types(carried)
    epoch = frozen(replace(epoch, carried=carried.schema.remove_metadata(), order=live.order), live, version + 1)
    return State(version, epoch, live, Dictionary(epoch.schema))


def save_all(saving: Saving, state: State, next_id: int, kind: str) -> dict[str, object]:
    """Write every record of a live partition, as new ones; the first numbers that are free then."""
    live = state.live
    alive = live.alive()
    live.ids[: len(alive)] = np.arange(next_id, next_id + len(alive))
    live.table.next_id = next_id + len(alive)
    nobody = live.codes[:0]
    turnovers = state.dictionary.turnover(live.books, live.codes[alive], nobody)
    cells = np.stack([turnover.come_ids for turnover in turnovers], axis=1)
    records = live.records()
    keys = sorted(live.keys, key=live.keys.__getitem__)
    saving.add(live.ids[alive], keys, live.table.people(), cells, records.carried, live.labels[alive])
    saving.rewrite_dictionary(live.books, turnovers, state.dictionary)
    numbers = {"next_id": live.table.next_id, "next_values": as_json(state.dictionary.next_ids(turnovers))}
    state.dictionary.take(turnovers)
    saving.save_epoch(state.epoch)
    saving.log(kind, (len(alive) if kind == "create" else 0, 0, 0), live, outside(live), None)
    state.version, state.epochs_begun = saving.version, live.epoch
    return numbers


def replace_all(saving: Saving, schema: Schema) -> None:
    """The records of the epoch before go; what releases show of them stays, but for what is an identifier now."""
    records = tables.records
    for columns in chunks(saving.connection, records, tables.RECORD):
        saving.retire(list(zip(*columns, strict=True)))
    saving.connection.execute(sa.delete(records))
    for part in ("keys", "values", "groups"):
        saving.sums.set(part, 0)
    _thaw(saving)
    hidden = set(schema.names(Role.IDENTIFIER))
    if hidden:
        _hide_in_records(saving, hidden)
        _hide_in_releases(saving, hidden)


def _thaw(saving: Saving) -> None:
    """What earlier epochs froze is of no use any more, and names values of people who may have been deleted."""
    for row in rows_of(saving.connection, sa.select(tables.epochs)):
        epoch = Epoch.from_row(row, saving.store.where)
        saving.save_epoch(replace(epoch, domains={}, reference=None))


def _hide_in_releases(saving: Saving, hidden: set[str]) -> None:
    """Take columns out of what earlier releases looked like, and were said to be."""
    connection, releases = saving.connection, tables.releases
    history = rows_of(connection, sa.select(releases).where(releases.c.done.is_(True)))
    for row in history:
        layout, manifest = json.loads(row["layout"]), Manifest.from_json(json.loads(row["manifest"]))
        gone = [name for name in layout["order"] if name in hidden]
        if not gone:
            continue
        layout["order"] = [name for name in layout["order"] if name not in hidden]
        left = manifest.hiding(gone).to_json()
        changed = {"layout": as_json(layout), "manifest": as_json(left), "content": None}
        connection.execute(sa.update(releases).where(releases.c.number == row["number"]).values(**changed))
    saving.sums.set("releases", seal_of_part(connection, "releases", saving.store.where))
    kept = sheets.hide(connection, hidden, saving.store.where)
    connection.execute(sa.delete(tables.classes))
    saving.store.insert(connection, tables.classes, tables.CLASSES, kept)
    saving.sums.set("classes", seal_rows(kept))


def _hide_in_records(saving: Saving, hidden: set[str]) -> None:
    """Take columns out of past records."""
    past, kept = tables.past_records, []
    for numbers, keys, texts in chunks(saving.connection, past, tables.PAST_RECORD):
        for number, key, text in zip(numbers, keys, texts, strict=True):
            values = {name: value for name, value in json.loads(text).items() if name not in hidden}
            kept.append((number, key, encode(values)))
    saving.connection.execute(sa.delete(past))
    saving.store.insert(saving.connection, past, tables.PAST_RECORD, kept)
    saving.sums.set("past", seal_rows(kept))
