"""Files of Stata, SPSS and SAS, read by pyreadstat in pieces. Values with labels become categories.

A column becomes a category where every value that occurs has a label. Where only some do (998: refused), it stays what
it is, and a note says so: those values may be missing ones.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from shoal.errors import DataError, ShoalWarning
from shoal.sources.extras import needed
from shoal.sources.gathering import joined, table_of, text_of
from shoal.sources.unicode import checked_names

READERS = {
    ".dta": "read_dta",
    ".sav": "read_sav",
    ".zsav": "read_sav",
    ".por": "read_por",
    ".sas7bdat": "read_sas7bdat",
    ".xpt": "read_xport",
}
PIECE = 100_000
Labels = Mapping[object, str]


class StatisticsFile:
    """A file of a statistics package. What SPSS calls user-missing is missing."""

    def __init__(self, path: Path, suffix: str, encoding: str | None = None) -> None:
        self.file: str | None = str(path)
        self._path, self._reader, self._encoding = path, READERS[suffix], encoding
        _, facts = self._read(metadataonly=True)
        self.columns = checked_names(list(facts.column_names), self.file)
        self.labels: dict[str, str] = {  # what the file says of a column in words: `q3` is the year of birth
            name: " ".join(label.split())
            for name, label in (facts.column_names_to_labels or {}).items()
            if label and " ".join(label.split()).isprintable()
        }
        self.value_labels: dict[str, Labels] = {
            name: {key: str(label) for key, label in given.items()}
            for name, given in (facts.variable_value_labels or {}).items()
        }

    def load(self, columns: Sequence[str]) -> pa.Table:
        """These columns. Where rows can be counted, piece by piece."""
        pieces = [self._piece(columns, data) for data in self._pieces(list(columns))]
        loaded = {}
        for name in columns:
            column = joined(name, [piece[name] for piece in pieces], self.file)
            loaded[name] = self._labelled(name, column) if name in self.value_labels else column
        return pa.table(loaded)

    def _pieces(self, columns: list[str]) -> Iterator[dict[str, Any]]:
        if self._reader == "read_por":  # it cannot begin in the middle
            yield self._read(usecols=columns)[0]
            return
        start = 0
        while True:
            data, _ = self._read(usecols=columns, row_offset=start, row_limit=PIECE)
            count = max((len(values) for values in data.values()), default=0)
            if count or not start:
                yield data
            start += count
            if count < PIECE:
                return

    def _piece(self, columns: Sequence[str], data: Mapping[str, Any]) -> dict[str, pa.Array]:
        values = {name: [_plain(value) for value in data[name]] for name in columns}
        rows = zip(*values.values(), strict=True)
        return {name: column.combine_chunks() for name, column in _columns(table_of(columns, rows, self.file))}

    def _read(self, **how: Any) -> tuple[dict[str, Any], Any]:
        """What the package says of a broken file may quote it, so none of it is passed on."""
        pyreadstat = needed("pyreadstat", "stats", "A file of Stata, SPSS or SAS", self.file)
        read: Callable[..., tuple[dict[str, Any], Any]] = getattr(pyreadstat, self._reader)
        if self._encoding is not None:
            how["encoding"] = self._encoding
        labels = self._path.with_suffix(".sas7bcat")  # SAS keeps the labels of values in a file of their own
        if self._reader == "read_sas7bdat" and labels.is_file():
            how["catalog_file"] = str(labels)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                return read(str(self._path), output_format="dict", **how)
        except Exception:  # noqa: S110  # whatever the package stumbles on
            pass
        raise DataError("is not a file that pyreadstat can read, or is damaged.", file=self.file)

    def value_label(self, column: str, value: object) -> str | None:
        """What a value is called; None if it has no label."""
        return _label(self.value_labels.get(column, {}), value)

    def _labelled(self, name: str, column: pa.ChunkedArray) -> pa.ChunkedArray:
        coded = column.combine_chunks().dictionary_encode()
        labels, found = self.value_labels[name], coded.dictionary.to_pylist()
        known = [_label(labels, value) for value in found]
        if any(label is None for label in known):
            if any(label is not None for label in known):
                note = (
                    f"{self.file}: some values of column {name!r} have labels and others have none: it stays as it is. "
                    "If those with labels mean no value, add them to its `missing`."
                )
                warnings.warn(note, ShoalWarning, stacklevel=4)
            return column
        if len(set(known)) < len(known):  # two codes of one name stay two values
            known = [f"{label} ({text_of(value)})" for label, value in zip(known, found, strict=True)]
        return pa.chunked_array([pa.array(known, pa.string()).take(coded.indices)])


def _columns(table: pa.Table) -> list[tuple[str, pa.ChunkedArray]]:
    return list(zip(table.column_names, table.columns, strict=True))


def _label(labels: Labels, value: object) -> str | None:
    """Codes are floats in one place and whole numbers in another."""
    if value in labels:
        return labels[value]
    if isinstance(value, str):
        return labels.get(value.strip())
    return labels.get(float(value)) if isinstance(value, int) else None


def _plain(value: object) -> object:
    """Python's own numbers; NaN and empty texts are no values, and whole numbers have no fraction."""
    if hasattr(value, "item"):
        value = value.item()
    if isinstance(value, float):
        if value != value:
            return None
        return int(value) if value.is_integer() and abs(value) < 2**53 else value
    if isinstance(value, str):
        return value.rstrip() or None
    return value
