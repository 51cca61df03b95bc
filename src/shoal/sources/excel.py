"""Workbooks of Excel (.xlsx): a sheet, row by row. The first row that is not empty names the columns."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from shoal.errors import DataError
from shoal.sources.csv_files import Expected
from shoal.sources.extras import needed
from shoal.sources.gathering import table_of
from shoal.sources.memory import announce
from shoal.sources.naming import some

ERRORS = ("#N/A", "#REF!", "#VALUE!", "#DIV/0!", "#NAME?", "#NULL!", "#NUM!")
TEXTS = "xl/sharedStrings.xml"
IN_MEMORY = 4  # bytes that a text takes for each byte of the file


class ExcelFile:
    """A sheet of a workbook. Formulas count as what they came to when the workbook was saved."""

    def __init__(self, path: Path, expected: Expected) -> None:
        self.file: str | None = str(path)
        self._path, self._sheet = path, expected.sheet
        self._announce()
        names, self._before, self._width = self._header()
        self.header = expected.header is not False
        if self.header:
            self.columns = names
        else:
            self._before -= 1
            self.columns = [f"column{number}" for number in range(1, len(names) + 1)]
            if expected.tests:
                self.columns = expected.by_width().get(len(names), [])
            if not self.columns:
                raise DataError(
                    f"the first row of the sheet has {len(names)} cells, and the schema says that there is no header.",
                    hint=f"These columns are expected, in this order: {some(expected.tests)}.",
                    file=self.file,
                    line=1,
                )

    def load(self, columns: Sequence[str]) -> pa.Table:
        places = [self.columns.index(name) for name in columns]
        rows = ([_value(row[j]) if j < len(row) else None for j in places] for row in self._rows())
        return table_of(columns, rows, self.file)

    def _rows(self) -> Iterator[Sequence[object]]:
        for number, row in self._all_rows():
            if number > self._before and any(_value(cell) is not None for cell in row):
                if any(_value(cell) is not None for cell in row[self._width :]):
                    raise DataError(
                        f"row {number} of the sheet has more cells than row {self._before} names columns "
                        f"({self._width}).",
                        hint="Name every column in the first row. If a title stands above the names, remove it.",
                        file=self.file,
                        line=number,
                    )
                yield row

    def _header(self) -> tuple[list[str], int, int]:
        for number, row in self._all_rows():
            cells = ["" if _value(cell) is None else str(_value(cell)).strip() for cell in row]
            while cells and not cells[-1]:
                cells.pop()
            if cells:
                return cells, number, len(cells)
        raise DataError("the sheet is empty.", file=self.file)

    def _all_rows(self) -> Iterator[tuple[int, Sequence[object]]]:
        """Every row of the sheet with its number; what the package says of a broken workbook may quote it."""
        openpyxl = needed("openpyxl", "excel", "A workbook", self.file)
        try:
            with self._path.open("rb") as file:  # of one that it opens itself, the package may leave a part open
                book = openpyxl.load_workbook(file, read_only=True, data_only=True)
                sheet = self._chosen(book)
                sheet.reset_dimensions()  # some programs write wrong ones
                yield from enumerate(sheet.iter_rows(values_only=True), start=1)
                return
        except DataError:
            raise
        except Exception:  # noqa: S110  # whatever the package stumbles on: it is said below, without its words
            pass
        raise DataError("is not a workbook that can be read, or is damaged.", file=self.file)

    def _chosen(self, book: Any) -> Any:
        names = [sheet.title for sheet in book.worksheets]
        if self._sheet is None and len(names) == 1:
            return book.worksheets[0]
        if self._sheet is None:
            filled = [sheet for sheet in book.worksheets if next(sheet.iter_rows(max_row=1, values_only=True), None)]
            if len(filled) == 1:
                return filled[0]
        if self._sheet in names:
            return book[self._sheet]
        what = "has several sheets" if self._sheet is None else "has no sheet of that name"
        raise DataError(
            f"the workbook {what}: {some(names)}.",
            hint='Say which one: sheet = "NAME" at the top of the schema, or --sheet NAME.',
            file=self.file,
        )

    def _announce(self) -> None:
        """Rows come one by one; all different texts of the workbook are kept while it is read."""
        try:
            with zipfile.ZipFile(self._path) as archive:
                size = sum(part.file_size for part in archive.infolist() if part.filename == TEXTS)
        except (zipfile.BadZipFile, OSError):
            raise DataError("is not a workbook that can be read, or is damaged.", file=self.file) from None
        announce(str(self._path), IN_MEMORY * size, "Saved as CSV it takes what its columns take.")


def _value(cell: object) -> object:
    """A cell; errors of formulas and empty texts are no values."""
    if isinstance(cell, str):
        return None if not cell.strip() or cell in ERRORS else cell
    return cell
