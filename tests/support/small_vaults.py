"""Vaults of a few people, and what lies hidden beside them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import shoal

SCHEMA = shoal.Schema(
    {
        "id": {"role": "key"},
        "age": {"role": "quasi-identifier", "type": "numeric"},
        "ill": {"role": "sensitive"},
    }
)


def people(count: int, first: int = 0) -> list[dict[str, Any]]:
    return [{"id": f"p{i}", "age": 20 + i % 40, "ill": "xyz"[i % 3]} for i in range(first, first + count)]


def make(where: str | Path) -> shoal.Vault:
    return shoal.Vault.create(where, SCHEMA, k=3, data=people(40), seed=1, republication="none")


def hidden(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if path.name.startswith("."))
