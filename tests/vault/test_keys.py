"""Who may read a vault: its owner alone, and keys only with their secret."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

import shoal
from tests.support.live_tables import as_table
from tests.support.vault_places import Place
from tests.support.vaults import everything_stored, make, rows_of

SECRET = b"0123456789abcdef-not-in-the-vault"


def test_the_file_is_its_owners_alone(tmp_path: Path) -> None:
    previous = os.umask(0)
    try:
        with make(str(tmp_path / "v.vault")) as vault:
            vault.delete(["key-1"])
            vault.backup(tmp_path / "v.backup")
            for path in tmp_path.iterdir():
                assert stat.S_IMODE(path.stat().st_mode) == 0o600, path.name
    finally:
        os.umask(previous)


def test_keys_are_hashed_with_a_secret(place: Place) -> None:
    where = place()
    with make(where, key_secret=SECRET) as vault:
        vault.insert(as_table(rows_of(2, first=100)))
        vault.publish()
    stored = everything_stored(where)
    assert b"key-1" not in stored
    assert SECRET not in stored
    with shoal.Vault.open(where) as vault:  # reading and publishing need no secret
        assert vault.status().keys_hashed
        vault.publish(even_if_unchanged=True)
        with pytest.raises(shoal.VaultError, match="need its key secret"):
            vault.delete(["key-1"])
    with pytest.raises(shoal.VaultError, match="not the key secret"):
        shoal.Vault.open(where, key_secret=b"another secret of some length")
    with pytest.raises(shoal.ParameterError, match="at least 16 bytes"):
        shoal.Vault.open(where, key_secret="short")
    with shoal.Vault.open(where, key_secret=SECRET) as vault:
        assert vault.hashed("key-5") in vault.groups()["key"].to_pylist()
        assert vault.delete(["key-1"]).deleted == 1
        with pytest.raises(shoal.BatchError) as refused:
            vault.insert(as_table(rows_of(1, first=5)))
        assert "key-5" not in refused.value.reveal()
    other = place()
    make(other).close()
    with pytest.raises(shoal.VaultError, match="made without a key secret"):
        shoal.Vault.open(other, key_secret=SECRET)
