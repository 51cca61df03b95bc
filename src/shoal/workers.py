"""Workers: threads that do the parts of one piece of work side by side. Kernels release Python's lock.

What comes out never depends on how many there are: work is divided by what it is, every part writes to places of its
own, and whoever puts the parts together does so in their order. Since it only says how long something takes, the number
is not handed from function to function: it is set where a call comes in (`using`) and asked where work is divided
(`side_by_side`).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from contextvars import ContextVar, copy_context
from functools import cache
from pathlib import Path
from typing import TypeVar

from shoal.errors import whole_number

T = TypeVar("T")
R = TypeVar("R")
MOST = 1_024
PARTS = 4  # of the work, for every worker: one that was kept waiting leaves the last to the others
QUOTA = Path("/sys/fs/cgroup/cpu.max")

_chosen: ContextVar[int | None] = ContextVar("workers", default=None)
_threads: dict[int, ThreadPoolExecutor] = {}


@contextmanager
def using(workers: int | None) -> Iterator[None]:
    """So many workers in this block; None: as many as was said further out, or as there are cores."""
    if workers is None:
        yield
        return
    token = _chosen.set(checked(workers))
    try:
        yield
    finally:
        _chosen.reset(token)


def checked(workers: int | None) -> int | None:
    return None if workers is None else min(MOST, whole_number("workers", workers, least=1))


def count() -> int:
    """How many workers there are here."""
    return _chosen.get() or cores()


@cache
def cores() -> int:
    """The cores that this process may use, and no more than a container grants it."""
    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    with suppress(OSError, ValueError):
        quota, period = QUOTA.read_text().split()
        allowed = min(allowed, max(1, round(int(quota) / int(period))))
    return max(1, min(MOST, allowed))


def side_by_side(work: Callable[[int, int], object], items: int, *, least: int = 1) -> None:
    """Call `work(first, last)` for parts that make up range(items), none smaller than `least`; once, where it is empty.

    Returns when all are done. If one fails, or this is interrupted, no further part is begun, and that is raised.
    """
    workers = count()
    parts = max(1, min(items // least, PARTS * workers)) if workers > 1 else 1
    spans = [(items * i // parts, items * (i + 1) // parts) for i in range(parts)]
    if parts == 1:
        work(0, items)
        return
    waiting = iter(spans)  # `next` of a list's iterator is one step for Python's lock

    def some() -> None:
        for first, last in waiting:
            work(first, last)

    helpers = min(workers, parts) - 1
    others: list[Future[None]] = [_pool(workers).submit(copy_context().run, _alone, some) for _ in range(helpers)]
    token = _chosen.set(1)  # who asks is one of the workers
    try:
        some()
    finally:
        _chosen.reset(token)
        for _ in waiting:
            pass
        failed = [error for other in others if not other.cancel() and (error := other.exception()) is not None]
    if failed:
        raise failed[0]


def mapped(work: Callable[[T], R], items: Iterable[T]) -> list[R]:
    """What `work` makes of each, in their order: for a few that take long. If some fail, the first is heard."""
    given = list(items)
    made: list[R | None] = [None] * len(given)
    failed: dict[int, Exception] = {}

    def some(first: int, last: int) -> None:
        for i in range(first, last):
            try:
                made[i] = work(given[i])
            except Exception as error:
                failed[i] = error

    side_by_side(some, len(given))
    if failed:
        raise failed[min(failed)]
    return made  # type: ignore[return-value]  # none is missing


def _alone(work: Callable[[], None]) -> None:
    """In a worker: what it does is not divided further. Who waits for a compiler is known there as well."""
    _chosen.set(1)
    work()


def _pool(workers: int) -> ThreadPoolExecutor:
    if workers not in _threads:
        _threads[workers] = ThreadPoolExecutor(workers - 1, "shoal")
    return _threads[workers]


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_threads.clear)  # a child has none of its parent's threads
