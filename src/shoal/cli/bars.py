"""How far long work is: a bar where somebody is watching, lines in a log, nothing where a program reads."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

import rich.progress

import shoal
from shoal.cli.screen import messages, number
from shoal.progress import COMPILING

SECONDS_BETWEEN_LINES = 5.0


class Bar(shoal.Progress):
    """A progress bar: one line per stage, gone when the work is done."""

    def __init__(self, bars: rich.progress.Progress) -> None:
        self._bars = bars
        self._task: rich.progress.TaskID | None = None
        self._name = ""

    def stage(self, name: str, total: int | None = None) -> None:
        if name == self._name and total is None:  # one kernel is compiled after the other
            return
        if self._task is not None:
            self._bars.remove_task(self._task)
        self._task, self._name = self._bars.add_task(name, total=total), name

    def advance(self, steps: int) -> None:
        if self._task is not None:
            self._bars.advance(self._task, steps)

    def note(self, text: str) -> None:
        if self._task is not None:
            self._bars.update(self._task, description=f"{self._name}, {text}")


class Lines(shoal.Progress):
    """For a pipe or a log: a line when something has to be compiled, and now and then one where steps are counted."""

    def __init__(self, *, counting: bool = False) -> None:
        self._counting = counting
        self._told, self._name, self._done, self._total = False, "", 0, 0
        self._reasons: set[str] = set()
        self._last = time.monotonic()

    def stage(self, name: str, total: int | None = None) -> None:
        self._name, self._done, self._total = name, 0, total or 0
        if name == COMPILING and not self._told:
            self._told = True
            self._print("Compiling what this needs, once on this machine; `shoal warmup` does all of it ahead.")

    def note(self, text: str) -> None:
        if self._name == COMPILING and text not in self._reasons:
            self._reasons.add(text)
            self._print(f"({text[0].upper()}{text[1:]}.)")

    def advance(self, steps: int) -> None:
        self._done += steps
        if self._counting and time.monotonic() - self._last >= SECONDS_BETWEEN_LINES:
            self._print(f"{self._name}: {number(self._done)} of {number(self._total)}")

    def _print(self, text: str) -> None:
        self._last = time.monotonic()
        messages.print(text, markup=False, soft_wrap=True)


@contextmanager
def progress(*, as_json: bool, counting: bool = False) -> Iterator[shoal.Progress]:
    """What a command tells while it works, on standard error. `counting`: in a log, too, steps are counted."""
    if as_json:
        yield shoal.Progress()
        return
    if not sys.stderr.isatty():
        yield Lines(counting=counting)
        return
    with rich.progress.Progress(
        rich.progress.SpinnerColumn(),
        rich.progress.TextColumn("{task.description}"),
        rich.progress.BarColumn(),
        rich.progress.TaskProgressColumn(),
        rich.progress.TimeElapsedColumn(),
        console=messages,
        transient=True,
    ) as bars:
        yield Bar(bars)
