"""The manifest: what the recipient of a release is told beside it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

import numpy as np

from shoal.partition import Partition
from shoal.records.codebook import CodeBook
from shoal.records.encode import Records
from shoal.schema import ColumnType, Schema
from shoal.version import __version__

DIGITS = 4


def rounded(number: float) -> float:
    """To four significant digits: enough to compare releases by, too few to check a guess about a record against."""
    return float(f"{number:.{DIGITS}g}")


def describe_columns(schema: Schema, records: Records, partition: Partition) -> dict[str, dict[str, object]]:
    """The published columns: role, type, and the domain that losses are measured on."""
    books = {book.name: (j, book) for j, book in enumerate(records.books)}
    described: dict[str, dict[str, object]] = {}
    for name in records.order:
        column = schema.columns[name]
        facts: dict[str, object] = {"role": str(column.role)}
        if column.type is not None:
            facts["type"] = str(column.type)
        if name in books:
            j, book = books[name]
            domain = published_domain(book, partition, j)
            if domain is not None:
                facts["domain"] = domain
        described[name] = facts
    return described


def published_domain(book: CodeBook, partition: Partition, j: int) -> list[object] | None:
    """The declared domain, else the hull of the published intervals.

    Not the hull of the data: an extreme value that is hidden behind `*` must not come out here.
    """
    if book.axis is None:
        return None
    if book.column.domain is not None:
        return [bound if isinstance(bound, int | float) else str(bound) for bound in book.column.domain]
    lo, hi = partition.lo[:, j], partition.hi[:, j]
    shown = lo > 0
    if book.tree is not None or not shown.any():
        return None
    ends = book.texts[int(np.min(lo[shown])) - 1], book.texts[int(np.max(hi[shown])) - 1]
    return [json.loads(end) if book.column.type == ColumnType.NUMERIC else end for end in ends]


def manifest(
    *,
    columns: Mapping[str, Mapping[str, object]],
    rows: int,
    withheld: int,
    k: int,
    counted: str,
    rules: Sequence[Mapping[str, object]],
    method: str,
    measure: str,
    options: Mapping[str, object],
    measures: Mapping[str, float],
    classes: int,
    smallest_class: int,
) -> dict[str, object]:
    """Everything but the file's own name, hash and time, which are known when it is written."""
    return {
        "made_by": f"shoal {__version__}",
        "manifest_version": 1,
        "rows": rows,
        "withheld": withheld,
        "k": k,
        "counted": counted,
        "rules": [dict(rule) for rule in rules],
        "method": method,
        "measure": measure,
        "options": dict(options),
        "columns": {name: dict(facts) for name, facts in columns.items()},
        "equivalence_classes": classes,
        "smallest_class": smallest_class,
        "measures": {name: rounded(value) for name, value in measures.items()},
    }


def now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
