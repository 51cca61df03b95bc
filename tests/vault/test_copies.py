"""Copies of the originals: backups and exports that are killed, interrupted, or on a full disk."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

import shoal
from shoal.errors import VaultError
from shoal.files import drafting
from shoal.vault.releases import publish
from shoal.vault.store import tables
from shoal.vault.store.store import Store
from tests.support.small_vaults import hidden, make
from tests.support.vault_places import Place

ROOT = Path(__file__).parents[2]

KILLED = """
import os, signal, sys
import shoal
from shoal import files
from shoal.vault.lifecycle import backup
from shoal.vault import private_files

def die(*_, **__):
    os.kill(os.getpid(), signal.SIGKILL)

backup._give_name = private_files.place_together = die
vault = shoal.Vault.open(sys.argv[1])
getattr(vault, sys.argv[2])(sys.argv[3])
"""


@pytest.mark.parametrize(("verb", "name"), [("backup", "copy"), ("export", "all.csv"), ("groups", "who.parquet")])
def test_what_a_killed_process_has_left_of_originals_is_removed(
    place: Place, tmp_path: Path, verb: str, name: str
) -> None:
    where, elsewhere = place(), tmp_path / "elsewhere"
    elsewhere.mkdir()
    make(where).close()
    code = [sys.executable, "-c", KILLED, where, verb, str(elsewhere / name)]
    assert subprocess.run(code, check=False, cwd=ROOT).returncode == -signal.SIGKILL
    assert [name for name in hidden(elsewhere) if name.endswith(".part")], "it was killed too early"
    shoal.Vault.open(where).close()
    assert list(elsewhere.iterdir()) == []
    with shoal.Vault.open(where) as vault:
        with vault._store.read() as connection:
            assert connection.scalar(sa.select(sa.func.count()).select_from(tables.drafts)) == 0
        assert vault.check().ok


KILLED_RESTORING = """
import os, signal, sys
import shoal

class Dying(shoal.Progress):
    def stage(self, name, total=None):
        if name == sys.argv[3]:
            os.kill(os.getpid(), signal.SIGKILL)

