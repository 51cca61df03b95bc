"""Live partitions of a key, an age and little more."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

import shoal
from shoal.privacy import Rule, make_rules
from shoal.schema import Schema

KEY: dict[str, object] = {"role": "key"}
AGE: dict[str, object] = {"role": "quasi-identifier", "type": "numeric"}
PERSON: dict[str, object] = {"role": "person"}


def schema(**columns: dict[str, object]) -> Schema:
    return shoal.Schema(columns={"id": KEY, "age": AGE, **columns})


def rules(columns: list[str], **asked: Any) -> tuple[Rule, ...]:
    return make_rules(
        columns, **{"l": None, "t": None, "diversity": None, "c": None, "alpha": None, **asked}, others=[]
    )


def rows(first: int, last: int, age: Any = None, **columns: Any) -> pa.Table:
    """Rows with these keys; `age` and others as functions of the number."""
    numbers = range(first, last)
    given = {"age": age or (lambda i: i % 50), **columns}
    return pa.table({"id": [str(i) for i in numbers], **{name: [of(i) for i in numbers] for name, of in given.items()}})
