"""The chart of a comparison: loss against k, and loss against time."""

from __future__ import annotations

from typing import Any

from shoal.compare import Comparison
from shoal.report.charts import altair, colour_of, plain, spread

WIDTH, HEIGHT = 320, 300
LINE = 15  # pixels that a label needs


def comparison_chart(comparison: Comparison) -> Any:
    """Two panels: what a larger k costs with each method, and what it costs in time. Labels stand where lines end."""
    alt = altair()
    rows: list[dict[str, Any]] = [
        {
            "method": trial.method,
            "k": trial.k,
            "seconds": max(trial.seconds, 1e-3),
            "loss": trial.measures["il_share"],
        }
        for trial in comparison.trials
    ]
    methods = list(dict.fromkeys(trial.method for trial in comparison.trials))
    colour = alt.Color(
        "method:N", scale=alt.Scale(domain=methods, range=[colour_of(method) for method in methods]), legend=None
    )
    top = max(row["loss"] for row in rows) * 1.05 or 1.0
    loss = alt.Y("loss:Q", title="information lost (IL)", axis=alt.Axis(format="%"), scale=alt.Scale(domain=[0, top]))
    ks = sorted({trial.k for trial in comparison.trials})
    by_k = alt.X("k:Q", title="k", axis=alt.Axis(values=ks, format="d"), scale=alt.Scale(type="log", nice=False))
    by_time = alt.X("seconds:Q", title="seconds", axis=alt.Axis(tickCount=4), scale=alt.Scale(type="log"))
    records = f"{comparison.records:,}".replace(",", " ")
    base = alt.Chart(alt.Data(values=rows)).encode(y=loss, color=colour)
    first = base.mark_line(strokeWidth=2).encode(x=by_k) + base.mark_point(filled=True, size=45).encode(x=by_k)
    ends = alt.Chart(alt.Data(values=_ends(rows, methods, top))).encode(y=loss, color=colour)
    labels = ends.mark_text(align="left", dx=8, fontSize=12).encode(x=by_k, text="method:N")
    second = base.mark_line(strokeWidth=1, strokeDash=[3, 3]).encode(x=by_time, order="k:Q") + base.mark_point(
        filled=True, size=45
    ).encode(x=by_time)
    numbers = base.mark_text(align="left", dx=6, fontSize=10).encode(x=by_time, text="k:Q")
    left = (first + labels).properties(width=WIDTH, height=HEIGHT, title=f"What k costs ({records} records)")
    right = (second + numbers).properties(width=WIDTH, height=HEIGHT, title="What it costs in time (numbers: k)")
    return plain(alt.hconcat(left, right, spacing=110))


def _ends(rows: list[dict[str, Any]], methods: list[str], top: float) -> list[dict[str, Any]]:
    """Where each method's line ends, and the place of its label."""
    last = {row["method"]: row for row in rows if row["k"] == max(other["k"] for other in rows)}
    ends = [last[method] for method in methods if method in last]
    heights = spread([row["loss"] for row in ends], LINE * top / HEIGHT)
    return [{**row, "loss": height} for row, height in zip(ends, heights, strict=True)]
