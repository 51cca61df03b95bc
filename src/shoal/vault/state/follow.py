"""Following a vault that others change: what they have touched is read, and nothing else where that is possible."""

from __future__ import annotations

import json

import numpy as np
import sqlalchemy as sa
from numpy.typing import NDArray

from shoal.hierarchies.computed import PrefixLevels
from shoal.records.changes import Arrivals
from shoal.records.growing import Grown
from shoal.schema import Role
from shoal.vault.state.codebooks import grow_by
from shoal.vault.state.dictionary import Dictionary, Value
from shoal.vault.state.epoch import Epoch, read_epoch
from shoal.vault.state.load import codes_of, load, note_past, unpacked
from shoal.vault.state.passthrough import from_texts
from shoal.vault.state.state import State
from shoal.vault.store import tables
from shoal.vault.store.queries import rows_among
from shoal.vault.store.rows import Record
from shoal.vault.store.vault_row import vault_row

MOST_FOLLOWED = 4  # if more than one record in so many has changed, everything is read


def follow(connection: sa.Connection, state: State, where: str) -> State:
    """The state as it is now: what others have changed since is read, and nothing else where that is possible."""
    row = vault_row(connection, where)
    if row["version"] == state.version:
        return load(connection, where) if _masks_too_wide(state) else state
    touched = touched_since(connection, state.version, row["version"])
    if touched is None or row["epoch"] != state.epoch.number or len(touched) * MOST_FOLLOWED > len(state.live):
        return load(connection, where)
    epoch = read_epoch(connection, row["epoch"], where)
    if epoch.version != state.epoch.version:
        return load(connection, where)  # it has begun anew, because there were too few records
    rows = rows_among(connection, tables.records, tables.RECORD, "id", touched)
    _take_over(connection, state, epoch, touched, sorted(map(Record._make, rows)), where)
    note_past(connection, state.live, state.version)
    state.live.table.next_id = row["next_id"]
    state.dictionary.continue_at(json.loads(row["next_values"]))
    state.version, state.epoch = row["version"], epoch
    count = connection.scalar(sa.select(sa.func.count()).select_from(tables.records))
    if len(state.live) != count or _masks_too_wide(state):
        return load(connection, where)  # which says what is wrong, if anything is
    return state


def _masks_too_wide(state: State) -> bool:
    """Whether a column of prefixes would be published as wide as the code of somebody who has been deleted since."""
    return any(
        isinstance(book.column.grower.rule, PrefixLevels)
        and max(map(len, known.ids), default=0) < max(map(len, book.texts), default=0)
        for known, book in zip(state.dictionary.columns, state.live.books, strict=True)
        if book.column.grower is not None
    )


def touched_since(connection: sa.Connection, version: int, last: int) -> NDArray[np.int64] | None:
    """The numbers of the records that batches after a version have touched; None: not known of all of them."""
    touches = tables.touches
    found = connection.scalars(sa.select(touches.c.records).where(touches.c.version > version)).all()
    if len(found) != last - version:
        return None
    return np.unique(np.concatenate([np.frombuffer(one, "<i8") for one in found])).astype(np.int64)


def _take_over(
    connection: sa.Connection,
    state: State,
    epoch: Epoch,
    touched: NDArray[np.int64],
    records: list[Record],
    where: str,
) -> None:
    """Let the live partition be what the touched records say."""
    live, dictionary = state.live, state.dictionary
    alive = live.alive()
    at = np.flatnonzero(np.isin(live.ids[alive], touched))
    slots = dict(zip(live.ids[alive[at]].tolist(), alive[at].tolist(), strict=True))
    coming = [record for record in records if record.id not in slots]
    staying = [record for record in records if record.id in slots]
    leaving = set(slots.values()) - {slots[record.id] for record in staying}
    gone = [key for key, slot in live.keys.items() if slot in leaving]
    gone_codes = live.codes[[live.keys[key] for key in gone]]
    gone_ids = [
        column.ids_of(book, gone_codes[:, j])
        for j, (column, book) in enumerate(zip(dictionary.columns, live.books, strict=True))
    ]
    new = _new_values(connection, dictionary)
    grown = [
        grow_by(book, book.column, [value.value for value in new if value.name == book.name], epoch.schema)
        for book in live.books
    ]
    cells = unpacked(tuple(record.cells for record in coming), len(live.books), where)
    dictionary.know(new)
    codes = codes_of(cells, [each.book for each in grown], dictionary, where)
    for j, column in enumerate(dictionary.columns):
        column.count(cells[:, j], gone_ids[j])
    arrivals = Arrivals(
        gone,
        [record.key for record in coming],
        [],
        [Grown(each.book, each.moved, codes[:, j]) for j, each in enumerate(grown)],
        from_texts([record.carried for record in coming], epoch.passthrough, where),
        [record.person for record in coming] if epoch.schema.names(Role.PERSON) else None,
    )
    live.follow(
        arrivals,
        np.array([record.id for record in coming], np.int64),
        np.array([record.group_id for record in coming], np.int32),
        np.array([slots[record.id] for record in staying], np.int32),
        np.array([record.group_id for record in staying], np.int32),
    )


def _new_values(connection: sa.Connection, dictionary: Dictionary) -> list[Value]:
    """Values that have come since the dictionary was last looked at: they have higher numbers."""
    table = tables.dictionary
    found = []
    for column in dictionary.columns:
        statement = sa.select(*(table.c[name] for name in tables.VALUE)).where(
            table.c.name == column.name, table.c.id >= column.next_id
        )
        found += [Value(*row) for row in connection.execute(statement)]
    return found
