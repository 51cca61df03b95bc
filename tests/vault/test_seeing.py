"""What a vault tells: its log, a receipt of an erasure, its schema, keys as they came, and that it is damaged."""

from __future__ import annotations

import datetime as dt
import getpass
import json
import pickle
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
import sqlalchemy as sa
from typer.testing import CliRunner

import shoal
from shoal.cli.app import app
from shoal.schema_toml import schema_toml
from shoal.vault.state.schema_json import schema_facts
from shoal.vault.store import sqlite, tables
from tests.support import live_tables
from tests.support.vault_places import Place
from tests.support.vaults import everything_stored, make, rows_of


def test_the_log_says_what_was_done_and_by_whom(place: Place, tmp_path: Path) -> None:
    where = place()
    with make(where) as vault:
        vault.insert(rows_of(2, first=300), batch_id="monday")
        vault.publish()
        vault.optimize()
        vault.rebase(k=4)
        vault.backup(tmp_path / "copy.vault")
        vault.erase(["key-1"])
        log = vault.log()
        optimized = ["optimize"] if len(log) == 7 else []  # there may be nothing to gain
        assert [one.what for one in log] == ["create", "apply", "publish", *optimized, "rebase", "backup", "erase"]
        assert {one.who for one in log} == {getpass.getuser()}
        assert (log[1].inserted, log[1].batch_id, log[2].release) == (2, "monday", 1)
        assert (log[-1].deleted, log[-1].records) == (1, 61)
        assert log[-2].file == str(tmp_path / "copy.vault")
        assert not any("key-" in str(one.facts()) for one in log)
    with shoal.Vault.open(where) as vault:
        assert vault.log() == log
        assert vault.check().ok


def test_a_receipt_says_what_is_left(place: Place, tmp_path: Path) -> None:
    where = place()
    with make(where) as vault:
        vault.publish(tmp_path / "first.csv")
        vault.backup(tmp_path / "copy.vault")
        tried = vault.erase(["key-1", "nobody"], ignore_unknown=True, dry_run=True)
        assert (tried.erased, tried.ignored, tried.records, tried.compacted) == (1, 1, 60, False)
        done = vault.erase(["key-1", "nobody"], ignore_unknown=True)
        assert (done.erased, done.ignored, done.records, done.compacted) == (1, 1, 59, True)
        assert [(one["release"], one["rows"], one["file"]) for one in done.releases] == [
            (1, 1, str(tmp_path / "first.csv"))
        ]
        assert [one["file"] for one in done.backups] == [str(tmp_path / "copy.vault")]
        assert len(done.remains) == 5
        assert "key-1" not in str(done.facts())
        assert b"key-1\x00" not in everything_stored(where)
        assert vault.check().ok


