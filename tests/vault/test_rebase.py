"""Epochs: what is asked of a vault, and how it changes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import shoal
from tests.support import live_tables
from tests.support.live_tables import as_table, make_row
from tests.support.vault_places import Place, group_sizes
from tests.support.vaults import everything_stored, make, rows_of, same_records


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
    with shoal.Vault.create(
        where, schema, republication="none", k=3, data=table, l={"diagnosis": 1.1}, t={"cost": 0.9}, seed=1
    ) as vault:
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


def test_domains_that_are_left_are_told(place: Place) -> None:
    with make(place()) as vault:
        vault.insert([{**row, "age": 500 + i} for i, row in enumerate(rows_of(5, first=100))])
        status = vault.status()
        assert status.outside["age"] == pytest.approx(5 / 65)
        assert "rebase" in status.notes[0]
        vault.rebase()
        assert vault.status().outside == {}
