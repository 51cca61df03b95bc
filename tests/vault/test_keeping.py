"""What a vault keeps: records through every kind of change, and values of every plain type."""

from __future__ import annotations

import datetime as dt
import decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.csv as pa_csv
import pytest

import shoal
from tests.support import live_tables
from tests.support.live_tables import as_table
from tests.support.vault_places import Place, by_key, group_sizes
from tests.support.vaults import make, rows_of, same_records


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
    with shoal.Vault.create(where, live_tables.schema(), republication="none", k=3) as vault:
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
    with shoal.Vault.create(where, schema, republication="none", k=2, data=table) as vault:
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
        shoal.Vault.create(tmp_path / "v", schema, republication="none", k=2, data=table)
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
