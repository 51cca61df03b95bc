"""Compiling kernels: once per machine, kept in the user's cache folder, and said so while it happens.

This is the only module that other rooms' kernels get Numba through. The cache lies in a folder named after the
kernels' sources: Numba looks only at the file a kernel stands in, not at the files of the kernels it calls, and would
go on running an old copy of those.
"""

from __future__ import annotations

import atexit
import hashlib
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import numba
import numba.core.event as numba_events
import numpy as np
import platformdirs

from shoal.progress import Progress

F = TypeVar("F", bound=Callable[..., Any])

PACKAGE = Path(__file__).parent


def sources_digest() -> str:
    """Names what kernels are made of: with other sources they may do other things."""
    digest = hashlib.sha256(numba.__version__.encode())
    for file in ("compiling.py", "structs.py"):  # how kernels are compiled
        digest.update((PACKAGE / file).read_bytes())
    for room in ("boxes", "privacy", "optimize", "cluster", "withholding", "maintain"):
        for path in sorted((PACKAGE / room).rglob("*.py")):
            digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def cache_folder() -> Path:
    """Where compiled kernels are kept. The environment variable NUMBA_CACHE_DIR moves it, as for any Numba program."""
    chosen = os.environ.get("NUMBA_CACHE_DIR")
    return Path(chosen) if chosen else platformdirs.user_cache_path("shoal") / f"kernels-{sources_digest()}"


def _writable_cache() -> str:
    """The cache folder; where it cannot be written, one for this process alone.

    Left to itself Numba would write beside the sources. A shared temporary folder would let others plant code in it.
    """
    folder = cache_folder()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return str(folder)
    except OSError:
        own = tempfile.mkdtemp(prefix="shoal-kernels-")
        atexit.register(shutil.rmtree, own, ignore_errors=True)
        return own


_CACHE = _writable_cache()


def kernel(function: F) -> F:
    """Compile a function to machine code when it is first called, and keep the code for the next time."""
    return _compiled(function)


def inner(function: F) -> F:
    """A kernel that only kernels call: it is compiled without a way in from Python."""
    return _compiled(function, no_cpython_wrapper=True, no_cfunc_wrapper=True)


def inlined(function: F) -> F:
    """A kernel that becomes part of those that call it: for small ones that are given many arrays.

    A call counts the references to every array that it hands over, which costs more than a short function's own work.
    """
    return _compiled(function, inline="always")


def _compiled(function: F, **options: Any) -> F:
    # Numba reads its cache folder from one global setting: ours must not become everybody's.
    before = numba.config.CACHE_DIR
    numba.config.CACHE_DIR = _CACHE
    try:
        return numba.njit(cache=True, nogil=True, **options)(function)
    finally:
        numba.config.CACHE_DIR = before


def constant(number: int) -> int:
    """A whole number that kernels call each other with. Numba compiles a kernel once more for every literal."""
    return np.int64(number)  # type: ignore[return-value]  # for Python it is as good as an int


ZERO = constant(0)


class _Announcer(numba_events.Listener):  # type: ignore[misc]  # Numba is untyped
    def __init__(self, progress: Progress) -> None:
        self._progress = progress

    def on_start(self, event: object) -> None:
        self._progress.stage("compiling, once")

    def on_end(self, event: object) -> None:
        pass


@contextmanager
def announced(progress: Progress) -> Iterator[None]:
    """Tell `progress` when a kernel has to be compiled; nothing is said when it comes from the cache."""
    with numba_events.install_listener("numba:compile", _Announcer(progress)):
        yield
