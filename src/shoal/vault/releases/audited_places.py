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
from shoal.cohorts.places import TAINTED
from shoal.schema import Role
from shoal.vault.releases.history import place_texts, places_at
from shoal.vault.releases.placed import last_safe_version
from shoal.vault.releases.prepare import Publication
from shoal.vault.state.epoch import Epoch
from shoal.vault.state.passthrough import from_texts
from shoal.vault.store import tables
from shoal.vault.store.queries import chunks
from shoal.verify.models import published_values

Longs = NDArray[np.int64]


class _Units(NamedTuple):
    """Places that some release shows; those of one that is not stored yet come last."""

    ids: Longs  # rising
    people: Longs
    tainted: Longs
    keys: list[str | None]  # of the holders
    known: NDArray[np.bool_]  # whether it is not forgotten what they say
    contents: pa.Table  # what they say; of those that are known


def places_history(
    connection: sa.Connection,
    epoch: Epoch,
    releases: Sequence[Mapping[str, Any]],
    where: str,
    candidate: Publication | None = None,
) -> tuple[History, list[str | None], Longs]:
    """The releases that show cohorts; with one more, if it is given. And the key of each place's holder.

    Last, the units in doubt: their cohorts began after releases of another kind, which may say more of them.
    """
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
        members = places_at(connection, row["version"])
        history.show(Shown(row["number"], _classes(units, members.ids, members.groups)))
    if candidate is not None:
        history.show(Shown(candidate.row["number"], _classes(units, candidate.shown.ids, candidate.shown.cohorts)))
    return history, units.keys, np.flatnonzero(units.tainted == TAINTED)


def _classes(units: _Units, ids: Longs, cohorts: Longs) -> Longs:
    """The cohort of each place in a release, or −1. Nobody gets credit for two cohorts that look the same."""
    classes = np.full(len(units.ids), -1, np.int64)
    classes[np.searchsorted(units.ids, ids)] = np.unique(cohorts, return_inverse=True)[1]
    return classes


def _stored(connection: sa.Connection, epoch: Epoch, where: str) -> _Units:
    shown = tables.places.c.since <= last_safe_version(connection)
    columns: list[list[Any]] = [[], [], [], [], []]
    for some in chunks(connection, tables.places, ("id", "cohort", "holder", "person", "tainted"), shown):
        for column, values in zip(columns, some, strict=True):
            column.extend(values)
    ids, cohorts, holders, persons, tainted = columns
    texts = place_texts(connection, np.array(ids, np.int64))
    keys = dict(pair for some in chunks(connection, tables.records, ("id", "key")) for pair in zip(*some, strict=True))
    return _Units(
        np.array(ids, np.int64),
        _numbered(cohorts, persons),
        np.array(tainted, np.int64),
        [None if holder is None else keys[holder] for holder in holders],
        np.array([text is not None for text in texts], bool),
        from_texts([text for text in texts if text is not None], epoch.passthrough, where),
    )


def _with_next(connection: sa.Connection, epoch: Epoch, where: str, candidate: Publication) -> _Units:
    """With the places that one more release would add."""
    before, shown = _stored(connection, epoch, where), candidate.shown
    new = np.flatnonzero(~np.isin(shown.ids, before.ids))
    people = _numbered(shown.cohorts[new], shown.people[new])
    contents = shown.records.passthrough
    contents = contents.take(pa.array(new)) if contents.num_columns else contents
    return _Units(
        np.concatenate([before.ids, shown.ids[new]]),
        np.concatenate([before.people, 1 + before.people.max(initial=0) + people]),
        np.concatenate([before.tainted, shown.tainted[new]]),
        [*before.keys, *(shown.keys[i] for i in new.tolist())],
        np.concatenate([before.known, np.ones(len(new), bool)]),
        pa.concat_tables([before.contents, contents], promote_options="permissive"),
    )


def _numbered(cohorts: Sequence[int] | Longs, persons: Sequence[int] | Longs) -> Longs:
    """A number for each person of each cohort."""
    if not len(cohorts):
        return np.zeros(0, np.int64)
    pairs = np.array([cohorts, persons], np.int64)
    return np.unique(pairs, axis=1, return_inverse=True)[1].reshape(-1).astype(np.int64)
