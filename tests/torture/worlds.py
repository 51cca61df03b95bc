"""A small world: a vault with a history, and a folder that files are written to. It is made once, kept aside, and put
back before every attempt, at the same path (a vault knows where its releases went).
"""

from __future__ import annotations

import hashlib
import json
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import shoal
from tests.support.live_tables import as_table, make_row
from tests.support.vault_worker import Script, exported, sizes

SCRIPT, STEPS = Script(4), 6  # with a release as CSV and one as Parquet, and a change after the last
OWN = ("", "-wal", "-shm", "-journal", ".lock", ".head")  # what a vault may have beside it

State = dict[str, Any]


@dataclass(frozen=True)
class World:
    folder: Path
    url: str | None = None  # of a vault on a server

    @property
    def where(self) -> str:
        return self.url or str(self.folder / "vault")

    @property
    def out(self) -> Path:
        return self.folder / "out"

    def make(self, *, vault: bool) -> None:
        """From nothing."""
        made = self.folder.with_name("made")
        shutil.rmtree(self.folder, ignore_errors=True)
        if vault and self.url is None and made.exists():  # by an earlier one at this path
            shutil.copytree(made, self.folder)
            return
        self.out.mkdir(parents=True)
        if vault:
            SCRIPT.create(self.where).close()
            self.go_on(1, STEPS)
        if vault and self.url is None:
            shutil.copytree(self.folder, made)

    def go_on(self, first: int, last: int) -> None:
        with shoal.Vault.open(self.where) as vault:
            for number in range(first, last + 1):
                SCRIPT.step(number).do(vault, self.out)

    def keep(self, aside: Path) -> None:
        shutil.rmtree(aside, ignore_errors=True)
        shutil.copytree(self.folder, aside, symlinks=True)

    def put_back(self, aside: Path) -> None:
        shutil.rmtree(self.folder)
        shutil.copytree(aside, self.folder, symlinks=True)

    def wait_until_idle(self) -> None:
        """Wait until nothing is in flight any more: files do not fly."""

    def files(self) -> set[str]:
        """Everything in it, but for the vault's own."""
        found = {str(path.relative_to(self.folder)) for path in self.folder.rglob("*") if not path.is_dir()}
        return found - {f"vault{ending}" for ending in OWN}


def state(where: str | Path) -> State:
    """All that must be the same again when nothing has changed, and that can be told beforehand when something has."""
    with shoal.Vault.open(where) as vault:
        return state_of(vault)


def state_of(vault: shoal.Vault) -> State:
    status, groups = vault.status(), vault.groups()
    checked = vault.check()
    records = exported(vault.export())
    return {
        "version": status.version,
        "k": status.k,
        "epoch": status.epoch,
        "position": status.source_position,
        "records": _digest(sorted((key, sorted(row.items(), key=str)) for key, row in records.items())),
        "groups": _digest(sorted(zip(*groups.to_pydict().values(), strict=True))),
        "k holds": min(sizes(groups)) >= status.k,
        "releases": [[entry.number, entry.version, entry.k, entry.rows, entry.file] for entry in vault.releases()],
        "places": [status.republication, status.waiting, status.ghosts],
        "sound": [checked.ok, checked.problems],
    }


def goes_on(where: str | Path) -> None:
    """The next one to come can work."""
    newcomer = make_row(np.random.default_rng(1), "newcomer", wild=True)
    with shoal.Vault.open(where) as vault:
        version = vault.status().version
        assert vault.insert(as_table([newcomer])).version == version + 1


def _digest(content: object) -> str:
    return hashlib.sha256(json.dumps(content, default=str).encode()).hexdigest()


def sha256(path: Path) -> str | None:
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.exists() else None
