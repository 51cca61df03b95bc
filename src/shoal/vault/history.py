"""What was published: rebuilt from the vault as it was, and compared.

A release is the records at a version, each in its group of then, shown as the class of its group: intervals say who was
where, and what that looked like. The stored key repeats the order of the rows. Rows of people who have been deleted
since cannot be rebuilt; how many there were is known.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import sqlalchemy as sa
from numpy.typing import NDArray

from shoal.errors import ParameterError, whole_number
from shoal.measures import Report, public_report
from shoal.release import Release
from shoal.release.shuffle import shuffled
from shoal.vault import tables
from shoal.vault.carried import from_texts
from shoal.vault.damage import damaged
from shoal.vault.facts import Diff, Entry
from shoal.vault.loading import VALUES, check, current_epoch, seal_of, stands
from shoal.vault.parts import check_part
from shoal.vault.seals import content_seal
from shoal.vault.settings import layout_from
from shoal.vault.sheets import Looks, appearances, looks_at
from shoal.vault.store import chunks, row_of, rows_of

Longs = NDArray[np.int64]


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
        )
        for row in rows
    ]


def _shown_at(version: int) -> tuple[sa.ColumnElement[bool], sa.ColumnElement[bool]]:
    memberships = tables.memberships
    return memberships.c.since <= version, memberships.c.until > version


def counted_erased(connection: sa.Connection, version: int) -> int:
    """How many rows of the release of a version cannot be rebuilt."""
    memberships, records, past = tables.memberships, tables.records, tables.past_records
    number = memberships.c.record_id
    statement = (
        sa.select(sa.func.count())
        .select_from(memberships)
        .where(
            *_shown_at(version),
            ~sa.exists().where(records.c.id == number),
            ~sa.exists().where(past.c.id == number),
        )
    )
    return int(connection.scalar(statement) or 0)


def members_at(connection: sa.Connection, version: int) -> Members:
    """Who was in which group when the release of a version was made."""
    records, memberships = tables.records, tables.memberships
    found = [
        np.array(columns, np.int64)
        for columns in chunks(connection, records, ["id", "group_id"], records.c.since <= version)
    ]
    found += [
        np.array(columns, np.int64)
        for columns in chunks(connection, memberships, ["record_id", "group_id"], *_shown_at(version))
    ]
    ids, groups = np.concatenate(found, axis=1) if found else np.zeros((2, 0), np.int64)
    order = np.argsort(ids, kind="stable")
    return Members(ids[order], groups[order])


def rebuilt(connection: sa.Connection, number: int, where: str) -> Release:
    """A release as it was published, without the rows of people who have been deleted since."""
    check_part(connection, "releases", where)
    row = release_row(connection, number, where)
    members = members_at(connection, row["version"])
    if len(members.ids) != row["rows"]:
        raise damaged(where, f"release {number} had {row['rows']} rows, and {len(members.ids)} are left")
    epoch = current_epoch(connection, row["epoch"], where)
    order, carried_types = layout_from(row["layout"])
    texts = _carried_texts(connection, members.ids)
    rows = shuffled(len(members.ids), row["shuffle_key"])
    rows = rows[[texts[i] is not None for i in rows]] if None in texts else rows
    looks, shown = _shown(connection, row["version"], members, where)
    carried = from_texts([texts[i] or "" for i in rows], carried_types, where)
    columns = {
        name: carried[name].combine_chunks()
        if name in carried.column_names
        else looks.cells[name].combine_chunks().take(pa.array(shown[rows])).dictionary_decode()
        for name in order
    }
    table = pa.table(columns)
    erased = row["rows"] - table.num_rows
    if erased or row["content"] is None:  # it is not what it was; are the parts that it is made of?
        for part in ("past", "memberships", "classes"):
            check_part(connection, part, where)
        sums = json.loads(stands(connection, where)["sums"])
        check(where, sums, "values", seal_of(connection, VALUES), "records")
        check(where, sums, "groups", seal_of(connection, tables.GROUP), "groups")
    elif content_seal(table) != row["content"]:
        raise damaged(where, f"release {number} is not what was published")
    manifest = json.loads(row["manifest"])
    if erased:
        manifest |= {"rows": table.num_rows, "erased": erased}
    report = Report(table.num_rows, row["classes"], row["smallest_class"])
    if table.num_rows and not manifest.get("hidden"):
        report, _ = public_report(table, epoch.schema)
    return Release(table, manifest=manifest, public=report, number=number, erased=erased)


def _carried_texts(connection: sa.Connection, ids: Longs) -> list[str | None]:
    """What records were apart from their quasi-identifiers; None of those who have been deleted."""
    texts: list[str | None] = [None] * len(ids)
    places = {number: place for place, number in enumerate(ids.tolist())}
    for table in (tables.records, tables.past_records):
        for numbers, carried in chunks(connection, table, ["id", "carried"]):
            for number, text in zip(numbers, carried, strict=True):
                place = places.get(number)
                if place is not None:
                    texts[place] = text
    return texts


def _shown(connection: sa.Connection, version: int, members: Members, where: str) -> tuple[Looks, Longs]:
    """What groups looked like in the release of a version, and the row there of each member's group."""
    looks = looks_at(connection, version, where)
    try:
        return looks, looks.at(members.groups)
    except KeyError:
        raise damaged(where, "what a release looked like is lost") from None


def difference(connection: sa.Connection, before: int, after: int, where: str) -> Diff:
    """What has become of one release in another; the parts that say so are checked."""
    for part in ("releases", "memberships", "classes"):
        check_part(connection, part, where)
    check(where, json.loads(stands(connection, where)["sums"]), "groups", seal_of(connection, tables.GROUP), "groups")
    first, second = (release_row(connection, number, where) for number in (before, after))
    old, new = (members_at(connection, row["version"]) for row in (first, second))
    (old_looks, old_rows), (new_looks, new_rows) = (
        _shown(connection, row["version"], members, where) for row, members in ((first, old), (second, new))
    )
    old_number, new_number = appearances(old_looks, new_looks)
    was, now = old_number[old_rows], new_number[new_rows]
    stayed, at_old, at_new = np.intersect1d(old.ids, new.ids, assume_unique=True, return_indices=True)
    moved = int((was[at_old] != now[at_new]).sum())
    sizes_old, sizes_new = (
        dict(zip(*(column.tolist() for column in np.unique(numbers, return_counts=True)), strict=True))
        for numbers in (was, now)
    )
    common = sizes_old.keys() & sizes_new.keys()
    kept = sum(sizes_old[number] == sizes_new[number] for number in common)
    return Diff(
        before=before,
        after=after,
        rows_before=len(old.ids),
        rows_after=len(new.ids),
        stayed=len(stayed),
        joined=len(new.ids) - len(stayed),
        left=len(old.ids) - len(stayed),
        moved=moved,
        classes_before=len(sizes_old),
        classes_after=len(sizes_new),
        classes_kept=kept,
        classes_changed=len(common) - kept,
        classes_gone=len(sizes_old) - len(common),
        classes_new=len(sizes_new) - len(common),
        loss_before=first["loss"],
        loss_after=second["loss"],
    )
