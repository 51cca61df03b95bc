"""Vaults of `live_tables`' rows, and what they hold."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import psycopg

import shoal
from shoal.vault.store import tables
from tests.support import live_tables
from tests.support.live_tables import as_table, make_row
from tests.support.vault_places import by_key


def rows_of(count: int, *, first: int = 0, seed: int = 1, wild: bool = False) -> list[dict[str, Any]]:
    rng = np.random.default_rng([seed, first])
    return [make_row(rng, f"key-{first + i}", wild=wild) for i in range(count)]


def make(where: str, count: int = 60, **options: Any) -> shoal.Vault:
    options = {"k": 3, "seed": 1, **options}
    return shoal.Vault.create(
        where, live_tables.schema(), data=as_table(rows_of(count)), **{"republication": "none", **options}
    )


def expected(rows: list[dict[str, Any]]) -> dict[str, dict[str, object]]:
    """What an export shows of rows: everything but identifiers."""
    return {row["id"]: {name: value for name, value in row.items() if name not in ("id", "name")} for row in rows}


def same_records(vault: shoal.Vault, rows: list[dict[str, Any]]) -> bool:
    return by_key(vault.export()) == expected(rows)


def everything_stored(where: str) -> bytes:
    """All that a store holds, byte by byte."""
    if "://" not in where:
        files = [path for path in Path(where).parent.iterdir() if path.name.startswith(Path(where).name)]
        return b"".join(path.read_bytes() for path in files)
    url, schema = where.split("?schema=")
    found = []
    with psycopg.connect(url) as connection:
        for table in tables.ALL:
            for row in connection.execute(f'SELECT * FROM "{schema}"."{table.name}"'):
                found.append(repr(row).encode())
    return b"\n".join(found)
