"""Where a batch comes from: what the holder calls it, and what was given, to know it when it comes again."""

from __future__ import annotations

from typing import NamedTuple

import pyarrow as pa
import sqlalchemy as sa

from shoal.errors import DataError, Doubtful, ParameterError
from shoal.records.changes import ChangeBatch
from shoal.schema import Role
from shoal.sources.normalize import plain
from shoal.vault.store import tables
from shoal.vault.store.checksums import content_checksum

LONGEST_ID = 200
ERASE = "erase"  # a kind of batch that may come again without a word: it is done when all of it is
AGAIN = "If it is meant to come again, say so with --again (in Python, again=True)."


class Origin(NamedTuple):
    """Of a batch."""

    kind: str = "apply"  # in the log
    batch_id: str | None = None  # as the holder calls it
    content: str | None = None  # a checksum of what was given; None: nothing was
    source_position: str | None = None
    again: bool = False  # whether it may be one that was applied before


NO_ORIGIN = Origin()


def content_of(batch: ChangeBatch) -> str | None:
    """A checksum of a batch: rows in their order, columns in that of their names; None if it cannot be told.

    Identifiers are left out: nothing of them is ever kept.
    """
    kept = sorted(set(batch.table.column_names) - set(batch.schema.names(Role.IDENTIFIER)))
    if not len(batch):
        return None
    try:
        columns = {name: plain(name, batch.table[name]) for name in kept}
        found = content_checksum(pa.table({"op": pa.array(batch.ops, pa.string()), **columns}))
    except (DataError, pa.ArrowException):  # what cannot be read is refused, and never applied
        return None
    return f"{found:08x}-{len(batch)}"


def checked_origin(origin: Origin, batch: ChangeBatch) -> Origin:
    """The origin of a batch, with a checksum of what was given."""
    for name, given in (("source_position", origin.source_position), ("batch_id", origin.batch_id)):
        if given is not None and not is_text(given):
            raise ParameterError(f"{name} must be a text.")
    if origin.batch_id is not None and not 0 < len(origin.batch_id) <= LONGEST_ID:
        raise ParameterError(f"batch_id must have from 1 to {LONGEST_ID} characters.")
    return origin._replace(content=content_of(batch))


def is_text(given: object) -> bool:
    """A text that can be written: no half of a character."""
    try:
        return isinstance(given, str) and given.encode() is not None
    except UnicodeError:
        return False


def refuse_known_id(connection: sa.Connection, origin: Origin, where: str) -> None:
    """A batch with the same name has been applied."""
    batches = tables.batches.c
    if origin.batch_id is None or origin.again:
        return
    known = _batch(connection, batches.batch_id == origin.batch_id)
    if known is not None:
        raise Doubtful(f"a batch with this id has been applied already: {known}.", hint=AGAIN, file=where)


def refuse_known_content(connection: sa.Connection, origin: Origin, where: str) -> None:
    """What was given has been applied before, and applying it again would fail or change nothing."""
    batches = tables.batches.c
    if origin.content is None or origin.again:
        return
    known = _batch(connection, batches.content == origin.content)
    if known is not None:
        raise Doubtful(f"the same batch has been applied already: {known}.", hint=AGAIN, file=where)


def _batch(connection: sa.Connection, condition: sa.ColumnElement[bool]) -> str | None:
    """When a batch was applied, in words."""
    batches = tables.batches.c
    statement = sa.select(batches.version, batches.at).where(condition).order_by(batches.version.desc()).limit(1)
    row = connection.execute(statement).first()
    return None if row is None else f"it is version {row.version}, of {row.at}"
