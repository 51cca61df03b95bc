"""The vault: what it keeps, what it forgets, and what it refuses. One suite for every store."""

from __future__ import annotations

import datetime as dt
import decimal
import json
import os
import pickle
import sqlite3
import stat
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import psycopg
import pyarrow as pa
import pyarrow.csv as pa_csv
import pytest
import sqlalchemy as sa

import shoal
from shoal.records.changes import ChangeBatch
from shoal.release.write import write_parts
from shoal.vault.lifecycle import migrations
from shoal.vault.releases import snapshots
from shoal.vault.state import record_cache
from shoal.vault.state.record_cache import RecordCache
from shoal.vault.store import tables
from shoal.vault.store.store import Store
from shoal.vault.store.vault_row import update_vault_row, vault_row
from tests.support import live_tables
from tests.support.live_tables import as_table, make_row
from tests.support.vault_places import Place, by_key, group_sizes

SECRET = b"0123456789abcdef-not-in-the-vault"


def rows_of(count: int, *, first: int = 0, seed: int = 1, wild: bool = False) -> list[dict[str, Any]]:
    rng = np.random.default_rng([seed, first])
    return [make_row(rng, f"key-{first + i}", wild=wild) for i in range(count)]


def make(where: str, count: int = 60, **options: Any) -> shoal.Vault:
    options = {"k": 3, "seed": 1, **options}
    return shoal.Vault.create(where, live_tables.schema(), data=as_table(rows_of(count)), **options)


def expected(rows: list[dict[str, Any]]) -> dict[str, dict[str, object]]:
    """What an export shows of rows: everything but identifiers."""
    return {row["id"]: {name: value for name, value in row.items() if name not in ("id", "name")} for row in rows}


def same_records(vault: shoal.Vault, rows: list[dict[str, Any]]) -> bool:
    return by_key(vault.export()) == expected(rows)


# What it keeps


def test_a_vault_keeps_what_it_was_given(place: Place) -> None:
    where = place()
    rows = rows_of(60)
    with make(where) as vault:
        assert same_records(vault, rows)
        assert min(group_sizes(vault)) >= 3
        status = vault.status()
        assert (status.records, status.version, status.k, status.publishable) == (60, 1, 3, True)
    with shoal.Vault.open(where) as vault:
        assert same_records(vault, rows)
        assert vault.status().facts() | {"size": 0} == status.facts() | {"size": 0}
        assert set(vault.groups().column_names) == {"key", "group"}


def test_every_kind_of_change_lasts(place: Place) -> None:
    where = place()
    rows = rows_of(60)
    with make(where) as vault:
        new = rows_of(10, first=100, wild=True)
        changed = vault.insert(as_table(new))
        assert (changed.inserted, changed.version) == (10, 2)
        updated = [{**row, "id": f"key-{i}"} for i, row in enumerate(rows_of(10, first=200, wild=True))]
        assert vault.update(as_table(updated)).updated == 10
        assert vault.delete([f"key-{i}" for i in range(20, 30)]).deleted == 10
        ops = pa.array(["insert", "delete"])
        changes = as_table(rows_of(1, first=300) + rows_of(1, first=30)).append_column("op", ops)
        assert vault.apply(changes, source_position="0/16B3748").version == 5
    rows = [*updated, *rows[10:20], *rows[31:], *new, *rows_of(1, first=300)]
    with shoal.Vault.open(where) as vault:
        assert same_records(vault, rows)
        assert vault.source_position == "0/16B3748"
        assert vault.check().ok
        assert min(group_sizes(vault)) >= 3


def test_rows_may_be_dicts_files_and_frames(place: Place, tmp_path: Path) -> None:
    with make(place()) as vault:
        vault.insert(rows_of(1, first=70))
        vault.insert(as_table(rows_of(1, first=71)).to_pandas())
        pa_csv.write_csv(as_table(rows_of(1, first=72)), tmp_path / "new.csv")
        vault.insert(tmp_path / "new.csv")
        (tmp_path / "gone.csv").write_text("id\nkey-70\n")
        vault.delete(tmp_path / "gone.csv")
        vault.delete(pa.table({"id": ["key-71"]}))
        vault.delete(pa.chunked_array([["key-72"]]))
        assert same_records(vault, rows_of(60))


