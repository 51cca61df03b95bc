"""The measures straight from their definitions: on values and groups, one cell at a time."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Sequence

from tests.reference.costs import Plain, ancestor, cell_cost

Cell = Sequence[object]  # the values of a group in one column


def domain(column: Plain, everything: Cell) -> list[object]:
    """All values that a column can have: the leaves of its hierarchy, or the values that occur; and missing."""
    if column.path is not None:
        return [*(path[-1] for path in column.paths), None]
    assert column.number is not None
    return [*sorted({value for value in everything if value is not None}, key=column.number), None]


def key(column: Plain, value: object) -> object:
    """A value as its domain writes it."""
    return value if value is None or column.path is None else column.path(value)[-1]


def covered(column: Plain, cell: Cell, everything: Cell) -> set[object]:
    """The values of the domain that a published cell stands for."""
    present = [value for value in cell if value is not None]
    if not present:
        return {None}
    if len(present) < len(cell):
        return set(domain(column, everything))
    if column.path is not None:
        node = ancestor(column, present)
        return {path[-1] for path in column.paths if path[: len(node)] == node}
    assert column.number is not None
    numbers = [column.number(value) for value in present]
    return {
        value
        for value in domain(column, everything)
        if value is not None and min(numbers) <= column.number(value) <= max(numbers)
    }


def information(columns: Sequence[Plain], table: Sequence[Cell], groups: Sequence[Sequence[int]]) -> float:
    """MI, eq. (10)."""
    total = 0.0
    n = len(table[0])
    for column, values in zip(columns, table, strict=True):
        for group in groups:
            cell = covered(column, [values[i] for i in group], values)
            inside = sum(key(column, value) in cell for value in values)
            for i in group:
                total -= math.log2(sum(value == values[i] for value in values) / inside)
    return total / (n * len(columns))


def private_information(
    columns: Sequence[Plain], table: Sequence[Cell], groups: Sequence[Sequence[int]], private: Cell
) -> list[float]:
    """PMI per column, eq. (14)."""
    n = len(private)
    found = []
    for column, values in zip(columns, table, strict=True):
        total = 0.0
        for group in groups:
            cell = covered(column, [values[i] for i in group], values)
            inside = [private[i] for i in range(n) if key(column, values[i]) in cell]
            for i in group:
                total -= math.log2(inside.count(private[i]) / len(inside))
        found.append(total / n)
    return found


def divergence(columns: Sequence[Plain], table: Sequence[Cell], groups: Sequence[Sequence[int]]) -> float:
    """KL: each row of the release spread evenly over the tuples that it stands for."""
    n = len(table[0])
    original = Counter(
        tuple(key(column, values[i]) for column, values in zip(columns, table, strict=True)) for i in range(n)
    )
    boxes = []
    for group in groups:
        cells = [
            covered(column, [values[i] for i in group], values) for column, values in zip(columns, table, strict=True)
        ]
        boxes.append((cells, len(group) / n / math.prod(len(cell) for cell in cells)))
    total = 0.0
    for point, count in original.items():
        spread = sum(w for cells, w in boxes if all(x in cell for x, cell in zip(point, cells, strict=True)))
        total += count / n * math.log2(count / n / spread)
    return total


def diameter(columns: Sequence[Plain], table: Sequence[Cell], groups: Sequence[Sequence[int]]) -> float:
    """Byun, Definition 1: Σ |e| · the largest distance of two records of e."""
    total = 0.0
    for group in groups:
        largest = 0.0
        for a, b in itertools.combinations(group, 2):
            distance = sum(
                cell_cost(column, "il", [values[a], values[b]], values)
                for column, values in zip(columns, table, strict=True)
                if values[a] != values[b]
            )
            largest = max(largest, distance)
        total += len(group) * largest
    return total


def losses(columns: Sequence[Plain], table: Sequence[Cell], groups: Sequence[Sequence[int]], measure: str) -> float:
    """The cost of every cell, added up."""
    return sum(
        len(group) * cell_cost(column, measure, [values[i] for i in group], values)
        for column, values in zip(columns, table, strict=True)
        for group in groups
    )


def discernibility(rows: Sequence[tuple[object, ...]]) -> float:
    """DM: a row counts how many rows look like it; one of nothing but `*` counts them all."""
    counts = Counter(rows)
    return sum(len(rows) if all(cell == "*" for cell in row) else counts[row] for row in rows)


def classification(rows: Sequence[tuple[object, ...]], private: Sequence[object]) -> float:
    """CM: the share of rows that are suppressed, or differ from the majority of those that look like them."""
    wrong = 0
    for row, own in Counter(rows).items():
        labels = Counter(label for other, label in zip(rows, private, strict=True) if other == row)
        wrong += own if all(cell == "*" for cell in row) else own - max(labels.values())
    return wrong / len(rows)
