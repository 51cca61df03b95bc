"""Traces: what a file says beside its rows, and what links the rows of two files.

- *order*: rows that are unique in two files come in the same order in both, or in the opposite one, more than chance
  allows; and no column that is published explains it (a file that is sorted by one says nothing by that).
- *labels*: a Parquet file's dictionaries have labels or values that no row of it has.
- *spelling*: one value is spelled in several ways in a column (5, 5.0 and 05; flu and Flu): rows that keep theirs can
  be followed.
- *metadata*: a Parquet file has notes of whoever wrote it, other than how to read it (an index that pandas keeps, names
  and paths).
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from contextlib import suppress
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from shoal.audit.released import Released, as_texts, name_of, numbered
from shoal.records.spelling import one_spelling
from shoal.schema import ColumnType, Schema

Longs = NDArray[np.int64]
FEWEST_LINKS = 10
SURPRISE = 6.0  # standard deviations: by chance once in 10⁸ pairs of files
HARMLESS = {b"ARROW:schema", b"shoal"}


class Trace(NamedTuple):
    """Something that a file tells beside its rows; `words` names files and columns, and no value."""

    kind: str  # one of KINDS
    words: str


KINDS = ("order", "labels", "spelling", "metadata")


def traces(releases: Sequence[Released], schema: Schema) -> list[Trace]:
    found = []
    for at, one in enumerate(releases):
        name = name_of(releases, at)
        found += [Trace("spelling", f"{name}: {words}") for words in _spellings(one, schema)]
        if one.file is not None and one.file.endswith(".parquet"):
            found += [Trace("labels", f"{name}: {words}") for words in _unused_labels(Path(one.file))]
            found += [Trace("metadata", f"{name}: {words}") for words in _notes(Path(one.file))]
    for a, b in combinations(range(len(releases)), 2):
        links = linked_rows(releases[a], releases[b])
        if _in_order(links) and not (_is_sorted(releases[a]) or _is_sorted(releases[b])):
            words = f"rows that only one person has come in the same order in {name_of(releases, a)}"
            found.append(Trace("order", f"{words} and {name_of(releases, b)} ({len(links)} of them)"))
    return found


def linked_rows(one: Released, other: Released) -> Longs:
    """Rows of two releases that show the same beside the quasi-identifiers, and that no other row shows in either."""
    names = [name for name in one.texts if name in other.texts]
    if not names:
        return np.zeros((0, 2), np.int64)
    rows = numbered([pa.concat_arrays([one.texts[name], other.texts[name]]) for name in names])
    here, there = rows[: one.table.num_rows], rows[one.table.num_rows :]
    size = int(rows.max(initial=-1)) + 1
    alone = (np.bincount(here, minlength=size) == 1) & (np.bincount(there, minlength=size) == 1)
    first, second = np.full(size, -1, np.int64), np.full(size, -1, np.int64)
    first[here], second[there] = np.arange(len(here)), np.arange(len(there))
    return np.stack([first[alone], second[alone]], axis=1)


def _in_order(links: Longs) -> bool:
    """Whether the ranks of linked rows go together more than chance allows."""
    if len(links) < FEWEST_LINKS:
        return False
    ranks = np.argsort(np.argsort(links, axis=0), axis=0).astype(np.float64)
    apart = ranks - ranks.mean(axis=0)
    correlation = float((apart[:, 0] @ apart[:, 1]) / (apart[:, 0] @ apart[:, 0]))  # ranks: both vary alike
    # Fisher's transformation: in random orders this is about normal, with a deviation of 1.
    return math.atanh(min(abs(correlation), 1 - 1e-12)) * math.sqrt((len(links) - 3) / 1.06) > SURPRISE


def _is_sorted(release: Released) -> bool:
    """Whether rows come in the order of a published column, as texts or as numbers."""
    for name in release.table.column_names:
        texts = as_texts(release.table[name])
        ranks = [pc.rank(texts, sort_keys="ascending", tiebreaker="dense").to_numpy().astype(np.float64)]
        with suppress(pa.ArrowException):
            ranks.append(texts.cast(pa.float64()).to_numpy(zero_copy_only=False))
        for of_rows in ranks:
            steps = np.diff(of_rows)
            if len(steps) and steps.any() and ((steps >= 0).all() or (steps <= 0).all()):
                return True
    return False


def _spellings(release: Released, schema: Schema) -> list[str]:
    found = []
    for name, texts in release.texts.items():
        numbers = schema.columns[name].type not in (ColumnType.CATEGORICAL, ColumnType.PREFIX)
        ways: dict[str, int] = {}
        for text in texts.unique().to_pylist():
            spelled = one_spelling(text, numbers=numbers)
            ways[spelled] = ways.get(spelled, 0) + 1
        several = sum(1 for count in ways.values() if count > 1)
        if several:
            values = "1 value is" if several == 1 else f"{several} values are"
            found.append(f"{values} spelled in several ways in column {name!r}, which follows rows from file to file")
    return found


def _unused_labels(file: Path) -> list[str]:
    """Dictionaries that say more than their rows."""
    found = []
    with pq.ParquetFile(file) as opened:
        names = [field.name for field in opened.schema_arrow if pa.types.is_dictionary(field.type)]
        for name in names:
            unused = 0
            for group in range(opened.num_row_groups):
                column = opened.read_row_group(group, [name])[name]
                for chunk in column.chunks:
                    used = pc.unique(chunk.indices.drop_null())
                    unused = max(unused, len(chunk.dictionary) - len(used))
            if unused:
                found.append(f"the dictionary of column {name!r} has {unused} that no row has")
    return found


def _notes(file: Path) -> list[str]:
    metadata = pq.read_schema(file).metadata or {}
    found = []
    if b"pandas" in metadata and _keeps_an_index(metadata[b"pandas"]):
        found.append("pandas has kept the index of the table that it was made from")
    others = sorted(key.decode(errors="replace") for key in metadata if key not in HARMLESS | {b"pandas"})
    if others:
        found.append(f"it has {len(others)} {'note' if len(others) == 1 else 'notes'} of whoever wrote it")
    return found


def _keeps_an_index(note: bytes) -> bool:
    """Whether pandas' note names an index that counts otherwise than the rows."""
    try:
        kept = json.loads(note).get("index_columns", [])
    except (ValueError, AttributeError):
        return True
    return any(
        not (isinstance(one, dict) and one.get("kind") == "range" and one.get("start") == 0 and one.get("step") == 1)
        for one in kept
    )
