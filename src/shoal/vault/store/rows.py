"""Rows that are stored with a digest of their own, and JSON in them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any


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
