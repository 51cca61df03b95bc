"""ChangeBatch: records that come, go and change, by their key; checked as a whole before anything happens.

A batch names a key once. An insert has every column of the schema; an update those that change (columns that the batch
does not have stay as they are); an upsert is an update where a record has the key, and an insert where none has; a
delete needs the key alone. Whatever is wrong is collected, so that one look mends it all; nothing is applied in part.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from shoal.errors import DataError, ParameterError, SchemaError
from shoal.records.codebook import CodeBook, Codes, refuse_unknown
from shoal.records.encode import carry
from shoal.records.faults import Faults
from shoal.records.growing import Grown, grow
from shoal.records.lacking import refuse_lacking
from shoal.records.reading import expected_by
from shoal.schema import Role, Schema
from shoal.sources.frames import refuse_beyond, series_of
from shoal.sources.naming import refuse_doubtful
from shoal.sources.normalize import EXACT, as_text, is_text, refuse
from shoal.sources.opening import open_source

OP = "op"
INSERT, UPDATE, UPSERT, DELETE = "insert", "update", "upsert", "delete"
OPS = (INSERT, UPDATE, UPSERT, DELETE)
NUMBERS = {pa.int64(), pa.float64()}


@dataclass(frozen=True)
class ChangeBatch:
    """Changes in the order in which they were given: of deletes the key matters, of others every column."""

    schema: Schema
    table: pa.Table
    ops: list[str | None]
    parts: bool = False  # given as inserts, updates and deletes, each with rows of its own
    ignore_unknown: bool = False  # deletes of keys that no record has are passed over
    rows: NDArray[np.int64] | None = None  # where each change stands in its source, from 1 on; None: in this order

    @classmethod
    def from_table(cls, source: object, schema: Schema) -> ChangeBatch:
        """A table, frame or file with a column `op` (insert, update, upsert, delete); without a header, the
        first one.
        """
        key_of(schema)
        every = expected_by(schema)
        expected = replace(every, tests={OP: lambda cell: cell.lower() in OPS, **every.tests})
        opened = open_source(source, expected)
        refuse_doubtful(opened.columns, expected.tests, opened.file)
        table = opened.load(opened.columns)
        if OP not in table.column_names:
            raise DataError(
                f"the changes have no column {OP!r}.", hint=f"It says of each row: {', '.join(OPS)}.", file=opened.file
            )
        ops = [op if op is None else op.lower() for op in as_text(OP, table[OP], ()).to_pylist()]
        refuse_lacking(opened, [op in (UPDATE, UPSERT) for op in ops], [op == INSERT for op in ops])
        return cls(schema, table.drop_columns([OP]), ops)

    @classmethod
    def of(
        cls,
        schema: Schema,
        *,
        inserts: object = None,
        updates: object = None,
        upserts: object = None,
        deletes: Iterable[object] | None = None,
    ) -> ChangeBatch:
        """Tables or frames of records to insert, to update and to do either with, and keys to delete."""
        key = key_of(schema)
        given: list[tuple[str, pa.Table]] = []
        for op, source in ((INSERT, inserts), (UPDATE, updates), (UPSERT, upserts)):
            if source is not None:
                opened = open_source(source, expected_by(schema))
                refuse_doubtful(opened.columns, schema.columns, opened.file)
                table = opened.load(opened.columns)
                updates_some = [op != INSERT] * table.num_rows
                refuse_lacking(opened, updates_some, updates_some)
                given.append((op, table))
        if deletes is not None:
            given.append((DELETE, pa.table({key: _key_array(key, deletes)})))
        if len(given) == 1:
            return cls(schema, given[0][1], [given[0][0]] * given[0][1].num_rows)
        table = _together([_with_texts(table, key) for _, table in given], key)
        return cls(schema, table, [op for op, part in given for _ in range(part.num_rows)], parts=True)

    def __len__(self) -> int:
        return len(self.ops)

    def __repr__(self) -> str:
        counts = ", ".join(f"{self.ops.count(op)} {op}s" for op in OPS)
        return f"<ChangeBatch of {counts}>"


class Arrivals(NamedTuple):
    """What a batch comes to, checked and encoded. Nothing in it has been applied."""

    deleted: list[str]  # keys
    inserted: list[str]  # keys, in the order of the batch
    updated: list[str]  # keys; their new records come after the inserted ones
    grown: list[Grown]  # of each quasi-identifier: its book now, and the codes of inserted and updated records
    passthrough: pa.Table
    people: list[str] | None
    ignored: int = 0  # deletes of keys that no record has
    key_type: pa.DataType | None = None  # of the keys as they were given; None: nobody is inserted

    def any(self) -> bool:
        """Whether there is a change at all."""
        return bool(self.deleted or self.inserted or self.updated)

    @property
    def books(self) -> list[CodeBook]:
        return [grown.book for grown in self.grown]

    @property
    def codes(self) -> Codes:
        return np.stack([grown.codes for grown in self.grown], axis=1)


class Present(Protocol):
    """What the records with some keys are now: for columns that a batch does not have."""

    def codes_of(self, j: int, keys: Sequence[str]) -> Codes:
        """Of quasi-identifier j."""

    def carried_of(self, name: str, keys: Sequence[str]) -> pa.Array:
        """A column that is published as it is."""

    def people_of(self, keys: Sequence[str]) -> list[str]:
        """Whose they are."""


def key_of(schema: Schema) -> str:
    """The column that names records."""
    names = schema.names(Role.KEY)
    if not names:
        raise SchemaError(
            "the schema has no key: nothing says which record a change is about.",
            hint='Give the column that names a record the role "key".',
            file=schema.source,
        )
    return names[0]


def read_keys(schema: Schema, source: object) -> pa.ChunkedArray:
    """The key column of a file, table or frame, whatever else it has.

    Without a header a file has the keys alone, or every column of the schema.
    """
    key = key_of(schema)
    series = series_of(source)
    if series is not None:  # the keys alone
        return series
    every = expected_by(schema)
    expected = replace(every, tests={key: None}, orders=([key], list(schema.columns)))
    opened = open_source(source, expected)
    if key not in opened.columns:
        raise DataError(f"the table has no column {key!r}, which names the records.", file=opened.file, column=key)
    return opened.load([key])[key]


def check(
    batch: ChangeBatch,
    keys: Collection[str],
    books: Sequence[CodeBook],
    passthrough: Sequence[pa.Table],
    compared: Collection[str] = (),
    present: Present | None = None,
) -> Arrivals:
    """The batch, encoded for a table with these keys, code books and passthrough columns (in parts).

    `compared`: sensitive columns whose values must be in their hierarchies. `present`: what records are now; without
    it a batch has every column.

    Guarantee: raises BatchError with every fault of the batch, or returns; nothing that was given has changed.
    """
    faults = Faults(batch.ops, batch.rows, parts=batch.parts)
    texts = _keys(batch, faults)
    ops, ignored = _resolved(batch, texts, keys, faults)
    order = {op: [i for i, given in enumerate(ops) if given == op] for op in OPS}
    coming = np.array(order[INSERT] + order[UPDATE], np.int64)
    named = {op: [str(texts[i]) for i in order[op]] for op in OPS}
    stay = None if order[INSERT] or faults.count else present  # nothing stays of what is not there yet
    grown, kept, people = _values(batch, coming, books, passthrough, compared, stay, named[UPDATE], faults)
    faults.raise_any()
    key_type = batch.table.schema.field(key_of(batch.schema)).type if order[INSERT] else None
    return Arrivals(named[DELETE], named[INSERT], named[UPDATE], grown, kept, people, ignored, key_type)


def _keys(batch: ChangeBatch, faults: Faults) -> list[str | None]:
    """The keys as texts; none where the column cannot be read."""
    key = key_of(batch.schema)
    if key not in batch.table.column_names:
        faults.add(None, key, "the batch has no such column, and it names the records")
        return [None] * len(batch)
    try:
        return as_text(key, batch.table[key], batch.schema.missing).to_pylist()
    except DataError as error:
        faults.add(None, key, error.message.rstrip("."))
        return [None] * len(batch)


def _resolved(
    batch: ChangeBatch, texts: Sequence[str | None], keys: Collection[str], faults: Faults
) -> tuple[list[str | None], int]:
    """What each change is where these keys are there, None of those to pass over; and how many those are."""
    key = key_of(batch.schema)
    unreadable = faults.count > 0
    first: dict[str, int] = {}
    ops = list(batch.ops)
    ignored = 0
    for i, (text, op) in enumerate(zip(texts, batch.ops, strict=True)):
        if op not in OPS:
            faults.add(i, OP, f"must be one of {', '.join(OPS)}")
        elif unreadable:
            continue
        elif text is None:
            faults.add(i, key, "the key is missing")
        elif text in first:
            other = batch.ops[first[text]]
            again = f"{op} and {other}" if op != other else f"{op} twice"
            faults.add(i, key, f"the same key as {faults.name(first[text])} ({again})", text)
        else:
            first[text] = i
            there = text in keys
            if op == UPSERT:
                ops[i] = UPDATE if there else INSERT
            elif op == INSERT and there:
                faults.add(i, key, "insert of a key that a record has already", text)
            elif op == DELETE and not there and batch.ignore_unknown:
                ops[i] = None
                ignored += 1
            elif op != INSERT and not there:
                faults.add(i, key, f"{op} of a key that no record has", text)
    return ops, ignored


def _values(
    batch: ChangeBatch,
    coming: NDArray[np.int64],
    books: Sequence[CodeBook],
    parts: Sequence[pa.Table],
    compared: Collection[str],
    present: Present | None,
    updated: Sequence[str],
    faults: Faults,
) -> tuple[list[Grown], pa.Table, list[str] | None]:
    """Codes and passthrough columns of the records that come. `present`: where all of them are updated, what they are;
    `updated`: their keys.
    """
    schema, passthrough = batch.schema, parts[0].schema
    wanted = [name for name in schema.columns if name not in schema.names(Role.IDENTIFIER, Role.KEY)]
    for name in batch.table.column_names:
        if name not in schema.columns:
            faults.add(None, name, "the schema does not name this column")
    if not len(coming):
        nothing = np.zeros(0, np.int32)
        people: list[str] | None = [] if schema.names(Role.PERSON) else None
        return [Grown(book, None, nothing) for book in books], passthrough.empty_table(), people
    lacking = [name for name in wanted if name not in batch.table.column_names]
    for name in lacking if present is None else ():
        faults.add(None, name, "the batch does not have this column")
    stays: Any = present
    rows = rows_at(batch.table, coming)
    grown = [
        _tried(book.name, rows, coming, partial(grow, book, missing=schema.missing), faults)
        if book.name not in lacking
        else Grown(book, None, stays.codes_of(j, updated))
        for j, book in enumerate(books)
        if book.name not in lacking or stays is not None
    ]
    kept = {
        field.name: _tried(field.name, rows, coming, partial(carried, schema, parts, field, compared), faults)
        if field.name not in lacking
        else stays.carried_of(field.name, updated)
        for field in passthrough
        if field.name not in lacking or stays is not None
    }
    people = None
    for name in schema.names(Role.PERSON):
        if name in lacking:
            people = None if present is None else present.people_of(updated)
            continue
        whose = _tried(name, rows, coming, partial(as_text, name, missing=schema.missing), faults)
        people = [] if whose is None else whose.to_pylist()
        for i in [i for i, person in zip(coming.tolist(), people, strict=False) if person is None]:
            faults.add(i, name, "the person is missing")
    if faults.count:
        return [], passthrough.empty_table(), people
    return grown, pa.table(kept), people


def rows_at(table: pa.Table, rows: NDArray[np.int64]) -> pa.Table:
    """Some rows of a table; Arrow cannot take them from views of texts."""
    try:
        columns = {
            name: table[name].cast(pa.string()) if is_text(table[name].type) else table[name]
            for name in table.column_names
        }
        return pa.table(columns).take(pa.array(rows))
    except pa.ArrowException:
        pass
    raise DataError("the batch holds columns that cannot be read.", hint="Give it plain columns.")


def carried(
    schema: Schema, parts: Sequence[pa.Table], field: pa.Field, compared: Collection[str], column: pa.ChunkedArray
) -> pa.Array:
    """A passthrough column of records that come, as the table beside it has it."""
    described = schema.columns[field.name]
    array = carry(field.name, described, column, schema.missing)
    if field.name in compared and described.grower is not None and described.on_unknown == "error":
        coded = as_text(field.name, array, schema.missing).dictionary_encode()
        known = set(described.grower.grow(coded.dictionary.to_pylist()).leaves)
        refuse_unknown(field.name, coded, [value not in known for value in coded.dictionary.to_pylist()])
    if array.type == field.type or pa.types.is_null(field.type):
        return array
    if {array.type, field.type} == NUMBERS:  # whole or not: the table takes in both, as far as a float tells them apart
        whole = [array] if array.type == pa.int64() else [part[field.name] for part in parts]
        largest = max((abs(float(end or 0)) for one in whole for end in pc.min_max(one).as_py().values()), default=0.0)
        if largest >= EXACT:
            large = array.is_valid().to_numpy(zero_copy_only=False)
            refuse(field.name, array, large, "too many digits to be kept beside fractions", "Round it.")
        return array
    try:
        return array.cast(field.type)
    except pa.ArrowException:
        pass
    raise DataError(f"holds {array.type}, but the table has {field.type}.", column=field.name)


def _tried(
    name: str, rows: pa.Table, coming: NDArray[np.int64], convert: Callable[[pa.ChunkedArray], Any], faults: Faults
) -> Any:
    """Convert a column; None if it cannot be. Rows that are at fault are taken out, to find what else is wrong."""
    column, left = rows[name], coming
    while True:
        try:
            converted = convert(column)
            return converted if len(left) == len(coming) else None
        except DataError as error:
            if not len(error.every_row):
                faults.add(None, name, error.message.rstrip("."))
                return None
            at_fault = np.array(error.every_row) - 1
            values = dict(zip(at_fault[: len(error.rows)].tolist(), error.sealed(), strict=False))
            for row in at_fault.tolist():
                faults.add(int(left[row]), name, error.fault, values.get(row))
            staying = np.setdiff1d(np.arange(len(left)), at_fault)
            column, left = column.take(pa.array(staying)), left[staying]


def _key_array(name: str, keys: Iterable[object]) -> pa.Array | pa.ChunkedArray:
    if isinstance(keys, pa.Array | pa.ChunkedArray):
        return keys
    if isinstance(keys, str):
        raise ParameterError("deletes are a list of keys. Got a text instead.")
    listed = list(keys)
    try:
        return pa.array(listed)
    except (pa.ArrowException, OverflowError, TypeError, ValueError):  # half a character is a ValueError
        pass
    refuse_beyond(name, listed)
    raise ParameterError("deletes are keys of one type: texts or whole numbers.")


def _together(tables: list[pa.Table], key: str) -> pa.Table:
    if not tables:
        return pa.table({key: pa.array([], pa.string())})
    try:
        return pa.concat_tables(tables, promote_options="permissive")
    except pa.ArrowException:
        pass
    raise DataError("inserts and updates have a column of different types.", hint="Give them the same types.")


def _with_texts(table: pa.Table, key: str) -> pa.Table:
    """Keys as texts, so that parts with keys of different types go together."""
    if key not in table.column_names:
        return table
    return table.set_column(table.column_names.index(key), key, as_text(key, table[key], ()))
