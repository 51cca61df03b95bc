"""The manifest: what the recipient of a release is told beside it."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from datetime import UTC, datetime
from typing import Any

import numpy as np

from shoal.partition import Partition
from shoal.privacy import Rule
from shoal.records.codebook import CodeBook
from shoal.records.encode import Records
from shoal.schema import WINSORIZED, ColumnType, Schema
from shoal.version import __version__

DIGITS = 4


def rounded(number: float) -> float:
    """To four significant digits: enough to compare releases by, too few to check a guess about a record against."""
    return float(f"{number:.{DIGITS}g}")


@dataclass(frozen=True)
class Manifest:
    """Everything but the file's own name, hash and time, which are known when it is written."""

    rows: int
    k: int
    counted: str  # what k counts: records, or people
    rules: Sequence[Rule]
    method: str
    measure: str
    options: Mapping[str, object]
    columns: Mapping[str, Mapping[str, object]]
    equivalence_classes: int
    smallest_class: int
    measures: Mapping[str, float]
    withheld: int | None = None  # None: it is from before any could be
    more: Mapping[str, Any] = field(default_factory=dict)  # what the history of a vault adds
    made_by: str = f"shoal {__version__}"
    manifest_version: int = 1

    def to_json(self) -> dict[str, object]:
        """As it is published: `Release.manifest`."""
        return {
            "made_by": self.made_by,
            "manifest_version": self.manifest_version,
            "rows": self.rows,
            **({} if self.withheld is None else {"withheld": self.withheld}),
            "k": self.k,
            "counted": self.counted,
            "rules": [rule.facts() for rule in self.rules],
            "method": self.method,
            "measure": self.measure,
            "options": dict(self.options),
            "columns": {name: dict(facts) for name, facts in self.columns.items()},
            "equivalence_classes": self.equivalence_classes,
            "smallest_class": self.smallest_class,
            "measures": dict(self.measures),
            **self.more,
        }

    @classmethod
    def from_json(cls, facts: Mapping[str, Any]) -> Manifest:
        """A manifest from what `to_json` made of it, now or in an earlier version."""
        names = {each.name for each in fields(cls)}
        known = {name: fact for name, fact in facts.items() if name in names}
        more = {name: fact for name, fact in facts.items() if name not in names}
        return cls(**{**known, "rules": [Rule.from_facts(rule) for rule in facts["rules"]]}, more=more)

    @property
    def hidden(self) -> list[str]:
        """Columns that were published, and have become identifiers since."""
        return list(self.more.get("hidden", ()))

    def hiding(self, names: Collection[str]) -> Manifest:
        """The same without some columns."""
        return replace(
            self,
            columns={name: facts for name, facts in self.columns.items() if name not in names},
            rules=[rule for rule in self.rules if rule.column not in names],
            more={**self.more, "hidden": [*self.hidden, *names]},
        )

    def without_domains(self) -> Manifest:
        """An end of a published domain may have been the value of somebody who is erased."""
        columns = {
            name: {fact: value for fact, value in facts.items() if fact != "domain"}
            for name, facts in self.columns.items()
        }
        return replace(self, columns=columns)


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
    if book.column.domain == WINSORIZED:  # its ends are values of somebody
        return None
    if book.column.domain is not None:
        return [bound if isinstance(bound, int | float) else str(bound) for bound in book.column.domain]
    lo, hi = partition.lo[:, j], partition.hi[:, j]
    shown = lo > 0
    if book.tree is not None or not shown.any():
        return None
    ends = book.texts[int(np.min(lo[shown])) - 1], book.texts[int(np.max(hi[shown])) - 1]
    return [json.loads(end) if book.column.type == ColumnType.NUMERIC else end for end in ends]


def now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
