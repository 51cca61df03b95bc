"""From the tables to a live partition.

Columns, not rows: records come as one block of numbers per quasi-identifier, and values are looked up once each. What
is loaded is held against its checksums.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import sqlalchemy as sa
from numpy.typing import NDArray

from shoal.maintain.ageing import REMEMBERED, Ageing
from shoal.maintain.live import LivePartition
from shoal.progress import SILENT, Progress
from shoal.records.codebook import CodeBook
from shoal.records.encode import Records
from shoal.schema import Role
from shoal.vault.state.codebooks import books_of
from shoal.vault.state.dictionary import Cells, Dictionary, Value
from shoal.vault.state.epoch import Epoch, read_epoch
from shoal.vault.state.passthrough import from_texts
from shoal.vault.state.state import State
from shoal.vault.store import tables
from shoal.vault.store.checksums import adjusted, checksum, checksum_of_rows
from shoal.vault.store.damage import damaged
from shoal.vault.store.integrity import compare_checksum, in_order, stored_sums
from shoal.vault.store.parts import parts_of
from shoal.vault.store.queries import chunks
from shoal.vault.store.vault_row import vault_row

MEASURED_ANEW = ("create", "rebase", "schema-change")  # losses before and after are not comparable


def load(connection: sa.Connection, where: str, progress: Progress = SILENT) -> State:
    """Everything that is needed to change the records, checked."""
    row = vault_row(connection, where)
    sums = stored_sums(row)
    epoch = read_epoch(connection, row["epoch"], where)
    values = load_dictionary(connection, sums, where)
    books = books_of(epoch.schema, values, epoch.domains, where)
    dictionary = Dictionary(epoch.schema)
    dictionary.know(values)
    dictionary.continue_at(json.loads(row["next_values"]))
    stored = load_records(connection, epoch, sums, where, progress)
    codes = codes_of(stored.cells, books, dictionary, where)
    for j, column in enumerate(dictionary.columns):
        counts = np.bincount(stored.cells[:, j], minlength=len(column.uses)) if len(stored.cells) else 0
        column.uses = column.uses + counts
    live = LivePartition(
        Records(codes, books, stored.passthrough, epoch.order, epoch.schema),
        stored.keys,
        stored.groups,
        epoch.settings(row["version"]),
        people=stored.people,
        ids=stored.ids,
    )
    live.table.next_id = row["next_id"]
    note_past(connection, live, epoch.version - 1)
    return State(row["version"], epoch, live, dictionary)


def note_past(connection: sa.Connection, live: LivePartition, version: int) -> None:
    """How the groups stood after the batches since a version: what the maintainer compares them with."""
    log = tables.batches.c
    rows = sa.select(log.kind, log.records, log.loss).where(log.version > version)
    for kind, records, loss in reversed(connection.execute(rows.order_by(log.version.desc()).limit(REMEMBERED)).all()):
        if kind in MEASURED_ANEW:
            live.ageing = Ageing()
        live.ageing.note(records, loss)


def load_dictionary(connection: sa.Connection, sums: Mapping[str, int], where: str) -> list[Value]:
    values = [
        Value(*row)
        for columns in chunks(connection, tables.dictionary, tables.VALUE)
        for row in zip(*columns, strict=True)
    ]
    compare_checksum(where, sums, "dictionary", checksum_of_rows(values), "values")
    return values


@dataclass(frozen=True)
class Stored:
    """Records as they are stored, column by column."""

    ids: NDArray[np.int64]
    keys: list[str]
    people: list[str] | None
    cells: Cells
    passthrough: pa.Table
    groups: NDArray[np.int64]
    since: NDArray[np.int64]


def load_records(
    connection: sa.Connection, epoch: Epoch, sums: Mapping[str, int], where: str, progress: Progress = SILENT
) -> Stored:
    """All records, checked."""
    width = len(epoch.schema.quasi_identifiers)
    count = connection.scalar(sa.select(sa.func.count()).select_from(tables.records)) or 0
    progress.stage("loading", count)
    by_person = bool(epoch.schema.names(Role.PERSON))
    keys: list[str] = []
    people: list[str] | None = [] if by_person else None
    numbers, cells, passthrough = [], [], []
    parts = parts_of(tables.records)
    found = {part.name: 0 for part in parts}
    for columns in in_order(chunks(connection, tables.records, tables.RECORD), where):
        ids, some_keys, persons, blobs, texts, groups, since = columns
        by_name = dict(zip(tables.RECORD, columns, strict=True))
        for part in parts:
            found[part.name] = adjusted(found[part.name], added=checksum(*(by_name[name] for name in part.columns)))
        keys += some_keys
        if people is not None:
            people += persons
        numbers.append(np.array([ids, groups, since], np.int64))
        cells.append(unpacked(blobs, width, where))
        passthrough.append(from_texts(texts, epoch.passthrough, where))
        progress.advance(len(ids))
    for part in parts:
        compare_checksum(where, sums, part.name, found[part.name], part.what)
    together = np.concatenate(numbers, axis=1) if numbers else np.zeros((3, 0), np.int64)
    return Stored(
        together[0],
        keys,
        people,
        np.concatenate(cells) if cells else np.zeros((0, width), np.int32),
        pa.concat_tables(passthrough) if passthrough else epoch.passthrough.empty_table(),
        together[1],
        together[2],
    )


def unpacked(blobs: tuple[bytes, ...], width: int, where: str) -> Cells:
    content = b"".join(blobs)
    if len(content) != 4 * width * len(blobs):
        raise damaged(where, "records are not what was stored")
    return np.frombuffer(content, "<i4").reshape(len(blobs), width).astype(np.int32)


def codes_of(cells: Cells, books: list[CodeBook], dictionary: Dictionary, where: str) -> NDArray[np.int32]:
    codes = np.zeros(cells.shape, np.int32)
    for j, (book, column) in enumerate(zip(books, dictionary.columns, strict=True)):
        lookup = np.full(column.next_id, -1, np.int32)
        lookup[0] = 0
        codes_by_text = {text: code for code, text in enumerate(book.texts, start=1)}
        for text, number in column.ids.items():
            lookup[number] = codes_by_text[text]
        if len(cells) and int(cells[:, j].max()) >= len(lookup):
            raise damaged(where, "records have values that are not stored")
        codes[:, j] = lookup[cells[:, j]]
    if (codes < 0).any():
        raise damaged(where, "records have values that are not stored")
    return codes
