"""Hierarchies that follow from the values: prefixes of codes, fixed intervals of numbers, calendar periods."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.errors import HierarchyError, one_of
from shoal.hierarchies.tree import ROOT, Tree, grow_levels, tree_of

# An axis is the place of each value on a line: the number itself, or days since 1970-01-01.
Axis = NDArray[np.number[Any]]


@dataclass(frozen=True)
class PrefixLevels:
    """Each level drops one last character: `47906` < `4790*` < `479**` < … < `*`.

    A shorter code is a value of the group that has its name: `123` < `123**`, beside `1234*`. A group's height is the
    number of characters that it leaves open, whatever the lengths of the codes below it: a reader of the release can
    count them.
    """

    def grow(self, values: Sequence[str]) -> Tree:
        codes = np.unique(np.array(list(values), dtype=np.str_))  # shorter first: `123` comes before `1234`
        lengths = np.char.str_len(codes)
        longest = int(lengths.max(initial=1))
        paths = np.full((len(codes), longest + 1), -1, np.int32)
        paths[:, 0] = 0
        labels = [ROOT]
        for kept in range(1, longest):
            inside = np.flatnonzero(lengths >= kept)
            prefixes, group = np.unique(codes[inside].astype(f"U{kept}"), return_inverse=True)
            paths[inside, kept] = len(labels) + group
            labels += [str(prefix).ljust(longest, ROOT) for prefix in prefixes]
        paths[np.arange(len(codes)), np.minimum(lengths, longest - 1) + 1] = len(labels) + np.arange(len(codes))
        leaves = [str(code) for code in codes]
        heights = [longest, *(label.count(ROOT) for label in labels[1:]), *(0 for _ in leaves)]
        return replace(tree_of(leaves, labels + leaves, paths), heights=np.array(heights, np.int32))


@dataclass(frozen=True)
class IntervalLevels:
    """Numbers in fixed intervals, each level's width a multiple of the one below."""

    widths: tuple[float, ...]
    origin: float = 0

    def __post_init__(self) -> None:
        numbers = [*self.widths, self.origin]
        if not all(isinstance(number, int | float) and math.isfinite(number) for number in numbers):
            raise HierarchyError(f"interval widths and origin must be numbers. Got {numbers} instead.")
        if not self.widths or any(width <= 0 for width in self.widths):
            raise HierarchyError(f"interval widths must be positive numbers. Got {list(self.widths)} instead.")
        for narrow, wide in pairwise(self.widths):
            if wide <= narrow or abs(wide / narrow - round(wide / narrow)) > 1e-9:
                raise HierarchyError(
                    f"the hierarchy is inconsistent: interval width {wide:g} is not a multiple of {narrow:g}.",
                    hint="Widths must nest, for example [5, 10, 20].",
                )

    def grow(self, axis: Axis, leaves: list[str], domain: tuple[float, float], measured: Axis | None = None) -> Tree:
        """The tree over sorted distinct numbers. Whole numbers get closed labels (`[30..34]`), others `[30..35)`."""
        whole = axis.dtype.kind == "i" and all(float(x).is_integer() for x in (*self.widths, self.origin))
        if len(axis) and max(abs(float(axis[0])), abs(float(axis[-1]))) / self.widths[0] > 2**52:
            raise HierarchyError(f"interval width {self.widths[0]:g} is too narrow for the size of the numbers.")
        finest = self._finest(axis, whole)
        levels: list[_Level] = []
        for width in self.widths:
            # Wider intervals are whole multiples of the finest: they nest exactly and share its bounds.
            times = round(width / self.widths[0])
            bins = finest // times
            distinct = np.unique(bins).tolist()
            starts = [self._bound(index * times, whole) for index in distinct]
            ends = [self._bound((index + 1) * times, whole) - (1 if whole else 0) for index in distinct]
            names = [_closed(a, b) if whole else f"[{a!r}..{b!r})" for a, b in zip(starts, ends, strict=True)]
            levels.append(_Level(bins, names, np.array(starts, axis.dtype), np.array(ends, axis.dtype)))
        unit = 1.0 if axis.dtype.kind == "i" else 0.0
        return _grow_axis(axis, leaves, levels, domain, unit, axis if measured is None else measured)

    def _bound(self, index: int, whole: bool) -> float:
        """Where the finest interval with this number begins: exact, or without the noise of floating point (0.3)."""
        if whole:
            return index * int(self.widths[0]) + int(self.origin)
        return float(f"{index * self.widths[0] + self.origin:.15g}")

    def _finest(self, axis: Axis, whole: bool) -> NDArray[np.int64]:
        """The finest interval of each number, so that its published bounds cover it (0.3 / 0.1 is below 3)."""
        if whole:
            return np.array([(value - int(self.origin)) // int(self.widths[0]) for value in axis.tolist()], np.int64)
        finest = []
        for value in axis.tolist():
            index = math.floor((value - self.origin) / self.widths[0])
            while value >= self._bound(index + 1, whole):
                index += 1
            while value < self._bound(index, whole):
                index -= 1
            finest.append(index)
        return np.array(finest, np.int64)


def _closed(first: float, last: float) -> str:
    return f"[{first}..{last}]" if last > first else str(first)


DATE_LEVELS: dict[str, tuple[int, Callable[[int], str]]] = {
    # months per period, and its label from the number of periods since year 0
    "month": (1, lambda index: f"{index // 12:04d}-{index % 12 + 1:02d}"),
    "quarter": (3, lambda index: f"{index // 4:04d}-Q{index % 4 + 1}"),
    "year": (12, lambda index: f"{index:04d}"),
    "decade": (120, lambda index: f"{index * 10:04d}s"),
}


@dataclass(frozen=True)
class DateLevels:
    """Days in calendar periods: day < month < quarter < year < decade, or some of them, in this order."""

    levels: tuple[str, ...] = ("month", "year")

    def __post_init__(self) -> None:
        for level in self.levels:
            if level not in DATE_LEVELS:
                raise HierarchyError(one_of("a level of a date hierarchy", level, DATE_LEVELS))
        if not self.levels or list(self.levels) != [level for level in DATE_LEVELS if level in self.levels]:
            raise HierarchyError(
                f"the hierarchy is inconsistent: date levels must rise. Got {list(self.levels)} instead.",
                hint=f"The order is {', '.join(DATE_LEVELS)}.",
            )

    def grow(self, axis: Axis, leaves: list[str], domain: tuple[float, float], measured: Axis | None = None) -> Tree:
        """The tree over sorted distinct days."""
        months = axis.astype("datetime64[D]").astype("datetime64[M]").astype(np.int64) + 1970 * 12
        levels: list[_Level] = []
        for level in self.levels:
            length, label = DATE_LEVELS[level]
            periods = months // length
            distinct = np.unique(periods)
            levels.append(
                _Level(
                    periods,
                    [label(int(period)) for period in distinct],
                    _first_day(distinct * length),
                    _first_day((distinct + 1) * length) - 1,
                )
            )
        return _grow_axis(axis, leaves, levels, domain, 1.0, axis if measured is None else measured)


def _first_day(months: NDArray[np.int64]) -> NDArray[np.int64]:
    days: NDArray[np.int64] = (months - 1970 * 12).astype("datetime64[M]").astype("datetime64[D]").astype(np.int64)
    return days


@dataclass(frozen=True)
class _Level:
    keys: NDArray[np.int64]  # of each leaf
    names: list[str]  # of each node
    starts: Axis  # of each node
    ends: Axis


def _grow_axis(
    axis: Axis, leaves: list[str], levels: list[_Level], domain: tuple[float, float], unit: float, measured: Axis
) -> Tree:
    """Levels of intervals on an axis; a breadth is the interval's share of the declared or seen domain.

    Whole numbers and days are counted (unit 1: from a to b there are b − a + 1 values), others measured (unit 0).
    `measured`: the values that the domain was made of; others count nothing.
    """
    span = max(domain[1] - domain[0], unit)
    # Values outside a declared domain widen what is counted, not what it is measured against: costs clamp at full.
    low = min(domain[0], float(measured[0])) if len(measured) else 0
    high = max(domain[1], float(measured[-1])) if len(measured) else 0
    tree = grow_levels(leaves, [(level.keys, level.names) for level in levels])
    parts = [np.array([high - low])]
    for level in reversed(levels):
        parts.append(np.minimum(level.ends, high) - np.maximum(level.starts, low))
    parts.append(np.zeros(len(axis)))
    breadths = np.clip(np.concatenate(parts) / (span or 1.0), 0, 1)
    nowhere = np.zeros(1, axis.dtype)  # the root has no bounds
    starts = [nowhere, *(level.starts for level in reversed(levels)), axis]
    ends = [nowhere, *(level.ends for level in reversed(levels)), axis]
    return replace(tree, breadths=breadths, spans=np.stack([np.concatenate(starts), np.concatenate(ends)], axis=1))
