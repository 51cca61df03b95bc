"""Costs straight from the papers' definitions: on values, one cell at a time, with no codes, boxes or arrays.

A column is told by `Plain`: what each value is on a number line, or its path in the hierarchy, root first.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

Path = tuple[str, ...]


@dataclass(frozen=True)
class Plain:
    """One column. `leaves` are all values that the hierarchy knows; a value's path ends in the value itself."""

    leaves: Sequence[str] = ()
    path: Callable[[object], Path] | None = None
    number: Callable[[object], float] | None = None
    domain: tuple[float, float] | None = None
    counted: Callable[[Path], float] | None = None  # (domain values − 1) / (all − 1) below a node, if not by leaves
    levels: Callable[[Path], int] | None = None  # the height of a node, if not the longest path below it
    min_level: int = 0
    paths: list[Path] = field(default_factory=list)  # of all leaves


def ancestor(column: Plain, values: Sequence[object]) -> Path:
    """The path of the lowest common ancestor of the values, or of its ancestor at `min_level`."""
    assert column.path is not None
    paths = [column.path(value) for value in values]
    shared = 0
    while all(len(path) > shared and path[shared] == paths[0][shared] for path in paths):
        shared += 1
    node = paths[0][:shared]
    while height(column, node) < column.min_level:
        node = node[:-1]
    return node


def below(column: Plain, node: Path) -> list[Path]:
    return [path for path in column.paths if path[: len(node)] == node]


def height(column: Plain, node: Path) -> int:
    if column.levels is not None:
        return column.levels(node)
    return max(len(path) for path in below(column, node)) - len(node)


def cell_cost(column: Plain, measure: str, cell: Sequence[object], everything: Sequence[object]) -> float:
    """What publishing `cell` (the values of a group) costs, in a column that holds `everything`."""
    present = [value for value in cell if value is not None]
    if measure == "mi":
        return information(column, cell, everything)
    if not present:
        return 0.0
    if len(present) < len(cell):
        return 1.0
    if column.path is None:
        assert column.number is not None
        assert column.domain is not None
        low, high = column.domain
        numbers = [column.number(value) for value in present]
        return min(1.0, (max(numbers) - min(numbers)) / (high - low)) if high > low else 0.0
    node = ancestor(column, present)
    whole = node[:1]
    if measure == "lm":
        if column.counted is not None:
            return column.counted(node)
        return (len(below(column, node)) - 1) / max(1, len(column.paths) - 1)
    return height(column, node) / max(1, height(column, whole))


def information(column: Plain, cell: Sequence[object], everything: Sequence[object]) -> float:
    """log₂ P(X ∈ cell), shifted so that the rarest value costs 0."""
    counts: dict[object, int] = {}
    for value in everything:
        counts[value] = counts.get(value, 0) + 1
    rarest = min(counts.values())
    present = [value for value in cell if value is not None]
    if not present:
        inside = counts[None]
    elif len(present) < len(cell):
        inside = len(everything)
    elif column.path is None:
        assert column.number is not None
        numbers = [column.number(value) for value in present]
        inside = sum(
            count
            for value, count in counts.items()
            if value is not None and min(numbers) <= column.number(value) <= max(numbers)
        )
    else:
        node = ancestor(column, present)
        inside = sum(
            count for value, count in counts.items() if value is not None and column.path(value)[: len(node)] == node
        )
    return math.log2(inside / rarest)
