"""JSON lines: one object per line."""

from __future__ import annotations

import codecs
import json
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.json as pa_json

from shoal.errors import DataError
from shoal.sources.memory import announce
from shoal.sources.unicode import NOT_UTF8, broken, checked, checked_names, names_of

LONGEST_LINE = 1 << 24
IN_MEMORY = 2  # bytes that the table takes for each byte of the file: all columns are read, identifiers too


class JsonLinesFile:
    """A file of JSON lines. Fields that a line lacks are null; a field that mixes numbers and text is read as text."""

    def __init__(self, path: Path) -> None:
        self.file: str | None = str(path)
        self._path = path
        announce(str(path), IN_MEMORY * path.stat().st_size, "Saved as Parquet it takes what its columns take.")
        self._table = self._read()
        self.columns = list(self._table.column_names)

    def load(self, columns: Sequence[str]) -> pa.Table:
        return self._table.select(list(columns))

    def each_has(self) -> Iterable[Collection[str]] | None:
        """The fields that each line has; None: all have all."""
        if not any(column.null_count for column in self._table.columns):
            return None
        return self._rows()

    def _read(self, texts: Sequence[str] = ()) -> pa.Table:
        fields = pa.schema([(name, pa.string()) for name in texts])
        try:
            with pa.input_stream(str(self._path), compression="detect") as stream:
                table = pa_json.read_json(
                    stream,
                    read_options=pa_json.ReadOptions(block_size=LONGEST_LINE),
                    parse_options=pa_json.ParseOptions(explicit_schema=fields),
                )
            checked_names(names_of(table), self.file)
            checked(table, self.file)
        except (pa.ArrowException, DataError):
            table = None
        if table is None:  # outside of the handler: Arrow's message may quote the data
            return self._read_slowly()
        # Text that looks like a date comes back as a timestamp; whether it is one is for the schema to say.
        dates = [field.name for field in table.schema if pa.types.is_timestamp(field.type)]
        return self._read(dates) if dates else table

    def _read_slowly(self) -> pa.Table:
        """Line by line: to name the broken line, or to read a field that is a number here and a text there."""
        rows = self._rows()
        names = list(dict.fromkeys(name for row in rows for name in row))
        return pa.table({name: _column([row.get(name) for row in rows]) for name in names})

    def _rows(self) -> list[dict[str, object]]:
        with pa.input_stream(str(self._path), compression="detect") as stream:
            lines = stream.read().removeprefix(codecs.BOM_UTF8).splitlines()
        return [self._row(line, number) for number, line in enumerate(lines, start=1) if line.strip()]

    def _row(self, line: bytes, number: int) -> dict[str, object]:
        row: object = None
        fault, hint = "is not a JSON object", 'Every line must be one object, such as {"age": 39}.'
        try:
            text = line.decode()
            row = json.loads(text)
            # An escape may stand for half of a character, anywhere in the object.
            if "\\u" in text and broken(json.dumps(row, ensure_ascii=False)):
                row, fault, hint = None, "holds text that is not Unicode", ""
        except UnicodeDecodeError:
            fault, hint = f"is {NOT_UTF8}", ""
        except (ValueError, RecursionError):
            pass
        if not isinstance(row, dict):
            raise DataError(f"line {number} {fault}.", hint=hint or None, file=self.file, line=number)
        return row


def _column(values: list[object]) -> pa.Array:
    try:
        return pa.array(values)
    except (pa.ArrowException, OverflowError):
        return pa.array(
            [value if value is None or isinstance(value, str) else json.dumps(value) for value in values],
            pa.string(),
        )
