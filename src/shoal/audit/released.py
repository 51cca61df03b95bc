"""Release files as anybody reads them: their rows, classes, and what stands beside the quasi-identifiers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from shoal.errors import DataError
from shoal.records.reading import read_text
from shoal.records.spelling import one_spelling
from shoal.schema import Column, ColumnType, Role, Schema

Longs = NDArray[np.int64]


@dataclass(frozen=True)
class Released:
    """A release: the class of each row, one row of each class, and the texts of what is published as it is."""

    file: str | None
    table: pa.Table
    labels: list[str]  # the names of the quasi-identifiers
    classes: Longs  # of each row
    first: Longs  # a row of each class
    texts: dict[str, pa.Array]  # of each passthrough column that it has
    sensitive: dict[str, Longs]  # the value of each row, as a number: the same in all releases

    @property
    def n_classes(self) -> int:
        return len(self.first)

    def sizes(self) -> Longs:
        return np.bincount(self.classes, minlength=self.n_classes)


def read_releases(sources: Sequence[object], schema: Schema) -> list[Released]:
    """In their order."""
    tables = [(_file(source), read_text(source, schema.published)) for source in sources]
    for file, table in tables:
        for name in [*schema.quasi_identifiers, *schema.names(Role.SENSITIVE)]:
            if name not in table.column_names:
                raise DataError(f"the table has no column {name!r}: it is no release.", file=file, column=name)
        if not table.num_rows:
            raise DataError("the table has no rows.", file=file)
    beside = [*schema.names(Role.SENSITIVE), *schema.names(Role.INSENSITIVE)]
    texts = [{name: as_texts(table[name]) for name in beside if name in table.column_names} for _, table in tables]
    numbers = {
        name: _numbers([of_file[name] for of_file in texts], schema.columns[name])
        for name in schema.names(Role.SENSITIVE)
    }
    found = []
    for at, (file, table) in enumerate(tables):
        classes, first = _classes(table.select(schema.quasi_identifiers))
        sensitive = {name: of_files[at] for name, of_files in numbers.items()}
        found.append(Released(file, table, schema.quasi_identifiers, classes, first, texts[at], sensitive))
    return found


def name_of(releases: Sequence[Released], at: int) -> str:
    """A release in words."""
    file = releases[at].file
    return f"release {at + 1}" if file is None else f"release {at + 1} ({Path(file).name})"


def as_texts(column: pa.ChunkedArray) -> pa.Array:
    """A column as texts; what is missing is empty."""
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if pa.types.is_null(column.type):
        return pa.array([""] * len(column), pa.string())
    texts = pc.fill_null(column.cast(pa.string()), "").combine_chunks()
    return texts.chunk(0) if isinstance(texts, pa.ChunkedArray) else texts


def numbered(columns: Sequence[pa.Array]) -> Longs:
    """A number for each row: the same for rows that are the same in all of these columns."""
    numbers = np.zeros(len(columns[0]), np.int64)
    for column in columns:
        coded = column.dictionary_encode()
        codes = coded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
        numbers = np.unique(numbers * (len(coded.dictionary) + 1) + codes, return_inverse=True)[1]
    return numbers


def _classes(labels: pa.Table) -> tuple[Longs, Longs]:
    numbers = numbered([as_texts(labels[name]) for name in labels.column_names])
    _, first, classes = np.unique(numbers, return_index=True, return_inverse=True)
    return classes, first


def _numbers(columns: Sequence[pa.Array], column: Column) -> list[Longs]:
    """The values of one column in all releases as numbers; however they are spelled."""
    coded = pa.concat_arrays(columns).dictionary_encode()
    as_numbers = column.type not in (ColumnType.CATEGORICAL, ColumnType.PREFIX)
    spelled = pa.array([one_spelling(text, numbers=as_numbers) for text in coded.dictionary.to_pylist()], pa.string())
    of_value = spelled.dictionary_encode().indices.to_numpy(zero_copy_only=False).astype(np.int64)
    together = of_value[coded.indices.to_numpy(zero_copy_only=False)] if len(of_value) else np.zeros(0, np.int64)
    return np.split(together, np.cumsum([len(some) for some in columns])[:-1])


def _file(source: object) -> str | None:
    return str(source) if isinstance(source, str | Path) else None
