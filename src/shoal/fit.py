"""Whether a schema fits a table, and what it makes of it: levels, counts, and columns that deserve a second look."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field

import numpy as np
import pyarrow as pa

from shoal.inference import ACTS_LIKE_A_KEY
from shoal.records.codebook import CodeBook
from shoal.records.encode import encode
from shoal.records.reading import read_for
from shoal.schema import Role, Schema


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
    warnings = []
    for name in schema.names(Role.INSENSITIVE):
        values = records.carried[name].drop_null()
        if pa.types.is_nested(values.type):
            warnings.append(f"{name} is insensitive and holds {values.type}: look at what is in it")
        elif len(values) and len(values.unique()) >= ACTS_LIKE_A_KEY * len(values):
            warnings.append(f"{name} is insensitive, and most of its values occur once: published, it acts as a key")
    for book in records.books:
        seen = int((book.counts[1:] > 0).sum())
        if seen <= 1:
            warnings.append(f"{book.name} has {'one value' if seen else 'no values'}: it tells nothing")
    return Fit(len(records), [_column(book) for book in records.books], warnings)


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
