"""The values of one column as the proposed schema reads them: what a hierarchy for it has to list.

A date is written by ISO and a number in its shortest form, whatever the file does, because that is how a schema with
that type looks them up in a hierarchy. What means no value is left out, and so are cells that do not read.
"""

from __future__ import annotations

import difflib
import warnings
from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa

from shoal.errors import DataError, ShoalWarning
from shoal.inference.columns import Guess
from shoal.inference.proposing import propose
from shoal.roles import ColumnType
from shoal.sources.csv_files import CsvFile, Expected
from shoal.sources.encodings import checked_encoding
from shoal.sources.excel import ExcelFile
from shoal.sources.normalize import as_days, as_numbers, as_text
from shoal.sources.numbers import NumberForm
from shoal.sources.opening import open_source


@dataclass(frozen=True)
class Values:
    """What a column holds, with repetitions, and what it was taken for."""

    texts: list[str]
    guess: Guess
    file: str | None  # that it was read from

    @property
    def type(self) -> ColumnType | None:
        return self.guess.reads


def values_of(
    source: object,
    column: str,
    *,
    missing: Sequence[str] = (),
    encoding: str | None = None,
    sheet: str | None = None,
) -> Values:
    """The values of a column of a table, by what is proposed for it. `missing`: further texts for no value."""
    said = None if encoding is None else checked_encoding(encoding)
    opened = open_source(source, Expected(encoding=said, sheet=sheet))
    if column not in opened.columns:
        near = difflib.get_close_matches(column, opened.columns, n=1)
        hint = f"Did you mean {near[0]!r}?" if near else None
        raise DataError(f"the table has no column {column!r}.", hint=hint, file=opened.file, column=column)
    header = opened.header if isinstance(opened, CsvFile | ExcelFile) else None
    proposal = propose(source, header=header, encoding=encoding, sheet=sheet)
    guess = next(one for one in proposal.guesses if one.name == column)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ShoalWarning)  # of the encoding and of labels
        data = opened.load([column])[column]
    unread = guess.profile.unread if guess.profile else []
    texts = _as_read(column, data, guess, ("", *proposal.missing, *guess.missing, *unread, *missing))
    return Values([text for text in texts.to_pylist() if text is not None], guess, opened.file)


def _as_read(name: str, data: pa.ChunkedArray, guess: Guess, missing: tuple[str, ...]) -> pa.Array:
    if guess.reads == ColumnType.DATE:
        return as_days(name, data, missing, guess.format).cast(pa.string())
    if guess.reads == ColumnType.NUMERIC:
        form = NumberForm(guess.decimal or ".", guess.thousands)
        return as_text(name, as_numbers(name, data, missing, form), missing)
    return as_text(name, data, missing)
