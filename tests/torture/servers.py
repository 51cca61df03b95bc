"""The same scenarios with a vault on PostgreSQL: the client dies, or is cut off, at the n-th message or file call."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

import psycopg

from tests.torture.worlds import World

HERE, ASIDE = "torture", "torture_aside"
PATIENCE = 60.0


@dataclass(frozen=True)
class ServerWorld(World):
    """Its vault is a database, kept aside as a template."""

    admin: str = ""  # the URL of another database on that server

    def make(self, *, vault: bool) -> None:
        self._run(f"DROP DATABASE IF EXISTS {HERE} WITH (FORCE)", f"CREATE DATABASE {HERE}")
        super().make(vault=vault)

    def keep(self, aside: Path) -> None:
        super().keep(aside)
        self._run(f"DROP DATABASE IF EXISTS {ASIDE}", f"CREATE DATABASE {ASIDE} TEMPLATE {HERE}")

    def put_back(self, aside: Path) -> None:
        super().put_back(aside)
        self._run(f"DROP DATABASE IF EXISTS {HERE} WITH (FORCE)", f"CREATE DATABASE {HERE} TEMPLATE {ASIDE}")

    def settle(self) -> None:
        """The server may still be at what it was told last: what is in flight has landed when it has noticed."""
        asking = f"SELECT count(*) FROM pg_stat_activity WHERE datname = '{HERE}'"
        deadline = time.monotonic() + PATIENCE
        with psycopg.connect(self.admin, autocommit=True) as connection:
            while connection.execute(asking).fetchone() != (0,):
                assert time.monotonic() < deadline, "the server holds on to the dead"
                time.sleep(0.002)

    def _run(self, *statements: str) -> None:
        with psycopg.connect(self.admin, autocommit=True) as connection:
            for statement in statements:
                connection.execute(statement)  # names of our own, no values
