"""How a release looks in a notebook."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

WIDTH, HEIGHT = 200, 16


def release_html(title: str, losses: Mapping[str, float], notes: Sequence[str] = ()) -> str:
    """A line of facts, a bar per column (how much of it was lost), and what the holder should know."""
    bars = "".join(
        f"<tr><td style='text-align:left'>{escape(name)}</td><td><svg width='{WIDTH}' height='{HEIGHT}'>"
        f"<rect width='{WIDTH}' height='{HEIGHT}' fill='#e8eef2'/>"
        f"<rect width='{WIDTH * share:.1f}' height='{HEIGHT}' fill='#31688e'/></svg></td><td>{share:.1%}</td></tr>"
        for name, share in losses.items()
    )
    told = f"<ul>{''.join(f'<li>{escape(note)}</li>' for note in notes)}</ul>" if notes else ""
    head = "<tr><th>column</th><th colspan='2'>lost</th></tr>"
    return f"<p><b>{escape(title)}</b></p><table>{head}{bars}</table>{told}"
