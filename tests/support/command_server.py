"""The program `shoal` for tests that call it often: a process that has it loaded, and a copy of it (fork) per command.

Each command has arguments, a folder, an environment and streams of its own, and ends with its own exit code. What it
does not have is an interpreter that has just begun: tests/cli/test_full_disks.py tries every command with one.
"""

from __future__ import annotations

import array
import atexit
import json
import os
import select
import socket
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import NoReturn

ROOT = Path(__file__).parents[2]
STREAMS = 3
WIDTH = "200"  # of what is written; read when the program is loaded


def ask(address: str, words: Sequence[str], folder: str, environment: Mapping[str, str], streams: Sequence[int]) -> int:
    """Have a command done, and wait for its end; as `subprocess` tells it: below 0, it was a signal."""
    asked = json.dumps({"words": list(words), "folder": folder, "environment": dict(environment)}).encode()
    with socket.socket(socket.AF_UNIX) as line:
        line.connect(address)
        rights = (socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", streams).tobytes())
        line.sendmsg([len(asked).to_bytes(8, "big")], [rights])
        line.sendall(asked)
        return int(line.makefile().read())


def line_that_asks(address: str) -> list[str]:
    """The beginning of a command line that has `shoal` done, for a shell."""
    return [sys.executable, "-I", "-S", __file__, "ask", address]


@cache
def command_server() -> str:
    """The address of this test process's own, which ends with it."""
    folder = tempfile.TemporaryDirectory(prefix="shoal-commands-")
    address = str(Path(folder.name) / "line")
    server = subprocess.Popen(
        [sys.executable, "-m", "tests.support.command_server", address],
        cwd=ROOT, env={**os.environ, "COLUMNS": WIDTH}, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        start_new_session=True,
    )  # fmt: skip
    assert server.stdin is not None
    assert server.stdout is not None
    assert server.stdout.readline() == b"ready\n"

    def end() -> None:
        server.communicate()  # it ends when nobody can ask any more
        folder.cleanup()

    atexit.register(end)
    return address


def serve(address: str) -> None:
    """Until standard input ends."""
    import shoal.cli.app  # so that whoever becomes a command has it
    import shoal.vault.vault  # noqa: F401
    from shoal.warmup import every_kernel

    every_kernel()  # imports everything that has some
    with socket.socket(socket.AF_UNIX) as door:
        door.bind(address)
        door.listen()
        os.write(1, b"ready\n")
        while door.fileno() in select.select([door.fileno(), 0], [], [])[0]:
            line, _ = door.accept()
            if os.fork() == 0:  # one that waits for the command, and tells how it has ended
                door.close()
                _answer(line)
            line.close()
            while _one_has_ended():
                pass


def _one_has_ended() -> bool:
    try:
        return os.waitpid(-1, os.WNOHANG)[0] != 0
    except ChildProcessError:
        return False


def _answer(line: socket.socket) -> NoReturn:
    try:
        size, streams, _, _ = socket.recv_fds(line, 8, STREAMS)
        with line.makefile("rb") as heard:
            asked = json.loads(heard.read(int.from_bytes(size, "big")))
        pid = os.fork()
        if pid == 0:
            line.close()
            _become(asked, streams)
        line.sendall(str(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])).encode())
    finally:
        os._exit(0)


def _become(asked: dict[str, object], streams: Sequence[int]) -> NoReturn:
    """The command, as a process that has just begun would be it."""
    code = 1
    try:
        for number, stream in enumerate(streams):
            os.dup2(stream, number)
            os.close(stream)
        out, err = sys.stdout, sys.stderr
        kept = (  # as long as this runs: the program puts others before them
            os.fdopen(0, closefd=False),
            os.fdopen(1, "w", encoding=out.encoding, errors=out.errors, closefd=False),
            os.fdopen(2, "w", encoding=err.encoding, errors=err.errors, closefd=False, buffering=1),
        )
        sys.stdin, sys.stdout, sys.stderr = kept
        os.environ.clear()
        os.environ.update(asked["environment"])  # type: ignore[call-overload]
        os.chdir(str(asked["folder"]))
        sys.argv = ["shoal", *asked["words"]]  # type: ignore[misc]
        from shoal.cli import main

        main()
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:
        traceback.print_exc()
    finally:
        try:
            sys.stdout.flush()
            sys.stderr.flush()
        finally:
            os._exit(code)


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["ask", where, *given]:  # for a shell; with nothing imported that is not Python's own
            ended = ask(where, given, str(Path.cwd()), os.environ, range(STREAMS))
            sys.exit(ended if ended >= 0 else 128 - ended)
        case [where]:
            serve(where)
