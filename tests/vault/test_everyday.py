"""Everyday changes: upserts, some columns alone, erasure lists with unknown keys, and a batch that comes twice."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import shoal
from tests.support.live_tables import as_table
from tests.support.vault_places import Place, by_key
from tests.support.vaults import make, rows_of, same_records


def test_upserts_insert_and_update(place: Place) -> None:
    rows = rows_of(60)
    rows[3] |= {"note": "seen again"}
    new = rows_of(1, first=400)
    with make(place()) as vault:
        done = vault.insert(as_table([rows[3], *new]), upsert=True)
        assert (done.inserted, done.updated) == (1, 1)
        assert same_records(vault, [*rows, *new])
        table = as_table([rows[3]]).append_column("op", pa.array(["UPSERT"]))
        assert vault.apply(table, again=True).updated == 1
        with pytest.raises(shoal.BatchError, match="upsert twice"):
            vault.insert(as_table([rows[3], rows[3]]), upsert=True)


LACKING = [
    ("update", [{"id": "key-7", "age": 44}, {"id": "key-8", "note": "x"}]),
    ("upsert", [{"id": "key-7", "age": 44}, *rows_of(1, first=400)]),
    ("apply", [{"op": "update", "id": "key-7", "age": 44}, {"op": "insert", **rows_of(1, first=400)[0]}]),
]


@pytest.mark.parametrize("as_file", [False, True])
@pytest.mark.parametrize(("how", "rows"), LACKING, ids=[how for how, _ in LACKING])
def test_rows_with_other_columns_empty_nothing(
    tmp_path: Path, how: str, rows: list[dict[str, Any]], as_file: bool
) -> None:
    """What a row does not speak of would be emptied, because another speaks of it."""
    with make(":memory:") as vault:
        given: Any = rows
        if as_file:
            given = tmp_path / "changes.jsonl"
            given.write_text("".join(json.dumps(row, default=str) + "\n" for row in rows))
        verbs: dict[str, Any] = {
            "apply": vault.apply,
            "upsert": partial(vault.insert, upsert=True),
            "update": vault.update,
        }
        with pytest.raises(shoal.DataError, match="row 1 lacks column") as refused:
            verbs[how](given)
        assert refused.value.rows == [1]
        assert same_records(vault, rows_of(60))
        deletes = [{"op": "delete", "id": "key-7"}, {"op": "update", "id": "key-8", "age": 44}]
        assert vault.apply(deletes).updated == 1
        assert vault.insert([*rows_of(1, first=500), {**rows_of(1, first=600)[0], "note": None}]).inserted == 2


def test_columns_that_are_lacking_stay_as_they_are(place: Place) -> None:
    rows = rows_of(60)
    where = place()
    with make(where) as vault:
        vault.update([{"id": "key-7", "age": 44}, {"id": "key-8", "age": None}])
        vault.update([{"id": "key-9", "diagnosis": "flu"}])
        rows[7]["age"], rows[8]["age"], rows[9]["diagnosis"] = 44, None, "flu"
        assert same_records(vault, rows)
        with pytest.raises(shoal.BatchError, match="'zip': the batch does not have this column"):
            vault.insert([{"id": "key-90", "age": 4}, {"id": "key-7", "age": 4}], upsert=True)
        with pytest.raises(shoal.DataError, match="1 of its 2 columns are not in the schema"):
            vault.update([{"id": "key-7", "aeg": 44}])
        with pytest.raises(shoal.BatchError, match="update of a key that no record has"):
            vault.update([{"id": "nobody", "age": 44}])
        vault.publish()
    with shoal.Vault.open(where) as vault:
        assert same_records(vault, rows)
        assert vault.check().ok


def test_an_erasure_list_may_name_strangers(place: Place) -> None:
    with make(place()) as vault:
        with pytest.raises(shoal.BatchError, match="delete of a key that no record has"):
            vault.delete(["key-1", "nobody"])
        done = vault.delete(["key-1", "nobody", "no one"], ignore_unknown=True)
        assert (done.deleted, done.ignored) == (1, 2)
        done = vault.delete(["key-1"], ignore_unknown=True)
        assert (done.deleted, done.ignored, done.version) == (0, 1, 2)
        changes = pa.table({"op": ["delete", "delete"], "id": ["key-2", "nobody"]})
        assert vault.apply(changes, ignore_unknown=True).deleted == 1
        assert "key-2" not in by_key(vault.export())


def test_a_batch_that_comes_twice_is_known(place: Place) -> None:
    where = place()
    come, changed = as_table(rows_of(2, first=300)), [{"id": "key-5", "age": 31}]
    with make(where) as vault:
        vault.insert(come)
        vault.update(changed)
        vault.delete(["key-6"])
    with shoal.Vault.open(where) as vault:  # whoever comes next knows them, too
        known = "has been applied already: it is version"
        with pytest.raises(shoal.Doubtful, match=known):
            vault.insert(come)
        with pytest.raises(shoal.Doubtful, match=known):
            vault.update(changed)
        with pytest.raises(shoal.Doubtful, match=known):
            vault.delete(["key-6"])
        assert vault.status().version == 4
        assert vault.update(changed, again=True).updated == 1
        with pytest.raises(shoal.BatchError):
            vault.insert(come, again=True)
        vault.delete(["key-300", "key-301"])
        assert vault.insert(come).inserted == 2  # they were gone: it is not the same any more
        vault.update([{"id": "key-5", "age": 32}])
        assert vault.update(changed).updated == 1  # back to what it was is a change
        vault.compact()  # forgets what batches were, not what they were called
        assert vault.update(changed).updated == 1


def test_a_batch_may_have_a_name(place: Place) -> None:
    with make(place()) as vault:
        vault.update([{"id": "key-5", "age": 31}], batch_id="2026-11-17")
        with pytest.raises(shoal.Doubtful, match="a batch with this id has been applied already: it is version 2"):
            vault.update([{"id": "key-5", "age": 32}], batch_id="2026-11-17")
        vault.compact()
        with pytest.raises(shoal.Doubtful, match="with this id"):
            vault.delete(["key-5"], batch_id="2026-11-17", dry_run=True)
        assert vault.update([{"id": "key-5", "age": 32}], batch_id="2026-11-17", again=True).updated == 1
        with pytest.raises(shoal.ParameterError, match="batch_id must"):
            vault.delete(["key-5"], batch_id="")
        assert [one.batch_id for one in vault.log()] == [None, "2026-11-17", "2026-11-17"]
