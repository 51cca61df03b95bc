"""What groups look like in releases: a snapshot for each, with the groups that it shows otherwise than the one before.

So a group looks as the snapshot of a version says, from that version on, until a later snapshot names it again. A
snapshot builds on the last complete one, which has all groups of its release: the first of an epoch is complete, and so
is one before which too much has changed; then replaying never costs much more than a complete snapshot.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import sqlalchemy as sa
from numpy.typing import NDArray

from shoal.errors import VaultError
from shoal.vault.store import tables
from shoal.vault.store.checksums import checksum_of_rows
from shoal.vault.store.damage import damaged
from shoal.vault.store.queries import chunks

Longs = NDArray[np.int64]
MOST_REPLAYED = 2  # times the groups of a release


class GroupLabels(NamedTuple):
    """Groups by rising number, and their published quasi-identifiers: a dictionary of texts for each column."""

    groups: Longs
    cells: pa.Table

    def at(self, groups: Longs) -> Longs:
        """The rows of these groups; −1: it is not there, because nobody is left who was in it."""
        return np.where(np.isin(groups, self.groups), np.searchsorted(self.groups, groups), -1)

    def only(self, keep: NDArray[np.bool_]) -> GroupLabels:
        """Some of the groups; no label of another stays behind in a dictionary."""
        cells = self.cells.filter(pa.array(keep)) if self.cells.num_columns else self.cells  # all may be hidden
        columns = {name: cells[name].combine_chunks().dictionary_decode() for name in cells.column_names}
        return GroupLabels(
            self.groups[keep], pa.table({name: column.dictionary_encode() for name, column in columns.items()})
        )


def class_numbers(*releases: GroupLabels) -> list[Longs]:
    """A number for each group of each release: the same for those that look the same, and for no others."""
    names = [labels.cells.column_names for labels in releases]
    numbers = np.zeros(sum(len(labels.groups) for labels in releases), np.int64)
    if any(some != names[0] for some in names):  # other columns: nothing looks the same
        numbers += np.repeat(np.arange(len(releases)), [len(labels.groups) for labels in releases])
    for name in sorted({name for some in names for name in some}):
        columns = [_column(labels, name) for labels in releases]
        together = pa.chunked_array(columns, pa.dictionary(pa.int32(), pa.string())).unify_dictionaries()
        codes = np.concatenate([chunk.indices.fill_null(-1).to_numpy() for chunk in together.chunks])
        numbers = np.unique(numbers * (int(codes.max(initial=0)) + 2) + codes + 1, return_inverse=True)[1]
    return np.split(numbers, np.cumsum([len(labels.groups) for labels in releases])[:-1])


def _column(labels: GroupLabels, name: str) -> pa.Array:
    if name in labels.cells.column_names:
        return labels.cells[name].combine_chunks()
    return pa.nulls(len(labels.groups), pa.dictionary(pa.int32(), pa.string()))


class Snapshot(NamedTuple):
    """A row of `classes`."""

    version: int
    base: int
    groups: bytes
    cells: bytes
    checksum: int

    def labels(self, where: str) -> GroupLabels:
        if self.checksum != _checksum(*self[:-1]):
            raise damaged(where, "what a release looked like is lost")
        groups = np.frombuffer(self.groups, "<i8").astype(np.int64)
        try:
            with pa.ipc.open_stream(self.cells) as stream:
                return GroupLabels(groups, stream.read_all())
        except (pa.ArrowException, OSError):
            raise damaged(where, "what a release looked like is lost") from None


def make_snapshot(version: int, base: int, labels: GroupLabels) -> Snapshot:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, labels.cells.schema, options=pa.ipc.IpcWriteOptions(compression="zstd")) as stream:
        stream.write_table(labels.cells.combine_chunks())
    content = labels.groups.astype("<i8").tobytes(), sink.getvalue().to_pybytes()
    return Snapshot(version, base, *content, _checksum(version, base, *content))


def _checksum(version: int, base: int, groups: bytes, cells: bytes) -> int:
    return checksum_of_rows([(version, base, groups, cells)]) >> 1  # databases count to 2⁶³


def labels_at(connection: sa.Connection, version: int, where: str) -> GroupLabels:
    """What each group looked like in the release of a version; those that were gone by then are there as well."""
    return _replayed(_snapshots_at(connection, version), where)


def next_snapshot(
    connection: sa.Connection, version: int, labels: GroupLabels, where: str, *, new_epoch: bool
) -> Snapshot | None:
    """The snapshot of a release that looks like this; None if nothing has changed since the last one."""
    snapshots = [] if new_epoch else _snapshots_at(connection, version)
    if not snapshots:
        return make_snapshot(version, version, labels)
    before = _replayed(snapshots, where)
    old, now = class_numbers(before, labels)
    known = np.isin(labels.groups, before.groups)
    changed = ~known
    changed[known] = old[before.at(labels.groups[known])] != now[known]
    if not changed.any():
        return None
    count = sum(len(one.groups) // 8 for one in snapshots[1:]) + int(changed.sum())
    if count > MOST_REPLAYED * len(labels.groups):
        return make_snapshot(version, version, labels)
    return make_snapshot(version, snapshots[0].version, labels.only(changed))


def joined(old: Snapshot, new: Snapshot, where: str) -> Snapshot:
    """One snapshot of a version that two releases are of: one shows groups, and the other cohorts, by other numbers."""
    first, second = old.labels(where), new.labels(where)
    if np.isin(first.groups, second.groups).any():
        raise VaultError(
            "nothing has changed since the last release, and yet a class would look different.",
            hint="Publish again after the next change.",
            file=where,
        )
    cells = pa.concat_tables([first.cells, second.cells]).unify_dictionaries().combine_chunks()
    order = np.argsort(np.concatenate([first.groups, second.groups]), kind="stable")
    labels = GroupLabels(np.concatenate([first.groups, second.groups])[order], cells.take(pa.array(order)))
    return make_snapshot(old.version, min(old.base, new.base), labels)


def _snapshots_at(connection: sa.Connection, version: int) -> list[Snapshot]:
    """The last complete snapshot up to a version, and those that build on it."""
    classes = tables.classes
    base = sa.select(classes.c.base).where(classes.c.version <= version).order_by(classes.c.version.desc()).limit(1)
    first = connection.scalar(base)
    if first is None:
        return []
    return stored_snapshots(connection, classes.c.version >= first, classes.c.version <= version)


def stored_snapshots(connection: sa.Connection, *conditions: sa.ColumnElement[bool]) -> list[Snapshot]:
    """Those that meet the conditions, by rising version."""
    return [
        Snapshot(*row)
        for columns in chunks(connection, tables.classes, tables.CLASSES, *conditions)
        for row in zip(*columns, strict=True)
    ]


def _replayed(snapshots: Sequence[Snapshot], where: str) -> GroupLabels:
    """Each group as the last snapshot says that names it."""
    if not snapshots:
        return GroupLabels(np.zeros(0, np.int64), pa.table({}))
    parts = [one.labels(where) for one in reversed(snapshots)]
    groups, rows = np.unique(np.concatenate([part.groups for part in parts]), return_index=True)
    try:
        cells = pa.concat_tables([part.cells for part in parts]).unify_dictionaries().combine_chunks()
    except pa.ArrowException:
        raise damaged(where, "what a release looked like is lost") from None
    return GroupLabels(groups, cells.take(pa.array(rows)) if cells.num_columns else cells)  # all may be hidden


def hide(connection: sa.Connection, hidden: set[str], where: str) -> list[Snapshot]:
    """All snapshots without these columns, to be stored instead."""
    kept = []
    for columns in chunks(connection, tables.classes, tables.CLASSES):
        for one in map(Snapshot._make, zip(*columns, strict=True)):
            groups, cells = one.labels(where)
            names = [name for name in cells.column_names if name not in hidden]
            kept.append(make_snapshot(one.version, one.base, GroupLabels(groups, cells.select(names))))
    return kept