def test_a_vault_may_begin_empty(place: Place) -> None:
    where = place()
    with shoal.Vault.create(where, live_tables.schema(), k=3) as vault:
        assert vault.status().records == 0
        assert not vault.status().publishable
        with pytest.raises(shoal.VerificationError, match="there are no records"):
            vault.publish()
        vault.insert(as_table(rows_of(2)))
        assert not vault.status().publishable
    with shoal.Vault.open(where) as vault:
        vault.insert(as_table(rows_of(20, first=2)))
        assert vault.status().publishable
        vault.publish()
        assert vault.check().ok
    with shoal.Vault.open(where) as vault:
        vault.delete(["key-0", "key-1"])
        assert vault.status().records == 20
        vault.delete(vault.groups()["key"])
        assert vault.status().records == 0
        vault.insert(as_table(rows_of(30, first=500, wild=True)))
        assert vault.check().ok


def test_values_of_every_plain_type_come_back(place: Place) -> None:
    zone = dt.UTC
    columns = {
        "id": pa.array([f"k{i}" for i in range(6)]),
        "age": pa.array(range(6)),
        "flag": pa.array([True, False, None, True, False, True]),
        "when": pa.array([dt.datetime(2026, 1, 1, 2, 3, 4, i, zone) for i in range(6)], pa.timestamp("us", "UTC")),
        "day": pa.array([dt.date(1900 + i, 2, 3) for i in range(6)]),
        "price": pa.array([decimal.Decimal(f"1{i}.20") for i in range(6)], pa.decimal128(10, 2)),
        "ratio": pa.array([0.1, 1e300, 1 / 3, -2.5e-300, None, 5.0]),
        "small": pa.array(range(6), pa.int8()),
        "text": pa.array(['"quoted"', "ünï\tcode", "a\u2028\nb", "", None, "a,b"]),
    }
    schema = shoal.Schema(
        {
            "id": {"role": "key"},
            "age": {"role": "quasi-identifier", "type": "numeric"},
            **{name: {"role": "insensitive"} for name in list(columns)[2:]},
        }
    )
    where = place()
    table = pa.table(columns)
    with shoal.Vault.create(where, schema, k=2, data=table) as vault:
        release = vault.publish()
    with shoal.Vault.open(where) as vault:
        again = vault.export()
        for name in list(columns)[2:]:
            assert again[name].type == table[name].type or name == "text", name
            kept = [None if value == "" else value for value in table[name].to_pylist()]
            assert str(again[name].to_pylist()) == str(kept), name
        assert str(vault.release(1).table.to_pylist()) == str(release.table.to_pylist())
        assert vault.release(1).table.schema == release.table.schema


def test_types_that_cannot_be_kept_are_refused(tmp_path: Path) -> None:
    schema = shoal.Schema(
        {"id": {"role": "key"}, "age": {"role": "quasi-identifier", "type": "numeric"}, "list": {"role": "insensitive"}}
    )
    table = pa.table({"id": ["a", "b"], "age": [1, 2], "list": [[1], [2]]})
    with pytest.raises(shoal.DataError, match="which a vault cannot keep"):
        shoal.Vault.create(tmp_path / "v", schema, k=2, data=table)
    assert not list(tmp_path.iterdir())


def test_whole_numbers_take_in_fractions(place: Place) -> None:
    where = place()
    with make(where) as vault:
        vault.publish()
        kind = vault.release(1).table["cost"].type
        half = [{**rows_of(1, first=100)[0], "cost": 2.5}]
        vault.insert(half)
    with shoal.Vault.open(where) as vault:
        assert by_key(vault.export())["key-100"]["cost"] == 2.5
        assert vault.release(1).table["cost"].type == kind
        vault.insert(as_table(rows_of(3, first=101)))
        assert vault.check().ok


# Releases


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


def test_the_order_of_rows_tells_nothing(place: Place) -> None:
    """Two releases of the same records have different orders, and neither is that of the records."""
    with make(place()) as vault:
        first, second = vault.publish(), vault.publish(even_if_unchanged=True)
        assert first.table.sort_by("note").num_rows == second.table.num_rows
        assert not first.table.equals(second.table)
        notes = vault.export()["note"].to_pylist()
        assert first.table["note"].to_pylist() != notes


def test_manifests_are_linked(place: Place, tmp_path: Path) -> None:
    with make(place()) as vault:
        vault.publish(tmp_path / "1.csv")
        vault.delete(["key-1"])
        vault.publish(tmp_path / "2.csv")
        manifests = [json.loads((tmp_path / f"{n}.csv.manifest.json").read_text()) for n in (1, 2)]
        assert manifests[0]["previous"] is None
        assert manifests[1]["previous"] == {"release": 1, "sha256": manifests[0]["sha256"]}
        assert [entry.sha256 for entry in vault.releases()] == [manifest["sha256"] for manifest in manifests]
        assert [manifest["release"] for manifest in manifests] == [1, 2]


