"""What was published: the history, and releases rebuilt from the vault as they were.

A release is the records at a version, each in its group of then, shown as the class of its group: intervals say who was
where, and what that looked like. The stored key repeats the order of the rows. Rows of people who have been deleted
since cannot be rebuilt; how many there were is known, and what is left then is for the holder's eyes alone.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import sqlalchemy as sa
from numpy.typing import NDArray

from shoal.errors import ParameterError, VaultError, VerificationError, whole_number
from shoal.measures import Report, public_report
from shoal.release import Release
from shoal.release.manifest import Manifest, rounded
from shoal.release.shuffle import shuffled
from shoal.schema import Role, Schema
from shoal.vault.facts import Entry
from shoal.vault.releases.snapshots import labels_at
from shoal.vault.state.epoch import Epoch, layout_from, read_epoch
from shoal.vault.state.passthrough import from_texts
from shoal.vault.state.republication import NONE, SAFE
from shoal.vault.store import tables
from shoal.vault.store.checksums import content_checksum
from shoal.vault.store.damage import damaged
from shoal.vault.store.integrity import check_part, check_records
from shoal.vault.store.queries import chunks, row_of, rows_of
from shoal.verify import verify

Longs = NDArray[np.int64]
FOREVER = np.iinfo(np.int64).max


class Members(NamedTuple):
    """Who was in which group, in the order of the records' numbers."""

    ids: Longs
    groups: Longs


def release_row(connection: sa.Connection, number: int, where: str) -> Mapping[str, Any]:
    number = min(whole_number("the number of a release", number, least=1), 2**31 - 1)
    releases = tables.releases
    row = row_of(connection, sa.select(releases).where(releases.c.number == number, releases.c.done.is_(True)))
    if row is None:
        last = last_release(connection)
        known = "there is none yet" if last is None else f"the last one is {last['number']}"
        raise ParameterError(f"the vault has no release {number}: {known}.")
    return row


def last_release(connection: sa.Connection) -> Mapping[str, Any] | None:
    releases = tables.releases
    statement = sa.select(releases).where(releases.c.done.is_(True)).order_by(releases.c.number.desc()).limit(1)
    return row_of(connection, statement)


def entries(connection: sa.Connection, where: str) -> list[Entry]:
    """The history, checked."""
    check_part(connection, "releases", where)
    releases = tables.releases
    rows = rows_of(connection, sa.select(releases).where(releases.c.done.is_(True)).order_by(releases.c.number))
    return [
        Entry(
            number=row["number"],
            version=row["version"],
            epoch=row["epoch"],
            published=row["published"],
            rows=row["rows"],
            classes=row["classes"],
            smallest_class=row["smallest_class"],
            k=row["k"],
            loss=row["loss"],
            file=row["file"],
            sha256=row["sha256"],
            erased=row["erased"],
            republication=row["republication"] or NONE,
            accepted=accepted_findings(row["manifest"]),
        )
        for row in rows
    ]


def accepted_findings(manifest: str) -> int:
    """Of how many people it was known that they come out, or may, and accepted."""
    told = json.loads(manifest).get("republication") or {}
    return sum((told.get("accepted_findings") or {}).values())


def _shown_at(version: int) -> tuple[sa.ColumnElement[bool], sa.ColumnElement[bool]]:
    memberships = tables.memberships
    return memberships.c.since <= version, memberships.c.until > version


def counted_erased(connection: sa.Connection, entry: Entry) -> int:
    """How many rows of a release cannot be rebuilt."""
    version = entry.version
    if entry.republication == SAFE:
        places = tables.places
        forgotten = places.c.holder.is_(None), places.c.carried.is_(None)
        gone = set(connection.scalars(sa.select(places.c.id).where(*forgotten)).all())
        return sum(number in gone for number in places_at(connection, version).ids.tolist()) if gone else 0
    memberships, records, past = tables.memberships, tables.records, tables.past_records
    number = memberships.c.record_id
    statement = (
        sa.select(sa.func.count())
        .select_from(memberships)
        .where(
            *_shown_at(version),
            number > 0,  # others are places
            ~sa.exists().where(records.c.id == number),
            ~sa.exists().where(past.c.id == number),
        )
    )
    return int(connection.scalar(statement) or 0)


