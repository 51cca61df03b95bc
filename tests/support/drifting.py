"""A table whose sensitive values turn over completely while its records are replaced, batch by batch."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any, NamedTuple

import pyarrow as pa

import shoal
from shoal.records.changes import ChangeBatch
from shoal.schema import Schema

BATCHES = 30
TREE = {"blood": ["a", "b"], "bone": ["c", "d", "e"], "heart": ["f", "g"], "lung": {"left": ["h", "i"], "right": ["j"]}}
DISTANCES: dict[str, dict[str, object]] = {
    "equal": {},
    "ordered": {"type": "numeric"},
    "hierarchical": {"hierarchy": TREE},
    "prefix": {"type": "prefix"},
    "attached": {"hierarchy": {"known": ["a", "b"]}, "on_unknown": "attach"},
}
OLD: dict[str, list[Any]] = {"ordered": [1, 2, 3, 4, 5], "prefix": ["111", "112", "12", "131", "22"]}
NEW: dict[str, list[Any]] = {"ordered": [70, 80, 90, 95, 99], "prefix": ["4711", "4712", "48", "5111", "5222"]}


class Drift(NamedTuple):
    """The first records, and the batches after which nobody has a value that was there in the beginning."""

    schema: Schema
    first: pa.Table
    batches: list[ChangeBatch]


def drift(distance: str, records: int = 240, *, people: bool = False, missing: bool = False, seed: int = 3) -> Drift:
    rng = random.Random(seed)
    columns: dict[str, dict[str, object]] = {
        "id": {"role": "key"},
        "age": {"role": "quasi-identifier", "type": "numeric"},
        "place": {"role": "quasi-identifier", "type": "numeric"},
        "ill": {"role": "sensitive", **DISTANCES[distance]},
        **({"who": {"role": "person"}} if people else {}),
    }
    schema = shoal.Schema(columns=columns)
    old, new = OLD.get(distance, list("abcde")), NEW.get(distance, list("fghij"))

    def rows(first: int, count: int, share: float) -> list[dict[str, Any]]:
        found = []
        for number in range(first, first + count):
            ill = rng.choice(new if rng.random() < share else old)
            row = {"id": f"p{number}", "age": rng.randrange(18, 90), "place": rng.randrange(100)}
            row["ill"] = None if missing and share < 0.5 and rng.random() < 0.1 else ill
            found.append({**row, "who": f"w{number // 2}"} if people else row)
        return found

    def batches() -> Iterator[ChangeBatch]:
        size = records // BATCHES
        for step in range(BATCHES):
            gone = [f"p{number}" for number in range(step * size, (step + 1) * size)]
            come = rows(records + step * size, size, 1.0)
            yield ChangeBatch.of(schema, inserts=pa.Table.from_pylist(come), deletes=gone)

    return Drift(schema, pa.Table.from_pylist(rows(0, records, 0.0)), list(batches()))