def test_publishing_is_refused_with_a_reason(place: Place, tmp_path: Path) -> None:
    with make(place()) as vault:
        vault.publish()
        with pytest.raises(shoal.Unchanged, match="nothing has changed since release 1"):
            vault.publish(tmp_path / "x.csv")
        assert vault.publish(even_if_unchanged=True).number == 2
        (tmp_path / "taken.csv").write_text("mine")
        vault.delete(["key-1"])
        with pytest.raises(shoal.OutputError, match="exists already"):
            vault.publish(tmp_path / "taken.csv")
        with pytest.raises(shoal.OutputError, match=r"\.csv or \.parquet"):
            vault.publish(tmp_path / "x.docx")
        vault.delete([f"key-{i}" for i in range(2, 60)])
        with pytest.raises(shoal.VerificationError, match="fewer than k = 3"):
            vault.publish(tmp_path / "x.csv")
        assert len(vault.releases()) == 2
        assert [path.name for path in tmp_path.iterdir() if "vault" not in path.name] == ["taken.csv"]
        vault.insert(as_table(rows_of(20, first=100)))
        assert vault.publish(tmp_path / "taken.csv", force=True).number == 3


def test_a_verifier_that_says_no_keeps_everything_as_it_was(
    place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with make(place()) as vault:

        def strict(table: pa.Table, schema: shoal.Schema, _: int, **more: Any) -> shoal.Verdict:
            return shoal.verify(table, schema, 50, **more)

        monkeypatch.setattr("shoal.release.making.verify", strict)
        with pytest.raises(shoal.VerificationError):
            vault.publish(tmp_path / "x.csv")
        assert vault.releases() == []
        assert not list(tmp_path.glob("*x.csv*"))


def test_a_file_that_cannot_be_placed_leaves_no_trace_but_the_history(
    place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The name is taken at the last moment: the release is in the history, and can be written again."""
    from shoal.vault.releases import publish

    with make(place()) as vault:
        write = write_parts

        def taken(*given: Any) -> str:
            (tmp_path / "x.csv").write_text("mine")
            return write(*given)

        monkeypatch.setattr(publish, "write_parts", taken)
        with pytest.raises(shoal.OutputError, match="exists already; release 1 is in the history"):
            vault.publish(tmp_path / "x.csv")
        assert (tmp_path / "x.csv").read_text() == "mine"
        assert not list(tmp_path.glob(".*.part"))
        vault.release(1).write(tmp_path / "y.csv")
        assert vault.releases()[0].file is None
        assert vault.check().ok  # what is there under that name is not the vault's business


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


def test_a_group_looks_as_the_last_sheet_says_that_names_it(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """Many releases with few changes each: complete snapshots come in between, and every release can be rebuilt."""
    monkeypatch.setattr(snapshots, "MOST_REPLAYED", 0.3)
    with make(place(), 60) as vault:
        published = [vault.publish().table]
        for number in range(12):
            vault.insert(as_table(rows_of(2, first=1000 + 10 * number)))
            published.append(vault.publish().table)
        vault.publish(even_if_unchanged=True)  # no sheet
        for number, table in enumerate(published, start=1):
            assert vault.release(number).table.equals(table)
        with vault._store.read() as connection:
            stored = connection.execute(sa.select(tables.classes.c.version, tables.classes.c.base)).all()
        assert 1 < len({base for _, base in stored}) < len(stored) <= 13
        assert vault.check().ok


# Erasure


def everything_stored(where: str) -> bytes:
    """All that a store holds, byte by byte."""
    if "://" not in where:
        files = [path for path in Path(where).parent.iterdir() if path.name.startswith(Path(where).name)]
        return b"".join(path.read_bytes() for path in files)
    url, schema = where.split("?schema=")
    found = []
    with psycopg.connect(url) as connection:
        for table in tables.ALL:
            for row in connection.execute(f'SELECT * FROM "{schema}"."{table.name}"'):
                found.append(repr(row).encode())
    return b"\n".join(found)


def test_a_deleted_person_is_erased(place: Place) -> None:
    where = place()
    person = {
        **rows_of(1, first=900)[0],
        "id": "Rumpelstiltskin",
        "name": "Grimm",
        "zip": "987",
        "country": "Erewhon",
        "diagnosis": "lycanthropy",
        "cost": 424242,
        "note": "spins straw",
    }
    earlier = {**person, "diagnosis": "vampirism", "note": "earlier", "country": "Laputa"}
    marks = [b"Rumpelstiltskin", b"Erewhon", b"lycanthropy", b"vampirism", b"424242", b"spins"]
    with make(where) as vault:
        vault.insert([earlier])
        vault.publish()
        vault.update([person])
        vault.publish()
        vault.update([{**person, "note": "spins gold"}])
        assert b"Grimm" not in everything_stored(where)  # identifiers never enter
        assert all(mark in everything_stored(where) for mark in marks)
        vault.delete(["Rumpelstiltskin"])
        vault.compact()
        left = everything_stored(where)
        assert [mark for mark in marks if mark in left] == []
        assert vault.check().ok
        first, second = vault.releases()
        assert (first.rows, first.erased, second.rows, second.erased) == (61, 1, 61, 1)
        assert vault.release_rows(1).num_rows == 60
        assert vault.diff(1, 2).left == 1
        vault.insert([person])  # the same key may come again
        assert vault.check().ok
        assert vault.releases()[0].erased == 1


def test_erased_values_are_not_named_by_the_epoch_either(place: Place) -> None:
    """The distribution that closeness is measured against lists values with their shares."""
    where = place()
    rows = [*rows_of(60), {**rows_of(1, first=100)[0], "diagnosis": "lycanthropy", "cost": 424242}]
    options: dict[str, Any] = {"k": 3, "t": {"diagnosis": 0.9, "cost": 0.9}, "l": {"diagnosis": 1.1}, "seed": 1}
    with shoal.Vault.create(where, live_tables.schema(), data=as_table(rows), **options) as vault:
        vault.publish()
        assert b"lycanthropy" in everything_stored(where)
        vault.delete(["key-100"])
        vault.compact()
        stored = everything_stored(where)
        assert b"lycanthropy" not in stored
        assert b"424242" not in stored
        vault.insert(as_table(rows_of(5, first=200, wild=True)))
    with shoal.Vault.open(where) as vault:
        vault.insert(as_table(rows_of(5, first=300, wild=True)))
        assert vault.check().ok
        vault.publish()


def test_a_value_that_another_still_has_stays(place: Place) -> None:
    with make(place()) as vault:
        twins = [{**row, "country": "Erewhon"} for row in rows_of(2, first=100)]
        vault.insert(twins)
        vault.delete(["key-100"])
        assert by_key(vault.export())["key-101"]["country"] == "Erewhon"
        vault.update([{**twins[1], "country": "USA"}])
        assert vault.check().ok


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


# Turns


def test_a_vault_in_memory_is_safe_from_threads() -> None:
    with make(":memory:") as vault, ThreadPoolExecutor(6) as threads:
        done = [threads.submit(vault.insert, as_table(rows_of(2, first=100 + 2 * i))) for i in range(10)]
        seen = [threads.submit(vault.groups) for _ in range(20)]
        assert sorted(one.result().version for one in done) == list(range(2, 12))
        assert {one.result().num_rows for one in seen} <= set(range(60, 81, 2))
        assert vault.check().ok


def test_two_handles_follow_each_other_by_what_has_changed(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    where = place()
    rows = rows_of(200)
    with make(where, 200) as one, shoal.Vault.open(where) as two:
        two.insert(as_table(rows_of(1, first=300)))
        for name in ("shoal.vault.state.follow.load", "shoal.vault.vault.load_state"):
            monkeypatch.setattr(name, lambda *given: pytest.fail("everything was read again"))
        one.update(as_table([{**rows_of(1, first=400, wild=True)[0], "id": "key-300"}]))
        two.delete(["key-300", "key-0"])
        one.insert(as_table(rows_of(5, first=500, wild=True)))
        two.insert(as_table(rows_of(5, first=600, wild=True)))
        one.delete([f"key-{i}" for i in range(500, 505)])
        two.update(as_table([{**rows_of(1, first=700, wild=True)[0], "id": "key-1"}]))
        one.optimize()
        monkeypatch.undo()
        assert same_records(
            two, [{**rows_of(1, first=700, wild=True)[0], "id": "key-1"}, *rows[2:], *rows_of(5, first=600, wild=True)]
        )
        assert one.check().ok
        assert one.publish().table.num_rows == 204


def test_readers_read_what_has_changed(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    where = place()
    whole: list[RecordCache] = []
    read_all = RecordCache._read_all

    def noticed(followed: RecordCache, connection: sa.Connection, where: str) -> None:
        whole.append(followed)
        read_all(followed, connection, where)

    monkeypatch.setattr(RecordCache, "_read_all", noticed)
    with make(where, 200) as writer, shoal.Vault.open(where) as reader:
        first = reader.groups(), reader.export()
        assert whole == [reader._groups, reader._originals]
        for change in (
            lambda: writer.insert(as_table(rows_of(5, first=300, wild=True))),
            lambda: writer.delete(["key-301", "key-7"]),
            lambda: writer.update(as_table([{**rows_of(1, first=400, wild=True)[0], "id": "key-0"}])),
            writer.optimize,
            writer.publish,
        ):
            change()
            with shoal.Vault.open(where) as fresh:
                assert reader.groups().to_pylist() == fresh.groups().to_pylist()
                assert reader.export().to_pylist() == fresh.export().to_pylist()
        assert [whole.count(reader._groups), whole.count(reader._originals)] == [1, 1]
        assert (first[0].num_rows, first[1].num_rows) == (200, 200)  # what was handed out stays what it was
        writer.rebase(k=4)
        assert reader.groups().to_pylist() == writer.groups().to_pylist()
        writer.compact()  # forgets who was touched
        writer.insert(as_table(rows_of(1, first=500)))
        assert reader.groups().num_rows == 204
        assert whole.count(reader._groups) > 1


def test_a_reader_whose_reading_failed_begins_anew(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*given: object) -> None:
        raise MemoryError

    where = place()
    with make(where, 200) as writer, shoal.Vault.open(where) as reader:
        reader.groups()
        writer.insert(as_table(rows_of(3, first=300)))
        monkeypatch.setattr(record_cache, "rows_among", fails)
        with pytest.raises(MemoryError):
            reader.groups()
        monkeypatch.undo()
        assert reader.groups().to_pylist() == writer.groups().to_pylist()


def test_numbers_of_values_are_not_used_again(place: Place) -> None:
    """A handle that has not followed yet knows a number by a value that is forgotten meanwhile."""
    where = place()
    with make(where, 200) as one:
        one.insert([{**rows_of(1, first=300)[0], "country": "Laputa"}])
        with shoal.Vault.open(where) as two:
            two.delete(["key-300"])
        with shoal.Vault.open(where) as three:
            three.insert([{**rows_of(1, first=301)[0], "country": "Erewhon"}])
        one.insert(as_table(rows_of(1, first=302)))
        one.update([{**rows_of(1, first=303)[0], "id": "key-302", "country": "Erewhon"}])
        kept = by_key(one.export())
        assert kept["key-301"]["country"] == kept["key-302"]["country"] == "Erewhon"
        state = one._state
        assert state is not None
        record = state.live.keys["key-301"]
        at = state.epoch.schema.quasi_identifiers.index("country")
        assert state.live.books[at].decode(state.live.codes[record : record + 1, at]) == ["Erewhon"]
        assert one.check().ok


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
        wrong = as_table(rows_of(1, first=100)).append_column("op", pa.array(["upsert"]))
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


# Epochs


def test_rebase_changes_what_is_asked(place: Place) -> None:
    where = place()
    with make(where) as vault:
        first = vault.publish()
        vault.insert(as_table(rows_of(10, first=100, wild=True)))
        rebased = vault.rebase(k=5, l={"diagnosis": 2}, measure="lm")
        assert (rebased.epoch, rebased.records) == (2, 70)
        assert vault.k == 5
        assert min(group_sizes(vault)) >= 5
        assert vault.status().rules == ["frequency 2-diversity of 'diagnosis'"]
        second = vault.publish()
    with shoal.Vault.open(where, k=5) as vault:
        assert vault.release(1).table.equals(first.table)
        assert vault.release(2).table.equals(second.table)
        assert vault.release(1).k == 3
        assert same_records(vault, [*rows_of(60), *rows_of(10, first=100, wild=True)])
        vault.delete(["key-3"])
        assert vault.release_rows(1).num_rows == first.table.num_rows - 1
        assert vault.rebase(clear_rules=True).epoch == 3
        assert vault.status().rules == []
        assert vault.check().ok
    with pytest.raises(shoal.ParameterError, match="keeps k = 5, not 3"):
        shoal.Vault.open(where, k=3)


def test_rebase_changes_roles(place: Place) -> None:
    where = place()
    with make(where) as vault:
        vault.publish()
        vault.update(as_table([{**rows_of(1, first=5)[0], "id": "key-1", "note": "kept for release 1"}]))
        columns: dict[str, Any] = dict(live_tables.schema().columns)
        columns["note"] = {"role": "identifier"}
        columns["colour"] = {"role": "insensitive"}
        columns["cost"] = {"role": "quasi-identifier", "type": "numeric"}
        schema = shoal.Schema(columns)
        vault.rebase(schema=schema)
        release = vault.publish()
        assert "note" not in release.table.column_names
        assert set(release.table["colour"].to_pylist()) <= {"red", "green", "blue", None}
        assert "note" not in vault.export().column_names
        vault.compact()
        assert b"note 1" not in everything_stored(where)
        assert "note" not in vault.release(1).table.column_names  # the column is gone from history as well
        assert vault.release(1).manifest["hidden"] == ["note"]
        vault.insert(as_table(rows_of(4, first=100)))
        assert vault.check().ok
    with shoal.Vault.open(where, schema=schema) as vault:
        assert vault.status().epoch == 2
        with pytest.raises(shoal.SchemaError, match="no values for 'note'"):
            vault.rebase(schema=live_tables.schema())
        with pytest.raises(shoal.SchemaError, match="does not name 'age'"):
            vault.rebase(schema=shoal.Schema({name: column for name, column in columns.items() if name != "age"}))
        other = {**columns, "id": {"role": "insensitive"}, "age": {"role": "key"}}
        with pytest.raises(shoal.SchemaError, match="the key is 'id'"):
            vault.rebase(schema=shoal.Schema(other))
        with pytest.raises(shoal.ParameterError, match="at most the number of records"):
            vault.rebase(k=1000)
        assert vault.k == 3
    with pytest.raises(shoal.ParameterError, match="another schema"):
        shoal.Vault.open(where, schema=live_tables.schema())


def test_people_and_rules_are_kept(place: Place) -> None:
    rng = np.random.default_rng(5)
    rows = [make_row(rng, f"key-{i}", wild=False, person=True) for i in range(40)]
    where = place()
    schema = live_tables.schema(person=True)
    table = as_table(rows, person=True)
    with shoal.Vault.create(where, schema, k=3, data=table, l={"diagnosis": 1.1}, t={"cost": 0.9}, seed=1) as vault:
        assert vault.status().counted == "people"
        vault.publish()
    with shoal.Vault.open(where) as vault:
        more = [make_row(rng, f"more-{i}", wild=True, person=True) for i in range(20)]
        vault.insert(as_table(more, person=True))
        vault.delete([f"key-{i}" for i in range(10)])
        assert vault.status().records == 50
        if vault.status().publishable:
            vault.publish()
        assert vault.check().ok
    with shoal.Vault.open(where) as vault:
        vault.update(as_table([{**row, "id": f"key-{20 + i}"} for i, row in enumerate(more[:5])], person=True))
        assert vault.check().ok


# Copies


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


# What is no vault


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
        connection.execute(sa.update(tables.vault).values(format=2))
    monkeypatch.setattr(tables, "FORMAT", 4)

    def first(store: Store, connection: sa.Connection) -> None:
        update_vault_row(connection, where, source_position="migrated")

    def fails(store: Store, connection: sa.Connection) -> None:
        raise RuntimeError("halfway")

    monkeypatch.setattr(migrations, "STEPS", {2: first, 3: fails})
    with pytest.raises(RuntimeError):
        shoal.Vault.open(where)
    with vault._store.read() as connection:
        assert vault_row(connection, where)["source_position"] is None
    vault._store.close()
    monkeypatch.setattr(migrations, "STEPS", {2: first, 3: lambda store, connection: None})
    with shoal.Vault.open(where) as vault:
        assert vault.source_position == "migrated"
        assert vault.check().ok
    monkeypatch.setattr(migrations, "STEPS", {})
    monkeypatch.setattr(tables, "FORMAT", 5)
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


def test_domains_that_are_left_are_told(place: Place) -> None:
    with make(place()) as vault:
        vault.insert([{**row, "age": 500 + i} for i, row in enumerate(rows_of(5, first=100))])
        status = vault.status()
        assert status.outside["age"] == pytest.approx(5 / 65)
        assert "rebase" in status.notes[0]
        vault.rebase()
        assert vault.status().outside == {}