shoal.Vault.restore(sys.argv[1], sys.argv[2], progress=Dying())
"""


@pytest.mark.parametrize("stage", ["checking releases", "copying records"])
def test_a_killed_restore_leaves_nothing_beside_the_backup(tmp_path: Path, stage: str) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    with make(tmp_path / "v") as vault:
        vault.backup(disk / "copy")
    code = [sys.executable, "-c", KILLED_RESTORING, str(disk / "copy"), str(tmp_path / "again"), stage]
    assert subprocess.run(code, check=False, cwd=ROOT).returncode == -signal.SIGKILL
    assert [path.name for path in disk.iterdir()] == ["copy"]
    with shoal.Vault.restore(disk / "copy", tmp_path / "again") as restored:
        assert restored.check().ok


def test_a_backup_that_is_changed_while_it_is_read_is_not_restored(tmp_path: Path) -> None:
    class Meddling(shoal.Progress):
        def stage(self, name: str, total: int | None = None) -> None:
            if name == "copying records":
                with shoal.Vault.open(tmp_path / "copy") as copy:
                    copy.delete(["p1"])

    with make(tmp_path / "v") as vault:
        vault.backup(tmp_path / "copy")
    with pytest.raises(shoal.VaultBusy, match="somebody has changed the backup"):
        shoal.Vault.restore(tmp_path / "copy", tmp_path / "again", progress=Meddling())
    assert not (tmp_path / "again").exists()
    with shoal.Vault.restore(tmp_path / "copy", tmp_path / "again") as restored:
        assert restored.status().records == 39


def test_a_backup_with_a_log_of_its_own_is_restored_with_it(tmp_path: Path) -> None:
    with make(tmp_path / "v") as vault:
        vault.backup(tmp_path / "copy")
    change = f"import os, shoal; shoal.Vault.open({str(tmp_path / 'copy')!r}).delete(['p1']); os._exit(0)"
    subprocess.run([sys.executable, "-c", change], check=True)
    assert (tmp_path / "copy-wal").stat().st_size > 0
    with shoal.Vault.restore(tmp_path / "copy", tmp_path / "again") as restored:
        assert restored.status().records == 39
        assert restored.check().ok


def test_what_is_being_made_is_left_alone(place: Place, tmp_path: Path) -> None:
    where = place()
    with make(where) as vault:

        def look(*_: object) -> None:
            shoal.Vault.open(where).close()
            assert vault.check().ok
            with drafting(tmp_path):  # another writes to the same folder, and sweeps it first
                pass
            assert [name for name in hidden(tmp_path) if name.endswith(".part")]
            seen.append(True)

        class Watching(shoal.Progress):
            def stage(self, name: str, total: int | None = None) -> None:
                if name == "copying records":
                    look()

        seen: list[bool] = []
        vault.backup(tmp_path / "copy", progress=Watching())
        assert seen
    assert hidden(tmp_path) == []


def test_a_vault_that_cannot_be_written_can_be_copied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with make(tmp_path / "v") as vault:
        full = VaultError("there is no room left on the disk; what the vault holds is as it was.")
        with monkeypatch.context() as broken:
            write = Store.write
            broken.setattr(
                Store, "write", lambda store: (_ for _ in ()).throw(full) if store is vault._store else write(store)
            )
            vault.backup(tmp_path / "copy")
            vault.export(tmp_path / "all.parquet")
    with shoal.Vault.open(tmp_path / "copy") as copy:
        assert copy.status().records == 40


# Backups over older ones


def calls(monkeypatch: pytest.MonkeyPatch, nth: int, problem: BaseException) -> list[str]:
    """Let the nth call that moves or removes a file fail."""
    made: list[str] = []

    def around(name: str) -> None:
        original: Callable[..., Any] = getattr(os, name)

        def called(*given: Any, **named: Any) -> Any:
            made.append(name)
            if len(made) == nth:
                raise problem
            return original(*given, **named)

        monkeypatch.setattr(os, name, called)

    for name in ("replace", "rename", "unlink", "link"):
        around(name)
    return made


@pytest.mark.parametrize(
    "problem", [OSError(5, "Input/output error"), InterruptedError(4, "Interrupted"), KeyboardInterrupt()]
)
def test_an_older_backup_is_there_until_the_new_one_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, problem: BaseException
) -> None:
    copy = tmp_path / "copy"
    with make(tmp_path / "v") as vault:
        vault.backup(copy)
        open_copy = [
            sys.executable,
            "-c",
            f"import os, shoal; shoal.Vault.open({str(copy)!r}).delete(['p1']); os._exit(0)",
        ]
        for nth in range(1, 60):
            if nth in (1, 4):  # with a log of its own beside it
                subprocess.run(open_copy, check=True)
                (tmp_path / "copy.head").unlink()
            with shoal.Vault.open(copy) as older:
                records = older.status().records
            with monkeypatch.context() as broken:
                made = calls(broken, nth, problem)
                with suppress(shoal.ShoalError, KeyboardInterrupt):
                    vault.backup(copy, force=True)
            with shoal.Vault.open(copy) as found:
                assert found.status().records in (records, 40)
                assert found.check().ok
            shoal.Vault.open(tmp_path / "v").close()  # if it was the removal of a draft that has failed
            assert hidden(tmp_path) == []
            if len(made) < nth:
                break
        else:
            pytest.fail("it was never left alone")
        assert nth > 2


def test_a_full_disk_while_a_backup_is_finished_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from shoal.vault.store.sqlite import Sqlite

    def full(_: Sqlite) -> None:
        raise sqlite3.OperationalError("database or disk is full")

    with make(tmp_path / "v") as vault:
        monkeypatch.setattr(Sqlite, "checkpoint", full)
        with pytest.raises(VaultError, match="no room left"):
            vault.backup(tmp_path / "copy")
        assert hidden(tmp_path) == []
        assert not (tmp_path / "copy").exists()


def test_a_folder_that_is_away_is_looked_at_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A disk that is not there when the vault is opened may come back, with what a killed process has left on it."""
    disk, away = tmp_path / "disk", tmp_path / "away"
    disk.mkdir()
    where = tmp_path / "v"
    make(where).close()
    code = [sys.executable, "-c", KILLED, str(where), "export", str(disk / "all.csv")]
    assert subprocess.run(code, check=False, cwd=ROOT).returncode == -signal.SIGKILL
    with shoal.Vault.open(where) as vault, monkeypatch.context() as stopped:
        stopped.setattr(publish, "place_parts", lambda *_, **__: (_ for _ in ()).throw(SystemExit))
        with pytest.raises(SystemExit):
            vault.publish(disk / "r.csv")
    disk.rename(away)
    monkeypatch.setattr("shoal.vault.store.drafts._long_ago", lambda begun: True)
    shoal.Vault.open(where).close()
    away.rename(disk)
    with shoal.Vault.open(where) as vault:
        assert hidden(disk) == []
        assert sorted(path.name for path in disk.iterdir()) == ["r.csv", "r.csv.manifest.json"]
        assert vault.check().ok
