"""CSV files: delimiter and header detected, every cell read as text (what a cell means is the schema's business).

A reader that guesses wrong publishes the wrong column, so it guesses only on evidence. The first row is the header if
it holds the expected names. A file has no header if the schema says so, or if its first rows fit, place by place, what
the schema says of every column that would be published. Anything else is refused. And quotes are checked: one that is
never closed would swallow the records behind it into one cell.
"""

from __future__ import annotations

import csv
import io
import re
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, NoReturn

import pyarrow as pa
import pyarrow.csv as pa_csv

from shoal.errors import DataError, ShoalWarning

DELIMITERS = (",", ";", "\t", "|")
SAMPLE_BYTES = 1 << 16
LONGEST_LINE = 1 << 24
SAMPLE_ROWS = 200
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")


@dataclass(frozen=True)
class Expected:
    """The columns that a file should have.

    Each has a test that its cells pass; None where any text may stand, which is no evidence. `header` is False if the
    file is known to have none.
    """

    tests: Mapping[str, Callable[[str], bool] | None]
    header: bool | None = None


class CsvFile:
    """A CSV file. An empty cell is null."""

    def __init__(self, path: Path, expected: Expected | None = None) -> None:
        self.file: str | None = str(path)
        self._path = path
        sample = self._sample()
        self.delimiter = _delimiter(sample, list(expected.tests) if expected else [])
        reader = csv.reader(sample, delimiter=self.delimiter)
        first: list[str] = next((row for row in reader if row), [])
        if not first:
            raise DataError("the file is empty.", file=self.file)
        first = [cell.strip() for cell in first]
        self._lines_before_data = reader.line_num
        known = expected.header if expected is not None else None
        if _is_header(first, expected) if known is None else known:
            self.columns = first
            self._check_names()
        elif expected:
            self._take_names_from(expected, sample)
        else:
            self.columns = [f"column{number}" for number in range(1, len(first) + 1)]
            self._lines_before_data = 0

    def _take_names_from(self, expected: Expected, sample: list[str]) -> None:
        """Columns without names are taken in the schema's order: if it says so, or if the cells leave no doubt."""
        rows = [[cell.strip() for cell in row] for row in csv.reader(sample, delimiter=self.delimiter) if row]
        if len(rows[0]) != len(expected.tests) or not (expected.header is False or _fit(rows, expected)):
            raise DataError(
                "the first line does not name the columns.",
                hint=f"Name them: {_some(list(expected.tests))}. If the file has no header, say header = false at the "
                f"top of the schema: its {len(expected.tests)} columns are then expected in that order.",
                file=self.file,
                line=1,
            )
        self.columns = list(expected.tests)
        self._lines_before_data = 0
        if expected.header is None:
            note = f"{self.file}: no header was found; the columns are taken in the order of the schema."
            warnings.warn(note, ShoalWarning, stacklevel=2)

    def load(self, columns: Sequence[str]) -> pa.Table:
        """These columns as text, every byte of a cell kept."""
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
                        column_names=self.columns, skip_rows=self._lines_before_data, block_size=1 << 24
                    ),
                    parse_options=pa_csv.ParseOptions(
                        delimiter=self.delimiter,
                        newlines_in_values=True,
                        invalid_row_handler=note,
                        ignore_empty_lines=len(self.columns) > 1,  # of one column, an empty line is an empty cell
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
        self._check_quotes(table.num_rows)
        return table

    def _check_names(self) -> None:
        for name in self.columns:
            if not name or self.columns.count(name) > 1:
                raise DataError(
                    f"the header names a column {'twice' if name else 'with an empty name'}.",
                    hint="Give every column a name of its own.",
                    file=self.file,
                    column=name or None,
                )

    def _open(self) -> BinaryIO:
        return pa.input_stream(str(self._path), compression="detect")

    def _sample(self) -> list[str]:
        """The first lines, whole ones."""
        try:
            with self._open() as stream:
                start = stream.read(SAMPLE_BYTES)
                while b"\n" not in start and len(start) % SAMPLE_BYTES == 0 and 0 < len(start) < LONGEST_LINE:
                    start += stream.read(SAMPLE_BYTES)
        except OSError:
            raise DataError("the file cannot be read, or is damaged.", file=self.file) from None
        # A line may be cut at the end of the sample, even inside a character: neither is a fault of the file.
        lines = start.decode("utf-8-sig", errors="replace").splitlines(keepends=True)
        cut = len(start) >= SAMPLE_BYTES and len(lines) > 1
        return lines[:-1][:SAMPLE_ROWS] if cut else lines[:SAMPLE_ROWS]

    def _check_quotes(self, rows: int) -> None:
        """A quote that is not closed, or closed by a stray one: the fast reader takes all in between for one cell."""
        quotes = lines = 0
        last = b"\n"
        with self._open() as stream:
            while block := stream.read(1 << 22):
                quotes += block.count(b'"')
                lines += block.count(b"\n")
                last = block[-1:]
        lines += last != b"\n"
        if quotes and (quotes % 2 or lines != rows + self._lines_before_data):
            for _ in self._widths():
                pass

    def _explain(self) -> NoReturn:
        """Read again, slowly, to say which lines are broken; the fast reader does not know."""
        wrong = [(line, width) for line, width in self._widths() if width != len(self.columns)]
        if not wrong:
            raise DataError("the file cannot be read as CSV.", file=self.file)
        (line, width), more = wrong[0], len(wrong) - 1
        raise DataError(
            f"line {line} has {width} cells, the table has {len(self.columns)} columns"
            + (f" (and {more} more broken lines)." if more else "."),
            hint="Mend or remove the broken lines.",
            file=self.file,
            line=line,
        )

    def _widths(self) -> Iterator[tuple[int, int]]:
        """The first line and the number of cells of every row; strict about quotes."""
        line, fault = 1, ""
        try:
            with self._open() as stream:
                text = io.TextIOWrapper(stream, encoding="utf-8-sig", newline="")
                reader = csv.reader(text, delimiter=self.delimiter, strict=True)
                for row in reader:
                    if row:
                        yield line, len(row)
                    line = reader.line_num + 1
                return
        except UnicodeDecodeError:
            fault, line = "the file is not UTF-8 text; convert it, as with iconv -f latin1 -t utf-8", 0
        except (csv.Error, OSError):
            fault = f"the quotes do not match in the record that begins in line {line}"
        raise DataError(f"{fault}.", file=self.file, line=line or None)


def _delimiter(sample: list[str], names: list[str]) -> str:
    """The sign that cuts the sample into the steadiest and widest rows, or that finds the expected names."""

    def score(sign: str) -> tuple[int, float, int]:
        try:
            rows = [row for row in csv.reader(sample, delimiter=sign) if row]
        except csv.Error:
            return 0, 0, 0
        first = {cell.strip() for cell in rows[0]} if rows else set()
        widths = [len(row) for row in rows]
        usual = max(set(widths), key=widths.count) if widths else 0
        return len(first & set(names)), (widths.count(usual) / len(widths) if usual > 1 else 0), usual

    return max(DELIMITERS, key=score)


def _is_header(first: list[str], expected: Expected | None) -> bool:
    """Half of the names must be there: one of them alone may be a value that happens to be called so."""
    if expected is not None:
        return 2 * len(set(first) & set(expected.tests)) >= min(len(first), len(expected.tests))
    return all(cell and not NUMBER.fullmatch(cell) for cell in first) and len(set(first)) == len(first)


def _fit(rows: list[list[str]], expected: Expected) -> bool:
    """Whether the cells pass the test of every column, and every column has one."""
    tests = list(expected.tests.values())
    return all(
        len(row) == len(tests)
        and all(test is not None and (not cell or test(cell)) for test, cell in zip(tests, row, strict=True))
        for row in rows
    )


def _some(names: list[str]) -> str:
    return ", ".join(names) if len(names) <= 20 else f"{', '.join(names[:20])}, …"
