"""From the tables to a live partition: whole, or what has changed since it was last looked at.

Columns, not rows: records come as one block of numbers per quasi-identifier, and values are looked up once each. What
is loaded is held against its seals.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import sqlalchemy as sa
from numpy.typing import NDArray

from shoal.maintain.live import LivePartition
from shoal.progress import SILENT, Progress
from shoal.records.changes import Arrivals
from shoal.records.codebook import CodeBook
from shoal.records.encode import Records
from shoal.records.growing import Grown
from shoal.schema import Role
from shoal.vault import tables
from shoal.vault.carried import from_texts
from shoal.vault.damage import damaged
from shoal.vault.dictionary import Cells, Dictionary, Value, books_of, grow_by
from shoal.vault.seals import moved, seal, seal_rows
from shoal.vault.settings import Epoch, digest
from shoal.vault.store import chunks, row_of, rows_among

MOST_FOLLOWED = 4  # if more than one record in so many has changed, everything is read


@dataclass
class State:
    """A vault in memory, at a version."""

    version: int
    epoch: Epoch
    live: LivePartition
    dictionary: Dictionary
    epochs_begun: int = 0  # of the live partition, that are stored


def current_epoch(connection: sa.Connection, number: int, where: str) -> Epoch:
    row = row_of(connection, sa.select(tables.epochs).where(tables.epochs.c.number == number))
    if row is None:
        raise damaged(where, "its settings are lost")
    return Epoch.from_row(row, where)


def stands(connection: sa.Connection, where: str) -> Mapping[str, Any]:
    """The row of `vault`."""
    row = row_of(connection, sa.select(tables.vault))
    if row is None or row["sha256"] != digest(row):
        raise damaged(where, "it does not say where it stands")
    return row


def load(connection: sa.Connection, where: str, progress: Progress = SILENT) -> State:
    """Everything that is needed to change the records, checked."""
    stand = stands(connection, where)
    sums = json.loads(stand["sums"])
    epoch = current_epoch(connection, stand["epoch"], where)
    values = load_dictionary(connection, sums, where)
    books = books_of(epoch.schema, values, epoch.domains, where)
    dictionary = Dictionary(epoch.schema)
    dictionary.know(values)
    dictionary.continue_at(json.loads(stand["next_values"]))
    stored = load_records(connection, epoch, sums, where, progress)
    codes = _codes(stored.cells, books, dictionary, where)
    for j, column in enumerate(dictionary.columns):
        counts = np.bincount(stored.cells[:, j], minlength=len(column.uses)) if len(stored.cells) else 0
        column.uses = column.uses + counts
    live = LivePartition(
        Records(codes, books, stored.carried, epoch.order, epoch.schema),
        stored.keys,
        stored.groups,
        epoch.settings(stand["version"]),
        people=stored.people,
        reference=epoch.reference,
        ids=stored.ids,
    )
    live.table.next_id = stand["next_id"]
    return State(stand["version"], epoch, live, dictionary)


def load_dictionary(connection: sa.Connection, sums: Mapping[str, str], where: str) -> list[Value]:
    values = [
        Value(*row)
        for columns in chunks(connection, tables.dictionary, tables.VALUE)
        for row in zip(*columns, strict=True)
    ]
    check(where, sums, "dictionary", seal_rows(values), "values")
    return values


def check(where: str, sums: Mapping[str, str], part: str, found: int, what: str) -> None:
    if int(sums.get(part, "0"), 16) != found:
        raise damaged(where, f"{what} are not what was stored")


@dataclass(frozen=True)
class Stored:
    """Records as they are stored, column by column."""

    ids: NDArray[np.int64]
    keys: list[str]
    people: list[str] | None
    cells: Cells
    carried: pa.Table
    groups: NDArray[np.int64]
    since: NDArray[np.int64]


def load_records(
    connection: sa.Connection, epoch: Epoch, sums: Mapping[str, str], where: str, progress: Progress = SILENT
) -> Stored:
    """All records, checked."""
    width = len(epoch.schema.quasi_identifiers)
    several = connection.scalar(sa.select(sa.func.count()).select_from(tables.records)) or 0
    progress.stage("loading", several)
    by_person = bool(epoch.schema.names(Role.PERSON))
    keys: list[str] = []
    people: list[str] | None = [] if by_person else None
    numbers, cells, carried = [], [], []
    found = dict.fromkeys(("keys", "values", "groups"), 0)
    for columns in in_order(chunks(connection, tables.records, tables.RECORD), where):
        ids, some_keys, persons, blobs, texts, groups, since = columns
        for part, sealed in seal_records(columns).items():
            found[part] = moved(found[part], added=sealed)
        keys += some_keys
        if people is not None:
            people += persons
        numbers.append(np.array([ids, groups, since], np.int64))
        cells.append(unpacked(blobs, width, where))
        carried.append(from_texts(texts, epoch.carried, where))
        progress.advance(len(ids))
    for part, what in (("keys", "keys"), ("values", "records"), ("groups", "groups")):
        check(where, sums, part, found[part], what)
    together = np.concatenate(numbers, axis=1) if numbers else np.zeros((3, 0), np.int64)
    return Stored(
        together[0],
        keys,
        people,
        np.concatenate(cells) if cells else np.zeros((0, width), np.int32),
        pa.concat_tables(carried) if carried else epoch.carried.empty_table(),
        together[1],
        together[2],
    )


def seal_records(columns: list[tuple[Any, ...]]) -> dict[str, int]:
    """The seals of records given as the columns of RECORD."""
    ids, keys, people, cells, carried, groups, since = columns
    return {
        "keys": seal(ids, keys),
        "values": seal(ids, people, cells, carried),
        "groups": seal(ids, groups, since),
    }


VALUES = ("id", "person", "cells", "carried")


def in_order(columns: Iterable[list[tuple[Any, ...]]], where: str) -> Iterator[list[tuple[Any, ...]]]:
    """Rows as `chunks` has them, by rising numbers (the first column).

    If they are not, pages have been swapped: whoever asks for a row by its number would not find it, though no checksum
    of the rows tells.
    """
    last = -1
    for some in columns:
        numbers = np.array(some[0], np.int64)
        if numbers[0] < last or (np.diff(numbers) < 0).any():
            raise damaged(where, "rows are not where they were stored")
        last = int(numbers[-1])
        yield some


def seal_of(connection: sa.Connection, names: Sequence[str], where: str) -> int:
    """The seal of some columns of the records, as they are now."""
    found = 0
    for columns in in_order(chunks(connection, tables.records, names), where):
        found = moved(found, added=seal(*columns))
    return found


def unpacked(blobs: tuple[bytes, ...], width: int, where: str) -> Cells:
    content = b"".join(blobs)
    if len(content) != 4 * width * len(blobs):
        raise damaged(where, "records are not what was stored")
    return np.frombuffer(content, "<i4").reshape(len(blobs), width).astype(np.int32)


def _codes(cells: Cells, books: list[CodeBook], dictionary: Dictionary, where: str) -> NDArray[np.int32]:
    codes = np.zeros(cells.shape, np.int32)
    for j, (book, column) in enumerate(zip(books, dictionary.columns, strict=True)):
        lookup = np.full(column.next_id, -1, np.int32)
        lookup[0] = 0
        places = {text: code for code, text in enumerate(book.texts, start=1)}
        for text, number in column.ids.items():
            lookup[number] = places[text]
        if len(cells) and int(cells[:, j].max()) >= len(lookup):
            raise damaged(where, "records have values that are not stored")
        codes[:, j] = lookup[cells[:, j]]
    if (codes < 0).any():
        raise damaged(where, "records have values that are not stored")
    return codes


def follow(connection: sa.Connection, state: State, where: str) -> State:
    """The state as it is now: what others have changed since is read, and nothing else where that is possible."""
    stand = stands(connection, where)
    if stand["version"] == state.version:
        return state
    touched = touched_since(connection, state.version, stand["version"])
    if touched is None or stand["epoch"] != state.epoch.number or len(touched) * MOST_FOLLOWED > len(state.live):
        return load(connection, where)
    epoch = current_epoch(connection, stand["epoch"], where)
    if epoch.version != state.epoch.version or epoch.reference != state.epoch.reference:
        return load(connection, where)  # it has begun anew, because there were too few records; or a value is erased
    rows = rows_among(connection, tables.records, tables.RECORD, "id", touched)
    _take_over(connection, state, epoch, touched, sorted(rows), where)
    state.live.table.next_id = stand["next_id"]
    state.dictionary.continue_at(json.loads(stand["next_values"]))
    state.version, state.epoch = stand["version"], epoch
    several = connection.scalar(sa.select(sa.func.count()).select_from(tables.records))
    return state if len(state.live) == several else load(connection, where)  # which says what is wrong


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
    rows: list[tuple[Any, ...]],
    where: str,
) -> None:
    """Let the live partition be what the rows of the touched records say."""
    live, dictionary = state.live, state.dictionary
    alive = live.alive()
    at = np.flatnonzero(np.isin(live.ids[alive], touched))
    slots = dict(zip(live.ids[alive[at]].tolist(), alive[at].tolist(), strict=True))
    coming = [row for row in rows if row[0] not in slots]
    staying = [row for row in rows if row[0] in slots]
    leaving = set(slots.values()) - {slots[row[0]] for row in staying}
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
    cells = unpacked(tuple(row[3] for row in coming), len(live.books), where)
    dictionary.know(new)
    codes = _codes(cells, [each.book for each in grown], dictionary, where)
    for j, column in enumerate(dictionary.columns):
        column.count(cells[:, j], gone_ids[j])
    arrivals = Arrivals(
        gone,
        [row[1] for row in coming],
        [],
        [Grown(each.book, each.moved, codes[:, j]) for j, each in enumerate(grown)],
        from_texts([row[4] for row in coming], epoch.carried, where),
        [row[2] for row in coming] if epoch.schema.names(Role.PERSON) else None,
    )
    live.follow(
        arrivals,
        np.array([row[0] for row in coming], np.int64),
        np.array([row[5] for row in coming], np.int32),
        np.array([slots[row[0]] for row in staying], np.int32),
        np.array([row[5] for row in staying], np.int32),
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
