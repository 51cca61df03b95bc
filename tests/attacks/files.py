"""Published files as an attacker reads them: with nobody's help."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from tests.attacks.knowledge import Value

Cells = tuple[str, ...]
Line = dict[str, str]  # a row of a release, every cell as text


def read_lines(path: Path) -> list[Line]:
    """The rows of a CSV or Parquet file in their order."""
    if path.suffix == ".parquet":
        return [{name: _text(cell) for name, cell in row.items()} for row in pq.read_table(path).to_pylist()]
    with path.open(encoding="utf-8-sig", newline="") as file:
        return list(csv.DictReader(file))


def read_counts(path: Path, boxes: Sequence[str], values: Sequence[str]) -> dict[Cells, Counter[Value]]:
    """How often each class shows each value. `boxes`: the quasi-identifiers; `values`: what is counted, one column as
    it is, several as tuples.
    """
    found: dict[Cells, Counter[Value]] = {}
    for line in read_lines(path):
        found.setdefault(tuple(line[name] for name in boxes), Counter())[shown(line, values)] += 1
    return found


def shown(row: Any, values: Sequence[str]) -> Value:
    """What is counted of a row."""
    texts = tuple(_text(row[name]) for name in values)
    return texts[0] if len(texts) == 1 else texts


def _text(cell: object) -> str:
    return "" if cell is None else str(cell)
