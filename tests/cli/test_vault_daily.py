"""The vault in daily use, on the command line: extracts, erasure lists, the log, other schemas."""

from __future__ import annotations

import json
from dataclasses import fields
from pathlib import Path

import pytest

import shoal
from shoal.vault.facts import Erased, Logged, Replaced, SchemaChanged
from shoal.vault.store.sqlite import Sqlite
from tests.support.person import HEADER, SCHEMA, Person, row, table


def names_of(kind: type) -> set[str]:
    return {field.name for field in fields(kind)}


def test_a_nightly_extract(holder: Person) -> None:
    person = holder
    Path("tonight.csv").write_text("\n".join([HEADER, row(2, town=1), *map(row, range(3, 62))]) + "\n")
    tried = person.types("apply", "v", "--snapshot", "tonight.csv", "--dry-run")
    assert tried.startswith("The snapshot has 60 records, 57 of them as they are here.")
    assert "2 records would be inserted, 1 updated, 2 deleted" in tried
    assert person.asks("status", "v")["version"] == 1
    done = person.types("apply", "v", "--snapshot", "tonight.csv")
    assert "✓ 2 records inserted, 1 updated, 2 deleted" in done
    assert person.asks("status", "v")["version"] == 2  # one batch
    assert "Nothing has to change." in person.types("apply", "v", "--snapshot", "tonight.csv")
    again = person.asks("apply", "v", "--snapshot", "tonight.csv", "--dry-run")
    assert again.keys() == names_of(Replaced)
    Path("part.csv").write_text(table(range(2, 30)))
    refused = person.is_refused("apply", "v", "--snapshot", "part.csv", code=1)
    assert "more than 10.0% would be deleted" in refused
    assert "--max-deleted" in refused
    assert "✗ It would be refused" in person.types("apply", "v", "--snapshot", "part.csv", "--dry-run", code=1)
    assert person.asks("status", "v")["version"] == 2
    assert "32 deleted" in person.types("apply", "v", "--snapshot", "part.csv", "--max-deleted", "0.6")
    assert "one of them" in person.is_refused("apply", "v", "changes.csv", "--snapshot", "tonight.csv")
    assert "one of them" in person.is_refused("apply", "v")


def test_everyday_changes(holder: Person) -> None:
    person = holder
    Path("both.csv").write_text("\n".join([HEADER, row(3, town=1), row(80)]) + "\n")
    assert "✓ 1 record inserted, 1 updated" in person.types("insert", "v", "both.csv", "--upsert", "--batch-id", "mon")
    assert "a batch with this id has been applied already" in person.is_refused(
        "insert", "v", "both.csv", "--upsert", "--batch-id", "mon", code=1
    )
    assert "the same batch has been applied already" in person.is_refused("insert", "v", "both.csv", "--upsert", code=1)
    assert "✓ 2 records updated" in person.types("insert", "v", "both.csv", "--upsert", "--again")
    Path("town.csv").write_text("id,town\nQxKey004,QxTown6\n")  # one column alone
    assert "✓ 1 record updated" in person.types("update", "v", "town.csv")
    Path("list.csv").write_text("id\nQxKey005\nQxKey900\nQxKey901\n")
    assert "rows 2 and 3" in person.is_refused("delete", "v", "list.csv")
    done = person.types("delete", "v", "list.csv", "--ignore-unknown")
    assert done.startswith("2 keys that no record has, passed over. ✓ 1 record deleted")
    Path("many.csv").write_text(table(range(20, 50)))
    faults = person.is_refused("insert", "v", "many.csv")
    assert "30 faults. rows 1, 2, 3, 4, 5 and 25 more, column 'id'" in faults
    assert faults.count("column 'id'") == 1


def test_who_did_what(holder: Person) -> None:
    person = holder
    person.types("insert", "v", "new.csv", "--batch-id", "monday")
    person.types("publish", "v", "-o", "1.csv")
    person.types("backup", "v", "copy")
    shown = person.types("log", "v")
    assert all(word in shown for word in ("create", "apply", "publish", "backup", "6 inserted; batch monday", "1.csv"))
    told = person.asks("log", "v")["log"]
    assert [one["what"] for one in told] == ["create", "apply", "publish", "backup"]
    assert all(one.keys() == names_of(Logged) and one["at"] and one["who"] for one in told)


def test_people_are_forgotten(holder: Person, monkeypatch: pytest.MonkeyPatch) -> None:
    person = holder
    person.types("publish", "v", "-o", "1.csv")
    assert "2 records would be erased. Nothing has been changed." in person.types(
        "erase", "v", "leaving.csv", "--dry-run"
    )

    def no_room(self: Sqlite) -> None:
        raise shoal.VaultError("there is no room left on the disk; what the vault holds is as it was.")

    with monkeypatch.context() as patched:
        patched.setattr(Sqlite, "compact", no_room)
        shown = person.types("erase", "v", "leaving.csv", code=2)
        assert "✓ 2 records erased" in shown
        assert "Old copies of pages may still hold them" in shown
        assert (
            "2 records are deleted, in version 2, but compacting the vault has failed: there is no room" in person.said
        )
        assert "--ignore-unknown" in person.said
        person.types("erase", "v", "leaving.csv", "--ignore-unknown", "--json", code=2)
        assert json.loads(person.said)["receipt"].keys() == names_of(Erased)
    done = person.asks("erase", "v", "leaving.csv", "--ignore-unknown")
    assert (done["erased"], done["ignored"], done["compacted"], done["records"]) == (0, 2, True, 58)
    assert person.asks("check", "v")["ok"]


def test_another_schema(holder: Person) -> None:
    person = holder
    person.types("schema", "v", "-o", "now.toml")
    assert 'role = "sensitive"' in person.types("schema", "show", "v")
    assert person.types("schema", "v") == person.types("schema", "show", "v")
    assert "has this schema already" in person.types("schema-change", "v", "-s", "now.toml")
    Path("wider.toml").write_text(f'{SCHEMA}[columns.ward]\nrole = "insensitive"\n')
    refused = person.is_refused("schema-change", "v", "-s", "wider.toml")
    assert "nothing says what 'ward' is" in refused
    tried = person.asks("schema-change", "v", "-s", "wider.toml", "--default", "ward=main", "--dry-run")
    assert tried.keys() == names_of(SchemaChanged)
    assert [(step["column"], step["needs"]) for step in tried["steps"]] == [("ward", "nothing")]
    done = person.types("schema-change", "v", "-s", "wider.toml", "--default", "ward=main")
    assert "no record changes its group" in done
    Path("renamed.toml").write_text(Path("wider.toml").read_text().replace("columns.ward", "columns.station"))
    assert "✓ Epoch 3" in person.types("schema-change", "v", "-s", "renamed.toml", "--rename", "ward=station")
    assert person.asks("check", "v")["ok"]
    with shoal.Vault.open("v") as vault:
        assert set(vault.export()["station"].to_pylist()) == {"main"}


def test_a_damaged_vault(holder: Person) -> None:
    person = holder
    content = bytearray(Path("v").read_bytes())
    at = content.rindex(b"QxKey017")
    content[at + 7] ^= 1
    Path("v").write_bytes(content)
    refused = person.is_refused("status", "v")
    assert "the vault is damaged" in refused
