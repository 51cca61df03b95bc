"""A vault that has lost what it acknowledged says so: the head beside it knows which commit was the last."""

from __future__ import annotations

import random
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import shoal
from shoal.vault.store.damage import Damaged
from shoal.vault.store.head import SLOT, Head, acknowledge, acknowledged_head

SCHEMA = shoal.Schema({"id": {"role": "key"}, "age": {"role": "quasi-identifier", "type": "numeric"}})
BATCHES = 6

WRITER = f"""
import os, sys, shoal
vault = shoal.Vault.open(sys.argv[1])
for batch in range({BATCHES}):
    vault.insert([{{"id": f"b{{batch}}-{{i}}", "age": 20 + i}} for i in range(5)])
vault.publish()
os._exit(0)  # as if it had been killed: nothing is brought from the log into the file
"""


def people(count: int) -> list[dict[str, Any]]:
    return [{"id": f"p{i}", "age": 20 + i % 40} for i in range(count)]


@pytest.fixture(scope="module")
def left_open(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A vault whose last writer was killed, with all that it did in the write-ahead log."""
    where = tmp_path_factory.mktemp("vault") / "v"
    shoal.Vault.create(where, SCHEMA, republication="none", k=3, data=people(40), maintainer="i3m").close()
    subprocess.run([sys.executable, "-c", WRITER, where], check=True)
    assert Path(f"{where}-wal").stat().st_size > 0
    return where


def copied(vault: Path, folder: Path) -> Path:
    for path in vault.parent.iterdir():
        shutil.copy(path, folder / path.name)
    return folder / vault.name


def test_a_damaged_log_never_takes_the_vault_back_in_silence(left_open: Path, tmp_path: Path) -> None:
    rng = random.Random(1)
    length = Path(f"{left_open}-wal").stat().st_size
    noticed = 0
    for trial in range(40):
        folder = tmp_path / str(trial)
        folder.mkdir()
        where = copied(left_open, folder)
        log = Path(f"{where}-wal")
        content = bytearray(log.read_bytes())
        place = rng.randrange(length)
        match trial % 4:
            case 0:
                content[place] ^= 1 << rng.randrange(8)
            case 1:
                del content[place:]
            case 2:
                content[place : place + 4096] = bytes(min(4096, length - place))
            case _:
                content = bytearray()
        log.write_bytes(content)
        try:
            with shoal.Vault.open(where) as vault:
                if vault.check().ok:
                    assert vault.status().records == 40 + 5 * BATCHES
                    assert len(vault.releases()) == 1
                    continue
        except shoal.VaultError:
            pass
        noticed += 1
    assert noticed > 20, "nearly all of this is damage"


def test_an_intact_log_is_no_damage(left_open: Path, tmp_path: Path) -> None:
    with shoal.Vault.open(copied(left_open, tmp_path)) as vault:
        assert vault.status().records == 40 + 5 * BATCHES
        assert vault.check().ok


def test_an_older_copy_is_noticed_and_a_backup_is_welcome(tmp_path: Path) -> None:
    where, older = tmp_path / "v", tmp_path / "older"
    with shoal.Vault.create(where, SCHEMA, republication="none", k=3, data=people(40)) as vault:
        vault.backup(tmp_path / "backup")
    shutil.copy(where, older)
    with shoal.Vault.open(where) as vault:
        vault.insert(people(41)[40:])
    shutil.copy(older, where)
    with pytest.raises(Damaged, match="gone back to an earlier state; commits that are lost: 1"):
        shoal.Vault.open(where)
    shutil.copy(tmp_path / "backup", where)  # another vault: that is meant
    with shoal.Vault.open(where) as vault:
        vault.insert(people(42)[40:])
        assert vault.check().ok
    shutil.copy(older, where)
    Path(f"{where}.head").unlink()  # so is this
    with shoal.Vault.open(where) as vault:
        assert vault.status().records == 40
        vault.insert(people(41)[40:])
        assert vault.check().ok


def test_every_commit_is_in_the_head(tmp_path: Path) -> None:
    where, head = tmp_path / "v", tmp_path / "v.head"

    def commits() -> int:
        found = acknowledged_head(head)
        assert found is not None
        return found.commits

    with shoal.Vault.create(where, SCHEMA, republication="none", k=3, data=people(40)) as vault:
        seen = [commits()]
        for change in (
            lambda: vault.insert(people(41)[40:]),
            lambda: vault.publish(),
            lambda: vault.publish(tmp_path / "r.csv", even_if_unchanged=True),
            lambda: vault.rebase(k=4),
            lambda: vault.compact(),
        ):
            change()
            seen.append(commits())
        assert seen == sorted(set(seen))
        before = commits()
        vault.status()
        vault.export()
        assert commits() == before
        vault.backup(tmp_path / "copy")
        assert commits() == before + 1  # the log has it
    assert head.stat().st_mode & 0o777 == 0o600
    assert not (tmp_path / "copy.head").exists()


def test_a_slot_that_is_cut_off_is_not_believed(tmp_path: Path) -> None:
    path = tmp_path / "head"
    for commits in range(1, 6):
        acknowledge(path, Head("a" * 16, commits, "f" * 64))
    assert acknowledged_head(path) == Head("a" * 16, 5, "f" * 64)
    content = bytearray(path.read_bytes())
    content[SLOT + 20] ^= 1  # the fifth stands in the second slot
    path.write_bytes(content)
    assert acknowledged_head(path) == Head("a" * 16, 4, "f" * 64)
    path.write_bytes(b"nonsense")
    assert acknowledged_head(path) is None
    acknowledge(path, Head("b" * 16, 2, "0" * 64))
    assert acknowledged_head(path) == Head("b" * 16, 2, "0" * 64)


def test_a_head_that_cannot_be_written_is_no_reason_to_fail(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    where = tmp_path / "v"
    with shoal.Vault.create(where, SCHEMA, republication="none", k=3, data=people(40)) as vault:
        (tmp_path / "v.head").unlink()
        (tmp_path / "v.head").mkdir()
        assert vault.insert(people(41)[40:]).inserted == 1
    with shoal.Vault.open(where) as vault:
        assert vault.status().records == 41


@pytest.mark.parametrize("content", [bytes(range(256)) * 2, b"x" * 5000])
def test_a_damaged_head_is_told_and_made_anew(tmp_path: Path, content: bytes) -> None:
    where, head = tmp_path / "v", tmp_path / "v.head"
    with shoal.Vault.create(where, SCHEMA, republication="none", k=3, data=people(40)) as vault:
        head.write_bytes(content)
        assert "the head beside the vault cannot be read" in " ".join(vault.check().problems)
        vault._store.backend._acknowledged = None  # type: ignore[attr-defined]  # as another process would
        vault.insert(people(41)[40:])
        assert vault.check().ok
        assert head.stat().st_size <= 2 * SLOT
