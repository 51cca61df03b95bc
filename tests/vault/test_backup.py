"""Copies: a backup is a vault, and a damaged one is not restored."""

from __future__ import annotations

from pathlib import Path

import pytest

import shoal
from tests.support.live_tables import as_table
from tests.support.vault_places import Place
from tests.support.vaults import make, rows_of


def test_a_backup_is_a_vault(place: Place, tmp_path: Path) -> None:
    with make(place()) as vault:
        release = vault.publish()
        vault.delete(["key-1"])
        backup = vault.backup(tmp_path / "copy.backup")
        with pytest.raises(shoal.OutputError, match="exists already"):
            vault.backup(tmp_path / "copy.backup")
        vault.delete(["key-2"])
        vault.backup(tmp_path / "second.backup", force=True)
        where = place()
        with shoal.Vault.restore(backup, where, dry_run=True) as tried:
            assert tried.status().records == 59
            assert tried.check().ok
        with pytest.raises(shoal.VaultError, match="no vault here"):
            shoal.Vault.open(where)
        restored = shoal.Vault.restore(backup, where)
        assert restored.status().records == 59
        assert restored.releases()[0].erased == 1
        restored.insert(as_table(rows_of(3, first=100)))
        restored.publish()
        assert restored.check().ok
        assert release.number == 1
        assert not list(tmp_path.glob(".*"))
        with pytest.raises(shoal.VaultError, match="exists already"):
            shoal.Vault.restore(backup, str(tmp_path / "second.backup"))
        restored.close()
    content = bytearray(backup.read_bytes())
    place_of = content.index(b"key-30")
    content[place_of : place_of + 6] = b"key-XX"
    backup.write_bytes(content)
    target = tmp_path / "from-damaged.vault"
    with pytest.raises(shoal.VaultError, match="damaged"):
        shoal.Vault.restore(backup, target)
    assert not target.exists()
