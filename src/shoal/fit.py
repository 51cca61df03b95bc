"""Whether a schema fits a table, and what it makes of it: levels, counts, and columns that deserve a second look."""

from __future__ import annotations

import warnings
from dataclasses import asdict, dataclass, field

import numpy as np
import pyarrow as pa

from shoal.errors import DataError, ShoalWarning
from shoal.inference import ACTS_LIKE_A_KEY, NEARLY_UNIQUE
from shoal.records.codebook import CodeBook, middle
from shoal.records.encode import Records, encode
from shoal.records.reading import read_for
from shoal.schema import WINSORIZED, Role, Schema

LESS_TELLING = "Make it coarser, give it another role, or leave it out."
ENOUGH = 100  # records, from which on 2 % of them are some
NARROW = 0.1
FEW = 20  # of so few values it is no wonder that most occur once


@dataclass(frozen=True)
class ColumnFit:
    """One quasi-identifier: how many different labels each level of its hierarchy has, values first."""

    name: str
    type: str
    missing: int
    levels: list[int]
    domain: tuple[str, str] | None = field(repr=False)  # values of the data: not for a log


@dataclass(frozen=True)
class Fit:
    records: int
    columns: list[ColumnFit]
    warnings: list[str]

    def facts(self) -> dict[str, object]:
        """For a program; without the ends of domains, which are values."""
        columns = [{key: value for key, value in asdict(column).items() if key != "domain"} for column in self.columns]
        return {"records": self.records, "columns": columns, "warnings": self.warnings}


def check_fit(source: object, schema: Schema) -> Fit:
    """Raise where the table does not fit; otherwise say what the schema makes of it."""
    table, file = read_for(schema, source)
    records = encode(table, schema, file)
    notes = []
    for name in schema.names(Role.INSENSITIVE):
        kind = records.passthrough[name].type
        if pa.types.is_nested(kind):
            notes.append(f"{name} is insensitive and holds {kind}: look at what is in it")
    notes += acting_as_keys(records).values()
    for book in records.books:
        seen = int((book.counts[1:] > 0).sum())
        if seen <= 1:
            notes.append(f"{book.name} has {'one value' if seen else 'no values'}: it tells nothing")
    return Fit(len(records), [_column(book) for book in records.books], notes)


def acting_as_keys(records: Records) -> dict[str, str]:
    """Columns that are published as they are and single out most records, with what to say of each.

    Whoever has another copy of such a column finds everybody's row by it, whatever k is. Insensitive: at least half as
    many different values as values. Sensitive: at least nine tenths, for a diverse column may have many values.
    """
    found = {}
    for role, share in ((Role.INSENSITIVE, ACTS_LIKE_A_KEY), (Role.SENSITIVE, NEARLY_UNIQUE)):
        for name in records.schema.names(role):
            values = records.passthrough[name].drop_null()
            if len(values) <= FEW or pa.types.is_nested(values.type) or len(values.unique()) < share * len(values):
                continue
            if role == Role.INSENSITIVE:
                found[name] = f"{name} is insensitive, and most of its values occur once: published, it acts as a key"
            else:
                found[name] = (
                    f"{name} is sensitive, and almost every value occurs once: published, it acts as a key for whoever "
                    "has another copy of it, and ℓ-diversity says little, for every group is diverse"
                )
    return found


def warn_of_outliers(records: Records) -> None:
    """Say of which columns a few outliers flatter the loss: next to the domain that they stretch, all else is narrow.

    That is where the middle 98 % of the records span less than a tenth of a domain that nobody declared.
    """
    for book in records.books:
        if book.axis is None or book.domain is None or book.column.domain is not None or book.tree is not None:
            continue
        width, (first, last) = book.domain[1] - book.domain[0], middle(book.axis, book.counts[1:])
        if len(records) >= ENOUGH and last - first < width * NARROW:
            note = (
                f"column {book.name!r}: the middle 98 % of its values span {(last - first) / width:.2%} of its domain, "
                "so every interval among them looks nearly free. Declare a narrower domain, or say "
                f'domain = "{WINSORIZED}".'
            )
            warnings.warn(note, ShoalWarning, stacklevel=3)


def warn_of_keys(records: Records, *, strict: bool) -> None:
    """Say which columns act as keys. `strict`: refuse them."""
    for name, note in acting_as_keys(records).items():
        if strict:
            raise DataError(f"{note}.", hint=LESS_TELLING, column=name)
        warnings.warn(f"{note}. {LESS_TELLING}", ShoalWarning, stacklevel=3)


def _column(book: CodeBook) -> ColumnFit:
    seen = np.flatnonzero(book.counts[1:] > 0)
    levels = [len(seen)]
    if book.tree is not None and len(seen):
        for level in range(1, book.tree.height + 1):
            nodes = book.tree.at_least(level).common_ancestor(seen.astype(np.int32), seen.astype(np.int32))
            levels.append(len(np.unique(nodes)))
    elif len(seen):
        levels.append(1)
    domain = (book.texts[0], book.texts[-1]) if book.axis is not None and book.texts else None
    return ColumnFit(book.name, str(book.column.type), int(book.counts[0]), levels, domain)