def shown_by(connection: sa.Connection, row: Mapping[str, Any]) -> Members:
    """The records, or places, that a release shows, and their groups, or cohorts."""
    return (
        places_at(connection, row["version"])
        if row["republication"] == SAFE
        else members_at(connection, row["version"])
    )


def _places_at(version: int) -> tuple[sa.ColumnElement[bool], ...]:
    places = tables.places
    return places.c.since <= version, sa.func.coalesce(places.c.until, int(FOREVER)) > version


def places_at(connection: sa.Connection, version: int) -> Members:
    """The places that the `safe` release of a version shows, and their cohorts of then."""
    memberships = tables.memberships
    found = [
        np.array(columns, np.int64)
        for columns in chunks(connection, tables.places, ["id", "cohort"], *_places_at(version))
    ]
    of_places = *_shown_at(version), memberships.c.record_id < 0  # before their cohorts were parted
    for ids, cohorts in chunks(connection, memberships, ["record_id", "group_id"], *of_places):
        found.append(np.array([[-number for number in ids], cohorts], np.int64))
    ids, cohorts = np.concatenate([np.zeros((2, 0), np.int64), *found], axis=1)
    order = np.argsort(ids, kind="stable")
    return Members(ids[order], cohorts[order])


def members_at(connection: sa.Connection, version: int) -> Members:
    """Who was in which group when the release of a version was made, which shows records."""
    records, memberships = tables.records, tables.memberships
    found = [
        np.array(columns, np.int64)
        for columns in chunks(connection, records, ["id", "group_id"], records.c.since <= version)
    ]
    found += [
        np.array(columns, np.int64)
        for columns in chunks(
            connection, memberships, ["record_id", "group_id"], *_shown_at(version), memberships.c.record_id > 0
        )
    ]
    ids, groups = np.concatenate(found, axis=1) if found else np.zeros((2, 0), np.int64)
    order = np.argsort(ids, kind="stable")
    return Members(ids[order], groups[order])


class Rebuilt(NamedTuple):
    """What a vault still knows of a release: its rows in their order, but for those of people deleted since."""

    table: pa.Table
    row: Mapping[str, Any]  # of the table `releases`
    epoch: Epoch
    erased: int  # rows that are lacking


def rebuild(connection: sa.Connection, number: int, where: str) -> Rebuilt:
    """A release from what is stored, checked."""
    check_part(connection, "releases", where)
    row = release_row(connection, number, where)
    members = shown_by(connection, row)
    if len(members.ids) != row["rows"]:
        raise damaged(where, f"release {number} had {row['rows']} rows, and {len(members.ids)} are left")
    epoch = read_epoch(connection, row["epoch"], where)
    order, types = layout_from(row["layout"])
    safe = row["republication"] == SAFE
    texts = place_texts(connection, members.ids) if safe else _passthrough_texts(connection, members.ids)
    rows = shuffled(len(members.ids), row["shuffle_key"])
    rows = rows[[texts[i] is not None for i in rows]] if None in texts else rows
    labels = labels_at(connection, row["version"], where)
    shown = labels.at(members.groups[rows])
    if (shown < 0).any():
        raise damaged(where, "what a release looked like is lost")
    passthrough = from_texts([texts[i] or "" for i in rows], types, where)
    columns = {
        name: passthrough[name].combine_chunks()
        if name in passthrough.column_names
        else labels.cells[name].combine_chunks().take(pa.array(shown)).dictionary_decode()
        for name in order
    }
    table = pa.table(columns)
    erased = row["rows"] - table.num_rows
    if erased or row["content"] is None:  # it is not what it was; are the parts that it is made of?
        for part in ("past", "memberships", "classes", "places"):
            check_part(connection, part, where)
        check_records(connection, ["values", "groups"], where)
    elif content_checksum(table) != row["content"]:
        raise damaged(where, f"release {number} is not what was published")
    return Rebuilt(table, row, epoch, erased)


