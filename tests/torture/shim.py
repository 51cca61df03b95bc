"""The shim (shim.c) from Python: compiled with the system's compiler, and armed by those who have it loaded."""

from __future__ import annotations

import ctypes
import errno
import os
import shutil
import subprocess
import sys
from enum import IntEnum
from pathlib import Path
from typing import NamedTuple

SOURCE = Path(__file__).with_name("shim.c")
PRELOAD = "LD_PRELOAD"
MISSING = "no C compiler (cc): nothing can be killed or made to fail at a call of the system"


class Do(IntEnum):
    """As in shim.c."""

    COUNT = 0
    KILL_BEFORE = 1
    KILL_AFTER = 2
    FAIL_ONCE = 3
    FAIL_ON = 4  # this call, and all that follow
    SHORT = 5


class Action(NamedTuple):
    """What happens at the n-th call."""

    do: Do
    error: int = 0

    def __str__(self) -> str:
        kinds = {
            Do.COUNT: "counted",
            Do.KILL_BEFORE: "killed before it",
            Do.KILL_AFTER: "killed after it",
            Do.FAIL_ONCE: f"{errno.errorcode.get(self.error)} once",
            Do.FAIL_ON: f"{errno.errorcode.get(self.error)} from there on",
            Do.SHORT: "half of it is written",
        }
        return kinds[self.do]


KILLS = (Action(Do.KILL_BEFORE), Action(Do.KILL_AFTER))
FAILURES = (
    Action(Do.FAIL_ONCE, errno.EIO),
    Action(Do.FAIL_ON, errno.ENOSPC),
    Action(Do.FAIL_ONCE, errno.EACCES),
    Action(Do.FAIL_ONCE, errno.ENOSPC),
    Action(Do.FAIL_ONCE, errno.EINTR),
    Action(Do.SHORT),
    Action(Do.FAIL_ON, errno.EIO),
)
LOST = (Action(Do.FAIL_ONCE, errno.EPIPE),)  # of a server: the connection is cut


def compiler() -> str | None:
    return shutil.which("cc") if sys.platform == "linux" else None


def compiled(folder: Path) -> Path:
    """The shim as a library in this folder."""
    cc, library = compiler(), folder / "shim.so"
    if cc is None:
        raise RuntimeError(MISSING)
    command = [cc, "-shared", "-fPIC", "-O1", "-Wall", "-Wextra", "-Werror", "-o", str(library), str(SOURCE), "-ldl"]
    subprocess.run(command, check=True)
    return library


class Shim:
    """The library that this process was started with."""

    def __init__(self) -> None:
        self._library = ctypes.CDLL(None)
        if not hasattr(self._library, "torture_arm"):
            raise RuntimeError("the shim is not loaded: start with python -m tests.torture")
        self._library.torture_count.restype = ctypes.c_long
        os.environ.pop(PRELOAD, None)  # no child program needs it

    def arm(self, folder: Path, nth: int, action: Action, report: int, *, sockets: bool) -> None:
        """From now on calls are counted. What happens at the n-th is said on the handle `report` first."""
        path = os.fsencode(folder.resolve())
        self._library.torture_arm(path, sockets, ctypes.c_long(nth), action.do, action.error, report)

    def disarm(self) -> None:
        self._library.torture_disarm()

    def count(self) -> int:
        """Calls since `arm`."""
        return int(self._library.torture_count())
