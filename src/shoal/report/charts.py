"""What all charts share: the colour of each method, a plain look, how they are written.

Altair and vl-convert are the extra `report`, and are loaded when a chart is drawn.
"""

from __future__ import annotations

import os
from itertools import pairwise
from pathlib import Path
from typing import Any

from shoal.cluster import METHODS
from shoal.errors import OutputError, ParameterError

# Colours that people who see few colours can tell apart, and that differ in grey (Okabe & Ito 2008).
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#000000", "#E69F00", "#56B4E9")
FORMATS = (".svg", ".png", ".html", ".json")


def colour_of(method: str) -> str:
    """The same method has the same colour in every chart."""
    return PALETTE[list(METHODS).index(method) % len(PALETTE)]


def altair() -> Any:
    """The chart library, or what to do to have it."""
    try:
        import altair
        import vl_convert  # noqa: F401  # altair writes files with it
    except ImportError as missing:
        raise ParameterError(
            "charts need two more libraries (altair and vl-convert).", hint="pip install 'shoal[report]'"
        ) from missing
    return altair


def check_chart(path: Path) -> None:
    """Refuse a chart that cannot be written before the long work begins."""
    if path.suffix.lower() not in FORMATS:
        raise ParameterError(f"a chart is written as {', '.join(FORMATS)}. Got {path.name!r} instead.")
    folder = path.absolute().parent
    if not folder.is_dir():
        raise OutputError("the folder for the chart does not exist.", file=str(path))
    if path.is_dir() or not os.access(folder, os.W_OK):
        raise OutputError("the chart cannot be written there.", file=str(path))
    altair()


def save_chart(chart: Any, path: str | Path) -> None:
    """Write a chart in the format that its name ends in. HTML carries its scripts with it and needs no network."""
    path = Path(path)
    check_chart(path)
    options: dict[str, Any] = {"inline": True} if path.suffix.lower() == ".html" else {}
    if path.suffix.lower() == ".png":
        options = {"ppi": 144}
    try:
        chart.save(str(path), format=path.suffix.lower()[1:], **options)
    except OSError as problem:
        raise OutputError(f"the chart could not be written: {problem.strerror}.", file=str(path)) from problem


def plain(chart: Any) -> Any:
    """Little ink: no frame, light grid, readable letters."""
    return (
        chart.configure_view(stroke=None)
        .configure_axis(gridColor="#e6e6e6", domainColor="#888", tickColor="#888", labelFontSize=12, titleFontSize=12)
        .configure_title(anchor="start", fontSize=14, fontWeight="normal")
    )


def spread(heights: list[float], gap: float) -> list[float]:
    """Places for labels, no two nearer than `gap`, each as near to where it belongs as that allows."""
    order = sorted(range(len(heights)), key=heights.__getitem__)
    found = list(heights)
    for _ in range(200):
        moved = False
        for below, above in pairwise(order):
            lacking = gap - (found[above] - found[below])
            if lacking > 1e-9:
                found[below] -= lacking / 2
                found[above] += lacking / 2
                moved = True
        if not moved:
            break
    return found
