"""From what a batch has done to rows: only what has changed is written.

A row that a release shows is not lost when it changes: where it was stays as a membership, and what it was as a past
record. Of a record that is deleted nothing stays but numbers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import starmap
from typing import Any

import numpy as np
import pyarrow as pa
import sqlalchemy as sa
from numpy.typing import NDArray

from shoal.maintain.change import Applied
from shoal.maintain.live import LivePartition
from shoal.records.codebook import CodeBook
from shoal.schema import Column
from shoal.vault.state.dictionary import Dictionary, Turnover, Value, keeps_leaves
from shoal.vault.state.epoch import Epoch
from shoal.vault.state.erased_values import without_domains
from shoal.vault.state.frozen import outside
from shoal.vault.state.origin import NO_ORIGIN, Origin
from shoal.vault.state.passthrough import to_texts
from shoal.vault.state.places import follow_batch
from shoal.vault.state.republication import NONE, SAFE, Republication
from shoal.vault.state.state import State
from shoal.vault.store import tables
from shoal.vault.store.events import current_user
from shoal.vault.store.queries import Row, rows_among
from shoal.vault.store.rows import Record, as_json, now
from shoal.vault.store.store import Store
from shoal.vault.store.vault_row import update_vault_row

MOST_TOUCHED = 1_000_000  # of a larger batch it is not kept whom it touched


class Saving:
    """One batch on its way into the tables, within a transaction of the writer."""

    def __init__(
        self, store: Store, connection: sa.Connection, row: Mapping[str, Any], origin: Origin = NO_ORIGIN
    ) -> None:
        """`row`: that of the vault."""
        self.store, self.connection, self.origin = store, connection, origin
        self.version = int(row["version"]) + 1
        by_records = sa.func.coalesce(tables.releases.c.republication, NONE) != SAFE
        shown = connection.scalar(sa.select(sa.func.max(tables.releases.c.version)).where(by_records))
        self.published = -1 if shown is None else int(shown)  # the last version whose records a release shows
        self.republication = Republication.from_row(row)
        self.erased: list[tuple[int, int, int]] = []  # where people were shown who are erased: group, since, until
        self.gone: list[str] = []  # passthrough values of records that are no more, or are different now

    # Parts of a batch

    def remove(self, gone: NDArray[np.int64], replaced: Mapping[int, int], owners: Mapping[int, str]) -> None:
        """Records with these numbers go; those of `replaced` live on, under the numbers that it has for them.

        `owners`: whose they are then, by the new numbers, if the schema says whose a record is.
        """
        records = list(map(Record._make, self.store.delete(self.connection, tables.records, "id", gone)))
        self.retire([record for record in records if record.id in replaced])
        deleted = [record for record in records if record.id not in replaced]
        if self.republication.keeps_places:
            again = {record.id: (record, replaced[record.id]) for record in records if record.id in replaced}
            others = [one for one, new in again.values() if owners.get(new, one.person) != one.person]
            for one in others:
                del again[one.id]
            self.republication = follow_batch(self.store, self.connection, self.republication, deleted, again, others)
        self._remember_groups([(record.id, record.group_id, record.since) for record in deleted])
        self.gone = [record.carried for record in records]
        self._erase([record.id for record in deleted], [record.key for record in deleted])

    def retire(self, records: Sequence[Record]) -> None:
        """Records will be replaced by newer versions: what releases show of them stays."""
        self._remember_values(records)
        self._remember_groups([(record.id, record.group_id, record.since) for record in records])

    def move(self, ids: NDArray[np.int64], groups: NDArray[np.integer]) -> None:
        """Records are in other groups."""
        if not len(ids):
            return
        columns = ids, groups, np.full(len(ids), self.version)
        self._remember_groups(self.store.update_columns(self.connection, tables.records, tables.GROUP, columns))

    def add(
        self,
        ids: NDArray[np.int64],
        keys: Sequence[str],
        people: Sequence[str] | None,
        cells: NDArray[np.int32],
        passthrough: pa.Table,
        groups: NDArray[np.integer],
    ) -> None:
        """Records come."""
        if not len(ids):
            return
        packed = np.ascontiguousarray(cells, "<i4").tobytes()
        width = 4 * cells.shape[1]
        blobs = tuple(packed[at : at + width] for at in range(0, len(packed), width))
        persons = tuple(people) if people is not None else (None,) * len(ids)
        texts = to_texts(passthrough, len(ids))
        columns = (ids.tolist(), keys, persons, blobs, texts, groups.tolist(), [self.version] * len(ids))
        self.store.insert(self.connection, tables.records, tables.RECORD, list(zip(*columns, strict=True)))

    def turn_over(self, turnovers: Sequence[Turnover], dictionary: Dictionary, columns: Mapping[str, Column]) -> None:
        """Values come, and go with those who had them. `columns`: of the schema."""
        table = tables.dictionary
        new = [value for turnover in turnovers for value in turnover.new]
        self.store.insert(self.connection, table, tables.VALUE, new)
        for column, turnover in zip(dictionary.columns, turnovers, strict=True):
            if not turnover.gone:
                continue
            here = table.c.name == column.name
            gone = self.store.delete(self.connection, table, "id", np.array(turnover.gone), here)
            if keeps_leaves(columns[column.name]):
                nameless = [value._replace(value=None) for value in starmap(Value, gone) if value.frequency is not None]
                self.store.insert(self.connection, table, tables.VALUE, nameless)

    def rewrite_dictionary(self, books: Sequence[CodeBook], turnovers: Sequence[Turnover], known: Dictionary) -> None:
        """An epoch begins: every value has a new frequency. `turnovers`: what the dictionary has not taken yet."""
        values = known.frequencies(books, turnovers)
        self.store.clear(self.connection, tables.dictionary)
        self.store.insert(self.connection, tables.dictionary, tables.VALUE, values)

    def save_epoch(self, epoch: Epoch) -> None:
        self.connection.execute(sa.delete(tables.epochs).where(tables.epochs.c.number == epoch.number))
        self.connection.execute(sa.insert(tables.epochs), [epoch.row()])

    def log(
        self,
        kind: str,
        counts: tuple[int, int, int],
        live: LivePartition,
        outside: Mapping[str, float],
        touched: NDArray[np.int64] | None,
    ) -> None:
        """The row of the batch: what it did, and how the vault stands after it."""
        standing = live.standing()
        obstacles = [] if standing.publishable else live.partition().obstacles()
        row = {
            "version": self.version,
            "at": now(),
            "kind": kind,
            "inserted": counts[0],
            "updated": counts[1],
            "deleted": counts[2],
            "records": len(live),
            "groups": standing.groups,
            "smallest": standing.smallest,
            "loss": standing.loss,
            "obstacles": as_json(obstacles),
            "outside": as_json(outside),
            "who": current_user(),
            "batch_id": self.origin.batch_id,
            "content": self.origin.content,
        }
        self.store.insert(self.connection, tables.batches, tuple(row), [tuple(row.values())])
        if touched is not None and len(touched) <= MOST_TOUCHED:
            touches = [(self.version, touched.astype("<i8").tobytes())]
            self.store.insert(self.connection, tables.touches, tables.TOUCH, touches)

    def finish(self, **changed: object) -> None:
        """Where the vault stands after the batch."""
        changed["republication"] = self.republication.stored()
        update_vault_row(self.connection, self.store.where, version=self.version, **changed)

    # What stays of what goes

    def _remember_groups(self, rows: Sequence[Row]) -> None:
        """Memberships (record, group, since) that end now, if a release shows them."""
        shown = [(number, since, self.version, group) for number, group, since in rows if since <= self.published]
        self.store.insert(self.connection, tables.memberships, tables.MEMBERSHIP, shown)

    def _remember_values(self, records: Sequence[Record]) -> None:
        """What records were that are replaced, if a release shows them, now or in an earlier group."""
        unsure = np.array([record.id for record in records if record.since > self.published], np.int64)
        members = rows_among(self.connection, tables.memberships, ["record_id"], "record_id", unsure)
        earlier = {number for (number,) in members}
        kept = [
            (record.id, record.key, record.carried)
            for record in records
            if record.since <= self.published or record.id in earlier
        ]
        self.store.insert(self.connection, tables.past_records, tables.PAST_RECORD, kept)

    def _erase(self, ids: Sequence[int], keys: Sequence[str]) -> None:
        """Nothing stays of what the records with these numbers and keys ever were."""
        rows = self.store.delete(self.connection, tables.past_records, "key", keys)
        self._count_erased(np.array([*ids, *(row[0] for row in rows)], np.int64))

    def _count_erased(self, ids: NDArray[np.int64]) -> None:
        """Releases that show records with these numbers have so many rows less that can be rebuilt."""
        releases, columns = tables.releases, ("number", "version", "erased", "manifest")
        by_records = sa.func.coalesce(releases.c.republication, NONE) != SAFE  # others show places, which stay
        history = self.connection.execute(sa.select(*(releases.c[name] for name in columns)).where(by_records)).all()
        stays = ["group_id", "since", "until"]
        shown = rows_among(self.connection, tables.memberships, stays, "record_id", ids) if history else []
        if not shown:
            return
        self.erased += shown
        _, since, until = np.array(shown, np.int64).T
        changed = []
        for number, version, erased, manifest in history:
            count = int(((since <= version) & (until > version)).sum())
            if count:
                changed.append((number, erased + count, without_domains(manifest)))
        self.store.update(self.connection, releases, ("number", "erased", "manifest"), changed)


def save_changes(saving: Saving, state: State, applied: Applied, kind: str) -> list[Turnover]:
    """Write what a batch has done to a live partition. What the dictionary must take when it has lasted."""
    live, arrivals = state.live, applied.arrivals
    gone, come = live.ids[applied.gone], live.ids[applied.come]
    replaced = live.ids[applied.gone[applied.deleted :]], come[applied.inserted :]
    stayed = np.setdiff1d(applied.moved, applied.come)
    turnovers = state.dictionary.turnover(live.books, live.codes[applied.come], live.codes[applied.gone])
    cells = np.stack([turnover.come_ids for turnover in turnovers], axis=1)
    persons = live.table.persons
    slots = applied.come[applied.inserted :].tolist()
    owners = {} if persons is None else {int(live.ids[slot]): persons[slot] for slot in slots}
    saving.remove(gone, dict(zip(*(numbers.tolist() for numbers in replaced), strict=True)), owners)
    saving.move(live.ids[stayed], live.labels[stayed])
    keys = [*arrivals.inserted, *arrivals.updated]
    saving.add(come, keys, arrivals.people, cells, arrivals.passthrough, live.labels[applied.come])
    saving.turn_over(turnovers, state.dictionary, state.epoch.schema.columns)
    counts = applied.inserted, applied.updated, applied.deleted
    touched = np.unique(np.concatenate([gone, come, live.ids[stayed]]))
    saving.log(kind, counts, live, outside(live), touched)
    return turnovers