def released_again(connection: sa.Connection, number: int, where: str, sources: Sequence[str] = ()) -> Release:
    """A release as it was published, row by row.

    Guarantee: it is what the verifier passed when it was published; or, where a column has become an identifier since,
    what is left of it without that column, verified anew and with a manifest of its own. A release in which somebody
    has been deleted since is refused: held against the published file, what is left would show who.
    """
    again = rebuild(connection, number, where)
    if again.erased:
        lacking = "1 of its rows is" if again.erased == 1 else f"{again.erased} of its rows are"
        raise VaultError(
            f"release {number} cannot be made again: {lacking} of people who have been deleted since, and what is left "
            "would show which, beside the file that was published.",
            hint="That file itself may be copied. What is left is for the holder's eyes alone: shoal release "
            f"VAULT {number} -o FILE --for-holder (in Python, vault.release_rows({number})).",
            file=where,
        )
    manifest = Manifest.from_json(json.loads(again.row["manifest"]))
    schema = again.epoch.schema
    hidden = manifest.hidden
    if hidden:
        schema = Schema({name: column for name, column in schema.columns.items() if name not in hidden})
        _verify_anew(again, schema, manifest, where)
    report = Report(again.table.num_rows, again.row["classes"], again.row["smallest_class"])
    if again.table.num_rows and schema.quasi_identifiers:
        report, _ = public_report(again.table, schema)
    if hidden:
        manifest = replace(
            manifest,
            equivalence_classes=report.classes,
            smallest_class=report.smallest_class,
            measures={name: rounded(value) for name, value in report.totals.items()},
        )
    return Release(
        again.table,
        manifest=manifest.to_json(),
        public=report,
        number=number,
        sources=sources,
        loss=None if hidden else again.row["loss"],
    )


def _verify_anew(again: Rebuilt, schema: Schema, manifest: Manifest, where: str) -> None:
    """Without a column classes have become larger, if anything; but nothing is taken for granted.

    Where people were counted, rows are: who is whose is not kept for the past, and there are no fewer rows than people.
    """
    if not schema.quasi_identifiers:
        return
    sensitive = [] if manifest.counted == "people" else schema.names(Role.SENSITIVE)
    verdict = verify(again.table, schema, manifest.k, **again.epoch.requirements.about(sensitive).options())
    if not verdict.ok:
        reasons = "; ".join(verdict.reasons)
        raise VerificationError(f"release {again.row['number']} was not made again: {reasons}.", file=where)


def place_texts(connection: sa.Connection, ids: Longs) -> list[str | None]:
    """What places say; None of those of which nobody is left."""
    said: dict[int, str | None] = {}
    held: dict[int, int] = {}
    for numbers, holders, stored in chunks(connection, tables.places, ["id", "holder", "carried"]):
        for number, holder, text in zip(numbers, holders, stored, strict=True):
            said[number] = text
            if text is None and holder is not None:
                held[holder] = number
    if held:
        for numbers, stored in chunks(connection, tables.records, ["id", "carried"]):
            for number, text in zip(numbers, stored, strict=True):
                if number in held:
                    said[held[number]] = text
    return [said.get(number) for number in ids.tolist()]


def _passthrough_texts(connection: sa.Connection, ids: Longs) -> list[str | None]:
    """What records were apart from their quasi-identifiers; None of those who have been deleted."""
    texts: list[str | None] = [None] * len(ids)
    indexes = {number: i for i, number in enumerate(ids.tolist())}
    for table in (tables.records, tables.past_records):
        for numbers, stored in chunks(connection, table, ["id", "carried"]):
            for number, text in zip(numbers, stored, strict=True):
                i = indexes.get(number)
                if i is not None:
                    texts[i] = text
    return texts
