"""Hierarchies: which values may stand for one another, and what they are called together.

A hierarchy is what the steward declares (`Hierarchy.tree("country.csv")`, `Hierarchy.prefix()`, …). Given the values
of a column it grows a `Tree`: leaves in depth-first order, so that similar values get close codes and the lowest
common ancestor of a set of leaves is that of its first and its last.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from shoal.addresses import A_PATH, may_be_address
from shoal.errors import HierarchyError, InternalError, OutputError
from shoal.files import write_text
from shoal.hierarchies.asked import asked
from shoal.hierarchies.building import rows_for
from shoal.hierarchies.computed import DateLevels, IntervalLevels, PrefixLevels
from shoal.hierarchies.declared import DeclaredTree, FlatValues, from_csv, from_nested, from_paths
from shoal.hierarchies.drawing import drawn
from shoal.hierarchies.tree import ROOT, Tree


@dataclass(frozen=True)
class Hierarchy:
    """A declared hierarchy; the ways to declare one are its class methods.

    >>> country = Hierarchy.tree({"America": ["USA", "Canada"], "Asia": ["Iran", "India"]})
    >>> country.grow().leaves
    ['USA', 'Canada', 'Iran', 'India']
    """

    rule: FlatValues | DeclaredTree | PrefixLevels | IntervalLevels | DateLevels

    @classmethod
    def flat(cls, values: Iterable[str] | None = None) -> Hierarchy:
        """Suppression only: a value is published as it is or as `*`. Without `values`, those of the data."""
        return cls(FlatValues(None if values is None else tuple(values)))

    @classmethod
    def tree(cls, source: str | Path | Mapping[str, object] | Iterable[Sequence[str]]) -> Hierarchy:
        """A tree from a CSV file (`leaf;…;root`, the format of ARX), a nested mapping, or rows leaf first."""
        if isinstance(source, str | Path):
            return cls(from_csv(Path(source)))
        if isinstance(source, Mapping):
            return cls(from_nested(source))
        return cls(from_paths(source))

    @classmethod
    def prefix(cls) -> Hierarchy:
        """Codes such as postal codes: each level drops one last character, `47906` < `4790*` < … < `*`."""
        return cls(PrefixLevels())

    @classmethod
    def intervals(cls, widths: Sequence[float], origin: float = 0) -> Hierarchy:
        """Numbers in fixed intervals: `intervals([5, 10])` gives 33 < `[30..34]` < `[30..39]` < `*`."""
        return cls(IntervalLevels(tuple(widths), origin))

    @classmethod
    def dates(cls, levels: Sequence[str] = ("month", "year")) -> Hierarchy:
        """Days in calendar periods: `2024-05-17` < `2024-05` < `2024` < `*` (also `quarter`, `decade`)."""
        return cls(DateLevels(tuple(levels)))

    @classmethod
    def suggest(
        cls,
        values: Iterable[object],
        *,
        by: str | None = None,
        widths: Sequence[float] | None = None,
        groups: int | None = None,
        order: Sequence[object] | None = None,
        type: str | None = None,
    ) -> Hierarchy:
        """A tree for the values of a column, which may repeat: how often each occurs plays a part.

        `by` says how; unsaid, the values do: "widths" (round ones, or those in `widths`), "quantiles" (`groups` of
        about equally many records), "rounding", "dates", "prefix", "suffix", "order" (neighbours in the list
        `order`), "frequency" (the `groups` most frequent values, others as `other`), "icd-10", "nuts", or "countries"
        (by UN region and continent; needs `shoal[countries]`). `type` says what the values are where that is known:
        numbers of a "categorical" column are codes, and get no intervals.

        >>> print(Hierarchy.suggest([21, 24, 25, 38, 40, 41, 55, 58], widths=[10, 20]).show())
        * (8 values)
        ├── [20..39] (4 values)
        │   ├── [20..29] (3 values)
        │   └── [30..39] (1 value)
        └── [40..59] (4 values)
            ├── [40..49] (2 values)
            └── [50..59] (2 values)
        """
        _, rows = rows_for(by, asked(values, widths=widths, groups=groups, order=order, type=type))
        return cls(from_paths(rows))

    def rows(self) -> list[list[str]]:
        """The rows of its file, leaf first. For a hierarchy that lists its values."""
        if not isinstance(self.rule, DeclaredTree):
            raise HierarchyError(f"a hierarchy of the kind {self.kind!r} has no values of its own to list.")
        return [list(reversed(path)) for path in self.rule.paths]

    def save(self, path: str | Path, *, force: bool = False) -> Path:
        """Write it in the format of ARX: a row per value, `leaf;…;root`. Whole or not at all."""
        if may_be_address(path):
            raise OutputError("a hierarchy is written to a file, and this looks like a URL.", hint=A_PATH)
        text = io.StringIO()
        csv.writer(text, delimiter=";", lineterminator="\n").writerows(self.rows())
        write_text(text.getvalue(), Path(path), force=force)
        return Path(path)

    def show(self, *, leaves: bool = False) -> str:
        """The tree, drawn with lines: groups and how many values each has; `leaves`: the values, too."""
        return drawn(self.rows(), leaves=leaves)

    @property
    def kind(self) -> str:
        """The name of the class method that makes such a hierarchy."""
        return KINDS[type(self.rule)]

    def grow(self, values: Sequence[str] = ()) -> Tree:
        """The tree over text values. (Intervals and dates grow over an axis: `records/codebook.py` asks them.)"""
        if isinstance(self.rule, IntervalLevels | DateLevels):
            raise InternalError("a hierarchy of numbers or dates grows over an axis, not over text.")
        return self.rule.grow(values)


KINDS: dict[type, str] = {
    FlatValues: "flat",
    DeclaredTree: "tree",
    PrefixLevels: "prefix",
    IntervalLevels: "intervals",
    DateLevels: "dates",
}

__all__ = ["ROOT", "DateLevels", "FlatValues", "Hierarchy", "IntervalLevels", "Tree"]
