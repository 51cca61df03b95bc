"""A PostgreSQL of our own, thrown away after the tests: no test ever meets a server that somebody uses."""

from __future__ import annotations

import itertools
import os
import pwd
import shutil
import socket
import subprocess
import tempfile
from pathlib import Path

import psycopg
from psycopg import sql

from tests.support.patience import eventually

ROLE = "shoal"
SETTINGS = """
listen_addresses = '127.0.0.1'
unix_socket_directories = ''
shared_buffers = 32MB
max_connections = 60
"""
# Waits for a line, or for the end of the process that would have written it.
GUARD = """
exec > /dev/null 2>&1
read -r _
"$1/pg_ctl" stop --mode=immediate --pgdata="$2/data"
rm -rf "$2"
"""


LONGEST_START = 600  # seconds


def programs() -> Path | None:
    """The folder of PostgreSQL's programs: that of the initdb on PATH, else Debian's newest, which is not on PATH."""
    versions = [path for path in Path("/usr/lib/postgresql").glob("*") if path.name.isdecimal()]
    found = [path / "bin/initdb" for path in sorted(versions, key=lambda path: int(path.name), reverse=True)]
    if on_path := shutil.which("initdb"):
        found.insert(0, Path(on_path))
    for initdb in found:
        folder = initdb.resolve().parent  # a link to initdb may stand alone; its target has the others beside it
        if all((folder / name).is_file() for name in ("initdb", "pg_ctl", "postgres")):
            return folder
    return None


class Server:
    """A PostgreSQL on 127.0.0.1 with a port and a folder of its own; once made, it accepts connections.

    `stop()` ends it and removes the folder. So does the end of the process that made it, even by SIGKILL: a guard, a
    process of its own, waits for either. Only the server in that folder is ever stopped.

    fsync stays on: a commit must mean here what it means to a user.
    """

    def __init__(self, binaries: Path) -> None:
        self._binaries = binaries
        self._account = _account()
        self._numbers = itertools.count(1)
        # Not TMPDIR: the folder may have to be handed to another user, who must be able to reach it.
        self.folder = Path(tempfile.mkdtemp(prefix="shoal-postgres-", dir="/tmp"))
        if self._account:
            os.chown(self.folder, self._account.pw_uid, self._account.pw_gid)
        # In a session of its own, so that Ctrl-C reaches the tests and not the guard.
        self._guard = self._spawn("sh", "-c", GUARD, "guard", str(binaries), str(self.folder), new_session=True)
        try:
            self._run("initdb", "--encoding=UTF8", "--locale=C", "--auth=trust", f"--username={ROLE}", "--no-sync")
            with (self.folder / "data/postgresql.conf").open("a") as settings:
                settings.write(SETTINGS)
            self.port = self._start()
        except BaseException:
            self.stop()
            raise

    def url(self, database: str) -> str:
        return f"postgresql://{ROLE}@127.0.0.1:{self.port}/{database}"

    def create_database(self) -> str:
        """The URL of a new, empty database; it lives as long as the server."""
        name = f"test_{next(self._numbers)}"
        with psycopg.connect(self.url("postgres"), autocommit=True) as connection:
            connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
        return self.url(name)

    def restart(self) -> None:
        """Crash and come back on the same port: every connection is cut, nothing is flushed, the log is replayed.

        On return it accepts connections, however long that took.
        """
        self._pg_ctl("restart", "--mode=immediate")
        eventually(self._answers, "the server answers after a crash")

    def stop(self) -> None:
        """End the server and remove its folder; a second call does nothing."""
        if self._guard.returncode is None:
            self._guard.communicate("\n")

    def _start(self, attempts: int = 3) -> int:
        """The port on which it now listens. Somebody else may take a free port before we do: then try another."""
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port: int = probe.getsockname()[1]
        try:
            self._pg_ctl("start", f"--options=-p {port}")  # kept by the server: a restart uses it again
        except RuntimeError:
            if attempts == 1:
                raise
            return self._start(attempts - 1)
        return port

    def _answers(self) -> bool:
        try:
            psycopg.connect(self.url("postgres")).close()
        except psycopg.OperationalError:  # still at its log
            return False
        return True

    def _pg_ctl(self, *words: str) -> None:
        # Without a log of its own the server would hold our pipe, and we would wait for its end.
        # And it is there when it is ready, which may take a while where the disk is busy.
        self._run("pg_ctl", *words, "--wait", f"--timeout={LONGEST_START}", f"--log={self.folder / 'log'}")

    def _run(self, program: str, *words: str) -> None:
        process = self._spawn(str(self._binaries / program), *words, f"--pgdata={self.folder / 'data'}")
        said, _ = process.communicate()
        if process.returncode:
            log = self.folder / "log"
            raise RuntimeError(f"{program} failed.\n{said}\n{log.read_text() if log.exists() else ''}")

    def _spawn(self, *command: str, new_session: bool = False) -> subprocess.Popen[str]:
        # The caller's PGPORT, PGDATA, PGOPTIONS, … are about some other server.
        environment = {name: value for name, value in os.environ.items() if not name.startswith("PG")}
        return subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            cwd=self.folder,
            env=environment | {"LC_ALL": "C"},
            user=self._account.pw_uid if self._account else None,
            group=self._account.pw_gid if self._account else None,
            extra_groups=[] if self._account else None,
            start_new_session=new_session,
        )


def _account() -> pwd.struct_passwd | None:
    """The user to run PostgreSQL as, if it cannot be us: it refuses to run as root."""
    if os.geteuid() != 0:
        return None
    try:
        return pwd.getpwnam("postgres")
    except KeyError:
        return pwd.getpwnam("nobody")
