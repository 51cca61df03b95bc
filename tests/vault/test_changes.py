"""Changes to a vault: only what has changed is written, and nothing of what is tried, refused or interrupted."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

import shoal
from shoal.records.changes import ChangeBatch
from tests.support import live_tables
from tests.support.live_tables import as_table
from tests.support.vault_places import Place
from tests.support.vaults import everything_stored, make, rows_of


def test_only_what_has_changed_is_written(tmp_path: Path) -> None:
    where = str(tmp_path / "v.vault")
    with make(where, 5_000) as vault:
        vault.publish()
        vault.compact()
        log = Path(where + "-wal")
        assert log.stat().st_size == 0
        before = Path(where).stat().st_size
        vault.insert(as_table(rows_of(5, first=9_000)))
        assert log.stat().st_size < before / 5


def test_a_dry_run_changes_nothing(place: Place, tmp_path: Path) -> None:
    where = place()
    with make(where) as vault:
        vault.publish()
        vault.insert(as_table(rows_of(3, first=100)))
        before = everything_stored(where) if "://" in where else None
        status, groups = vault.status(), vault.groups()
        assert vault.insert(as_table(rows_of(9, first=200, wild=True)), dry_run=True).inserted == 9
        assert vault.delete(["key-1"], dry_run=True).deleted == 1
        assert vault.update(as_table(rows_of(2, wild=True, seed=4)), dry_run=True).updated == 2
        assert vault.optimize(dry_run=True).dry_run
        assert vault.optimize(max_seconds=1, dry_run=True).dry_run
        assert vault.status(drift=True).drift is not None
        assert vault.publish(tmp_path / "x.csv", dry_run=True).table.num_rows == 63
        assert vault.rebase(k=5, dry_run=True).epoch == 2
        assert vault.compact(dry_run=True).dry_run
        with pytest.raises(shoal.BatchError):
            vault.delete(["nobody"], dry_run=True)
        assert vault.status() == status
        assert vault.groups().equals(groups)
        assert before is None or everything_stored(where) == before
        assert not (tmp_path / "x.csv").exists()
        vault.delete(["key-1"])
        assert vault.check().ok
    elsewhere = tmp_path / "never.vault"
    make(str(elsewhere), dry_run=True)
    assert not elsewhere.exists()


def test_a_refused_batch_changes_nothing(place: Place) -> None:
    with make(place()) as vault:
        before = vault.groups()
        wrong = as_table(rows_of(1, first=100)).append_column("op", pa.array(["replace"]))
        attempts: list[Callable[[], object]] = [
            lambda: vault.insert(as_table(rows_of(2))),
            lambda: vault.delete(["nobody"]),
            lambda: vault.update(as_table(rows_of(1, first=100))),
            lambda: vault.apply(wrong),
            lambda: vault.insert(as_table(rows_of(2, first=100)).drop_columns(["age"])),
            lambda: vault.insert([{**rows_of(1, first=100)[0], "age": "old"}]),
        ]
        for attempt in attempts:
            with pytest.raises(shoal.BatchError) as refused:
                attempt()
            assert "key-" not in str(refused.value)
        with pytest.raises(shoal.DataError, match="no column 'op'"):
            vault.apply(as_table(rows_of(1, first=100)))
        with pytest.raises(shoal.ParameterError, match="list of keys"):
            vault.delete(5)
        other = shoal.Schema({"id": {"role": "key"}, "age": {"role": "quasi-identifier", "type": "numeric"}})
        with pytest.raises(shoal.ParameterError, match="another schema"):
            vault.apply(ChangeBatch.of(other, deletes=["key-1"]))
        vault.apply(ChangeBatch.of(live_tables.schema(), deletes=["key-1"]))
        assert vault.status().version == 2
        assert before.num_rows == 60


def test_what_cannot_be_stored_is_taken_back_in_memory(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    from shoal.vault.state.save import Saving

    with make(place()) as vault:
        vault.publish()
        vault.delete(["key-1"])
        with monkeypatch.context() as broken:
            broken.setattr(Saving, "finish", lambda *given, **more: (_ for _ in ()).throw(KeyboardInterrupt))
            with pytest.raises(KeyboardInterrupt):
                vault.insert(as_table(rows_of(4, first=100, wild=True)))
        assert vault.status().records == 59
        vault.insert(as_table(rows_of(4, first=100, wild=True)))
        assert vault.status().records == 63
        assert vault.check().ok


def test_a_batch_without_changes_is_no_version(place: Place) -> None:
    """Nor where there are too few records for groups, and the one that they wait in has had another number."""
    with make(place()) as vault:
        groups = vault.groups().to_pylist()
        left = max(groups, key=lambda row: row["group"])["key"]
        vault.delete([row["key"] for row in groups if row["key"] != left])
        before, stored = vault.status().version, vault.groups()
        vault.erase(["nobody"], ignore_unknown=True)
        vault.apply(as_table(rows_of(1)).slice(0, 0).append_column("op", pa.array([], pa.string())))
        assert vault.status().version == before
        assert vault.groups().equals(stored)
