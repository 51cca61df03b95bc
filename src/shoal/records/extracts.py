"""Full extracts of a table: read as a schema describes them, and refused where they do not look complete."""

from __future__ import annotations

import pyarrow as pa

from shoal.errors import DataError, Doubtful
from shoal.records.changes import key_of
from shoal.records.reading import expected_by
from shoal.schema import Role, Schema
from shoal.sources.naming import refuse_doubtful
from shoal.sources.opening import open_source

MAX_DELETED = 0.1  # of the records, unless told otherwise


def read_extract(schema: Schema, source: object) -> pa.Table:
    """Every record of a table, without its identifiers: a file, a table or a frame."""
    key = key_of(schema)
    if source is None:
        return pa.table({name: pa.nulls(0) for name in schema.columns if name not in schema.names(Role.IDENTIFIER)})
    opened = open_source(source, expected_by(schema))
    refuse_doubtful(opened.columns, schema.columns, opened.file)
    dropped = schema.names(Role.IDENTIFIER)
    for name in (name for name in schema.columns if name not in opened.columns and name not in dropped):
        hint = "An extract has every column; changes of some columns are updates: shoal update."
        if name == key:
            raise DataError(
                f"the extract has no column {key!r}, which names the records.", file=opened.file, column=key
            )
        raise DataError(f"the extract has no column {name!r}.", hint=hint, file=opened.file, column=name)
    for name in (name for name in opened.columns if name not in schema.columns):
        raise DataError(
            f"the extract has a column {name!r} that the schema does not name.",
            hint="Take it out of the extract, or into the schema: shoal schema-change.",
            file=opened.file,
            column=name,
        )
    return opened.load([name for name in opened.columns if name not in dropped])


def too_many_deleted(deleted: int, records: int, most: float, where: str) -> Doubtful:
    """An extract that may not be complete."""
    return Doubtful(
        f"the extract lacks {deleted} of {records} records, {deleted / records:.1%}: more than {most:.1%} would be "
        "deleted.",
        hint="If it is complete, say how many may go with --max-deleted (in Python, max_deleted=…). "
        "--dry-run shows what would change.",
        file=where,
    )
