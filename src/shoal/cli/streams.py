"""Standard output and standard error, which may be on a full disk, or closed: what could not be written is told once.

A failing write raises nothing here. It is kept until somebody asks (`lost`), so a command ends as it would have, and
Python, which writes what is buffered when it ends, has nothing left to fail on.
"""

from __future__ import annotations

import errno
import io
import os
import sys
from typing import Any, TextIO

_watched: list[_Watched] = []


def watch() -> None:
    """From now on, whatever the process says goes through here. Once, when the program starts."""
    # The number of a closed one would be given to the next file that is opened, and some library might write its
    # complaints there. It is taken in the wrong mode: to use it fails, as to use a closed one does.
    if sys.stdin is None:
        os.open(os.devnull, os.O_WRONLY)
    sys.stdout = _through(sys.stdout, "standard output")
    sys.stderr = _through(sys.stderr, "standard error")


def lost() -> str | None:
    """In words, what could not be written since somebody asked last; None if all that was said was written."""
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    found = [stream for stream in _watched if stream.problem is not None and not stream.told]
    for stream in found:
        stream.told = True
    return found[0].complaint() if found else None


class _Watched(io.RawIOBase):
    """Takes everything. After the first failure it writes no more: a part that is missing is not followed by others."""

    def __init__(self, raw: Any, name: str) -> None:
        self._raw, self._name = raw, name
        self.problem: OSError | None = None
        self.told = False

    def write(self, data: Any) -> int:
        if self.problem is None:
            try:
                written = self._raw.write(data)
                if written is None:
                    raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))
                return int(written)
            except OSError as problem:
                self.problem = problem
        return len(data)

    def complaint(self) -> str:
        assert self.problem is not None
        return f"{self._name} could not be written: {self.problem.strerror or type(self.problem).__name__}."

    def writable(self) -> bool:
        return True

    def fileno(self) -> int:
        return int(self._raw.fileno())

    def isatty(self) -> bool:
        return bool(self._raw.isatty())


def _through(stream: Any, name: str) -> TextIO:
    """The same stream, watched. None: Python has found it closed."""
    binary = stream.buffer if stream else io.FileIO(os.open(os.devnull, os.O_RDONLY), "w", closefd=False)
    watched = _Watched(getattr(binary, "raw", binary), name)  # an unbuffered one is raw itself
    _watched.append(watched)
    return io.TextIOWrapper(
        io.BufferedWriter(watched),
        encoding=stream.encoding if stream else "utf-8",
        errors="replace",  # a terminal without ✓ is no reason to fail
        line_buffering=bool(stream) and (stream.line_buffering or stream.write_through),
    )
