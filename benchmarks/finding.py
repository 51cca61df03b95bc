"""Finding: one line of a benchmark."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple


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
            if value is None:
                return ""
            number = f"{value:.4g}" if value < 10_000 else f"{value:,.0f}".replace(",", " ")
            return f"{number} {self.unit}"

        return [
            self.what,
            show(self.measured),
            show(self.beside),
            f"{self.ratio:.{1 if self.ratio >= 10 else 3}f}×" if self.ratio else "",
            self.wanted,
        ]


def in_its_own_process(module: str, *arguments: object) -> dict[str, Any]:
    """Run a module by itself, so that its memory is its own; what it prints as JSON."""
    command = [sys.executable, "-m", module, *map(str, arguments)]
    here = Path(__file__).parents[1]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=here)  # noqa: S603  # our own module
    return json.loads(done.stdout)


def peak_memory() -> float:
    """The most memory that this process has had, in GiB (Linux counts in KiB)."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def best_of(runs: int, work: Callable[[], object]) -> float:
    """The shortest of several runs in seconds: what is longer was the machine's other business."""
    times = []
    for _ in range(runs):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)
