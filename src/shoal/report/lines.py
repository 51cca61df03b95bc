"""Line charts with a label where each line ends."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

from shoal.report.charts import altair, plain, spread

WIDTH, HEIGHT = 340, 280
LINE = 15  # pixels that a label needs


class Axis(NamedTuple):
    """What is shown along an axis."""

    field: str
    title: str
    log: bool = False
    format: str = "~s"
    zero: bool = True  # whether it begins at 0, where it is not logarithmic


def line_charts(
    panels: Sequence[tuple[str, Sequence[Mapping[str, Any]]]],
    x: Axis,
    y: Axis,
    colours: Mapping[str, str],
    dashed: Collection[str] = (),
) -> Any:
    """A panel beside the other, each with its title and rows (`series`, and the fields of the axes)."""
    alt = altair()
    charts = [_panel(alt, title, [dict(row) for row in rows], x, y, colours, dashed) for title, rows in panels]
    return plain(alt.hconcat(*charts, spacing=130))


def _panel(
    alt: Any,
    title: str,
    rows: list[dict[str, Any]],
    x: Axis,
    y: Axis,
    colours: Mapping[str, str],
    dashed: Collection[str],
) -> Any:
    series = list(dict.fromkeys(row["series"] for row in rows))
    scale = alt.Scale(domain=series, range=[colours[name] for name in series])
    colour = alt.Color("series:N", scale=scale, legend=None)
    dash = alt.StrokeDash(
        "series:N",
        scale=alt.Scale(domain=series, range=[[4, 3] if name in dashed else [1, 0] for name in series]),
        legend=None,
    )
    least, most = min(row[y.field] for row in rows), max(row[y.field] for row in rows)
    domain = _domain(y, least, most)
    kind = "log" if y.log else "linear"
    across = alt.X(
        f"{x.field}:Q",
        title=x.title,
        axis=alt.Axis(format=x.format, tickCount=5),
        scale=alt.Scale(type="log" if x.log else "linear", nice=False),
    )
    up = alt.Y(
        f"{y.field}:Q",
        title=y.title,
        axis=alt.Axis(format=y.format, tickCount=5),
        scale=alt.Scale(type=kind, domain=domain, nice=False),
    )
    base = alt.Chart(alt.Data(values=rows)).encode(x=across, y=up, color=colour)
    lines = base.mark_line(strokeWidth=2).encode(strokeDash=dash) + base.mark_point(filled=True, size=30)
    ends = alt.Chart(alt.Data(values=_ends(rows, series, x, y, domain))).encode(x=across, y=up, color=colour)
    labels = ends.mark_text(align="left", dx=8, fontSize=12).encode(text="series:N")
    return (lines + labels).properties(width=WIDTH, height=HEIGHT, title=title)


def _domain(axis: Axis, least: float, most: float) -> list[float]:
    """From where to where an axis goes: a little further than the numbers."""
    if axis.log:
        return [least / 1.3, most * 1.3]
    if axis.zero:
        return [0, most * 1.05 or 1.0]
    gap = 0.08 * (most - least) or 1.0
    return [least - gap, most + gap]


def _ends(rows: list[dict[str, Any]], series: list[str], x: Axis, y: Axis, domain: list[float]) -> list[dict[str, Any]]:
    """Where each line ends, and the place of its label."""

    last = {name: max((row for row in rows if row["series"] == name), key=lambda row: row[x.field]) for name in series}
    height = [math.log(row[y.field]) if y.log else row[y.field] for row in last.values()]
    reach = math.log(domain[1] / domain[0]) if y.log else domain[1] - domain[0]
    heights = spread(height, LINE * reach / HEIGHT)
    return [{**row, y.field: math.exp(at) if y.log else at} for row, at in zip(last.values(), heights, strict=True)]
