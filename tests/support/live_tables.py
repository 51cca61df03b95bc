"""A small table with a column of every kind, and rows that bring values nobody has seen."""

from __future__ import annotations

import datetime as dt
from typing import Any

import numpy as np
import pyarrow as pa

import shoal
from shoal.schema import Schema

COUNTRIES = {"America": ["USA", "Canada", "Peru"], "Asia": {"Near": ["Iran", "Iraq"], "Far": ["Japan"]}}
NEW_COUNTRIES = ["Atlantis", "Thule", "Avalon"]
COLOURS = ["red", "green", "blue", "mauve", "ochre"]
DIAGNOSES = ["flu", "cold", "gout", "measles", "mumps"]
FIRST_DAY = dt.date(1980, 1, 1)

Row = dict[str, Any]


def schema(*, person: bool = False) -> Schema:
    columns: dict[str, dict[str, object]] = {
        "id": {"role": "key"},
        "name": {"role": "identifier"},
        "age": {"role": "quasi-identifier", "type": "numeric"},
        "height": {"role": "quasi-identifier", "type": "numeric", "weight": 0.5},
        "income": {"role": "quasi-identifier", "type": "numeric", "levels": [10, 50]},
        "born": {"role": "quasi-identifier", "type": "date", "levels": ["month", "year"]},
        "zip": {"role": "quasi-identifier", "type": "prefix"},
        "country": {"role": "quasi-identifier", "hierarchy": COUNTRIES, "on_unknown": "attach"},
        "colour": {"role": "quasi-identifier", "type": "categorical"},
        "diagnosis": {"role": "sensitive"},
        "cost": {"role": "sensitive", "type": "numeric"},
        "note": {"role": "insensitive"},
    }
    if person:
        columns["who"] = {"role": "person"}
    return shoal.Schema(columns=columns)


def make_row(rng: np.random.Generator, key: str, *, wild: bool, person: bool = False) -> Row:
    """`wild`: beyond what the first rows have: other extremes, fractions, categories, longer codes."""
    reach = 4 if wild else 1
    whole = bool(rng.random() < 0.5)
    countries = ["USA", "Canada", "Peru", "Iran", "Iraq", "Japan", *(NEW_COUNTRIES if wild else [])]
    digits = int(rng.choice([2, 3, 4])) if wild and rng.random() < 0.1 else 3
    row: Row = {
        "id": key,
        "name": f"secret {key}",
        "age": int(rng.integers(0, 12 * reach) - (20 if wild else 0)),
        "height": float(rng.integers(10, 20)) if whole else float(rng.integers(10 * reach, 20 * reach)) / 8,
        "income": int(rng.integers(0, 60 * reach)),
        "born": FIRST_DAY + dt.timedelta(days=int(rng.integers(0, 100 * reach))),
        "zip": "".join(str(d) for d in rng.integers(0, 3 + reach, digits)),
        "country": str(rng.choice(countries)),
        "colour": str(rng.choice(COLOURS[: 5 if wild else 3])),
        "diagnosis": str(rng.choice(DIAGNOSES[: 5 if wild else 4])),
        "cost": int(rng.integers(0, 5 * reach)),
        "note": f"note {rng.integers(100)}",
    }
    for name in ("age", "height", "income", "born", "zip", "country", "colour", "diagnosis", "cost"):
        if rng.random() < 0.03:
            row[name] = None
    if person:
        row["who"] = f"person {rng.integers(0, 12 * reach)}"
    return row


def as_table(rows: list[Row], *, person: bool = False) -> pa.Table:
    kinds = {
        "id": pa.string(),
        "name": pa.string(),
        "age": pa.int64(),
        "height": pa.float64(),
        "income": pa.int64(),
        "born": pa.date32(),
        "zip": pa.string(),
        "country": pa.string(),
        "colour": pa.string(),
        "diagnosis": pa.string(),
        "cost": pa.int64(),
        "note": pa.string(),
    }
    if person:
        kinds["who"] = pa.string()
    return pa.table({name: pa.array([row[name] for row in rows], kind) for name, kind in kinds.items()})
