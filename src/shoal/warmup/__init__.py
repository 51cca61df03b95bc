"""Warming up: every kernel compiled before anybody waits for it, on all cores.

Who installs a wheel with kernels in it has nothing to do. From source, and where a wheel's kernels are not for this
machine, this is what takes the time of the first run.
"""

from __future__ import annotations

import contextlib
import importlib
import multiprocessing
import os
import pkgutil
import queue
import time
from concurrent.futures import Future, ProcessPoolExecutor
from typing import Any, NamedTuple

from shoal.progress import SILENT, Progress

SECONDS_BETWEEN_LOOKS = 0.2
ALL_THERE = "all-there"  # a file: how many kernels there are when all are


class Warmed(NamedTuple):
    """What came of it."""

    kernels: int
    compiled: int  # of them, now
    seconds: float


def warm_up(progress: Progress = SILENT, *, processes: int | None = None) -> Warmed:
    """Compile every kernel that is not there yet. `processes`: so many at once; by default one for each core."""
    from shoal.warmup.paths import PATHS  # loads Numba

    start = time.monotonic()
    names = every_kernel()
    if all_there(len(names)):
        return Warmed(len(names), 0, time.monotonic() - start)
    progress.stage("compiling", len(names))
    ready: dict[str, bool] = {}
    context = multiprocessing.get_context("spawn")
    told: Any = context.Queue()
    count = min(len(PATHS), processes or os.cpu_count() or 1)
    with ProcessPoolExecutor(count, context, _begin, (told,)) as workers:
        walks = [workers.submit(_walk, number) for number in range(len(PATHS))]
        while not _all_done(walks) or not told.empty():
            try:
                name, compiled = told.get(timeout=SECONDS_BETWEEN_LOOKS)
            except queue.Empty:
                continue
            if name in names and name not in ready:
                progress.advance(1)
            ready[name] = compiled or ready.get(name, False)
        for walk in walks:
            walk.result()
    note_all_there()
    return Warmed(len(names), sum(ready.values()), time.monotonic() - start)


def every_kernel() -> list[str]:
    """The names of all kernels that there are."""
    from shoal.compiling import KERNELS  # loads Numba
    from shoal.compiling.marks import ROOMS

    for room in ROOMS:
        package = importlib.import_module(f"shoal.{room}")
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            importlib.import_module(module.name)
    return [name for name in KERNELS if name.startswith("shoal.")]


def all_there(count: int) -> bool:
    """Whether every kernel came with the package, or has been compiled here before and is still there."""
    from shoal.compiling import cache, shipped  # loads Numba

    if shipped.usable():
        return not shipped.why_not()
    folder = cache.cache_folder()
    try:
        noted = int((folder / ALL_THERE).read_text(encoding="ascii"))
    except (OSError, ValueError):
        return False
    return noted >= count and len(list(folder.glob(f"shoal.*{cache.SUFFIX}"))) >= noted


def note_all_there() -> None:
    from shoal.compiling import cache  # loads Numba

    folder = cache.cache_folder()
    with contextlib.suppress(OSError):  # where nothing can be kept, there is nothing to note
        kept = len(list(folder.glob(f"shoal.*{cache.SUFFIX}")))
        (folder / ALL_THERE).write_text(str(kept), encoding="ascii")


def _all_done(walks: list[Future[None]]) -> bool:
    return all(walk.done() for walk in walks)


def _begin(told: Any) -> None:
    """In another process: whatever becomes ready is told."""
    from shoal.compiling import cache  # loads Numba

    cache.on_ready = lambda name, compiled: told.put((name, compiled))


def _walk(number: int) -> None:
    from shoal.warmup.paths import walk  # loads Numba

    walk(number)
