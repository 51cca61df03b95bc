"""Rows: those of records by the names of their columns; JSON in them, and digests of their own."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, NamedTuple


class Record(NamedTuple):
    """A row of the table `records`, as tables.RECORD has it."""

    id: int
    key: str
    person: Any  # a text; None: the schema does not say whose it is
    cells: bytes
    carried: str
    group_id: int
    since: int


def as_json(facts: object) -> str:
    return json.dumps(facts, ensure_ascii=False, separators=(",", ":"), default=_plain)


def _plain(number: Any) -> object:
    """A number of numpy's is a number."""
    return number.item()


def digest(row: Mapping[str, Any]) -> str:
    """The SHA-256 of a row, but for the column that keeps it."""
    return hashlib.sha256(as_json({name: row[name] for name in sorted(row) if name != "sha256"}).encode()).hexdigest()


def now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
