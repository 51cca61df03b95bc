"""The records of a vault as units: what they are, and what they were when they were published.

A unit is what a record was as long as its published row said the same beside the quasi-identifiers: a record that has
been updated is the same unit as before, if it does. (Who is known to have another job is found by the row whose job
changes, and the diagnosis with it: insensitive values end a unit, too.) Of people who have been deleted the vault knows
in which groups they were and nothing else: who they were, whose records theirs were (all count as one person's, the
worst case) and what their values were is forgotten.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import sqlalchemy as sa
from numpy.typing import NDArray

from shoal.schema import Role, Schema
from shoal.vault.state.epoch import Epoch
from shoal.vault.state.load import load_records
from shoal.vault.state.passthrough import from_texts
from shoal.vault.state.state import State
from shoal.vault.store import tables
from shoal.vault.store.integrity import stored_sums
from shoal.vault.store.queries import chunks
from shoal.vault.store.vault_row import vault_row
from shoal.verify.models import Values, published_values

Longs = NDArray[np.int64]
FOREVER = np.iinfo(np.int64).max


class Held(NamedTuple):
    """Records as they are: with the group that each is in, and the version from which on it is there."""

    ids: Longs
    people: Sequence[str] | None
    passthrough: pa.Table
    groups: Longs
    since: Longs
    places: Callable[[Sequence[str]], Longs]  # of records with these keys; −1: there is none
    keys: Callable[[], Sequence[str]]  # of all; who asks for them has found somebody


def stored(connection: sa.Connection, epoch: Epoch, where: str) -> Held:
    """From the tables, checked."""
    sums = stored_sums(vault_row(connection, where))
    found = load_records(connection, epoch, sums, where)

    def places(keys: Sequence[str]) -> Longs:
        if not keys:
            return np.zeros(0, np.int64)
        at = pc.index_in(pa.array(keys, pa.string()), value_set=pa.array(found.keys, pa.string()))
        return at.fill_null(-1).to_numpy().astype(np.int64)

    return Held(found.ids, found.people, found.passthrough, found.groups, found.since, places, lambda: found.keys)


def in_memory(connection: sa.Connection, state: State, first: int) -> Held:
    """From what is loaded, and was checked then. `first`: a version; who was in their group before it is in it from the
    beginning, as far as it matters."""
    table = state.live.table
    alive = table.alive()
    ids = table.ids[alive]
    place_of_slot = np.full(table.used, -1, np.int64)
    place_of_slot[alive] = np.arange(len(alive))

    def places(keys: Sequence[str]) -> Longs:
        slots = [table.keys.get(key, -1) for key in keys]
        return np.array([-1 if slot < 0 else place_of_slot[slot] for slot in slots], np.int64)

    def names() -> Sequence[str]:
        keys = np.empty(table.used, object)
        keys[np.fromiter(table.keys.values(), np.int64, len(table.keys))] = list(table.keys)
        found: list[str] = keys[alive].tolist()
        return found

    since = np.zeros(len(ids), np.int64)
    order = None if (np.diff(ids) > 0).all() else np.argsort(ids, kind="stable")
    for numbers, versions in chunks(connection, tables.records, ["id", "since"], tables.records.c.since > first):
        at = np.searchsorted(ids, numbers, sorter=order)
        since[at if order is None else order[at]] = versions
    columns = {name: table.passthrough_column(name) for name in state.epoch.passthrough.names}
    groups = table.labels[alive].astype(np.int64)
    return Held(ids, table.people(), pa.table(columns), groups, since, places, names)


class Units:
    """First the records as they are; then what they were, where that is another unit; then those who are forgotten."""

    def __init__(self, connection: sa.Connection, held: Held, others: Longs, epoch: Epoch, where: str) -> None:
        """`others`: the numbers of records that are not held any more, but in some release."""
        schema, n_held = epoch.schema, len(held.ids)
        past = _past(connection, epoch, where)
        at = held.places(past.keys)
        columns = pa.concat_tables([held.passthrough, past.passthrough]) if len(past.ids) else held.passthrough
        shares = epoch.reference or {}  # it may name values that nobody has any more
        values = {
            name: _values(name, columns[name], schema, [value for value in shares.get(name, ()) if value])
            for name in schema.names(Role.SENSITIVE)
        }
        unit, is_new = _same(at, n_held, [_coded(columns[name]) for name in columns.column_names])
        kept = np.concatenate([np.ones(n_held, bool), is_new])
        n_known = int(kept.sum())
        self._ids, self._units = _by_rising_ids(
            np.concatenate([held.ids, past.ids]), np.concatenate([np.arange(n_held), unit])
        )
        forgotten = others[~self._has(others)]
        n_units = n_known + len(forgotten)
        self._ids, self._units = _by_rising_ids(
            np.concatenate([self._ids, forgotten]),
            np.concatenate([self._units, n_known + np.arange(len(forgotten))]),
        )
        self.known = np.arange(n_units) < n_known
        self._names, self._past_names = held.keys, [key for key, new in zip(past.keys, is_new, strict=True) if new]
        whose = _whose(schema, held)
        self.people = np.empty(n_units, np.int64)
        self.people[:n_held] = whose
        self.people[n_held:n_known] = np.where(at >= 0, whose[at] if n_held else -1, n_held + np.arange(len(at)))[
            is_new
        ]
        nobodys = n_held + len(at)
        self.people[n_known:] = nobodys + (0 if schema.names(Role.PERSON) else np.arange(len(forgotten)))
        zeros = np.zeros(len(forgotten), np.int64)
        self.values = {
            name: replace(found, numbers=np.concatenate([found.numbers[kept], zeros])) for name, found in values.items()
        }
        self.combinations = _combinations(columns, np.concatenate([np.arange(n_held), unit]), n_units)
        self.successors = _successors(held.ids, past.ids, unit, at)

    def __len__(self) -> int:
        return len(self.people)

    def keys(self) -> list[str | None]:
        """Of all units; None of those who are forgotten."""
        forgotten = len(self) - int(self.known.sum())
        return [*self._names(), *self._past_names, *[None] * forgotten]

    def _has(self, ids: Longs) -> NDArray[np.bool_]:
        if not len(self._ids):
            return np.zeros(len(ids), bool)
        found: NDArray[np.bool_] = self._ids[np.minimum(np.searchsorted(self._ids, ids), len(self._ids) - 1)] == ids
        return found

    def of(self, ids: Longs) -> Longs:
        """The units of records that are held, or were in a release."""
        units: Longs = self._units[np.searchsorted(self._ids, ids)]
        return units


class _Past(NamedTuple):
    """What records were when they were published, if they have been updated since."""

    ids: Longs
    keys: list[str]
    passthrough: pa.Table


def _past(connection: sa.Connection, epoch: Epoch, where: str) -> _Past:
    ids: list[int] = []
    keys: list[str] = []
    texts: list[str] = []
    for some, their_keys, carried in chunks(connection, tables.past_records, ["id", "key", "carried"]):
        ids += some
        keys += their_keys
        texts += carried
    columns = from_texts(texts, epoch.passthrough, where) if texts else epoch.passthrough.empty_table()
    return _Past(np.array(ids, np.int64), keys, columns)


def _by_rising_ids(ids: Longs, units: Longs) -> tuple[Longs, Longs]:
    if (np.diff(ids) > 0).all():
        return ids, units
    order = np.argsort(ids, kind="stable")
    return ids[order], units[order]


def _values(name: str, column: pa.ChunkedArray, schema: Schema, also: Sequence[str]) -> Values:
    """As `published_values`, which looks at each value once."""
    if pa.types.is_null(column.type):
        return published_values(name, column, schema.columns[name], schema.missing, also)
    coded = column.combine_chunks().dictionary_encode()
    once = published_values(name, pa.chunked_array([coded.dictionary]), schema.columns[name], schema.missing, also)
    numbers = np.append(once.numbers, 0)[coded.indices.fill_null(len(coded.dictionary)).to_numpy()]
    return replace(once, numbers=numbers)


def _coded(column: pa.ChunkedArray) -> tuple[Longs, int]:
    """A number for each value, and how many numbers there are."""
    if pa.types.is_null(column.type):
        return np.zeros(len(column), np.int64), 1
    coded = column.combine_chunks().dictionary_encode()
    count = len(coded.dictionary)
    return coded.indices.fill_null(count).to_numpy().astype(np.int64), count + 1


def _same(at: Longs, n_held: int, columns: Sequence[tuple[Longs, int]]) -> tuple[Longs, NDArray[np.bool_]]:
    """The unit of each past record, and whether it is the first of one that is not held: one unit for what has one key
    and the same values. `at`: the record that is held under its key.
    """
    alone = n_held + np.arange(len(at))
    concerned = np.concatenate([np.unique(at[at >= 0]), alone])
    number = np.concatenate([concerned[: len(concerned) - len(at)], np.where(at >= 0, at, alone)])  # of the key
    for numbers, count in columns:
        number = np.unique(number * count + numbers[concerned], return_inverse=True)[1]
    _, first, which = np.unique(number, return_index=True, return_inverse=True)
    is_first = np.zeros(len(concerned), bool)
    is_first[first] = True
    is_new = is_first[len(concerned) - len(at) :]
    units = concerned.copy()
    units[len(concerned) - len(at) :][is_new] = n_held + np.arange(int(is_new.sum()))
    return units[first][which][len(concerned) - len(at) :], is_new


def _whose(schema: Schema, held: Held) -> Longs:
    """Whose the records are, as numbers."""
    if held.people is None or not schema.names(Role.PERSON):
        return np.arange(len(held.ids))
    coded = pa.array(held.people, pa.string()).dictionary_encode()
    return coded.indices.fill_null(len(coded.dictionary)).to_numpy().astype(np.int64)


def _combinations(columns: pa.Table, unit: Longs, n_units: int) -> Longs:
    """What each unit shows beside its quasi-identifiers, as a number; −1: forgotten.

    Two that show the same have the same number, and others hardly ever: it is a hash.
    """
    rng = np.random.default_rng(len(unit))
    hashes = np.zeros(len(unit), np.uint64)
    for name in columns.column_names:
        if pa.types.is_null(columns[name].type):
            continue
        coded = columns[name].combine_chunks().dictionary_encode()
        drawn = rng.integers(0, 2**63, len(coded.dictionary) + 1, np.uint64)
        hashes += drawn[coded.indices.fill_null(len(coded.dictionary)).to_numpy()]
    numbers = (hashes >> np.uint64(1)).astype(np.int64)
    found = np.full(n_units, -1, np.int64)
    found[unit] = numbers
    return found


def _successors(ids: Longs, past_ids: Longs, unit: Longs, at: Longs) -> Longs:
    """Pairs of units: what somebody was, and what they were next."""
    has = at >= 0
    numbers = np.concatenate([past_ids[has], ids[np.unique(at[has])]])
    units = np.concatenate([unit[has], np.unique(at[has])])
    keys = np.concatenate([at[has], np.unique(at[has])])
    order = np.lexsort((numbers, keys))
    units, keys = units[order], keys[order]
    next_one = (np.diff(keys) == 0) & (np.diff(units) != 0)
    pairs = np.stack([units[:-1][next_one], units[1:][next_one]], axis=1)
    found: Longs = np.unique(pairs, axis=0) if len(pairs) else np.zeros((0, 2), np.int64)
    return found
