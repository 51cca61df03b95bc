"""Who was shown with which column: what no release has shown goes with its column, and what one has shown stays as is.

A passthrough value is stored under the name that its column had. So a name that stored rows still hold is taken: under
it another column would write over what releases are rebuilt from.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import sqlalchemy as sa
from numpy.typing import NDArray

from shoal.errors import SchemaError
from shoal.vault.state.republication import SAFE
from shoal.vault.store import tables
from shoal.vault.store.queries import chunks

Longs = NDArray[np.int64]


class Shown(NamedTuple):
    """Whom some release shows with a column of one name."""

    records: set[int]  # their numbers: of records as they are, and of past ones
    places: set[int]


def shown_with(connection: sa.Connection, names: Iterable[str]) -> dict[str, Shown]:
    """Of each of these names: who was shown with a column of that name."""
    releases = tables.releases
    columns = releases.c.version, releases.c.republication, releases.c.layout
    history = [
        (version, mode == SAFE, set(json.loads(layout)["order"]))
        for version, mode, layout in connection.execute(sa.select(*columns))
    ]
    return {
        name: _shown(
            connection,
            sorted(version for version, safe, order in history if name in order and not safe),
            sorted(version for version, safe, order in history if name in order and safe),
        )
        for name in names
    }


def _shown(connection: sa.Connection, by_records: Sequence[int], by_places: Sequence[int]) -> Shown:
    """By releases of these versions, which show records, or places."""
    records, memberships, places = tables.records, tables.memberships, tables.places
    found = Shown(set(), set())
    if by_records:
        until_now = records.c.since <= by_records[-1]
        found.records.update(*(ids for (ids,) in chunks(connection, records, ["id"], until_now)))
    if by_records or by_places:
        for ids, since, until in chunks(connection, memberships, ["record_id", "since", "until"]):
            numbers = np.array(ids, np.int64)
            ends = np.array(since, np.int64), np.array(until, np.int64)
            found.records.update(numbers[(numbers > 0) & _within(by_records, *ends)].tolist())
            found.places.update((-numbers[(numbers < 0) & _within(by_places, *ends)]).tolist())
    if by_places:
        names, early = ["id", "holder", "carried", "since", "until"], places.c.since <= by_places[-1]
        for ids, holders, texts, since, until in chunks(connection, places, names, early):
            last = by_places[-1] + 1
            ends = np.array(since, np.int64), np.array([last if end is None else end for end in until], np.int64)
            there = _within(by_places, *ends) | np.isin(ids, list(found.places))
            found.places.update(np.array(ids, np.int64)[there].tolist())
            found.records.update(  # what the place says is read from its holder
                holder
                for holder, text, shown in zip(holders, texts, there.tolist(), strict=True)
                if shown and holder is not None and text is None
            )
    return found


def _within(versions: Sequence[int], since: Longs, until: Longs) -> NDArray[np.bool_]:
    """Which of these intervals hold one of the versions."""
    known = np.array(versions, np.int64)
    found: NDArray[np.bool_] = np.searchsorted(known, until) > np.searchsorted(known, since)
    return found


def refuse_taken(
    connection: sa.Connection, names: Iterable[str], renamed: Mapping[str, str], source: str | None
) -> None:
    """Raise SchemaError if a column is to have a name (`names`) under which stored rows hold another column.

    `renamed`: the old names of those that have one. Who gets back a name that it had before is not refused.
    """
    schemas = connection.scalars(sa.select(tables.epochs.c.schema)).all()
    known = {name for text in schemas for name in json.loads(text)["columns"]}
    asked = [name for name in names if name in known]
    if not asked:
        return
    taken = set()  # read to the end: a server keeps a cursor open for rows that nobody has fetched
    for table in (tables.records, tables.past_records, tables.places):
        for (texts,) in chunks(connection, table, ["carried"], table.c.carried.is_not(None)):
            for values in map(json.loads, texts):
                taken |= {
                    name
                    for name in asked
                    if name in values and (name not in renamed or values.get(renamed[name]) != values[name])
                }
    for name in asked:
        if name in taken:
            raise SchemaError(
                f"column {name!r} cannot have this name: releases show another column by it, and are rebuilt from what "
                "is stored under it.",
                hint="Choose another name.",
                file=source,
                column=name,
            )
