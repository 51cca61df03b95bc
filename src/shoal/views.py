"""How facts look in a notebook: a line, and a table below it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape


def counted(number: int, one: str, more: str | None = None) -> str:
    """`1 group`, `2 groups`, `1 234 classes`."""
    return f"{number:,} {one if number == 1 else more or one + 's'}".replace(",", " ")


def facts_html(title: str, facts: Mapping[str, object]) -> str:
    """A table of names and values; nested ones, empty ones and None are left out."""
    rows = [(name, value) for name, value in facts.items() if isinstance(value, bool | int | float | str)]
    return table_html(title, (), [(name.replace("_", " "), _shown(value)) for name, value in rows])


def table_html(title: str, heads: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table with a line above it; the first column is to the left, as names are."""
    head = f"<tr>{''.join(f'<th>{escape(name)}</th>' for name in heads)}</tr>" if heads else ""
    body = "".join(
        "<tr>"
        + f"<td style='text-align:left'>{escape(str(row[0]))}</td>"
        + "".join(f"<td>{escape(str(cell))}</td>" for cell in row[1:])
        + "</tr>"
        for row in rows
    )
    return f"<p><b>{escape(title)}</b></p><table>{head}{body}</table>"


def _shown(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}".replace(",", " ")
    return f"{value:.4g}" if isinstance(value, float) else str(value)
