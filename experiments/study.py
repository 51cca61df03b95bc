"""A paper's experiments: what is varied, what is measured, what is drawn, and what the paper claims.

A study is one table of measurements: a grid of cells, each measured on its own, so that a run that was interrupted goes
on where it ended. Figures, tables and verdicts on claims are made from the measurements alone. Whoever doubts a verdict
finds the numbers in the CSV and the rule here, in code.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

Cell = dict[str, Any]  # the settings of one measurement: names and numbers or short texts
Row = dict[str, Any]  # a cell and what was measured there


class Verdict(StrEnum):
    """What our measurements say of a claim."""

    HOLDS = "holds"
    DIFFERS = "differs"  # in part, or by another amount
    FAILS = "does not hold"


def verdict(holds: bool, *, in_part: bool = False) -> Verdict:
    if holds:
        return Verdict.HOLDS
    return Verdict.DIFFERS if in_part else Verdict.FAILS


Judge = Callable[[Sequence[Row]], tuple[Verdict, str]]  # and what was measured, in a few words


@dataclass(frozen=True)
class Claim:
    """What a paper says of a figure, in our words, and the rule by which the measurements are held against it."""

    where: str  # "Fig. 6"
    text: str
    judge: Judge
    why: str = ""  # where it differs: the likely reason
    chart: str = ""  # the figure that shows it; the study's first if none is named

    @property
    def is_ours(self) -> bool:
        """Whether no paper says it."""
        return self.where.startswith("(ours")


@dataclass(frozen=True)
class Figure:
    """A chart, and what is to be said about it."""

    name: str  # the file, without its ending
    caption: str  # which figure of the paper it is, and what is seen
    draw: Callable[[Sequence[Row]], Any]


@dataclass(frozen=True)
class Study:
    """One table of measurements."""

    name: str  # its file, without its ending
    title: str
    setting: str  # what the paper did, and what is done here; Markdown
    cells: Callable[[bool], list[Cell]]  # all of them, or few and small ones (quick)
    measure: Callable[[Cell], list[Row]]  # what was found in one cell; the cell's own settings are added
    figures: tuple[Figure, ...] = ()
    table: Callable[[Sequence[Row]], str] | None = None  # Markdown
    claims: tuple[Claim, ...] = ()
    needs: tuple[str, ...] = ()  # the modules of other libraries that it measures with: the extra `papers`


@dataclass(frozen=True)
class Paper:
    """The studies of one paper: one page."""

    name: str  # its page, without its ending; what `shoal papers NAME` runs
    title: str
    introduction: str  # whose paper, on what data, with what; Markdown
    studies: tuple[Study, ...] = field(default=())


def values(rows: Sequence[Row], name: str) -> list[Any]:
    """The different values of a field, in the order in which they come."""
    return list(dict.fromkeys(row[name] for row in rows))


def pick(rows: Sequence[Row], **settings: Any) -> list[Row]:
    """The rows that have these settings."""
    return [row for row in rows if all(row[name] == value for name, value in settings.items())]


def one(rows: Sequence[Row], field: str, **settings: Any) -> float:
    """A measurement: that of the only row with these settings."""
    (row,) = pick(rows, **settings)
    return float(row[field])


def ratios(rows: Sequence[Row], field: str, of: str, to: str, same: Sequence[str]) -> list[float]:
    """One method's measurement as a multiple of another's, where both have the same settings."""
    return [
        float(row[field]) / one(rows, field, **{name: row[name] for name in same}, method=to)
        for row in pick(rows, method=of)
    ]


def pivot(rows: Sequence[Row], down: str, across: str, field: str, form: str = "{:.3g}") -> str:
    """A Markdown table: one setting down, another across, a measurement in the middle."""
    columns = values(rows, across)
    lines = [f"| {down} | " + " | ".join(str(column) for column in columns) + " |", "| --- " * (len(columns) + 1) + "|"]
    for value in values(rows, down):
        cells = []
        for column in columns:
            found = pick(rows, **{down: value, across: column})
            cells.append(form.format(float(found[0][field])) if found else "")
        lines.append(f"| {value} | " + " | ".join(cells) + " |")
    return "\n".join(lines)
