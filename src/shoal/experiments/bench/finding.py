"""Finding: one line of a benchmark."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import NamedTuple


class Finding(NamedTuple):
    """What was measured, what it is held against, and what is wanted of the two."""

    what: str
    measured: float
    unit: str
    beside: float | None = None  # the other way to do the same work, in the same unit
    wanted: str = ""

    @property
    def ratio(self) -> float | None:
        return None if self.beside is None else self.beside / self.measured

    def cells(self) -> list[str]:
        def show(value: float | None) -> str:
            return "" if value is None else f"{value:.4g} {self.unit}"

        return [
            self.what,
            show(self.measured),
            show(self.beside),
            f"{self.ratio:.1f}×" if self.ratio else "",
            self.wanted,
        ]


def best_of(runs: int, work: Callable[[], object]) -> float:
    """The shortest of several runs in seconds: what is longer was the machine's other business."""
    times = []
    for _ in range(runs):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)
