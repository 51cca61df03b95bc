"""Vaults of a few plain columns."""

from __future__ import annotations

from typing import Any

import shoal

NUMBER = {"role": "quasi-identifier", "type": "numeric"}
CATEGORY = {"role": "quasi-identifier", "type": "categorical"}
SENSITIVE, INSENSITIVE, IDENTIFIER = {"role": "sensitive"}, {"role": "insensitive"}, {"role": "identifier"}
Rows = list[dict[str, Any]]


def schema(**columns: dict[str, Any]) -> shoal.Schema:
    return shoal.Schema({"id": {"role": "key"}, **columns})


PLAIN = schema(age=NUMBER, s=SENSITIVE)


def people(count: int, first: int = 0) -> Rows:
    return [{"id": f"p{i}", "age": i % 50, "s": "xyz"[i % 3]} for i in range(first, first + count)]


def make(where: str, **options: Any) -> shoal.Vault:
    return shoal.Vault.create(
        where, **{"schema": PLAIN, "k": 3, "data": people(30), "seed": 1, "republication": "none", **options}
    )
