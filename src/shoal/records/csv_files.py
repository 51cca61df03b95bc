"""CSV files: delimiter and header detected, every cell read as text (what a cell means is the schema's business)."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import BinaryIO

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv

from shoal.errors import SHOWN, DataError

DELIMITERS = (",", ";", "\t", "|")
SAMPLE_BYTES = 1 << 16
SAMPLE_ROWS = 200
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")


class CsvFile:
    """A CSV file. Cells lose surrounding blanks (`39, Male` is common); an empty cell is null."""

    def __init__(self, path: Path, expected: Sequence[str] = ()) -> None:
        self.file: str | None = str(path)
        self._path = path
        sample = self._sample()
        self.delimiter = _delimiter(sample, expected)
        rows = [[cell.strip() for cell in row] for row in csv.reader(sample, delimiter=self.delimiter) if row]
        if not rows:
            raise DataError("the file is empty.", file=self.file)
        self.has_header = _is_header(rows[0], expected)
        if self.has_header:
            self.columns = rows[0]
        elif len(expected) == len(rows[0]):
            self.columns = list(expected)
        else:
            self.columns = [f"column{number}" for number in range(1, len(rows[0]) + 1)]
        for name in self.columns:
            if not name or self.columns.count(name) > 1:
                raise DataError(
                    f"the header names a column {'twice' if name else 'with an empty name'}.",
                    hint="Give every column a name of its own.",
                    file=self.file,
                    column=name or None,
                )

    def load(self, columns: Sequence[str], *, trim: bool = True) -> pa.Table:
        """These columns as text. `trim=False` keeps every byte of a cell (the verifier compares what was published)."""
        broken = False

        def note(row: pa_csv.InvalidRow) -> str:
            nonlocal broken
            broken = True
            return "skip"

        try:
            with self._open() as stream:
                table = pa_csv.read_csv(
                    stream,
                    read_options=pa_csv.ReadOptions(
                        column_names=self.columns, skip_rows=1 if self.has_header else 0, block_size=1 << 24
                    ),
                    parse_options=pa_csv.ParseOptions(
                        delimiter=self.delimiter, newlines_in_values=True, invalid_row_handler=note
                    ),
                    convert_options=pa_csv.ConvertOptions(
                        include_columns=list(columns),
                        column_types={name: pa.string() for name in columns},
                        null_values=[""],
                        strings_can_be_null=True,
                        quoted_strings_can_be_null=False,
                    ),
                )
        except (pa.ArrowException, OSError):
            broken, table = True, None
        if broken:
            self._explain()
        if trim:
            for j, name in enumerate(table.column_names):
                table = table.set_column(j, name, pc.utf8_trim_whitespace(table[name]))
        return table

    def _open(self) -> BinaryIO:
        return pa.input_stream(str(self._path), compression="detect")

    def _sample(self) -> list[str]:
        try:
            with self._open() as stream:
                start = stream.read(SAMPLE_BYTES)
        except OSError:
            raise DataError("the file cannot be read, or is damaged.", file=self.file) from None
        # A character may be cut in half at the end of the sample, which is no fault of the file.
        text = start.decode("utf-8-sig", errors="ignore" if len(start) == SAMPLE_BYTES else "replace")
        lines = [line for line in text.splitlines(keepends=True) if line.strip()]
        return lines[:SAMPLE_ROWS] if len(start) < SAMPLE_BYTES else lines[: min(SAMPLE_ROWS, len(lines) - 1)] or lines

    def _explain(self) -> None:
        """Read again, slowly, to say which lines are broken; the fast reader does not know."""
        wrong = []
        try:
            with self._open() as stream:
                for line, width in _widths(stream, self.delimiter):
                    if width != len(self.columns):
                        wrong.append((line, width))
        except UnicodeDecodeError:
            raise DataError("the file is not UTF-8 text.", hint="Convert it first.", file=self.file) from None
        except (csv.Error, OSError):
            pass
        if not wrong:
            raise DataError("the file cannot be read as CSV: a quote may be open.", file=self.file)
        (line, width), more = wrong[0], len(wrong) - 1
        raise DataError(
            f"line {line} has {width} cells, the table has {len(self.columns)} columns"
            + (f" (and {more} more broken lines)." if more else "."),
            hint="Mend or remove the broken lines; look for an open quote.",
            file=self.file,
            rows=[line for line, _ in wrong[:SHOWN]],
        )


def _widths(stream: BinaryIO, delimiter: str) -> Iterator[tuple[int, int]]:
    """The first line and the number of cells of every row."""
    reader = csv.reader(io.TextIOWrapper(stream, encoding="utf-8-sig", newline=""), delimiter=delimiter)
    line = 1
    for row in reader:
        if row:
            yield line, len(row)
        line = reader.line_num + 1


def _delimiter(sample: list[str], expected: Sequence[str]) -> str:
    """The sign that cuts the sample into the steadiest and widest rows, or that finds the expected names."""

    def score(sign: str) -> tuple[int, float, int]:
        try:
            rows = [row for row in csv.reader(sample, delimiter=sign) if row]
        except csv.Error:
            return 0, 0, 0
        first = {cell.strip() for cell in rows[0]} if rows else set()
        widths = [len(row) for row in rows]
        usual = max(set(widths), key=widths.count) if widths else 0
        return len(first & set(expected)), (widths.count(usual) / len(widths) if usual > 1 else 0), usual

    return max(DELIMITERS, key=score)


def _is_header(first: list[str], expected: Sequence[str]) -> bool:
    if expected:
        return bool(set(first) & set(expected))
    return all(cell and not NUMBER.fullmatch(cell) for cell in first) and len(set(first)) == len(first)
