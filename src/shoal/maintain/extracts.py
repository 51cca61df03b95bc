"""A full extract of a table held against its records: who is new, who has changed, who is there no more.

Columns are compared whole: keys by one look-up, quasi-identifiers by their codes, the others by their values. A row
that cannot be read counts as changed: whoever checks the changes says what is wrong with it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from itertools import repeat
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from shoal.errors import DataError
from shoal.maintain.table import LiveTable
from shoal.records.changes import DELETE, UPSERT, ChangeBatch, carried, key_of, rows_at
from shoal.records.codebook import Codes
from shoal.records.growing import grow
from shoal.schema import Role
from shoal.sources.normalize import as_text

Bools = NDArray[np.bool_]
Longs = NDArray[np.int64]


class Extract(NamedTuple):
    """What a full extract changes."""

    batch: ChangeBatch
    rows: int  # of the extract
    deleted: int

    @property
    def unchanged(self) -> int:
        return self.rows - (len(self.batch) - self.deleted)


def changes_of(extract: pa.Table, table: LiveTable, compared: Collection[str] = ()) -> Extract:
    """The changes that make the records of a table those of an extract. Nothing has changed yet.

    `compared`: sensitive columns whose values must be in their hierarchies.
    """
    schema, key = table.schema, key_of(table.schema)
    keys = as_text(key, extract[key], schema.missing)
    there, at = _found(keys, table)
    often = np.bincount(at[at >= 0], minlength=1)
    changed = (at < 0) | (often[at] > 1)  # new, without a key, or with one that another row has
    rows = np.flatnonzero(~changed)
    slots = there[at[rows]]
    for name in (name for name in extract.column_names if name != key and name in schema.columns):
        same = _same(extract[name], name, table, rows, slots, compared)
        rows, slots = rows[same], slots[same]
    changed[:] = True
    changed[rows] = False
    coming = np.flatnonzero(changed)
    left = np.ones(len(there), bool)
    left[at[at >= 0]] = False
    gone = [name for name, lost in zip(table.keys, left.tolist(), strict=True) if lost]
    batch = ChangeBatch(
        schema,
        _together(rows_at(extract, coming), key, keys.take(pa.array(coming)), gone),
        [*repeat(UPSERT, len(coming)), *repeat(DELETE, len(gone))],
        rows=np.concatenate([coming + 1, np.zeros(len(gone), np.int64)]),
    )
    return Extract(batch, extract.num_rows, len(gone))


def _found(keys: pa.Array, table: LiveTable) -> tuple[Longs, Longs]:
    """The slots of the records in the order of their keys, and where among them each key of the extract is, or −1."""
    slots = np.fromiter(table.keys.values(), np.int64, len(table.keys))
    at = pc.index_in(keys, value_set=pa.array(list(table.keys), pa.string()))
    return slots, at.fill_null(-1).to_numpy().astype(np.int64)


def _same(
    column: pa.ChunkedArray, name: str, table: LiveTable, rows: Longs, slots: Longs, compared: Collection[str]
) -> Bools:
    """Which of these rows have in a column what the records in these slots have."""
    schema, described = table.schema, table.schema.columns[name]
    if described.role == Role.IDENTIFIER or not len(rows):
        return np.ones(len(rows), bool)
    some = column if len(rows) == len(column) else column.take(pa.array(rows))
    if described.role == Role.QUASI_IDENTIFIER:
        j = schema.quasi_identifiers.index(name)

        def codes(data: pa.ChunkedArray) -> Codes:
            grown = grow(table.books[j], data, schema.missing)
            return grown.codes if grown.moved is None else _old_codes(grown.moved, grown.codes)

        return _compared(some, codes, lambda found, here: found == table.codes[slots[here], j])
    if described.role == Role.PERSON:
        persons = table.persons or []
        whose = pa.array([persons[slot] for slot in slots.tolist()], pa.string())
        return _compared(
            some, lambda data: as_text(name, data, schema.missing), lambda a, here: equal(a, _at(whose, here))
        )
    field = table.passthrough[0].schema.field(name)
    kept = table.carried_in(name, slots)
    return _compared(
        some,
        lambda data: carried(schema, table.passthrough, field, compared, data),
        lambda a, here: equal(a, _at(kept, here)),
    )


def _compared(column: pa.ChunkedArray, convert: Callable[[Any], Any], same: Callable[[Any, Longs], Bools]) -> Bools:
    """`same` of what a column is converted to; False where a value cannot be. Each value is converted once."""
    coded = column.combine_chunks().dictionary_encode(null_encoding="encode")
    values, number = coded.dictionary, coded.indices.to_numpy()
    usable = np.arange(len(values))
    while True:
        try:
            converted = convert(pa.chunked_array([values.take(pa.array(usable))]))
            break
        except DataError as error:
            if not len(error.every_row):
                return np.zeros(len(column), bool)
            usable = np.delete(usable, np.asarray(error.every_row) - 1)
            if not len(usable):
                return np.zeros(len(column), bool)
    at = np.full(len(values), -1, np.int64)
    at[usable] = np.arange(len(usable))
    here = np.flatnonzero(at[number] >= 0)
    found = np.zeros(len(column), bool)
    found[here] = same(_at(converted, at[number[here]]), here)
    return found


def _at(array: Any, here: Longs) -> Any:
    if isinstance(array, np.ndarray):
        return array[here]
    return (array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array).take(pa.array(here))


def _old_codes(moved: Codes, codes: Codes) -> Codes:
    """Codes of a book that has grown as those of the book before; −1 where that has none."""
    old = np.full(int(max(moved.max(), codes.max(initial=0))) + 1, -1, np.int32)
    old[moved] = np.arange(len(moved))
    return old[codes]


def equal(first: pa.Array, second: pa.Array) -> Bools:
    """Where two columns have the same value, or both have none; no number (NaN) is the same as no number."""
    if pa.types.is_null(first.type) or pa.types.is_null(second.type):
        return _bools(pc.and_(first.is_null(), second.is_null()))
    if first.type != second.type:
        first, second = first.cast(pa.float64()), second.cast(pa.float64())  # whole numbers beside fractions
    same = pc.equal(first, second)
    if pa.types.is_floating(first.type):
        same = pc.or_(same, pc.and_(pc.is_nan(first), pc.is_nan(second)))
    return _bools(pc.or_(same.fill_null(False), pc.and_(first.is_null(), second.is_null())))


def _bools(array: pa.Array | pa.ChunkedArray) -> Bools:
    found: Bools = (array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array).to_numpy(
        zero_copy_only=False
    )
    return found.astype(bool)


def _together(coming: pa.Table, key: str, keys: pa.Array, gone: Sequence[str]) -> pa.Table:
    """The rows that come, then those of which the key alone matters."""
    coming = coming.set_column(coming.column_names.index(key), key, keys)
    if not gone:
        return coming
    return pa.concat_tables([coming, pa.table({key: pa.array(gone, pa.string())})], promote_options="default")
