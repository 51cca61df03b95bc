"""Progress: how long work tells what it is doing. The library is silent by default; the command line draws a bar."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar


class Progress:
    """Receives what long work reports. This one says nothing; subclass it to show something."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"  # `help` shows it among the defaults, where an address says nothing

    @staticmethod
    def shown() -> Progress:
        """One that shows a bar: on the page of a notebook, or in a terminal."""
        from shoal.progress_bars import Shown

        return Shown()

    def stage(self, name: str, total: int | None = None) -> None:
        """Work of this kind begins; `total` is how many steps it will take, if that is known."""

    def advance(self, steps: int) -> None:
        """So many more steps are done."""

    def note(self, text: str) -> None:
        """Something worth telling of the work as it is at this moment, in a few words."""


SILENT = Progress()

# Kernels are compiled where they are first called, deep inside: whoever waits is known here.

COMPILING = "compiling, once"
_waiting: ContextVar[Progress] = ContextVar("waiting", default=SILENT)
_seconds = 0.0


@contextmanager
def announced(progress: Progress) -> Iterator[None]:
    """Tell `progress` when something has to be compiled in this block; nothing is said when it is there already."""
    before = _waiting.set(progress)
    try:
        yield
    finally:
        _waiting.reset(before)


@contextmanager
def compiling(why: str = "") -> Iterator[None]:
    """Something is being compiled. `why`: what might have been ready is not."""
    global _seconds
    progress = _waiting.get()
    progress.stage(COMPILING)
    if why:
        progress.note(why)
    start = time.monotonic()
    try:
        yield
    finally:
        _seconds += time.monotonic() - start


def seconds_spent_compiling() -> float:
    """How long this process has waited for the compiler, in all. A time limit is for what comes after."""
    return _seconds
