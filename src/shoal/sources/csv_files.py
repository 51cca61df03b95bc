"""CSV files: encoding, delimiter and header detected, every cell read as text (its meaning is the schema's business).

A reader that guesses wrong publishes the wrong column, so it guesses only on evidence. The first row is the header if
it holds the expected names. A file has no header if the schema says so, or if its first rows fit, place by place, what
the schema says of every column that would be published. Anything else is refused. And quotes are checked: one that is
never closed would swallow the records behind it into one cell. No message shows a cell of the first row that may be a
record's.
"""

from __future__ import annotations

import csv
import io
import re
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, NoReturn

import pyarrow as pa
import pyarrow.csv as pa_csv

from shoal.errors import DataError, ShoalWarning, row_list
from shoal.sources.encodings import (
    UTF8,
    WESTERN,
    WESTERN_NAMES,
    AsUtf8,
    blocks_of,
    is_plainly_utf8,
    is_western,
    marked,
)
from shoal.sources.naming import some, surely_names
from shoal.sources.unicode import NOT_UTF8, broken

DELIMITERS = (",", ";", "\t", "|")
SAMPLE_BYTES = 1 << 16
LONGEST_LINE = 1 << 24
SAMPLE_ROWS = 200
SAID_DELIMITER = re.compile(r"\ufeff?sep=([,;\t|])\s*", re.IGNORECASE)  # a line that Excel reads, and writes
NAMELESS = "\0"  # no name that a column can have
ROWS_KEPT = 20
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")


@dataclass(frozen=True)
class Expected:
    """The columns that a file should have.

    Each has a test that its cells pass; None where any text may stand, which is no evidence. `header` is False if the
    file is known to have none: its columns then come in one of `orders`, which differ in how many they are (if none
    is given, in the order of the tests). Without tests nothing is known of the columns.
    """

    tests: Mapping[str, Callable[[str], bool] | None] = field(default_factory=dict)
    header: bool | None = None
    orders: Sequence[Sequence[str]] = ()
    needs_header: bool = False  # a release has one
    encoding: str | None = None  # of text files; None: as it is found
    sheet: str | None = None  # of a workbook; None: its only one

    def by_width(self) -> dict[int, list[str]]:
        """The names of columns without a header, by their number."""
        return {len(order): list(order) for order in self.orders or [list(self.tests)]}


