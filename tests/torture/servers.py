"""The same scenarios with a vault on PostgreSQL: the client dies, or is cut off, at the n-th message or file call."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import psycopg

from tests.support.patience import eventually
from tests.torture.worlds import World

HERE, ASIDE = "torture", "torture_aside"


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

    def wait_until_idle(self) -> None:
        """The server may still be at what it was told last: what is in flight has landed when it has noticed."""
        others = f"SELECT count(*) FROM pg_stat_activity WHERE datname = '{HERE}'"
        with psycopg.connect(self.admin, autocommit=True) as connection:
            eventually(lambda: connection.execute(others).fetchone() == (0,), "the server lets go of the dead")

    def _run(self, *statements: str) -> None:
        with psycopg.connect(self.admin, autocommit=True) as connection:
            for statement in statements:
                connection.execute(statement)  # names of our own, no values
