"""Where a vault may lie: beside an older copy, in a schema that was there, under a relative path, in an empty file."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path

import psycopg
import pytest

import shoal
from tests.support.plain_vaults import make, people

pytestmark = pytest.mark.versions


def test_a_backup_is_not_mixed_with_what_lay_beside_an_older_one(tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    with make(str(tmp_path / "v.vault")) as vault:
        vault.backup(copy)
        code = (
            f"import os, sys, shoal\nvault = shoal.Vault.open({str(copy)!r})\nvault.delete(['p1', 'p2'])\nos._exit(0)"
        )
        subprocess.run([sys.executable, "-c", code], check=True)
        assert (tmp_path / "copy-wal").exists()
        with pytest.raises(shoal.OutputError, match="is a vault; it would be lost"):
            vault.backup(copy, force=True)  # it has been changed since it was made
        (tmp_path / "copy.head").unlink()
        vault.insert(people(10, 100))
        vault.backup(copy, force=True)
    with shoal.Vault.open(copy) as vault:
        assert vault.status().records == 40
        assert vault.check().ok


def test_a_schema_that_was_there_is_not_dropped(postgres_url: str) -> None:
    with psycopg.connect(postgres_url, autocommit=True) as server:
        server.execute("CREATE SCHEMA mine")
        server.execute("CREATE VIEW mine.one AS SELECT 1 AS one")
        where = f"{postgres_url}?schema=mine"
        with pytest.raises(shoal.VaultError, match="zero byte"):
            make(where, data=[{**row, "id": f"{row['id']}\0"} for row in people(9)])
        assert server.execute("SELECT one FROM mine.one").fetchone() == (1,)
        make(where).close()


def test_a_relative_path_stays_where_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, count in (("a", 30), ("b", 12)):
        (tmp_path / name).mkdir()
        monkeypatch.chdir(tmp_path / name)
        make("v.vault", data=people(count)).close()
    monkeypatch.chdir(tmp_path / "a")
    with shoal.Vault.open("v.vault") as vault:
        monkeypatch.chdir(tmp_path / "b")
        found: list[int] = []
        thread = threading.Thread(target=lambda: found.append(vault.status().records))
        thread.start()
        thread.join()
        assert found == [30]
        vault.delete(["p1"])
    with shoal.Vault.open(tmp_path / "a" / "v.vault") as vault:
        assert vault.status().records == 29


def test_an_empty_file_may_become_a_vault(tmp_path: Path) -> None:
    (tmp_path / "v.vault").touch()
    with pytest.raises(shoal.VaultError, match="never finished"):
        shoal.Vault.open(tmp_path / "v.vault")
    make(str(tmp_path / "v.vault")).close()
