"""Reading a table for a schema, or for the verifier."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Sequence

import pyarrow as pa

from shoal.errors import DataError
from shoal.hierarchies.declared import DeclaredTree
from shoal.schema import PUBLISHED, Column, ColumnType, Role, Schema
from shoal.sources.csv_files import Expected
from shoal.sources.frames import Frame
from shoal.sources.naming import refuse_doubtful
from shoal.sources.normalize import looks_like_a_day, looks_like_a_number
from shoal.sources.numbers import POINT
from shoal.sources.opening import ParquetFile, Source, open_source


def read_text(source: object, columns: Sequence[str]) -> pa.Table:
    """A table exactly as it stands: no cell of a CSV is trimmed or typed. For the verifier."""
    opened = open_source(source, Expected(dict.fromkeys(columns), needs_header=True))
    return opened.load(opened.columns)


def read_coded(source: object, columns: Sequence[str], coded: Sequence[str]) -> pa.Table:
    """The same, where these columns may come as dictionaries if the file has them so."""
    opened = open_source(source, Expected(dict.fromkeys(columns), needs_header=True))
    if isinstance(opened, ParquetFile):
        return opened.load(opened.columns, coded)
    return opened.load(opened.columns)


def read_for(schema: Schema, source: object) -> tuple[pa.Table, str | None]:
    """The table that the schema describes, without its identifiers, and the file's name for messages."""
    opened = open_source(source, expected_by(schema))
    check_columns(schema, opened)
    dropped = schema.names(Role.IDENTIFIER)
    table = opened.load([name for name in opened.columns if name not in dropped])
    if table.num_rows == 0:
        raise DataError("the table has no records.", file=opened.file)
    return table, opened.file


def read_some(schema: Schema, source: object, columns: Sequence[str]) -> tuple[pa.Table, str | None]:
    """Only these columns of a table that is like the schema's, whatever else it has; and the file's name."""
    opened = open_source(source, expected_by(schema))
    lacking = [name for name in columns if name not in opened.columns]
    if lacking:
        raise DataError(f"the table has no {_columns(lacking)}.", file=opened.file, column=lacking[0])
    return opened.load(columns), opened.file


def expected_by(schema: Schema) -> Expected:
    """The columns of a table that the schema describes, all of them."""
    tests = {name: _test(column, schema.missing) for name, column in schema.columns.items()}
    return Expected(tests, schema.header, encoding=schema.encoding, sheet=schema.sheet)


def _test(column: Column, missing: tuple[str, ...]) -> Callable[[str], bool] | None:
    """Whether a cell can be a value of this column; None if any text can. What is never published needs no proof."""
    if column.role not in PUBLISHED:
        return lambda cell: True
    missing = column.texts_missing(missing)
    if column.type == ColumnType.NUMERIC:
        form = column.number_form
        reads = looks_like_a_number if form == POINT else form.fits
        return lambda cell: cell in missing or reads(cell)
    if column.type == ColumnType.DATE:
        return lambda cell: cell in missing or looks_like_a_day(cell, column.format)
    if column.grower is not None and isinstance(column.grower.rule, DeclaredTree) and column.on_unknown == "error":
        known = {path[-1] for path in column.grower.rule.paths}
        return lambda cell: cell in missing or cell in known
    return None


def check_columns(schema: Schema, source: Source) -> None:
    """Every column of the table has a role, and every column of the schema exists."""
    refuse_doubtful(source.columns, schema.columns, source.file)
    check_names(schema, source.columns, source)


def check_names(schema: Schema, columns: list[str], source: Source | None = None) -> None:
    """The same of columns that certainly have names: those of a frame, say."""
    file = source.file if source is not None else None
    lacking = [name for name in schema.columns if name not in columns]
    if lacking:
        raise DataError(
            f"the schema names {_columns(lacking)} that the table does not have.",
            hint=_in_the_index(lacking, source)
            or _near(lacking[0], columns, schema)
            or "Name them in the table, or take them out of the schema.",
            file=file,
            column=lacking[0],
        )
    extra = [name for name in columns if name not in schema.columns]
    if extra:
        raise DataError(
            f"the table has {_columns(extra)} that the schema does not name.",
            hint='Give each a role in the schema: "identifier" keeps it out of every release.',
            file=file,
            column=extra[0],
        )


def _in_the_index(lacking: list[str], source: Source | None) -> str | None:
    if isinstance(source, Frame) and all(name in source.index_names for name in lacking):
        return "The frame has that as its index, which is no column: give frame.reset_index()."
    return None


def _near(name: str, columns: list[str], schema: Schema) -> str | None:
    """The column that was probably meant, among those that have no role yet."""
    free = {column.lower(): column for column in columns if column not in schema.columns}
    found = difflib.get_close_matches(name.lower(), free, n=1)
    return f"The table has {free[found[0]]!r} without a role. Did you mean that?" if found else None


def _columns(names: list[str]) -> str:
    return f"column{'s' if len(names) > 1 else ''} {', '.join(map(repr, names))}"
