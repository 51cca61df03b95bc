"""Hierarchies that follow from the values: prefixes of codes, fixed intervals of numbers, calendar periods."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from shoal.errors import HierarchyError, one_of
from shoal.hierarchies.tree import ROOT, Tree, grow_levels, tree_of

# An axis is the place of each value on a line: the number itself, or days since 1970-01-01.
Axis = NDArray[np.int64] | NDArray[np.float64]


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
        if not self.widths or any(width <= 0 for width in self.widths):
            raise HierarchyError(f"interval widths must be positive numbers. Got {list(self.widths)} instead.")
        for narrow, wide in zip(self.widths, self.widths[1:], strict=False):
            if wide <= narrow or abs(wide / narrow - round(wide / narrow)) > 1e-9:
                raise HierarchyError(
                    f"the hierarchy is inconsistent: interval width {wide:g} is not a multiple of {narrow:g}.",
                    hint="Widths must nest, for example [5, 10, 20].",
                )

    def grow(self, axis: Axis, leaves: list[str], domain: tuple[float, float]) -> Tree:
        """The tree over sorted distinct numbers. Whole numbers get closed labels (`[30..34]`), others `[30..35)`."""
        whole = axis.dtype.kind == "i" and all(float(x).is_integer() for x in (*self.widths, self.origin))
        bins = self._bins(axis, whole)
        levels: list[_Level] = []
        for level, width in enumerate(self.widths):
            if level:
                bins = bins // round(width / self.widths[level - 1])  # exact nesting, whatever the rounding below
            starts = np.unique(bins) * width + self.origin
            ends = starts + width - (1 if whole else 0)
            names = [
                _closed(int(a), int(b)) if whole else f"[{_short(a, width)}..{_short(b, width)})"
                for a, b in zip(starts, ends, strict=True)
            ]
            levels.append(_Level(bins, names, starts.astype(np.float64), ends.astype(np.float64)))
        return _grow_axis(axis, leaves, levels, domain, 1.0 if axis.dtype.kind == "i" else 0.0)

    def _bins(self, axis: Axis, whole: bool) -> NDArray[np.int64]:
        """The finest interval of each number. 0.3 lies in [0.3..0.4) although 0.3 / 0.1 < 3 in floating point."""
        if whole:
            return (axis.astype(np.int64) - int(self.origin)) // int(self.widths[0])
        quotient = (axis - self.origin) / self.widths[0]
        if np.abs(quotient).max(initial=0) > 2**52:
            raise HierarchyError(f"interval width {self.widths[0]:g} is too narrow for the size of the numbers.")
        near = np.rint(quotient)
        bins = np.where(np.abs(quotient - near) <= 1e-12 * np.maximum(1, np.abs(near)), near, np.floor(quotient))
        return bins.astype(np.int64)


def _closed(first: int, last: int) -> str:
    return f"[{first}..{last}]" if last > first else str(first)


def _short(bound: float, width: float) -> str:
    """A bound without the noise of floating point (0.3, not 0.30000000000000004) where that changes nothing."""
    short = f"{bound:.12g}"
    return short if abs(float(short) - bound) <= 1e-9 * width else repr(float(bound))


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

    def grow(self, axis: Axis, leaves: list[str], domain: tuple[float, float]) -> Tree:
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
        return _grow_axis(axis, leaves, levels, domain, 1.0)


def _first_day(months: NDArray[np.int64]) -> NDArray[np.float64]:
    days = (months - 1970 * 12).astype("datetime64[M]").astype("datetime64[D]").astype(np.int64)
    return days.astype(np.float64)


@dataclass(frozen=True)
class _Level:
    keys: NDArray[np.int64]  # of each leaf
    names: list[str]  # of each node
    starts: NDArray[np.float64]  # of each node, on the axis
    ends: NDArray[np.float64]


def _grow_axis(axis: Axis, leaves: list[str], levels: list[_Level], domain: tuple[float, float], unit: float) -> Tree:
    """Levels of intervals on an axis; a breadth is the interval's share of the declared or seen domain.

    Whole numbers and days are counted (unit 1: from a to b there are b − a + 1 values), others measured (unit 0).
    """
    low, high = domain
    tree = grow_levels(leaves, [(level.keys, level.names) for level in levels])
    parts = [np.array([high - low])]
    for level in reversed(levels):
        parts.append(np.minimum(level.ends, high) - np.maximum(level.starts, low))
    parts.append(np.zeros(len(axis)))
    span = max(high - low, unit)
    breadths = np.clip(np.concatenate(parts) / span, 0, 1) if span else np.zeros(len(tree.labels))
    starts = [np.array([np.nan]), *(level.starts for level in reversed(levels)), axis.astype(np.float64)]
    ends = [np.array([np.nan]), *(level.ends for level in reversed(levels)), axis.astype(np.float64)]
    return replace(tree, breadths=breadths, spans=np.stack([np.concatenate(starts), np.concatenate(ends)], axis=1))
