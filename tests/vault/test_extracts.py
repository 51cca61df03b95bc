"""A full extract: shoal finds what has changed, and applies it as one batch."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pytest

import shoal
from tests.support import live_tables
from tests.support.live_tables import as_table
from tests.support.vault_places import Place
from tests.support.vaults import make, rows_of, same_records

SECRET = "0123456789abcdef"  # of a test


def next_night(count: int = 60) -> list[dict[str, Any]]:
    """The rows of `make`, one night later: three gone, four changed, two new."""
    rows = rows_of(count)
    rows[10] |= {"age": 99, "note": "moved"}
    rows[11] |= {"country": "Thule"}
    rows[12] |= {"diagnosis": None}
    rows[13] |= {"cost": 3.5}
    return [*rows[:5], *rows[8:], *rows_of(2, first=500, wild=True)]


def tabled(rows: list[dict[str, Any]]) -> pa.Table:
    table = as_table([{**row, "cost": None} for row in rows])
    costs = pa.array([row["cost"] for row in rows], pa.float64())
    return table.set_column(table.column_names.index("cost"), "cost", costs)


def test_what_has_changed_is_found(place: Place) -> None:
    where = place()
    with make(where) as vault:
        before = vault.groups()
        tried = vault.replace(tabled(next_night()), dry_run=True)
        assert vault.groups().equals(before)
        done = vault.replace(tabled(next_night()))
        for found in (tried, done):
            assert (found.inserted, found.updated, found.deleted, found.unchanged, found.rows) == (2, 4, 3, 53, 59)
        assert vault.status().version == 2  # one batch
        assert same_records(vault, next_night())
        again = vault.replace(tabled(next_night()))
        assert (again.inserted, again.updated, again.deleted, again.unchanged) == (0, 0, 0, 59)
        assert vault.status().version == 2
    with shoal.Vault.open(where) as vault:
        assert vault.check().ok
        assert vault.replace(tabled(next_night())).unchanged == 59


def test_an_extract_with_hashed_keys(place: Place) -> None:
    where = place()
    with make(where, key_secret=SECRET) as vault:
        done = vault.replace(tabled(next_night()))
        assert (done.inserted, done.updated, done.deleted) == (2, 4, 3)
    with shoal.Vault.open(where) as vault, pytest.raises(shoal.VaultError, match="need its key secret"):
        vault.replace(tabled(next_night()))


def test_an_extract_that_lacks_many_is_refused(place: Place) -> None:
    with make(place()) as vault:
        part = as_table(rows_of(60)[:50])
        with pytest.raises(shoal.Doubtful, match=r"lacks 10 of 60 records, 16\.7%: more than 10\.0%"):
            vault.replace(part)
        assert vault.status().version == 1
        tried = vault.replace(part, dry_run=True)
        assert tried.too_many_deleted
        assert tried.deleted == 10
        with pytest.raises(shoal.Doubtful):
            vault.replace(as_table([]))
        assert vault.replace(part, max_deleted=0.2).deleted == 10


def test_what_is_wrong_with_an_extract_is_said_by_its_rows(place: Place) -> None:
    with make(place()) as vault:
        rows = next_night()
        rows[20] |= {"id": None}
        rows[31] |= {"id": "key-500"}
        table = tabled(rows)
        ages = table["age"].cast(pa.string()).to_pylist()
        ages[40] = "old"
        table = table.set_column(table.column_names.index("age"), "age", pa.array(ages))
        with pytest.raises(shoal.BatchError) as refused:
            vault.replace(table, max_deleted=1)
        found = {(offence.row, offence.column) for offence in refused.value.offences}
        assert found == {(21, "id"), (58, "id"), (41, "age")}
        with pytest.raises(shoal.DataError, match="has no column 'zip'"):
            vault.replace(as_table(rows_of(60)).drop_columns(["zip"]))
        with pytest.raises(shoal.DataError, match="'iq' that the schema does not name"):
            vault.replace(as_table(rows_of(60)).append_column("iq", pa.array([1] * 60)))
        with pytest.raises(shoal.ParameterError, match="max_deleted"):
            vault.replace(as_table(rows_of(60)), max_deleted=10)
        assert vault.status().version == 1
        assert same_records(vault, rows_of(60))


def test_an_extract_in_a_file_without_identifiers(tmp_path: Path) -> None:
    file = tmp_path / "extract.csv"
    pa.csv.write_csv(as_table(rows_of(60)).drop_columns(["name"]), file)
    with make(str(tmp_path / "v.vault")) as vault:
        assert vault.replace(file).unchanged == 60


def test_people_and_their_records(place: Place) -> None:
    """Whose a record is may change like anything else."""
    schema = live_tables.schema(person=True)
    rows = [{**row, "who": f"person {number // 2}"} for number, row in enumerate(rows_of(40))]
    with shoal.Vault.create(place(), schema, k=3, l=1, data=as_table(rows, person=True), seed=1) as vault:
        assert vault.replace(as_table(rows, person=True)).unchanged == 40
        rows[3]["who"] = "person 9"
        assert vault.replace(as_table(rows, person=True)).updated == 1
        assert vault.check().ok
