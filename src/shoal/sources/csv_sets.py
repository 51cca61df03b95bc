"""Folders of CSV files with the same columns, as Spark writes them: one table."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa

from shoal.errors import DataError
from shoal.sources.csv_files import CsvFile, Expected
from shoal.sources.parquet_sets import files_in

ENDINGS = (".csv",)


class CsvSet:
    def __init__(self, folder: Path, expected: Expected) -> None:
        self.file: str | None = str(folder)
        self._parts = [CsvFile(Path(path), expected) for path in files_in(folder, ENDINGS)]
        self.columns = self._parts[0].columns
        for part in self._parts:
            if part.columns != self.columns:
                raise DataError(
                    "has other columns than the other files of the folder.",
                    hint="Write the files again with the same columns.",
                    file=part.file,
                )

    def load(self, columns: Sequence[str]) -> pa.Table:
        return pa.concat_tables([part.load(columns) for part in self._parts])


def is_csv_set(folder: Path) -> bool:
    return bool(files_in(folder, ENDINGS))
