"""Hierarchies as ARX writes them: what it allows and a tree of unique labels does not.

- Several last levels of `*` are one; a row of nothing but `*` is no value.
- Where no row ends in `*` and rows end in different labels, the last level is missing: it is `*`.
- A hierarchy of rounding has `-114.6` for a value and for all that are rounded to it. The group is then called
  `-114.6 (level 1)`: a label must name one set of values, or nobody could tell from a release which one is meant.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from shoal.hierarchies.tree import ROOT
from shoal.sources.normalize import looks_like_a_number

Row = tuple[int, list[str]]


def as_arx_writes(rows: Iterable[tuple[int, Sequence[str]]]) -> list[Row]:
    """Numbered rows, leaf first, in the form that every hierarchy has here."""
    found: list[Row] = []
    for number, row in rows:
        cells = [cell.strip() for cell in row]
        while cells and not cells[-1]:
            cells.pop()
        while len(cells) > 1 and cells[-1] == cells[-2] == ROOT:
            cells.pop()
        if cells and not (cells == [ROOT] and len(row) > 1):
            found.append((number, cells))
    return _named_apart(_with_a_root(found))


def _with_a_root(rows: list[Row]) -> list[Row]:
    """Rows with `*` at their end, where that level is missing.

    A row may end in another row's value only where rounding does so: that value is rounded to itself.
    """
    several = len({cells[-1] for _, cells in rows}) > 1
    tops = {cells[0]: cells[-1] for _, cells in rows}
    whole = all(len(cells) > 1 for _, cells in rows) and _rectangular(rows)
    lacking = several and whole and not any(ROOT in cells for _, cells in rows)
    if not lacking or any(tops.get(top, top) != top for top in tops.values()):
        return rows
    return [(number, [*cells, ROOT]) for number, cells in rows]


def _named_apart(rows: list[Row]) -> list[Row]:
    """Groups that have the name of one of their members, and other members as well, get a name of their own."""
    if not rows or not _rectangular(rows):
        return rows
    height = len(rows[0][1])
    members: dict[tuple[int, str], set[str]] = {}
    for _, cells in rows:
        for level, label in enumerate(cells):
            members.setdefault((level, label), set()).add(cells[0])
    clashing: set[tuple[int, str]] = set()
    for _, cells in rows:
        for level in range(1, height):
            label = cells[level]
            lower = _same_below(cells, level)
            repeated = lower == level - 1 and members[lower, label] == members[level, label]
            if lower is not None and not repeated:
                clashing.add((level, label))
    if not clashing:
        return rows
    return [(number, [_renamed(cells, level, clashing) for level in range(height)]) for number, cells in rows]


def _same_below(cells: list[str], level: int) -> int | None:
    """The next lower level with the same label; between may be other spellings of that number: -115, -115.0, -115."""
    for lower in range(level - 1, -1, -1):
        if cells[lower] == cells[level]:
            return lower
        numbers = looks_like_a_number(cells[lower]) and looks_like_a_number(cells[level])
        if not numbers or float(cells[lower]) != float(cells[level]):
            return None
    return None


def _renamed(cells: list[str], level: int, clashing: set[tuple[int, str]]) -> str:
    """What was renamed on a level is renamed on those above as far as they only repeat it."""
    label = cells[level]
    named = [lower for lower in range(1, level + 1) if (lower, label) in clashing and cells[lower] == label]
    return f"{label} (level {named[-1]})" if label != ROOT and named else label


def _rectangular(rows: list[Row]) -> bool:
    return len({len(cells) for _, cells in rows}) == 1
