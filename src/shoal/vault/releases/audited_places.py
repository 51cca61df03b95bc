"""The history of a vault whose releases show cohorts, as an attacker has it, for `shoal.audit`.

The attacker gets more than the files say: who holds which place, and who has held it before. So a unit is a place.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import sqlalchemy as sa
from numpy.typing import NDArray

from shoal.audit import History, Shown
from shoal.schema import Role
from shoal.vault.releases.history import place_texts
from shoal.vault.releases.prepare import Publication
from shoal.vault.releases.snapshots import GroupLabels, class_numbers, labels_at
from shoal.vault.state.epoch import Epoch
from shoal.vault.state.passthrough import from_texts
from shoal.vault.store import tables
from shoal.vault.store.queries import chunks
from shoal.verify.models import published_values

Longs = NDArray[np.int64]
FOREVER = np.iinfo(np.int64).max


class _Units(NamedTuple):
    """Places that some release shows; those of one that is not stored yet come last."""

    cohorts: Longs
    people: Longs
    since: Longs
    until: Longs
    keys: list[str | None]  # of the holders
    known: NDArray[np.bool_]  # whether it is not forgotten what they say
    contents: pa.Table  # what they say; of those that are known


def places_history(
    connection: sa.Connection,
    epoch: Epoch,
    releases: Sequence[Mapping[str, Any]],
    where: str,
    candidate: Publication | None = None,
) -> tuple[History, list[str | None]]:
    """The releases that show cohorts; with one more, if it is given. And the key of each place's holder."""
    units = _stored(connection, epoch, where) if candidate is None else _with_next(connection, epoch, where, candidate)
    rules = [rule for rule in epoch.requirements.rules(epoch.schema) if rule.symbol != "t"]  # seen to at the beginning
    schema, values = epoch.schema, {}
    for name in schema.names(Role.SENSITIVE):
        found = published_values(name, units.contents[name], schema.columns[name], schema.missing)
        numbers = np.zeros(len(units.known), np.int64)
        numbers[units.known] = found.numbers
        values[name] = type(found)(numbers, found.names, found.column, found.spellings)
    history = History(
        epoch.k,
        rules,
        people=units.people,
        values=values,
        known=units.known,
        by_people=bool(schema.names(Role.PERSON)),
    )
    for row in releases:
        there = (units.since <= row["version"]) & (units.until > row["version"])
        history.show(Shown(row["number"], _classes(units, there, labels_at(connection, row["version"], where))))
    if candidate is not None:
        there = units.until == FOREVER
        history.show(Shown(candidate.row["number"], _classes(units, there, candidate.labels)))
    return history, units.keys


def _classes(units: _Units, there: NDArray[np.bool_], labels: GroupLabels) -> Longs:
    """The class of each place in a release, or −1."""
    (numbers,) = class_numbers(labels)
    at = labels.at(units.cohorts)
    # Of a cohort that nobody is left of it is forgotten what it looked like: a class of its own.
    looks = np.where(at < 0, -1 - units.cohorts, numbers[at] if len(numbers) else 0)
    return np.where(there, np.unique(looks, return_inverse=True)[1], -1)


def _stored(connection: sa.Connection, epoch: Epoch, where: str) -> _Units:
    names = ("id", "cohort", "holder", "person", "since", "until")
    columns: list[list[Any]] = [[] for _ in names]
    for some in chunks(connection, tables.places, names, tables.places.c.since > 0):
        for column, values in zip(columns, some, strict=True):
            column.extend(values)
    ids, cohorts, holders, persons, since, until = columns
    texts = place_texts(connection, np.array(ids, np.int64))
    keys = dict(
        pair for some in chunks(connection, tables.records, ("id", "key")) for pair in zip(*some, strict=True)
    )
    return _Units(
        np.array(cohorts, np.int64),
        _numbered(cohorts, persons),
        np.array(since, np.int64),
        np.array([FOREVER if end is None else end for end in until], np.int64),
        [None if holder is None else keys[holder] for holder in holders],
        np.array([text is not None for text in texts], bool),
        from_texts([text for text in texts if text is not None], epoch.passthrough, where),
    )


def _with_next(connection: sa.Connection, epoch: Epoch, where: str, candidate: Publication) -> _Units:
    """The places as they will be when one more release is stored: those that it does not show end with it."""
    before, next_ones = _stored(connection, epoch, where), candidate.shown
    names = ("id", "since")
    stored = [row for some in chunks(connection, tables.places, names) for row in zip(*some, strict=True)]
    order = {number: i for i, number in enumerate(number for number, since in stored if since > 0)}
    ids = next_ones.ids.tolist()
    again = np.array([number in order for number in ids], bool)
    until = np.where(before.until == FOREVER, candidate.row["version"], before.until)
    until[[order[number] for number, old in zip(ids, again.tolist(), strict=True) if old]] = FOREVER
    new = np.flatnonzero(~again)
    cohorts = np.concatenate([before.cohorts, next_ones.cohorts[new]])
    people = np.concatenate([before.people, 1 + before.people.max(initial=0) + next_ones.people[new]])
    contents = next_ones.contents.take(pa.array(new)) if next_ones.contents.num_columns else next_ones.contents
    return _Units(
        cohorts,
        people,
        np.concatenate([before.since, np.full(len(new), FOREVER)]),
        np.concatenate([until, np.full(len(new), FOREVER)]),
        [*before.keys, *(next_ones.keys[i] for i in new.tolist())],
        np.concatenate([before.known, np.ones(len(new), bool)]),
        pa.concat_tables([before.contents, contents], promote_options="permissive"),
    )


def _numbered(cohorts: Sequence[int], persons: Sequence[int]) -> Longs:
    """A number for each person of each cohort."""
    if not len(cohorts):
        return np.zeros(0, np.int64)
    pairs = np.array([cohorts, persons], np.int64)
    return np.unique(pairs, axis=1, return_inverse=True)[1].reshape(-1).astype(np.int64)
