"""The published form of a cell.

| cell                        | published as                                                  |
| --------------------------- | ------------------------------------------------------------- |
| one value                   | that value                                                    |
| numbers, dates              | `[35..38]`, `[2024-05-01..2024-05-17]`                        |
| values of a hierarchy       | their lowest common ancestor's label: `Europe`, `479**`, `2024-05` |
| the same, generalize = set  | `{Canada,USA}`                                                |
| missing alone               | null                                                          |
| missing and anything else   | `*`                                                           |

"""

from __future__ import annotations

import re

import numpy as np
from numpy.typing import NDArray

from shoal.hierarchies import ROOT
from shoal.records.codebook import CodeBook

Ints = NDArray[np.int32]
NEEDS_QUOTES = re.compile(r'[,{}"]')


def cell_texts(
    book: CodeBook, lo: Ints, hi: Ints, codes: Ints, labels: Ints
) -> tuple[list[str | None], NDArray[np.int64]]:
    """The different cells of a column, and which of them each group has.

    `lo`, `hi`: the column's codes of each group's box; `codes`, `labels`: of each record.
    """
    if book.column.generalize == "set":
        return _sets(book, codes, labels)
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
        for i, node in zip(present, nodes, strict=True):
            texts[i] = book.tree.labels[node]
        return texts
    for i in present:
        first, last = book.texts[lo[i] - 1], book.texts[hi[i] - 1]
        texts[i] = first if first == last else f"[{first}..{last}]"
    return texts


def _sets(book: CodeBook, codes: Ints, labels: Ints) -> tuple[list[str | None], NDArray[np.int64]]:
    """One cell per group: the values that its records have, in the order of the hierarchy."""
    pairs = np.unique(labels.astype(np.int64) * book.size + codes)
    members = np.split(pairs % book.size, np.flatnonzero(np.diff(pairs // book.size)) + 1)
    singles = interval_texts(book, np.arange(book.size, dtype=np.int32), np.arange(book.size, dtype=np.int32))
    cells: list[str | None] = []
    for inside in members:
        # What is published for a single value: another one may be published under the same label (`min_level`).
        texts = list(dict.fromkeys(singles[code] for code in inside))
        if len(texts) == 1:
            cells.append(texts[0])
        elif inside[0] == 0:
            cells.append(ROOT)
        else:
            cells.append("{" + ",".join(_member(text) for text in texts if text is not None) + "}")
    return cells, np.arange(len(cells))


def _member(text: str) -> str:
    """A member of a set; quoted where it could be taken for two."""
    return '"' + text.replace('"', '""') + '"' if NEEDS_QUOTES.search(text) else text
