"""The history: earlier releases are rebuilt row by row and compared, from what has changed between them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import sqlalchemy as sa

import shoal
from shoal.vault.releases import snapshots
from shoal.vault.store import tables
from tests.support import live_tables
from tests.support.live_tables import as_table
from tests.support.vault_places import Place
from tests.support.vaults import make, rows_of


def test_a_release_is_rebuilt_row_by_row(place: Place, tmp_path: Path) -> None:
    where = place()
    made = []
    with make(where) as vault:
        made.append(vault.publish(tmp_path / "1.csv"))
        vault.insert(as_table(rows_of(15, first=100, wild=True)))
        made.append(vault.publish(tmp_path / "2.parquet"))
        vault.update(as_table([{**row, "id": f"key-{i}"} for i, row in enumerate(rows_of(25, first=200, wild=True))]))
        vault.optimize()
        made.append(vault.publish())
        vault.update(as_table([{**row, "id": f"key-{i}"} for i, row in enumerate(rows_of(5, first=300))]))
    with shoal.Vault.open(where) as vault:
        assert [entry.number for entry in vault.releases()] == [1, 2, 3]
        for number, release in enumerate(made, start=1):
            again = vault.release(number)
            assert again.table.equals(release.table)
            assert again.manifest == json.loads(json.dumps(release.manifest))
            assert again.number == number
            assert again.measures()["il"] == pytest.approx(release.measures(public=True)["il"])
        again = vault.release(2)
        again.write(tmp_path / "again.parquet")
        assert (tmp_path / "again.parquet").read_bytes() == (tmp_path / "2.parquet").read_bytes()
        vault.release(3).write(tmp_path / "3.parquet")
        for name in ("1.csv", "2.parquet", "3.parquet"):
            assert shoal.verify(tmp_path / name, live_tables.schema(), k=3).ok
        assert vault.check().ok


def test_two_releases_are_compared(place: Place) -> None:
    with make(place()) as vault:
        vault.publish()
        vault.insert(as_table(rows_of(9, first=100)))
        vault.delete(["key-1", "key-2"])
        vault.update(as_table([{**rows_of(1, first=200)[0], "id": "key-3"}]))
        vault.publish()
        diff = vault.diff(1, 2)
        assert (diff.rows_before, diff.rows_after) == (60, 67)
        assert (diff.stayed, diff.joined, diff.left) == (57, 10, 3)
        assert diff.classes_before == diff.classes_kept + diff.classes_changed + diff.classes_gone
        assert diff.classes_after == diff.classes_kept + diff.classes_changed + diff.classes_new
        entries = vault.releases()
        assert (diff.loss_before, diff.loss_after) == (entries[0].loss, entries[1].loss)
        same = vault.diff(2, 2)
        assert (same.joined, same.left, same.moved, same.classes_kept) == (0, 0, 0, same.classes_before)
        with pytest.raises(shoal.ParameterError, match="no release 7: the last one is 2"):
            vault.diff(1, 7)


def test_classes_are_written_only_where_they_have_changed(place: Place) -> None:
    with make(place(), 300, maintainer="i3m") as vault:
        vault.publish()
        vault.insert(as_table(rows_of(4, first=1000)))
        vault.publish()
        with vault._store.read() as connection:
            written = connection.scalars(sa.select(tables.classes.c.groups).order_by(tables.classes.c.version)).all()
        first, second = (len(groups) // 8 for groups in written)
        assert first >= vault.releases()[0].classes
        assert 1 <= second <= 8


def test_a_group_looks_as_the_last_snapshot_says_that_names_it(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """Many releases with few changes each: complete snapshots come in between, and every release can be rebuilt."""
    monkeypatch.setattr(snapshots, "MOST_REPLAYED", 0.3)
    with make(place(), 60) as vault:
        published = [vault.publish().table]
        for number in range(12):
            vault.insert(as_table(rows_of(2, first=1000 + 10 * number)))
            published.append(vault.publish().table)
        vault.publish(even_if_unchanged=True)  # no snapshot
        for number, table in enumerate(published, start=1):
            assert vault.release(number).table.equals(table)
        with vault._store.read() as connection:
            stored = connection.execute(sa.select(tables.classes.c.version, tables.classes.c.base)).all()
        assert 1 < len({base for _, base in stored}) < len(stored) <= 13
        assert vault.check().ok
