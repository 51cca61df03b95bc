"""Parquet data sets: a folder of Parquet files with the same columns, as Spark, Dask and others write them.

Folders named COLUMN=VALUE are columns as well. Only the columns that are asked for are read.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa

from shoal.errors import DataError
from shoal.sources.unicode import checked, checked_names, names_of

DAMAGED = "is not a folder of Parquet files with the same columns, or one of them is damaged."


class ParquetSet:
    def __init__(self, folder: Path) -> None:
        self.file: str | None = str(folder)
        files = files_in(folder, (".parquet", ".pq"))
        if not files:
            raise DataError("is a folder, and has no Parquet or CSV files.", hint="A table is a file.", file=self.file)
        import pyarrow.dataset as ds  # loads pandas where that is installed: when it is needed, and not before

        try:
            partitioning = ds.partitioning(flavor="hive")
            self._set = ds.dataset(files, format="parquet", partitioning=partitioning, partition_base_dir=str(folder))
            different = [file for file in files if not self._same(file, ds.dataset(file, format="parquet").schema)]
            names = names_of(self._set.schema)
        except (pa.ArrowException, OSError, ValueError, TypeError):
            raise DataError(DAMAGED, file=self.file) from None
        except UnicodeDecodeError:
            names, different = None, []
        if different:
            raise DataError(
                "has other columns, or columns of other types, than the other files of the data set.",
                hint="Write the files again with the same columns.",
                file=different[0],
            )
        self.columns = checked_names(names, self.file)

    def _same(self, file: str, own: pa.Schema) -> bool:
        fields = {field.name: field.type for field in self._set.schema}
        return (
            len(own) > 0
            and all(fields.get(field.name) == field.type for field in own)
            and (set(fields) - set(own.names) <= _partitions(file))
        )

    def load(self, columns: Sequence[str]) -> pa.Table:
        try:
            table = self._set.to_table(columns=list(columns))
        except (pa.ArrowException, OSError):
            table = None
        if table is None:
            raise DataError(DAMAGED, file=self.file)
        return checked(table, self.file)


def files_in(folder: Path, endings: Sequence[str]) -> list[str]:
    """The files of a data set, in the order of their names."""
    return sorted(
        str(path)
        for path in folder.rglob("*")
        if path.is_file() and path.suffix.lower() in endings and not _hidden(path, folder)
    )


def _hidden(path: Path, folder: Path) -> bool:
    """`_temporary`, `.crc`: what writers leave, and readers pass over."""
    return any(part.startswith(("_", ".")) for part in path.relative_to(folder).parts)


def _partitions(file: str) -> set[str]:
    return {part.partition("=")[0] for part in Path(file).parts if "=" in part}
