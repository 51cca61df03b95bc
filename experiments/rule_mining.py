"""Association rules with a class as consequent, over items of several levels (Srikant & Agrawal 1995).

An item is a node of a column's hierarchy, other than its root. A record has an item if all that its cell may stand for
lies below that node: so an original value has the items of all levels above it, and a generalized cell those from its
own level on. Original tables and releases are mined in the same language, and an item means the same in both.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from experiments.cells_of_records import CellsOfRecords
from shoal.hierarchies import IntervalLevels, Tree
from shoal.hierarchies.tree import lowest_common
from shoal.records.codebook import CodeBook

Bits = NDArray[np.uint8]  # a bit for each record, eight in a number
Bools = NDArray[np.bool_]


class Rule(NamedTuple):
    """Who has all of these items is of this class."""

    items: tuple[int, ...]  # numbers of items, of different columns, rising
    positive: bool


class Items(NamedTuple):
    """The items of a table, column by column."""

    names: list[tuple[str, str]]  # the column and the label of each item
    columns: NDArray[np.int64]  # the column of each item, by its number
    have: Bools  # (items, records)


def items_of(cells: CellsOfRecords, levels: Mapping[str, IntervalLevels]) -> Items:
    """The items that each record has. `levels`: the intervals in which numbers are mined."""
    names: list[tuple[str, str]] = []
    columns, have = [], []
    for j, book in enumerate(cells.books):
        tree = _tree(book, levels)
        first, last = cells.first[:, j] - 1, cells.last[:, j] - 1
        paths = tree.paths[first]
        lowest = np.argmax(paths == lowest_common(tree.paths, first, last)[:, None], axis=1)
        mine = np.zeros((len(tree.labels), len(paths)), bool)
        for depth in range(paths.shape[1]):
            below = np.flatnonzero(lowest >= depth)
            mine[paths[below, depth], below] = True
        have.append(mine[1:])  # the root says nothing
        columns += [j] * (len(tree.labels) - 1)
        names += [(book.name, label) for label in tree.labels[1:]]
    return Items(names, np.array(columns), np.concatenate(have))


def _tree(book: CodeBook, levels: Mapping[str, IntervalLevels]) -> Tree:
    if book.tree is not None:
        return book.tree
    assert book.axis is not None
    assert book.domain is not None
    return levels[book.name].grow(book.axis, book.texts, book.domain)


def mine(items: Items, positive: Bools, support: float, certainty: float, most_items: int = 3) -> dict[Rule, float]:
    """All rules of up to so many items, each of another column, and their confidence.

    `support`: the least share of all records that have the items and the class. `certainty`: how much of the way from
    the class's share in the whole table to 1 a rule's confidence must go (the certainty factor).
    """
    records = len(positive)
    classes = {kind: np.packbits(positive == kind) for kind in (True, False)}
    needed = {kind: (positive == kind).mean() + certainty * (positive != kind).mean() for kind in classes}
    packed = np.packbits(items.have, axis=1)
    found: dict[Rule, float] = {}

    def extend(chosen: tuple[int, ...], have: Bits) -> None:
        start = int(np.searchsorted(items.columns, items.columns[chosen[-1]], "right")) if chosen else 0
        together = packed[start:] & have
        sizes = _count(together)
        counts = {kind: _count(together & bits) for kind, bits in classes.items()}
        enough = {kind: count >= support * records for kind, count in counts.items()}
        for i in np.flatnonzero(enough[True] | enough[False]):
            longer = (*chosen, start + int(i))
            for kind, count in counts.items():
                confidence = float(count[i] / sizes[i])
                if enough[kind][i] and confidence >= needed[kind]:
                    found[Rule(longer, kind)] = confidence
            if len(longer) < most_items:
                extend(longer, together[i])

    extend((), np.packbits(np.ones(records, bool)))
    return found


def _count(bits: Bits) -> NDArray[np.int64]:
    return np.bitwise_count(bits).sum(axis=-1, dtype=np.int64)


def confidences(items: Items, positive: Bools, rules: Mapping[Rule, float]) -> Iterator[float]:
    """How often each rule is right in a table, of the records there that have its items."""
    for rule in rules:
        having = items.have[list(rule.items)].all(axis=0)
        yield float((positive[having] == rule.positive).mean())
