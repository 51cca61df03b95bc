"""Making and opening vaults: what is no vault, or not one of this format, is refused."""

from __future__ import annotations

import pickle
import sqlite3
from pathlib import Path

import pyarrow as pa
import pytest
import sqlalchemy as sa

import shoal
from shoal.vault.lifecycle import migrations
from shoal.vault.store import tables
from shoal.vault.store.store import Store
from shoal.vault.store.vault_row import update_vault_row, vault_row
from tests.support import live_tables
from tests.support.live_tables import as_table
from tests.support.vault_places import Place
from tests.support.vaults import make, rows_of


def test_what_is_no_vault_is_refused(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("hello " * 100)
    sqlite3.connect(tmp_path / "other").execute("CREATE TABLE vault (id)").connection.close()
    (tmp_path / "folder").mkdir()
    for name, message in {
        "text": "not a vault",
        "other": "not a vault",
        "folder": "is a folder",
        "nothing": "no vault here",
    }.items():
        with pytest.raises(shoal.VaultError, match=message):
            shoal.Vault.open(tmp_path / name)
        if name != "nothing":
            with pytest.raises(shoal.VaultError):
                make(str(tmp_path / name))
    with pytest.raises(shoal.VaultError, match="does not exist"):
        make(str(tmp_path / "no" / "such" / "folder"))
    with pytest.raises(shoal.ParameterError, match="a file or a PostgreSQL database"):
        shoal.Vault.open("mysql://somewhere/else")


def test_a_database_without_a_vault_is_refused(postgres_url: str) -> None:
    with pytest.raises(shoal.VaultError, match="no vault here"):
        shoal.Vault.open(postgres_url)
    with pytest.raises(shoal.VaultError, match="does not exist"):
        shoal.Vault.open(postgres_url + "_not")
    with pytest.raises(shoal.ParameterError, match="schema must be a name"):
        shoal.Vault.open(postgres_url + "?schema=a;drop")
    password = postgres_url.replace("postgresql://", "postgresql://x:hunter2@").replace(
        "x:hunter2@shoal@", "shoal:hunter2@"
    )
    with make(password) as vault:
        assert "hunter2" not in repr(vault) + vault.where + repr(vault.status())
    with pytest.raises(shoal.VaultError, match="exists already"):
        make(postgres_url)
    unreachable = "postgresql://shoal:hunter2@127.0.0.1:1/nothing"
    with pytest.raises(shoal.VaultError, match="cannot be reached") as refused:
        shoal.Vault.open(unreachable)
    assert "hunter2" not in str(refused.value)


def test_a_vault_is_not_made_twice(place: Place) -> None:
    where = place()
    with make(where) as vault:
        with pytest.raises(shoal.VaultError, match="exists already"):
            make(where)
        assert vault.status().records == 60


def test_an_interrupted_init_leaves_a_free_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Killed between making the file and filling it: nobody takes it for a vault, and it may be made again."""
    from shoal.vault.store.sqlite import Sqlite

    where = str(tmp_path / "v.vault")
    Sqlite(where).create()
    with pytest.raises(shoal.VaultError, match="never finished"):
        shoal.Vault.open(where)
    with make(where) as vault:
        assert vault.check().ok


def test_a_bad_table_leaves_no_vault(place: Place) -> None:
    where = place()
    for data, problem in (
        (as_table(rows_of(2) + rows_of(1)), shoal.DataError),
        (pa.table({"id": ["a"]}), shoal.DataError),
        ("nowhere.csv", shoal.DataError),
    ):
        with pytest.raises(problem):
            shoal.Vault.create(where, live_tables.schema(), k=3, data=data)
    for options in ({"k": 1}, {"k": 3, "maintainer": "magic"}, {"k": 3, "measure": "pmi"}, {"k": 3, "l": {"age": 2}}):
        with pytest.raises(shoal.ParameterError):
            shoal.Vault.create(where, live_tables.schema(), data=as_table(rows_of(9)), **options)
    keyless = shoal.Schema({"age": {"role": "quasi-identifier", "type": "numeric"}})
    with pytest.raises(shoal.SchemaError, match="no key"):
        shoal.Vault.create(where, keyless, k=2)
    make(where).close()


def test_newer_and_older_formats(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    where = place()
    with make(where) as vault, vault._store.write() as connection:
        connection.execute(sa.update(tables.vault).values(format=99))
    with pytest.raises(shoal.VaultError, match="newer shoal: its format is 99"):
        shoal.Vault.open(where)
    with pytest.raises(shoal.VaultError, match="newer shoal"):
        shoal.Vault.restore(where, where + "x")
    with vault._store.write() as connection:
        connection.execute(sa.update(tables.vault).values(format=3))
    monkeypatch.setattr(tables, "FORMAT", 5)

    def first(store: Store, connection: sa.Connection) -> None:
        update_vault_row(connection, where, source_position="migrated")

    def fails(store: Store, connection: sa.Connection) -> None:
        raise RuntimeError("halfway")

    monkeypatch.setattr(migrations, "STEPS", {3: first, 4: fails})
    with pytest.raises(RuntimeError):
        shoal.Vault.open(where)
    with vault._store.read() as connection:
        assert vault_row(connection, where)["source_position"] is None
    vault._store.close()
    monkeypatch.setattr(migrations, "STEPS", {3: first, 4: lambda store, connection: None})
    with shoal.Vault.open(where) as vault:
        assert vault.source_position == "migrated"
        assert vault.check().ok
    monkeypatch.setattr(migrations, "STEPS", {})
    monkeypatch.setattr(tables, "FORMAT", 6)
    with pytest.raises(shoal.VaultError, match="cannot bring up to date"):
        shoal.Vault.open(where)


def test_a_closed_vault_says_so(place: Place) -> None:
    vault = make(place())
    vault.close()
    for attempt in (vault.status, vault.groups, vault.publish, vault.check, lambda: vault.delete(["key-1"])):
        with pytest.raises(shoal.VaultError, match="closed"):
            attempt()
    with pytest.raises(shoal.VaultError, match="does not travel"):
        pickle.dumps(vault)
