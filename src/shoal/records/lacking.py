"""Rows that lack a column which others have: an update with them would empty what they do not speak of."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Protocol, runtime_checkable

from shoal.errors import DataError


@runtime_checkable
class OfRows(Protocol):
    """A source whose rows need not have all of its columns: a list of dicts, JSON lines."""

    file: str | None

    def each_has(self) -> Iterable[Collection[str]] | None: ...


def refuse_lacking(source: object, concerned: Sequence[bool], others: Sequence[bool]) -> None:
    """Raise DataError if one of the rows that are `concerned` lacks a column that another, or one of `others`, has."""
    if not isinstance(source, OfRows) or not any(concerned):
        return
    each = source.each_has()
    if each is None:
        return
    rows = list(each)
    names = list(dict.fromkeys(n for row, a, b in zip(rows, concerned, others, strict=True) if a or b for n in row))
    for number, (row, matters) in enumerate(zip(rows, concerned, strict=True), start=1):
        if not matters or len(row) == len(names):
            continue
        for name in names:
            if name not in row:
                raise DataError(
                    f"row {number} lacks column {name!r}, which other rows have: an update would empty it.",
                    hint="Give every row that updates the same columns (null empties a value), or apply rows with "
                    "other columns as a batch of their own.",
                    file=source.file,
                    column=name,
                    rows=[number],
                )
