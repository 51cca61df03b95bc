"""From what a batch has done to rows: only what has changed is written.

A row that a release shows is not lost when it changes: where it was stays as a membership, and what it was as a past
record. Of a record that is deleted nothing stays but numbers.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import numpy as np
import pyarrow as pa
import sqlalchemy as sa
from numpy.typing import NDArray

from shoal.errors import VaultBusy
from shoal.maintain.change import Applied
from shoal.maintain.live import LivePartition
from shoal.records.codebook import CodeBook
from shoal.release.manifest import Manifest
from shoal.schema import Column
from shoal.vault import tables
from shoal.vault.carried import to_texts
from shoal.vault.dictionary import Dictionary, Turnover, Value, keeps_leaves
from shoal.vault.erasing import kept_reference
from shoal.vault.loading import State, seal_records, stands
from shoal.vault.parts import seal_of_part
from shoal.vault.seals import moved, seal, seal_rows
from shoal.vault.settings import Epoch, as_json, digest
from shoal.vault.store import Store, among, delete_among, rows_among

MOST_TOUCHED = 1_000_000  # of a larger batch it is not kept whom it touched


class Sums:
    """The seals of the vault's parts, as they follow what is written."""

    def __init__(self, stored: str) -> None:
        self._sums = {part: int(found, 16) for part, found in json.loads(stored).items()}

    def add(self, part: str, sealed: int) -> None:
        self._sums[part] = moved(self._sums.get(part, 0), added=sealed)

    def remove(self, part: str, sealed: int) -> None:
        self._sums[part] = moved(self._sums.get(part, 0), removed=sealed)

    def set(self, part: str, sealed: int) -> None:
        self._sums[part] = sealed

    def text(self) -> str:
        return as_json({part: f"{found:x}" for part, found in self._sums.items()})


def restand(connection: sa.Connection, where: str, **changed: object) -> None:
    """Change where the vault stands, and seal it."""
    row = {**stands(connection, where), **changed}
    row["commits"] += 1
    connection.execute(sa.update(tables.vault).values({**row, "sha256": digest(row)}))


def refuse_newer(stand: Mapping[str, Any], version: int, where: str) -> None:
    """A writer who has lost his turn, with the connection that held it, must not write over what came since."""
    if stand["version"] != version:
        raise VaultBusy("another process has changed the vault meanwhile.", hint="Do it again.", file=where)


def now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


