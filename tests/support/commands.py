"""The program as a process of its own: its output, or what a person sees on a terminal."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryFile

from tests.support.command_server import WIDTH, ask, command_server


def bare_environment() -> dict[str, str]:
    """What a program has that nobody has prepared a terminal for; and where code and kernels lie, if that was said."""
    kept = ("HOME", "PATH", "PYTHONPATH", "NUMBA_CACHE_DIR", "XDG_CACHE_HOME")
    return {name: os.environ[name] for name in kept if name in os.environ}


def run(*words: str | Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    command, environment = [*map(str, words)], {**os.environ, "COLUMNS": WIDTH}
    with Path(os.devnull).open() as nothing, TemporaryFile("w+") as out, TemporaryFile("w+") as err:
        streams = nothing.fileno(), out.fileno(), err.fileno()
        code = ask(command_server(), command, str(cwd), environment, streams)
        out.seek(0)
        err.seek(0)
        return subprocess.CompletedProcess(command, code, out.read(), err.read())


def run_in_terminal(*words: str | Path, cwd: Path) -> str:
    """What a person sees: both streams on a terminal."""
    outer, inner = pty.openpty()
    command = [sys.executable, "-c", "from shoal.cli import main; main()", *map(str, words)]
    environment = {**os.environ, "COLUMNS": "200", "TERM": "xterm"}
    with subprocess.Popen(command, stdout=inner, stderr=inner, stdin=inner, cwd=cwd, env=environment):
        os.close(inner)
        seen = b""
        while True:
            try:
                part = os.read(outer, 65536)
            except OSError:  # the other end is closed
                break
            if not part:
                break
            seen += part
    os.close(outer)
    return seen.decode()


def run_code(code: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run the program from a few lines of Python that tamper with it first."""
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=cwd, check=False)
