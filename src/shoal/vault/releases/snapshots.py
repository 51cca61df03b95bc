"""What groups look like in releases: a sheet per release, with the groups that it shows otherwise than the one before.

So a group looks as the sheet of a version says, from that version on, until a later sheet names it again. A sheet
builds on the last complete one, which has all groups of its release: the first of an epoch is complete, and so is one
before which too much has changed; then replaying never costs much more than a complete sheet.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import sqlalchemy as sa
from numpy.typing import NDArray

from shoal.vault.store import tables
from shoal.vault.store.checksums import seal_rows
from shoal.vault.store.damage import damaged
from shoal.vault.store.store import chunks

Longs = NDArray[np.int64]
MOST_REPLAYED = 2  # times the groups of a release


class Looks(NamedTuple):
    """Groups by rising number, and their published quasi-identifiers: a dictionary of texts for each column."""

    groups: Longs
    cells: pa.Table

    def at(self, groups: Longs) -> Longs:
        """The rows of these groups; −1: it is not there, because nobody is left who was in it."""
        return np.where(np.isin(groups, self.groups), np.searchsorted(self.groups, groups), -1)

    def only(self, keep: NDArray[np.bool_]) -> Looks:
        """Some of the groups; no label of another stays behind in a dictionary."""
        cells = self.cells.filter(pa.array(keep)) if self.cells.num_columns else self.cells  # all may be hidden
        columns = {name: cells[name].combine_chunks().dictionary_decode() for name in cells.column_names}
        return Looks(
            self.groups[keep], pa.table({name: column.dictionary_encode() for name, column in columns.items()})
        )


def appearances(*several: Looks) -> list[Longs]:
    """A number for each group of each: the same for those that look the same, and for no others."""
    names = [looks.cells.column_names for looks in several]
    numbers = np.zeros(sum(len(looks.groups) for looks in several), np.int64)
    if any(some != names[0] for some in names):  # other columns: nothing looks the same
        numbers += np.repeat(np.arange(len(several)), [len(looks.groups) for looks in several])
    for name in sorted({name for some in names for name in some}):
        columns = [_column(looks, name) for looks in several]
        together = pa.chunked_array(columns, pa.dictionary(pa.int32(), pa.string())).unify_dictionaries()
        codes = np.concatenate([chunk.indices.fill_null(-1).to_numpy() for chunk in together.chunks])
        numbers = np.unique(numbers * (int(codes.max(initial=0)) + 2) + codes + 1, return_inverse=True)[1]
    return np.split(numbers, np.cumsum([len(looks.groups) for looks in several])[:-1])


def _column(looks: Looks, name: str) -> pa.Array:
    if name in looks.cells.column_names:
        return looks.cells[name].combine_chunks()
    return pa.nulls(len(looks.groups), pa.dictionary(pa.int32(), pa.string()))


class Sheet(NamedTuple):
    """A row of `classes`."""

    version: int
    base: int
    groups: bytes
    cells: bytes
    checksum: int

    def looks(self, where: str) -> Looks:
        if self.checksum != _checksum(*self[:-1]):
            raise damaged(where, "what a release looked like is lost")
        groups = np.frombuffer(self.groups, "<i8").astype(np.int64)
        try:
            with pa.ipc.open_stream(self.cells) as stream:
                return Looks(groups, stream.read_all())
        except (pa.ArrowException, OSError):
            raise damaged(where, "what a release looked like is lost") from None


def sheet(version: int, base: int, looks: Looks) -> Sheet:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, looks.cells.schema, options=pa.ipc.IpcWriteOptions(compression="zstd")) as stream:
        stream.write_table(looks.cells.combine_chunks())
    content = looks.groups.astype("<i8").tobytes(), sink.getvalue().to_pybytes()
    return Sheet(version, base, *content, _checksum(version, base, *content))


def _checksum(version: int, base: int, groups: bytes, cells: bytes) -> int:
    return seal_rows([(version, base, groups, cells)]) >> 1  # databases count to 2⁶³


def looks_at(connection: sa.Connection, version: int, where: str) -> Looks:
    """What each group looked like in the release of a version; those that were gone by then are there as well."""
    return _replayed(_sheets_at(connection, version), where)


def next_sheet(connection: sa.Connection, version: int, looks: Looks, where: str, *, new_epoch: bool) -> Sheet | None:
    """The sheet of a release that looks like this; None if nothing has changed since the last one."""
    sheets = [] if new_epoch else _sheets_at(connection, version)
    if not sheets:
        return sheet(version, version, looks)
    before = _replayed(sheets, where)
    old, now = appearances(before, looks)
    known = np.isin(looks.groups, before.groups)
    changed = ~known
    changed[known] = old[before.at(looks.groups[known])] != now[known]
    if not changed.any():
        return None
    several = sum(len(one.groups) // 8 for one in sheets[1:]) + int(changed.sum())
    if several > MOST_REPLAYED * len(looks.groups):
        return sheet(version, version, looks)
    return sheet(version, sheets[0].version, looks.only(changed))


def _sheets_at(connection: sa.Connection, version: int) -> list[Sheet]:
    """The last complete sheet up to a version, and those that build on it."""
    classes = tables.classes
    base = sa.select(classes.c.base).where(classes.c.version <= version).order_by(classes.c.version.desc()).limit(1)
    first = connection.scalar(base)
    if first is None:
        return []
    conditions = classes.c.version >= first, classes.c.version <= version
    return [
        Sheet(*row)
        for columns in chunks(connection, classes, tables.CLASSES, *conditions)
        for row in zip(*columns, strict=True)
    ]


def _replayed(sheets: Sequence[Sheet], where: str) -> Looks:
    """Each group as the last sheet says that names it."""
    if not sheets:
        return Looks(np.zeros(0, np.int64), pa.table({}))
    parts = [one.looks(where) for one in reversed(sheets)]
    groups, rows = np.unique(np.concatenate([part.groups for part in parts]), return_index=True)
    try:
        cells = pa.concat_tables([part.cells for part in parts]).unify_dictionaries().combine_chunks()
    except pa.ArrowException:
        raise damaged(where, "what a release looked like is lost") from None
    return Looks(groups, cells.take(pa.array(rows)) if cells.num_columns else cells)  # all may be hidden


def hide(connection: sa.Connection, hidden: set[str], where: str) -> list[Sheet]:
    """All sheets without these columns, to be stored instead."""
    kept = []
    for columns in chunks(connection, tables.classes, tables.CLASSES):
        for one in map(Sheet._make, zip(*columns, strict=True)):
            groups, cells = one.looks(where)
            names = [name for name in cells.column_names if name not in hidden]
            kept.append(sheet(one.version, one.base, Looks(groups, cells.select(names))))
    return kept
