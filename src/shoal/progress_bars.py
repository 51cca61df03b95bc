"""A bar for whoever watches from Python: in a notebook an element of the page, in a terminal a line, else nothing.

The command line has bars of its own (`cli/bars.py`).
"""

from __future__ import annotations

import sys
import time
from html import escape
from typing import Any

from shoal.progress import Progress

SECONDS_BETWEEN = 0.2


class Shown(Progress):
    """Shows the stage, and how far it is. One place on the page or one line, whatever comes."""

    def __init__(self) -> None:
        self._name, self._note, self._done, self._total = "", "", 0, 0
        self._last = 0.0
        self._handle = _display()

    def stage(self, name: str, total: int | None = None) -> None:
        self._name, self._note, self._done, self._total = name, "", 0, total or 0
        self._draw()

    def advance(self, steps: int) -> None:
        self._done += steps
        if time.monotonic() - self._last >= SECONDS_BETWEEN:
            self._draw()

    def note(self, text: str) -> None:
        self._note = text
        self._draw()

    def _draw(self) -> None:
        self._last = time.monotonic()
        said = f"{self._name}, {self._note}" if self._note else self._name
        if self._handle is not None:
            bar = f"<progress value='{self._done}' max='{self._total}'></progress> " if self._total else ""
            self._handle.update({"text/html": f"{bar}{escape(said)}", "text/plain": said}, raw=True)
        elif sys.stderr.isatty():
            share = f" {self._done / self._total:.0%}" if self._total else ""
            print(f"\r\x1b[K{said}{share}", end="", file=sys.stderr, flush=True)  # noqa: T201  # it was asked for


def _display() -> Any:
    """A place on the page of a notebook; None where there is none."""
    shell = sys.modules.get("IPython")
    if shell is None or getattr(shell.get_ipython(), "kernel", None) is None:
        return None
    return shell.display.display({"text/plain": ""}, raw=True, display_id=True)
