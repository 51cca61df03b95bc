"""Recoding: the published form of a box.

| cell                        | published as                                                  |
| --------------------------- | ------------------------------------------------------------- |
| one value                   | that value                                                    |
| numbers, dates              | `[35..38]`, `[2024-05-01..2024-05-17]`                        |
| values of a hierarchy       | their lowest common ancestor's label: `Europe`, `479**`, `2024-05` |
| the same, generalize = set  | `{Canada,USA}`                                                |
| missing alone               | null                                                          |
| missing and anything else   | `*`                                                           |

Guarantee: a cell covers every original value of its group, and depends on nothing but its group's values in that
column. Generalized columns are plain strings: a dictionary made from the originals would carry them along.
"""

from __future__ import annotations

import re

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.errors import SchemaError
from shoal.hierarchies import ROOT
from shoal.hierarchies.computed import Axis
from shoal.partition import Partition
from shoal.records.codebook import CodeBook
from shoal.records.encode import Records
from shoal.schema import ColumnType

Ints = NDArray[np.int32]
NEEDS_QUOTES = re.compile(r'[,{}"]')


def recode(records: Records, partition: Partition, rows: NDArray[np.int64], *, bounds: bool = False) -> pa.Table:
    """The published table: record `rows[0]` first. `bounds` adds `_lo` and `_hi` columns to numbers and dates."""
    groups = partition.labels[rows]
    at = {book.name: j for j, book in enumerate(records.books)}
    columns: dict[str, pa.Array] = {}
    for name in records.order:
        if name not in at:
            columns[name] = records.carried[name].combine_chunks().take(pa.array(rows))
            continue
        j = at[name]
        book, lo, hi = records.books[j], partition.lo[:, j], partition.hi[:, j]
        cells, cell_of_group = cell_texts(book, partition, j)
        columns[name] = pa.array(cells, pa.string()).take(pa.array(cell_of_group[groups]))
        if bounds and book.axis is not None:
            for suffix, places in zip(("_lo", "_hi"), cell_bounds(book, lo, hi), strict=True):
                if name + suffix in records.order:
                    raise SchemaError(f"the table already has a column {name + suffix!r}.", column=name + suffix)
                columns[name + suffix] = places.take(pa.array(groups))
    return pa.table(columns)


def cell_texts(book: CodeBook, partition: Partition, j: int) -> tuple[list[str | None], NDArray[np.int64]]:
    """The different cells of column j, and which of them each group has."""
    lo, hi = partition.lo[:, j], partition.hi[:, j]
    if book.column.generalize == "set":
        return _sets(book, partition, j)
    pairs, cell_of_group = np.unique(lo.astype(np.int64) * book.size + hi, return_inverse=True)
    return interval_texts(
        book, (pairs // book.size).astype(np.int32), (pairs % book.size).astype(np.int32)
    ), cell_of_group


def interval_texts(book: CodeBook, lo: Ints, hi: Ints) -> list[str | None]:
    """The published form of each interval of codes lo..hi."""
    texts: list[str | None] = [None if last == 0 else ROOT for last in hi]
    present = np.flatnonzero(lo > 0)
    if book.tree is not None:
        nodes = book.tree.common_ancestor(lo[present] - 1, hi[present] - 1)
        for place, node in zip(present, nodes, strict=True):
            texts[place] = book.tree.labels[node]
        return texts
    for place in present:
        first, last = book.texts[lo[place] - 1], book.texts[hi[place] - 1]
        texts[place] = first if first == last else f"[{first}..{last}]"
    return texts


def _sets(book: CodeBook, partition: Partition, j: int) -> tuple[list[str | None], NDArray[np.int64]]:
    """One cell per group: the values that its records have, in the order of the hierarchy."""
    pairs = np.unique(partition.labels.astype(np.int64) * book.size + partition.codes[:, j])
    members = np.split(pairs % book.size, np.flatnonzero(np.diff(pairs // book.size)) + 1)
    singles = interval_texts(book, np.arange(book.size, dtype=np.int32), np.arange(book.size, dtype=np.int32))
    cells: list[str | None] = []
    for codes in members:
        # What is published for a single value: another one may be published under the same label (`min_level`).
        texts = list(dict.fromkeys(singles[code] for code in codes))
        if len(texts) == 1:
            cells.append(texts[0])
        elif codes[0] == 0:
            cells.append(ROOT)
        else:
            cells.append("{" + ",".join(_member(text) for text in texts if text is not None) + "}")
    return cells, np.arange(len(partition))


def _member(text: str) -> str:
    """A member of a set; quoted where it could be taken for two."""
    return '"' + text.replace('"', '""') + '"' if NEEDS_QUOTES.search(text) else text


def cell_bounds(book: CodeBook, lo: Ints, hi: Ints) -> tuple[pa.Array, pa.Array]:
    """The smallest and the largest value of each cell, as numbers or dates; null for `*` and for missing."""
    assert book.axis is not None
    first, last = np.zeros((2, len(lo)), book.axis.dtype)
    known = lo > 0
    if book.tree is not None and book.tree.spans is not None:
        nodes = np.zeros(len(lo), np.int32)
        nodes[known] = book.tree.common_ancestor(lo[known] - 1, hi[known] - 1)
        known &= nodes > 0  # the root spans everything
        first[known], last[known] = book.tree.spans[nodes[known]].T
    else:
        first[known], last[known] = book.axis[lo[known] - 1], book.axis[hi[known] - 1]
    return _axis_array(book, first, known), _axis_array(book, last, known)


def _axis_array(book: CodeBook, places: Axis, known: NDArray[np.bool_]) -> pa.Array:
    array = pa.array(places, mask=~known)
    return array.cast(pa.int32()).cast(pa.date32()) if book.column.type == ColumnType.DATE else array
