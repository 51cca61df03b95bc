"""Where compiled kernels are kept: by what they are made of, and never by where the sources lie.

A folder is named after everything that machine code depends on (`marks.py`). In it a file is named after a kernel and
its arguments' types. Each says once more what it belongs to, and has a checksum of its name and content: one that was
put there from elsewhere, was renamed or cut off, is not loaded; nor is one that belongs to another user, for what is in
it is run.
"""

from __future__ import annotations

import contextlib
import hashlib
import inspect
import os
import pickle
import re
import shutil
import stat
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import platformdirs
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompileResult
from numba.core.serialize import dumps

from shoal.compiling import shipped
from shoal.compiling.libraries import code_alone, libraries_of, refuse_within_kernels
from shoal.compiling.marks import PACKAGE, mark

FOLDER = "kernels-"
SUFFIX = ".kernel"
MOST_FOLDERS = 3
LONG_UNUSED = 7 * 24 * 3600  # seconds


def on_ready(name: str, compiled: bool) -> None:
    """Told of every kernel that is ready, compiled just now or not. For who counts them."""


@cache
def cache_folder() -> Path:
    """The folder of this process's kernels. The environment variable NUMBA_CACHE_DIR moves it, as for any program."""
    chosen = os.environ.get("NUMBA_CACHE_DIR")
    try:
        parent = Path(chosen) if chosen else platformdirs.user_cache_path("shoal")
    except RuntimeError:  # nobody's home: nothing is found there, and nothing is kept
        parent = Path(os.devnull)
    folder = parent / f"{FOLDER}{mark().hex()[:16]}"
    with contextlib.suppress(OSError):
        os.utime(folder)  # it was used: see `remove_old`
    return folder


class KernelCache:
    """What Numba asks for compiled versions of one kernel, and gives new ones to."""

    cache_path = ""  # Numba's word for where it is: in more than one folder

    def __init__(self, function: Callable[..., Any]) -> None:
        self._name = f"{function.__module__}.{function.__qualname__}"
        path = Path(inspect.getfile(function))
        # Other sources than the package's are not in the name of the folder.
        self._source = b"" if path.is_relative_to(PACKAGE) else path.read_bytes()

    def _file(self, types: Sequence[object]) -> str:
        key = hashlib.sha256(str(tuple(types)).encode() + self._source).hexdigest()[:24]
        return f"{self._name}-{key}{SUFFIX}"

    def load_overload(self, types: Sequence[object], context: Any) -> Any:
        context.refresh()
        refuse_within_kernels(context.codegen(), self._name)
        content = kept(self._file(types))
        if content is None:
            return None
        with libraries_of(context.codegen(), JITCodeLibrary):
            compiled = CompileResult._rebuild(context, *pickle.loads(content))  # noqa: S301  # ours: see `kept`
        on_ready(self._name, False)
        return compiled

    def save_overload(self, types: Sequence[object], compiled: Any) -> None:
        library, *rest = compiled._replace(type_annotation="")._reduce()  # which are for people, and long
        library = code_alone(library, compiled.fndesc.llvm_cpython_wrapper_name)
        content = dumps((library, *rest))
        with contextlib.suppress(OSError):  # whoever cannot keep it compiles it again
            keep(self._file(types), content)
        on_ready(self._name, True)

    def enable(self) -> None:
        """Numba's, and not used."""

    disable = flush = enable


def kept(name: str) -> bytes | None:
    """What a file holds that belongs to this process; None if there is none."""
    for folder, belongs_to in ((cache_folder(), mark()), *shipped.usable()):
        data = _own_file(folder / name)
        if data is not None and data[:64] == belongs_to + _checksum(name, data[64:]):
            return data[64:]
    return None


def _own_file(path: Path) -> bytes | None:
    """What is in a plain file of this user, or of the one who installed shoal (root); None if there is none."""
    try:
        facts = path.stat()
        trusted = not hasattr(os, "getuid") or facts.st_uid in (os.getuid(), 0, PACKAGE.stat().st_uid)
        return path.read_bytes() if trusted and stat.S_ISREG(facts.st_mode) else None
    except OSError:
        return None


def _checksum(name: str, content: bytes) -> bytes:
    return hashlib.sha256(name.encode() + b"\0" + content).digest()


def keep(name: str, content: bytes) -> None:
    """Write a file, whole or not at all."""
    folder = cache_folder()
    if not folder.exists():
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        remove_old(folder)
    handle, draft = tempfile.mkstemp(dir=folder, prefix=".draft-")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(mark() + _checksum(name, content) + content)
        Path(draft).replace(folder / name)
    except BaseException:
        Path(draft).unlink(missing_ok=True)
        raise


def remove_old(folder: Path) -> None:
    """Kernels of older sources: those that were not used for a week, and all but the last few."""
    named = re.compile(f"{FOLDER}[0-9a-f]{{16}}")  # as `cache_folder` does: other people's folders lie there, too
    others = [path for path in folder.parent.iterdir() if named.fullmatch(path.name) and path != folder]
    others = [path for path in others if path.is_dir() and not path.is_symlink()]
    used = {path: path.stat().st_mtime for path in others}
    others.sort(key=lambda path: used[path])
    for path in others[: max(0, len(others) + 1 - MOST_FOLDERS)]:
        shutil.rmtree(path, ignore_errors=True)
    for path in others:
        if used[path] < time.time() - LONG_UNUSED:
            shutil.rmtree(path, ignore_errors=True)
