"""Hierarchies: which values may stand for one another, and what they are called together.

A hierarchy is what the steward declares (`Hierarchy.tree("country.csv")`, `Hierarchy.prefix()`, …). Given the values
of a column it grows a `Tree`: leaves in depth-first order, so that similar values get close codes and the lowest
common ancestor of a set of leaves is that of its first and its last.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from shoal.errors import InternalError
from shoal.hierarchies.computed import DateLevels, IntervalLevels, PrefixLevels
from shoal.hierarchies.declared import DeclaredTree, FlatValues, from_csv, from_nested, from_paths
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