class Saving:
    """One batch on its way into the tables, within a transaction of the writer."""

    def __init__(self, store: Store, connection: sa.Connection, stand: Mapping[str, Any]) -> None:
        self.store, self.connection = store, connection
        self.version = int(stand["version"]) + 1
        self.sums = Sums(stand["sums"])
        shown = connection.scalar(sa.select(sa.func.max(tables.releases.c.version)))
        self.published = -1 if shown is None else int(shown)  # the last version that a release shows
        self.erased: list[tuple[int, int, int]] = []  # where people were shown who are erased: group, since, until
        self.gone: list[str] = []  # carried values of records that are no more, or are different now

    # Parts of a batch

    def remove(self, gone: NDArray[np.int64], replaced: NDArray[np.int64]) -> None:
        """Records with these numbers go; those of `replaced` live on in a new version."""
        rows = rows_among(self.connection, tables.records, tables.RECORD, "id", gone)
        if rows:
            for part, sealed in seal_records(list(zip(*rows, strict=True))).items():
                self.sums.remove(part, sealed)
        updated = set(replaced.tolist())
        self.retire([row for row in rows if row[0] in updated])
        deleted = [row for row in rows if row[0] not in updated]
        self._remember_groups([(row[0], row[5], row[6]) for row in deleted])
        self.gone = [row[4] for row in rows]
        self._erase([row[0] for row in deleted], [row[1] for row in deleted])
        delete_among(self.connection, tables.records, "id", gone)

    def retire(self, rows: Sequence[tuple[Any, ...]]) -> None:
        """Rows (as RECORD has them) will be replaced by newer ones: what releases show of them stays."""
        self._remember_values(rows)
        self._remember_groups([(row[0], row[5], row[6]) for row in rows])

    def move(self, ids: NDArray[np.int64], groups: NDArray[np.integer]) -> None:
        """Records are in other groups."""
        rows = rows_among(self.connection, tables.records, tables.GROUP, "id", ids)
        if not rows:
            return
        self.sums.remove("groups", seal_rows(rows))
        self._remember_groups(rows)
        self.sums.add("groups", seal(ids, groups, np.full(len(ids), self.version)))
        records = tables.records
        moving = (
            sa.update(records)
            .where(records.c.id == sa.bindparam("record"))
            .values(group_id=sa.bindparam("to"), since=sa.bindparam("now"))
        )
        now = [self.version] * len(ids)
        self.store.backend.many(
            self.connection,
            moving,
            ["to", "now", "record"],
            list(zip(groups.tolist(), now, ids.tolist(), strict=True)),
        )

    def add(
        self,
        ids: NDArray[np.int64],
        keys: Sequence[str],
        people: Sequence[str] | None,
        cells: NDArray[np.int32],
        carried: pa.Table,
        groups: NDArray[np.integer],
    ) -> None:
        """Records come."""
        if not len(ids):
            return
        packed = np.ascontiguousarray(cells, "<i4").tobytes()
        width = 4 * cells.shape[1]
        blobs = tuple(packed[at : at + width] for at in range(0, len(packed), width))
        persons = tuple(people) if people is not None else (None,) * len(ids)
        texts = to_texts(carried, len(ids))
        columns = [ids.tolist(), keys, persons, blobs, texts, groups.tolist(), [self.version] * len(ids)]
        for part, sealed in seal_records(columns).items():
            self.sums.add(part, sealed)
        self.store.insert(self.connection, tables.records, tables.RECORD, list(zip(*columns, strict=True)))

    def turn_over(self, turnovers: Sequence[Turnover], dictionary: Dictionary, columns: Mapping[str, Column]) -> None:
        """Values come, and go with those who had them. `columns`: of the schema."""
        new = [value for turnover in turnovers for value in turnover.new]
        self.sums.add("dictionary", seal_rows(new))
        self.store.insert(self.connection, tables.dictionary, tables.VALUE, new)
        table = tables.dictionary
        for column, turnover in zip(dictionary.columns, turnovers, strict=True):
            if not turnover.gone:
                continue
            here = table.c.name == column.name
            wanted = sa.select(*(table.c[name] for name in tables.VALUE))
            for condition in among(table.c.id, np.array(turnover.gone)):
                rows = [Value(*row) for row in self.connection.execute(wanted.where(here, condition))]
                self.sums.remove("dictionary", seal_rows(rows))
                self.connection.execute(sa.delete(table).where(here, condition))
                if keeps_leaves(columns[column.name]):
                    nameless = [value._replace(value=None) for value in rows if value.frequency is not None]
                    self.sums.add("dictionary", seal_rows(nameless))
                    self.store.insert(self.connection, table, tables.VALUE, nameless)

    def rewrite_dictionary(self, books: Sequence[CodeBook], turnovers: Sequence[Turnover], known: Dictionary) -> None:
        """An epoch begins: every value has a new frequency. `turnovers`: what the dictionary has not taken yet."""
        values = known.frequencies(books, turnovers)
        self.connection.execute(sa.delete(tables.dictionary))
        self.sums.set("dictionary", seal_rows(values))
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
    ) -> dict[str, Any]:
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
        }
        self.connection.execute(sa.insert(tables.batches), [row])
        self.sums.add("batches", seal_rows([tuple(row[name] for name in tables.BATCH)]))
        if touched is not None and len(touched) <= MOST_TOUCHED:
            touches = [(self.version, touched.astype("<i8").tobytes())]
            self.sums.add("touches", seal_rows(touches))
            self.store.insert(self.connection, tables.touches, tables.TOUCH, touches)
        return row

    def stand(self, **changed: object) -> None:
        """Where the vault stands now."""
        restand(self.connection, self.store.where, sums=self.sums.text(), **changed)

    # What stays of what goes

    def _remember_groups(self, rows: Sequence[tuple[Any, ...]]) -> None:
        """Memberships (record, group, since) that end now, if a release shows them."""
        shown = [(number, since, self.version, group) for number, group, since in rows if since <= self.published]
        self.sums.add("memberships", seal_rows(shown))
        self.store.insert(self.connection, tables.memberships, tables.MEMBERSHIP, shown)

    def _remember_values(self, rows: Sequence[tuple[Any, ...]]) -> None:
        """What records were that are replaced, if a release shows them, now or in an earlier group."""
        unsure = np.array([row[0] for row in rows if row[6] > self.published], np.int64)
        earlier = {
            row[0] for row in rows_among(self.connection, tables.memberships, ["record_id"], "record_id", unsure)
        }
        kept = [(row[0], row[1], row[4]) for row in rows if row[6] <= self.published or row[0] in earlier]
        self.sums.add("past", seal_rows(kept))
        self.store.insert(self.connection, tables.past_records, tables.PAST_RECORD, kept)

    def _erase(self, ids: Sequence[int], keys: Sequence[str]) -> None:
        """Nothing stays of what the records with these numbers and keys ever were."""
        rows = rows_among(self.connection, tables.past_records, tables.PAST_RECORD, "key", keys)
        if rows:
            self.sums.remove("past", seal_rows(rows))
            delete_among(self.connection, tables.past_records, "key", keys)
        self._count_erased(np.array([*ids, *(row[0] for row in rows)], np.int64))

    def _count_erased(self, ids: NDArray[np.int64]) -> None:
        """Releases that show records with these numbers have so many rows less that can be rebuilt."""
        releases, columns = tables.releases, ("number", "version", "erased", "manifest")
        history = self.connection.execute(sa.select(*(releases.c[name] for name in columns))).all()
        stays = ["group_id", "since", "until"]
        shown = rows_among(self.connection, tables.memberships, stays, "record_id", ids) if history else []
        if not shown:
            return
        self.erased += shown
        _, since, until = np.array(shown, np.int64).T
        for number, version, erased, manifest in history:
            several = int(((since <= version) & (until > version)).sum())
            if several:
                changed = {"erased": erased + several, "manifest": without_domains(manifest)}
                self.connection.execute(sa.update(releases).where(releases.c.number == number).values(changed))
        self.sums.set("releases", seal_of_part(self.connection, "releases", self.store.where))


