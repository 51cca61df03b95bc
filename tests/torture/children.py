"""Children that may die: each begins as a copy of a process that has everything loaded and compiled (fork)."""

from __future__ import annotations

import json
import os
import signal
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import shoal
from tests.support.patience import PATIENCE

Say = Callable[..., None]


class Ended(NamedTuple):
    """What a child has said until its end."""

    said: list[dict[str, Any]]
    signal: int  # 0: it has ended by itself

    def told(self, word: str) -> Any:
        """What it has said last under this word."""
        return next((line[word] for line in reversed(self.said) if word in line), None)

    def first(self, word: str) -> Any:
        return next((line[word] for line in self.said if word in line), None)

    @property
    def killed(self) -> bool:
        return self.signal == signal.SIGKILL


def in_child(work: Callable[[int, Say], None]) -> Ended:
    """Do it in a child. `work` gets the handle to which it speaks, and a function that speaks: say(word=what)."""
    ear, mouth = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(ear)
        signal.alarm(int(PATIENCE))  # ends it if it hangs
        _live(work, mouth)
    os.close(mouth)
    with os.fdopen(ear, "rb") as heard:
        content = heard.read()
    _, status = os.waitpid(pid, 0)
    said = [json.loads(line) for line in content.splitlines(keepends=True) if line.endswith(b"\n")]
    return Ended(said, os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0)


def _live(work: Callable[[int, Say], None], mouth: int) -> None:
    def say(**words: Any) -> None:
        os.write(mouth, json.dumps(words).encode() + b"\n")

    try:
        work(mouth, say)
    except shoal.ShoalError as error:
        say(error=type(error).__name__, message=str(error))
    except BaseException as error:
        say(raw=f"{type(error).__name__} at {_place(error)}")
    finally:
        os._exit(0)


def _place(error: BaseException) -> str:
    """Where in shoal it was raised, or in the tests."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = [frame for frame in frames if "/shoal/" in frame.filename] or frames
    return f"{Path(ours[-1].filename).name}:{ours[-1].lineno}"