class CsvFile:
    """A CSV file. An empty cell is null."""

    def __init__(self, path: Path, expected: Expected | None = None) -> None:
        self.file: str | None = str(path)
        self._path = path
        expected = expected or Expected()
        self.detected = False  # the encoding is a guess
        self.encoding, self._said = expected.encoding or UTF8, expected.encoding is not None
        self.not_as_said: str | None = None  # the encoding that the schema says, and the file is not in
        if expected.encoding is None:
            self._detect()
        elif expected.encoding in WESTERN_NAMES and self._is_plainly_utf8():
            self.encoding, self.not_as_said = UTF8, expected.encoding
        sample = self._sample()
        said = SAID_DELIMITER.fullmatch(sample[0]) if sample else None
        self._lines_before_table = 1 if said else 0
        sample = sample[self._lines_before_table :]
        self.delimiter = said[1] if said else _delimiter(sample, expected)
        first, self._lines_before_data = self._first_row(sample)
        self._lines_before_data += self._lines_before_table
        self._ends_in_delimiter = expected.header is not False and self._every_line_ends_in_delimiter(expected, sample)
        if self._ends_in_delimiter:
            first = first[:-1]
        self.header = _is_header(first, expected) if expected.header is None else expected.header
        if self.header:
            self.columns = first
            self._check_names(expected)
            return
        self._lines_before_data = self._lines_before_table
        if expected.tests:
            self._take_names_from(expected, first, sample)
        else:
            self.columns = [f"column{number}" for number in range(1, len(first) + 1)]

    def _first_row(self, sample: list[str]) -> tuple[list[str], int]:
        """The first row that is not empty, and the number of the line that it ends in."""
        reader = csv.reader(sample, delimiter=self.delimiter, strict=True)
        try:
            first = next((row for row in reader if row), None)
        except csv.Error:
            first = []
        if first is None:
            raise DataError("the file is empty.", file=self.file)
        if not first:
            raise DataError(
                "the first line cannot be read: its quotes do not match, or a cell of it is too long.",
                file=self.file,
                line=1,
            )
        return [cell.strip() for cell in first], reader.line_num

    def _every_line_ends_in_delimiter(self, expected: Expected, sample: list[str]) -> bool:
        """Some programs end every line in one, the header's too: that is no column, as long as nothing stands in it."""
        try:
            rows = [row for row in csv.reader(sample, delimiter=self.delimiter) if row]
        except csv.Error:
            return False
        if len(rows) < 2 or len(rows[0]) < 2:
            return False
        names = [cell.strip() for cell in rows[0]]
        return all(len(row) == len(names) and not row[-1].strip() for row in rows) and _is_header(names[:-1], expected)

    def _take_names_from(self, expected: Expected, first: list[str], sample: list[str]) -> None:
        """Columns without names are taken in the schema's order: if it says so, or if the cells leave no doubt."""
        names = expected.by_width().get(len(first))
        if names is None or not (expected.header is False or self._fit(expected, sample)):
            orders = "; or ".join(some(order) for order in expected.by_width().values())
            hint = f"Name them: {some(expected.tests)}."
            if expected.header is False:
                hint = f"The schema says that there is no header: these columns are expected, in this order: {orders}."
            elif not expected.needs_header:
                hint += (
                    " If the file has no header, say header = false at the top of the schema: the columns are then "
                    f"expected in this order: {orders}."
                )
            raise DataError(
                f"the first line does not name the columns, and has {len(first)} cell{'s' if len(first) > 1 else ''}.",
                hint=hint,
                file=self.file,
                line=1,
            )
        if set(first) == set(names) or (len(set(first) & set(names)) > 1 and _is_header(first, expected)):
            raise DataError(
                "the schema says header = false, and the first line names the columns.",
                hint="Take that line out of the file, or header = false out of the schema.",
                file=self.file,
                line=1,
            )
        self.columns = names
        if expected.header is None:
            note = f"{self.file}: no header was found; the columns are taken in the order of the schema."
            warnings.warn(note, ShoalWarning, stacklevel=2)

    def _fit(self, expected: Expected, sample: list[str]) -> bool:
        """Whether the cells pass the test of every column, and every column has one."""
        tests = list(expected.tests.values())
        try:
            rows = [row for row in csv.reader(sample, delimiter=self.delimiter) if row]
        except csv.Error:
            return False
        return all(
            len(row) == len(tests)
            and all(
                test is not None and (not cell.strip() or test(cell.strip()))
                for test, cell in zip(tests, row, strict=True)
            )
            for row in rows
        )

    def load(self, columns: Sequence[str]) -> pa.Table:
        """These columns as text, every byte of a cell kept."""
        table = self._table(columns)
        if table is None and self._turns_out_western():
            table = self._table(columns)
        if table is None:
            self._explain()
        self._check_quotes(table.num_rows)
        if self.not_as_said:
            note = f"{self.file} is UTF-8, and was read so, although {self.not_as_said} was said of it."
            warnings.warn(note, ShoalWarning, stacklevel=2)
        if self.detected:
            right = f'If that is right, say encoding = "{self.encoding}" in the schema.'
            note = f"{self.file} is not UTF-8, and was read as {self.encoding}. {right}"
            warnings.warn(note, ShoalWarning, stacklevel=2)
        return table

    def _table(self, columns: Sequence[str]) -> pa.Table | None:
        """None if it cannot be read. What Arrow says of it quotes the row."""
        last = [NAMELESS] if self._ends_in_delimiter else []
        try:
            with self._open() as stream:
                table = pa_csv.read_csv(
                    stream,
                    read_options=pa_csv.ReadOptions(
                        column_names=self.columns + last, skip_rows=self._lines_before_data, block_size=1 << 24
                    ),
                    parse_options=pa_csv.ParseOptions(
                        delimiter=self.delimiter,
                        newlines_in_values=True,
                        ignore_empty_lines=len(self.columns) > 1,  # of one column, an empty line is an empty cell
                    ),
                    convert_options=pa_csv.ConvertOptions(
                        include_columns=[*columns, *last],
                        column_types={name: pa.string() for name in [*columns, *last]},
                        null_values=[""],
                        strings_can_be_null=True,
                        quoted_strings_can_be_null=False,
                    ),
                )
        except (pa.ArrowException, OSError, UnicodeError):
            return None
        if last:
            self._refuse_nameless(table[NAMELESS])
            table = table.drop_columns(last)
        return table

    def _refuse_nameless(self, column: pa.ChunkedArray) -> None:
        if column.null_count == len(column):
            return
        rows = [row for row, text in enumerate(column.to_pylist(), start=1) if text is not None and text.strip()]
        if rows:
            raise DataError(
                f"the last column has no name in the header, and a value in {row_list(rows)}.",
                hint="Name it, or mend those rows.",
                file=self.file,
                rows=rows[:ROWS_KEPT],
            )

    def _check_names(self, expected: Expected) -> None:
        if any(broken(name) or "\0" in name for name in self.columns):
            raise DataError(f"the first line is {NOT_UTF8}.", file=self.file, line=1)
        shown = surely_names(self.columns, expected.tests)
        for number, name in enumerate(self.columns, start=1):
            if not name or self.columns.count(name) > 1:
                raise DataError(
                    "the header names a column twice." if name else f"column {number} has an empty name in the header.",
                    hint="Give every column a name of its own.",
                    file=self.file,
                    column=name if name and shown else None,
                    values=[name],
                )

    def _open(self) -> BinaryIO:
        """Its text, in UTF-8 whatever the file has."""
        raw: BinaryIO = pa.input_stream(str(self._path), compression="detect")
        if self.encoding == UTF8:
            return raw
        return io.BufferedReader(AsUtf8(raw, self.encoding), buffer_size=1 << 20)

    def _detect(self) -> None:
        """The encoding, by the file's first bytes."""
        try:
            with pa.input_stream(str(self._path), compression="detect") as stream:
                start = stream.read(SAMPLE_BYTES)
        except OSError:
            raise DataError("the file cannot be read, or is damaged.", file=self.file) from None
        found = marked(start)
        if found is None and is_western(iter([start[:-4] if len(start) == SAMPLE_BYTES else start])):
            found = WESTERN
        self.detected = found in (WESTERN, "utf-16-le", "utf-16-be")
        self.encoding = UTF8 if found in (None, "utf-8-sig") else found

    def _is_plainly_utf8(self) -> bool:
        """Any bytes can be read as Western text: of UTF-8, each umlaut would come in as two wrong signs."""
        try:
            with pa.input_stream(str(self._path), compression="detect") as stream:
                return is_plainly_utf8(blocks_of(stream))
        except OSError:
            raise DataError("the file cannot be read, or is damaged.", file=self.file) from None

    def _turns_out_western(self) -> bool:
        """A file may have its first umlaut on page two."""
        if self.encoding != UTF8 or self._said:
            return False
        try:
            with self._open() as stream:
                western = is_western(blocks_of(stream))
        except OSError:
            return False
        if western:
            self.encoding, self.detected = WESTERN, True
        return western

    def _sample(self) -> list[str]:
        """The first lines, whole ones."""
        try:
            with self._open() as stream:
                start = stream.read(SAMPLE_BYTES)
                while b"\n" not in start and len(start) % SAMPLE_BYTES == 0 and 0 < len(start) < LONGEST_LINE:
                    start += stream.read(SAMPLE_BYTES)
        except (OSError, UnicodeError):
            raise DataError(
                f"the file cannot be read as {self.encoding} text, or is damaged.",
                hint="`encoding` in the schema says how it is written." if self.encoding != UTF8 else None,
                file=self.file,
            ) from None
        # A line may be cut at the end of the sample, even inside a character: neither is a fault of the file. Nor are
        # broken characters in columns that are never loaded.
        lines = list(io.StringIO(start.decode("utf-8-sig", errors="surrogateescape"), newline=""))
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
        widths = list(self._widths())
        named = len(self.columns) + self._ends_in_delimiter
        wrong = [(line, width) for line, width in widths if width != named]
        if not wrong:
            raise DataError("the file cannot be read as CSV.", file=self.file)
        (line, width), more = wrong[0], len(wrong) - 1
        if 2 * sum(one == width for _, one in wrong) > len(widths) > 2 and self.header and 2 * named <= width:
            raise DataError(
                f"line {self._lines_before_data} should name the columns and has {cells(named)}, line {line} and most "
                f"others have {width}.",
                hint="If a title or a comment stands above the names of the columns, remove it.",
                file=self.file,
                line=self._lines_before_data,
            )
        raise DataError(
            f"line {line} has {cells(width)}, the table has {named} column{'s' if named > 1 else ''}"
            + (f" (and {more} more broken line{'s' if more > 1 else ''})." if more else "."),
            hint="Mend or remove the broken lines." if more else "Mend or remove the broken line.",
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
                    if row and line > self._lines_before_table:
                        yield line, len(row)
                    line = reader.line_num + 1
                return
        except UnicodeDecodeError:
            fault, line = f"the file is {NOT_UTF8 if self.encoding == UTF8 else f'not {self.encoding} text'}", 0
        except (csv.Error, OSError):
            fault = f"the quotes do not match in the record that begins in line {line}"
        raise DataError(f"{fault}.", file=self.file, line=line or None)


def cells(count: int) -> str:
    return "1 cell" if count == 1 else f"{count} cells"


def _delimiter(sample: list[str], expected: Expected) -> str:
    """The sign that finds the expected names, or as many columns, or cuts into the steadiest and widest rows.

    If several do, it is the one that leaves the fewest quotes inside cells.
    """
    known = expected.by_width()

    def score(sign: str) -> tuple[int, bool, float, int, int]:
        rows: list[list[str]] = []
        with suppress(csv.Error):  # a sign that is none leaves text behind closed quotes
            rows.extend(row for row in csv.reader(sample, delimiter=sign, strict=True) if row)
        first = {cell.strip() for cell in rows[0]} if rows else set()
        widths = [len(row) for row in rows]
        usual = max(set(widths), key=widths.count) if widths else 0
        steady = widths.count(usual) / len(widths) if usual > 1 else 0
        quotes = sum(cell.count('"') for row in rows for cell in row)
        return len(first & set(expected.tests)), usual > 1 and usual in known, steady, usual, -quotes

    return max(DELIMITERS, key=score)


def _is_header(first: list[str], expected: Expected) -> bool:
    """Half of the names must be there: one of them alone may be a value that happens to be called so."""
    if expected.tests:
        return 2 * len(set(first) & set(expected.tests)) >= min(len(first), len(expected.tests))
    return all(cell and not NUMBER.fullmatch(cell) for cell in first) and len(set(first)) == len(first)
