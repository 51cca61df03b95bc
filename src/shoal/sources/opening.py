"""Where a table comes from: a file or a frame, its column names known before any of its data is loaded.

Names first, data second: a schema can be held against the names, and of CSV and Parquet files the identifier columns
are never loaded at all.
"""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

import pyarrow as pa
import pyarrow.parquet as pq

from shoal.addresses import A_PATH, may_be_address
from shoal.errors import DataError
from shoal.sources.csv_files import CsvFile, Expected
from shoal.sources.csv_sets import CsvSet, is_csv_set
from shoal.sources.databases import DUCKDB, SQLITE, Address, DatabaseTable, is_table_address, parsed
from shoal.sources.excel import ExcelFile
from shoal.sources.frames import frame_of
from shoal.sources.json_lines import JsonLinesFile
from shoal.sources.parquet_sets import ParquetSet
from shoal.sources.statistics_files import READERS, StatisticsFile
from shoal.sources.unicode import checked, checked_names, names_of

CSV = (".csv", ".tsv", ".txt", ".data")
PARQUET = (".parquet", ".pq")
JSON_LINES = (".jsonl", ".ndjson", ".json")
EXCEL = (".xlsx", ".xlsm")
COMPRESSED = (".gz", ".bz2", ".zst", ".lz4")


class Source(Protocol):
    """A table that can be loaded column by column."""

    file: str | None
    columns: list[str]

    def load(self, columns: Sequence[str]) -> pa.Table: ...


class ParquetFile:
    def __init__(self, path: Path) -> None:
        self.file: str | None = str(path)
        self._path = path
        try:
            names = names_of(pq.read_schema(path))
        except pa.ArrowException:
            raise DataError("is not a Parquet file, or is damaged.", file=self.file) from None
        except UnicodeDecodeError:
            names = None
        self.columns = checked_names(names, self.file)

    def load(self, columns: Sequence[str], coded: Sequence[str] = ()) -> pa.Table:
        """These columns; those in `coded` with their dictionaries, which is faster and takes less room."""
        try:
            table = pq.read_table(self._path, columns=list(columns), read_dictionary=list(coded))
        except (pa.ArrowException, OSError):
            raise DataError("is damaged: its columns cannot be read.", file=self.file) from None
        return checked(table, self.file)


def open_source(given: object, expected: Expected | None = None) -> Source:
    """The source behind a path or a frame. `expected` columns help to tell a CSV's header from its first record."""
    source = _open(given, expected)
    nameless = [place for place, name in enumerate(source.columns, start=1) if not name.strip() or "\0" in name]
    if nameless:  # a CSV could not say it
        many = f"{len(nameless)} column{'s have names' if len(nameless) > 1 else ' has a name'}"
        raise DataError(
            f"{many} of blanks or with a zero byte: {', '.join(f'column {place}' for place in nameless[:5])}.",
            hint="Give every column a name that can be read.",
            file=source.file,
        )
    for name, times in Counter(source.columns).items():
        if times > 1:
            hint = "Give every column a name of its own."
            raise DataError(f"the table has column {name!r} twice.", hint=hint, file=source.file, column=name)
    return source


def _open(given: object, expected: Expected | None) -> Source:
    if isinstance(given, str | Path):
        if is_table_address(given):
            return DatabaseTable(parsed(str(given)))
        if may_be_address(given):
            raise DataError(
                "data must be a file, a frame or a table of a database, and this looks like another URL.", hint=A_PATH
            )
        return _open_file(Path(given), expected or Expected())
    return frame_of(given)


def _open_file(path: Path, expected: Expected) -> Source:
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if suffixes and suffixes[-1] in COMPRESSED:
        suffixes.pop()
    suffix = suffixes[-1] if suffixes else ""
    try:
        if not path.exists():
            raise DataError("the file does not exist.", hint=_near(path), file=str(path))
        if path.is_dir():
            return CsvSet(path, expected) if is_csv_set(path) else ParquetSet(path)
        if not path.is_file():
            raise DataError("is not a file.", file=str(path))
        if path.stat().st_size == 0:
            raise DataError("the file is empty.", file=str(path))
        opened = _by_ending(path, suffix, expected)
    except OSError as problem:
        raise DataError(
            f"the file cannot be read: {problem.strerror or 'input/output error'}.", file=str(path)
        ) from None
    if opened is not None:
        return opened
    known = ", ".join((*CSV, *PARQUET, *JSON_LINES, *EXCEL, *READERS, *SQLITE, *DUCKDB))
    hint = "Save it as .xlsx or CSV." if suffix in (".xls", ".ods", ".xlsb") else None
    raise DataError(f"the kind of file is not known by its ending. Known: {known}.", hint=hint, file=str(path))


def _by_ending(path: Path, suffix: str, expected: Expected) -> Source | None:
    if suffix in CSV:
        return CsvFile(path, expected)
    if suffix in PARQUET:
        return ParquetFile(path)
    if suffix in JSON_LINES:
        return JsonLinesFile(path)
    if suffix in EXCEL:
        return ExcelFile(path, expected)
    if suffix in READERS:
        return StatisticsFile(path, suffix, expected.encoding)
    if suffix in (*SQLITE, *DUCKDB):
        return DatabaseTable(Address("SQLite" if suffix in SQLITE else "DuckDB", str(path)))
    return None


def _near(path: Path) -> str | None:
    """A file of a similar name in the same folder."""
    if not path.parent.is_dir():
        return f"Nor does the folder {path.parent}."
    found = difflib.get_close_matches(path.name, [other.name for other in path.parent.iterdir()], n=1)
    return f"Did you mean {found[0]}?" if found else None
