"""The PostgreSQL that other tests rely on: databases are fresh, a crash is a crash, and nothing stays behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import psycopg
import pytest

from tests.support.patience import eventually
from tests.support.postgres import Server, programs

ROOT = Path(__file__).parents[2]


def test_every_database_is_fresh(postgres_server: Server, postgres_url: str) -> None:
    other = postgres_server.create_database()
    assert other != postgres_url
    for url in (postgres_url, other):
        with psycopg.connect(url) as connection:
            connection.execute("CREATE TABLE t (word text)")
            encoding = connection.execute("SHOW server_encoding").fetchone()
            durable = connection.execute("SHOW fsync").fetchone()
        assert (encoding, durable) == (("UTF8",), ("on",))


def test_a_crash_loses_no_committed_row_and_keeps_no_other(postgres_server: Server, postgres_url: str) -> None:
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute("CREATE TABLE t (word text)")
        connection.execute("INSERT INTO t VALUES ('committed')")
    pending = psycopg.connect(postgres_url)
    pending.execute("INSERT INTO t VALUES ('pending')")
    postgres_server.restart()
    with pytest.raises(psycopg.OperationalError):
        pending.commit()
    pending.close()
    with psycopg.connect(postgres_url) as connection:
        assert connection.execute("SELECT word FROM t").fetchall() == [("committed",)]


def test_a_stopped_server_is_gone(postgres_server: Server) -> None:
    server = Server(programs() or Path())
    url = server.create_database()
    server.stop()
    server.stop()
    assert not server.folder.exists()
    with pytest.raises(psycopg.OperationalError):
        psycopg.connect(url)
    psycopg.connect(postgres_server.url("postgres")).close()  # the other one was left alone


@pytest.mark.usefixtures("postgres_server")  # skips where there is no PostgreSQL
def test_a_server_does_not_outlive_a_killed_process() -> None:
    code = (
        "from tests.support.postgres import *; s = Server(programs()); "
        "print(s.folder, s.url('postgres'), flush=True); input()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout
        folder, url = process.stdout.readline().split()
        psycopg.connect(url).close()
        os.kill(process.pid, signal.SIGKILL)
    eventually(lambda: not Path(folder).exists(), "the guard removes what the server left")
    with pytest.raises(psycopg.OperationalError):
        psycopg.connect(url)