def without_domains(manifest: str) -> str:
    """An end of a published domain may have been the value of somebody who is erased."""
    return as_json(Manifest.from_json(json.loads(manifest)).without_domains().to_json())


def save_changes(saving: Saving, state: State, applied: Applied, kind: str) -> list[Turnover]:
    """Write what a batch has done to a live partition. What the dictionary must take when it has lasted."""
    live, arrivals = state.live, applied.arrivals
    gone, come = live.ids[applied.gone], live.ids[applied.come]
    replaced = live.ids[applied.gone[applied.deleted :]]
    stayed = np.setdiff1d(applied.moved, applied.come)
    turnovers = state.dictionary.turnover(live.books, live.codes[applied.come], live.codes[applied.gone])
    cells = np.stack([turnover.come_ids for turnover in turnovers], axis=1)
    saving.remove(gone, replaced)
    saving.move(live.ids[stayed], live.labels[stayed])
    keys = [*arrivals.inserted, *arrivals.updated]
    saving.add(come, keys, arrivals.people, cells, arrivals.carried, live.labels[applied.come])
    saving.turn_over(turnovers, state.dictionary, state.epoch.schema.columns)
    counts = applied.inserted, applied.updated, applied.deleted
    touched = np.unique(np.concatenate([gone, come, live.ids[stayed]]))
    saving.log(kind, counts, live, outside(live), touched)
    return turnovers


def with_types(epoch: Epoch, arrivals: pa.Table) -> Epoch:
    """The epoch with the types that carried columns have when these records have come; itself if nothing differs."""
    if not arrivals.num_rows or arrivals.schema.equals(epoch.carried):
        return epoch
    carried = pa.unify_schemas([epoch.carried, arrivals.schema], promote_options="permissive").remove_metadata()
    return epoch if carried.equals(epoch.carried) else replace(epoch, carried=carried)


def frozen(epoch: Epoch, live: LivePartition, version: int) -> Epoch:
    """The epoch with what the live partition has frozen when it began, with the batch of this version."""
    domains = {book.name: book.domain for book in live.books if book.domain is not None}
    return replace(epoch, version=version, domains=domains, reference=kept_reference(live))


def outside(live: LivePartition) -> dict[str, float]:
    """Of each column with a domain: the share of records that lie outside it, if any do."""
    shares = {}
    codes = None
    for j, book in enumerate(live.books):
        if book.axis is None or book.domain is None or not len(live):
            continue
        beyond = np.flatnonzero((book.axis < book.domain[0]) | (book.axis > book.domain[1])) + 1
        if len(beyond):
            codes = live.codes[live.alive()] if codes is None else codes
            share = float(np.isin(codes[:, j], beyond).mean())
            if share:
                shares[book.name] = share
    return shares
