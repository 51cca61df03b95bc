"""The history of a vault as an attacker has it, for `shoal.audit`.

A unit is what a record was as long as its sensitive values stayed the same: a record that has been updated is the same
unit as before, if they did. Of people who have been deleted the vault knows in which classes they were and nothing
else: who they were, whose records theirs were (all count as one person's, the worst case) and what their values were is
forgotten, and what depends on that is undecided.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import sqlalchemy as sa
from numpy.typing import NDArray

from shoal.audit import Audit, History, Shown, audit_history
from shoal.progress import Progress
from shoal.schema import Role, Schema
from shoal.vault.releases.audited_places import places_history
from shoal.vault.releases.prepare import Publication
from shoal.vault.releases.snapshots import GroupLabels, class_numbers, labels_at
from shoal.vault.state.epoch import Epoch, read_epoch
from shoal.vault.state.passthrough import from_texts
from shoal.vault.state.republication import SAFE
from shoal.vault.store import tables
from shoal.vault.store.integrity import check_part, check_records
from shoal.vault.store.queries import chunks, rows_of
from shoal.vault.store.vault_row import vault_row
from shoal.verify.models import published_values

Longs = NDArray[np.int64]
FOREVER = np.iinfo(np.int64).max


def audit_vault(
    connection: sa.Connection, where: str, progress: Progress, candidate: Publication | None = None
) -> Audit:
    """What the releases of a vault say together; with one more, if it is given.

    Releases that show records are held against each other, and so are those that show cohorts. Both together say no
    more: the first cohorts are made of the atoms of the releases before.
    """
    for part in ("releases", "memberships", "classes", "past", "places"):
        check_part(connection, part, where)
    check_records(connection, ["keys", "values", "groups"], where)
    epoch = read_epoch(connection, vault_row(connection, where)["epoch"], where)
    releases = tables.releases
    rows = rows_of(connection, sa.select(releases).where(releases.c.done.is_(True)).order_by(releases.c.number))
    safe = [row for row in rows if row["republication"] == SAFE]
    others = [row for row in rows if row["republication"] != SAFE]
    next_is_safe = candidate is not None and candidate.row["republication"] == SAFE
    by_records = _audit_records(connection, epoch, others, where, progress, None if next_is_safe else candidate)
    if not safe and not next_is_safe:
        return by_records
    history, keys = places_history(connection, epoch, safe, where, candidate if next_is_safe else None)
    by_places = audit_history(history, None, progress).told(keys)
    return by_places.and_also(by_records)


def _audit_records(
    connection: sa.Connection,
    epoch: Epoch,
    rows: Sequence[Mapping[str, Any]],
    where: str,
    progress: Progress,
    candidate: Publication | None,
) -> Audit:
    stays, known = _stays(connection), _known(connection)
    units = _Units(np.unique(np.concatenate([stays.ids, known.ids])), known, epoch, where)
    history = History(
        epoch.k,
        epoch.requirements.rules(epoch.schema),
        people=units.people,
        values=units.values,
        known=units.known,
        references=_references(epoch),
        by_people=bool(epoch.schema.names(Role.PERSON)),
    )
    progress.stage("reading releases", len(rows))
    for row in rows:
        labels = labels_at(connection, row["version"], where)
        history.show(Shown(row["number"], _classes(units, stays.at(row["version"]), labels)))
        progress.advance(1)
    if candidate is not None:
        there = stays.at(candidate.row["version"])
        history.show(Shown(candidate.row["number"], _classes(units, there, candidate.labels)))
    found = audit_history(history, units.combinations, progress)
    return found.told(units.keys)


def _classes(units: _Units, there: _Stays, labels: GroupLabels) -> Longs:
    """The class of each unit in a release, or −1."""
    (numbers,) = class_numbers(labels)
    at = labels.at(there.groups)
    # Of a group that nobody is left of it is forgotten what it looked like: a class of its own.
    classes = np.where(at < 0, -1 - there.groups, numbers[at] if len(numbers) else 0)
    shown = np.full(len(units.people), -1, np.int64)
    shown[units.of(there.ids)] = np.unique(classes, return_inverse=True)[1]
    return shown


def _references(epoch: Epoch) -> dict[str, dict[str, float]]:
    """Distributions by the text of a value; missing is an empty one."""
    known = epoch.reference or {}
    return {name: {value or "": share for value, share in shares.items()} for name, shares in known.items()}


class _Stays(NamedTuple):
    """Which records were in which groups, from which version on and before which."""

    ids: Longs
    groups: Longs
    since: Longs
    until: Longs

    def at(self, version: int) -> _Stays:
        there = (self.since <= version) & (self.until > version)
        return _Stays(*(column[there] for column in self))


def _stays(connection: sa.Connection) -> _Stays:
    found = [
        np.array([*columns, [FOREVER] * len(columns[0])], np.int64)
        for columns in chunks(connection, tables.records, ["id", "group_id", "since"])
    ]
    found += [
        np.array(columns, np.int64)
        for columns in chunks(connection, tables.memberships, ["record_id", "group_id", "since", "until"])
    ]
    return _Stays(*(np.concatenate(found, axis=1) if found else np.zeros((4, 0), np.int64)))


class _Known(NamedTuple):
    """What the vault has of records as they are, and as they were."""

    ids: Longs
    keys: list[str]
    people: list[str | None]  # of those as they are
    texts: list[str]


def _known(connection: sa.Connection) -> _Known:
    ids: list[int] = []
    keys: list[str] = []
    people: list[str | None] = []
    texts: list[str] = []
    for some, their_keys, persons, carried in chunks(connection, tables.records, ["id", "key", "person", "carried"]):
        ids, keys, people, texts = [*ids, *some], [*keys, *their_keys], [*people, *persons], [*texts, *carried]
    for some, their_keys, carried in chunks(connection, tables.past_records, ["id", "key", "carried"]):
        ids, keys, texts = [*ids, *some], [*keys, *their_keys], [*texts, *carried]
    return _Known(np.array(ids, np.int64), keys, people, texts)


class _Units:
    """Records as units: whose they are, and what their values are."""

    def __init__(self, ids: Longs, known: _Known, epoch: Epoch, where: str) -> None:
        schema, sensitive = epoch.schema, epoch.schema.names(Role.SENSITIVE)
        columns = from_texts(known.texts, epoch.passthrough, where) if known.texts else epoch.passthrough.empty_table()
        values = {
            name: published_values(name, columns[name], schema.columns[name], schema.missing) for name in sensitive
        }
        keys = pa.array(known.keys, pa.string()).dictionary_encode()
        key_numbers = keys.indices.to_numpy(zero_copy_only=False).astype(np.int64)

        # One unit for what has one key and the same sensitive values; one for each record that is forgotten.
        same = key_numbers
        for name in sensitive:
            same = np.unique(same * (len(values[name].names) + 1) + values[name].numbers, return_inverse=True)[1]
        _, first, unit = np.unique(same, return_index=True, return_inverse=True)
        n_known = len(first)
        self.ids = ids
        self.unit_of_id = np.full(len(ids), -1, np.int64)
        self.unit_of_id[np.searchsorted(ids, known.ids)] = unit
        forgotten = self.unit_of_id < 0
        self.unit_of_id[forgotten] = n_known + np.arange(int(forgotten.sum()))
        n_units = n_known + int(forgotten.sum())

        self.known = np.arange(n_units) < n_known
        self.keys = [known.keys[i] for i in first] + [None] * (n_units - n_known)
        self.people = np.empty(n_units, np.int64)
        self.people[:n_known] = _people(schema, known, key_numbers)[first]
        self.people[n_known:] = len(known.keys) + (0 if schema.names(Role.PERSON) else np.arange(n_units - n_known))
        zeros = np.zeros(n_units - n_known, np.int64)
        self.values = {
            name: replace(found, numbers=np.concatenate([found.numbers[first], zeros]))
            for name, found in values.items()
        }
        self.combinations = _combinations(known.texts, unit, n_units)

    def of(self, ids: Longs) -> Longs:
        units: Longs = self.unit_of_id[np.searchsorted(self.ids, ids)]
        return units


def _people(schema: Schema, known: _Known, key_numbers: Longs) -> Longs:
    """Whose records they are: the holder's of the key as it is now, or the key's own."""
    if not schema.names(Role.PERSON):
        return key_numbers
    numbers: dict[str | None, int] = {}
    of_key = {
        key: numbers.setdefault(person, len(numbers)) for key, person in zip(known.keys, known.people, strict=False)
    }
    return np.array([of_key[key] for key in known.keys], np.int64)


def _combinations(texts: Sequence[str], unit: Longs, n_units: int) -> Longs:
    """What each unit shows beside its quasi-identifiers, as a number; −1: forgotten, or it has changed."""
    numbers = pa.array(texts, pa.string()).dictionary_encode().indices.to_numpy(zero_copy_only=False).astype(np.int64)
    lowest, highest = np.full(n_units, FOREVER), np.full(n_units, -1, np.int64)
    np.minimum.at(lowest, unit, numbers)
    np.maximum.at(highest, unit, numbers)
    return np.where(lowest == highest, highest, -1)
