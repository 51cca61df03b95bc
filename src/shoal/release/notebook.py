"""How a release looks in a notebook."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape

WIDTH, HEIGHT = 200, 16


def release_html(title: str, losses: Mapping[str, float]) -> str:
    """A line of facts, and a bar per column: how much of it was lost."""
    bars = "".join(
        f"<tr><td style='text-align:left'>{escape(name)}</td><td><svg width='{WIDTH}' height='{HEIGHT}'>"
        f"<rect width='{WIDTH}' height='{HEIGHT}' fill='#e8eef2'/>"
        f"<rect width='{WIDTH * share:.1f}' height='{HEIGHT}' fill='#31688e'/></svg></td><td>{share:.1%}</td></tr>"
        for name, share in losses.items()
    )
    return f"<p><b>{escape(title)}</b></p><table><tr><th>column</th><th colspan='2'>lost</th></tr>{bars}</table>"
