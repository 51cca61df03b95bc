"""What comes from outside (names of columns and files, labels, words of the command) is shown, never obeyed.

A name may hold what a terminal takes for an order: to change the title, to hide a line, to write from right to left.
Everything that commands print goes through here, and such characters are shown as Python writes them: `\\x1b`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any

from rich.console import Console, ConsoleOptions, RenderableType
from rich.measure import Measurement
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

# Controls (C0, DEL, C1), line and paragraph separators, what changes the direction of writing, halves of characters.
ORDERS = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
WIDEST = 1000  # columns of a table in a file
NAMED = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}


def harmless(text: str, *, lines: bool = False) -> str:
    """A text that a terminal shows and does not obey. `lines`: its line breaks are meant."""
    return ORDERS.sub(lambda found: found[0] if lines and found[0] == "\n" else _shown(found[0]), text)


def json_text(facts: object, *, indent: int | None = None) -> str:
    """JSON that can be read on a terminal; a program reads the same from it."""
    text = json.dumps(facts, ensure_ascii=False, indent=indent)
    # In strings JSON has escaped what is below 32; line breaks between them are its own.
    return ORDERS.sub(lambda found: found[0] if found[0] == "\n" else f"\\u{ord(found[0]):04x}", text)


def _shown(sign: str) -> str:
    number = ord(sign)
    return NAMED.get(sign) or (f"\\x{number:02x}" if number < 0x100 else f"\\u{number:04x}")


class Screen(Console):
    """A console for texts from anywhere. A text is one line; what has several is printed line by line."""

    def print(self, *objects: Any, **how: Any) -> None:
        """In a pipe or a file lines are as long as they are, and tables as wide; on a terminal words wrap whole."""
        tables = [one for one in objects if isinstance(one, Table)]
        for column in (column for table in tables for column in table.columns):
            column.overflow = "fold"  # all of a word is shown
        if not self.is_terminal and tables:
            widest = max(Measurement.get(self, self.options.update(width=WIDEST), table).maximum for table in tables)
            how.setdefault("width", max(self.width, widest))
        elif not self.is_terminal:
            how.setdefault("soft_wrap", True)
        super().print(*objects, **how)

    def render_str(self, text: str, **how: Any) -> Text:
        return super().render_str(harmless(text), **how)

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """Whatever became a segment without being a text here: progress, texts that are styled already."""
        for segment in super().render(renderable, options):
            if segment.control or not ORDERS.search(segment.text):
                yield segment
            else:
                yield Segment(harmless(segment.text, lines=True), segment.style)