def test_who_is_deleted_but_not_compacted_away_is_said(
    place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    where = place()
    with make(where) as vault:
        vault.publish(tmp_path / "first.csv")

        def no_room() -> None:
            raise shoal.VaultError("there is no room left on the disk; what the vault holds is as it was.")

        with monkeypatch.context() as patched:
            patched.setattr(vault._store.backend, "compact", no_room)
            with pytest.raises(shoal.Unfinished) as raised:
                vault.erase(["key-1"], batch_id="letter 12")
        assert "1 record is deleted, in version 2, but compacting the vault has failed: there is no room" in str(
            raised.value
        )
        assert "as it was" not in str(raised.value)
        receipt = raised.value.facts()["receipt"]
        assert isinstance(receipt, dict)
        assert (receipt["erased"], receipt["compacted"], [one["rows"] for one in receipt["releases"]]) == (
            1,
            False,
            [1],
        )
        assert vault.status().records == 59
        assert vault.log()[-1].what == "erase"
    with shoal.Vault.open(where) as vault:  # whoever comes next can finish it
        done = vault.erase(["key-1"], ignore_unknown=True)
        assert (done.erased, done.ignored, done.compacted, done.version) == (0, 1, True, 2)
        with pytest.raises(shoal.Doubtful, match="a batch with this id"):
            vault.erase(["key-1"], ignore_unknown=True, batch_id="letter 12")
        assert vault.erase(["key-1"], ignore_unknown=True, batch_id="letter 12", again=True).compacted
        assert vault.check().ok
    assert b"key-1\x00" not in everything_stored(where)


def test_a_reader_is_in_the_way_of_an_erasure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What he has begun to read stays in the write-ahead log until he has ended."""
    monkeypatch.setattr(sqlite, "BUSY_MS", 100)  # how long one waits for him
    where = tmp_path / "v.vault"
    with make(str(where)) as vault, shoal.Vault.open(where) as other:
        with other._store.read() as connection:
            connection.execute(sa.select(tables.vault)).all()
            with pytest.raises(shoal.Unfinished, match="somebody is reading the vault"):
                vault.erase(["key-1"])
        assert vault.erase(["key-1"], ignore_unknown=True).compacted


def test_a_receipt_says_that_published_rows_and_hashes_stay(place: Place) -> None:
    for republication, told in (("none", False), ("audit", True), ("safe", True)):
        with make(place(), republication=republication) as vault:
            assert not any("ghosts" in line for line in vault.erase(["key-2"]).remains)  # nothing is published yet
            vault.publish()
            remains = vault.erase(["key-1"]).remains
            assert any("ghosts" in line and "hashes" in line for line in remains) == told
            assert any("with its recipients" in line for line in remains)
            assert any("Release 1 is safe together" in line for line in remains) == (republication == "safe")


def test_a_receipt_names_ghosts_of_releases_that_were_safe(place: Place) -> None:
    with make(place(), republication="safe") as vault:
        vault.publish()
        vault.rebase(break_guarantee=True)
        vault.publish(republication="none", even_if_unchanged=True)
        assert any("ghosts" in line for line in vault.erase(["key-1"]).remains)


@pytest.mark.parametrize("mode", ["none", "audit", "safe"])
def test_figures_of_one_release_agree(tmp_path: Path, mode: str) -> None:
    where = str(tmp_path / "v.vault")

    def told(*words: str) -> dict[str, Any]:
        done = CliRunner().invoke(app, [*words, "--json"])
        assert done.exit_code == 0, done.output
        found: dict[str, Any] = json.loads(done.stdout)
        return found

    with make(where, republication=mode) as vault:
        vault.publish()
        vault.insert(rows_of(9, first=300))
    tried = told("publish", where, "--accept-findings", "--dry-run")["loss"]
    published = told("publish", where, "--accept-findings")["loss"]
    (_, entry), diff = told("releases", where)["releases"], told("diff", where, "1", "2")
    assert tried == published == entry["loss"] == diff["loss_after"]
    with shoal.Vault.open(where) as vault:
        assert vault.release(2).loss == published
        if mode != "safe":  # what goes out there are cohorts, not the groups that `status` is about
            assert vault.status().loss == published
        assert pickle.loads(pickle.dumps(vault.release(2))).loss is None  # it is the holder's


def test_a_damaged_vault_does_not_say_that_it_may_be_published(place: Place) -> None:
    where = place()
    with make(where):
        pass
    with shoal.Vault.open(where) as vault:
        with vault._store.backend.engine.begin() as connection:
            connection = connection.execution_options(shoal_writes=True)
            connection.execute(sa.update(tables.records).where(tables.records.c.id == 5).values(group_id=999))
        with pytest.raises(shoal.VaultError, match="the vault is damaged"):
            vault.status()


@pytest.mark.parametrize(
    "keys",
    [
        pa.array(range(10, 50)),
        pa.array([dt.date(2020, 1, 1) + dt.timedelta(days=i) for i in range(40)]),
        pa.array([f"{i:03}" for i in range(40)]),
    ],
)
def test_keys_come_back_as_they_were(place: Place, keys: pa.Array) -> None:
    schema = shoal.Schema(columns={"id": {"role": "key"}, "age": {"role": "quasi-identifier", "type": "numeric"}})
    table = pa.table({"id": keys, "age": [i % 20 for i in range(40)]})
    where = place()
    with shoal.Vault.create(where, schema, k=3, data=table, seed=1) as vault:
        assert vault.export().sort_by("id").equals(table)
        vault.rebase(k=4)
        assert vault.export().sort_by("id").equals(table)
    with shoal.Vault.open(where) as vault:
        assert vault.export()["id"].type == keys.type
        vault.update(pa.table({"id": keys.cast(pa.string())[:2], "age": [1, 1]}))  # as a CSV has them
        assert vault.export()["id"].type == keys.type
        vault.insert(pa.table({"id": ["someone"], "age": [1]}))
        assert vault.export()["id"].type == pa.string()
    with shoal.Vault.create(place(), schema, k=3) as vault:
        vault.insert(table)
        assert vault.export()["id"].type == keys.type


@pytest.mark.parametrize("schema", [live_tables.schema(), shoal.datasets.adult_schema()])
def test_a_schema_is_read_again_as_it_is_written(schema: shoal.Schema, tmp_path: Path) -> None:
    file = tmp_path / "schema.toml"
    file.write_text(schema_toml(schema), encoding="utf-8")
    assert schema_facts(shoal.Schema.load(file)) == schema_facts(schema)
