"""Places for vaults, one store after the other: what holds for one holds for all."""

from __future__ import annotations

from itertools import count
from pathlib import Path

import pytest

from tests.support.vault_places import Place


@pytest.fixture(params=["sqlite", "postgres"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    numbers = count()
    if request.param == "sqlite":
        return lambda: str(tmp_path / f"{next(numbers)}.vault")
    url = request.getfixturevalue("postgres_url")
    return lambda: f"{url}?schema=vault_{next(numbers)}"


@pytest.fixture(params=["sqlite", "postgres"])
def where(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return str(tmp_path / "vault") if request.param == "sqlite" else request.getfixturevalue("postgres_url")
