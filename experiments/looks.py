"""The same colour for the same method or measure in every figure, whatever is said beside its name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from experiments.study import Row, values
from shoal.cluster import METHODS
from shoal.report.charts import PALETTE, colour_of
from shoal.report.lines import Axis, line_charts

MAINTAINERS = {"I3M": PALETTE[6], "similar-B-tree": "#8a8a8a"}
MEASURES = {
    **dict(zip(("il", "lm", "mi", "pmi"), PALETTE, strict=False)),
    "original": PALETTE[4],
    "majority": "#8a8a8a",
}
SECONDS = Axis("seconds", "seconds", log=True, format="~g")
TOTAL_IL = Axis("il", "Total-IL")


def colours(names: Sequence[str]) -> dict[str, str]:
    """The colour of each series: that of the method or measure that its name begins with (a comma ends it)."""
    known = {**{name: colour_of(name) for name in METHODS}, **MAINTAINERS, **MEASURES}
    return {name: known[name.split(",")[0]] for name in names}


def lines(panels: Mapping[str, Sequence[Row]], x: Axis, y: Axis, series: str = "method") -> Any:
    """Line charts of a measurement, a line for each series; a variant of a method ("k-member, …") is dashed."""
    names = list(dict.fromkeys(name for rows in panels.values() for name in values(rows, series)))
    dashed = [name for name in names if "," in name]
    shown = [(title, [{**row, "series": row[series]} for row in rows]) for title, rows in panels.items()]
    return line_charts(shown, x, y, colours(names), dashed)
