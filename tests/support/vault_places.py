"""Places for vaults, and what vaults there hold."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa

import shoal

Place = Callable[[], str]  # a new, empty place for a vault


def by_key(table: pa.Table, key: str = "id") -> dict[str, dict[str, object]]:
    """The records of a table by their key."""
    return {row.pop(key): row for row in table.to_pylist()}


def group_sizes(vault: shoal.Vault) -> list[int]:
    counts = vault.groups()["group"].value_counts()
    return sorted(entry["counts"].as_py() for entry in counts)
