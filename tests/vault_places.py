"""Places for vaults, one store after the other: what holds for one holds for all."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from pathlib import Path

import pyarrow as pa
import pytest

import shoal

Place = Callable[[], str]  # a new, empty place for a vault


@pytest.fixture(params=["sqlite", "postgres"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    numbers = count()
    if request.param == "sqlite":
        return lambda: str(tmp_path / f"{next(numbers)}.vault")
    url = request.getfixturevalue("postgres_url")
    return lambda: f"{url}?schema=vault_{next(numbers)}"


def by_key(table: pa.Table, key: str = "id") -> dict[str, dict[str, object]]:
    """The records of a table by their key."""
    return {row.pop(key): row for row in table.to_pylist()}


def group_sizes(vault: shoal.Vault) -> list[int]:
    counts = vault.groups()["group"].value_counts()
    return sorted(entry["counts"].as_py() for entry in counts)
