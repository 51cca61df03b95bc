"""Files and secrets of a vault on the command line: private, never overwritten unasked, never shown."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import pyarrow.csv as pa_csv
import pyarrow.parquet as pq

from tests.support.person import PASSWORD, Person


def test_what_is_the_holders_goes_to_a_private_file(holder: Person) -> None:
    person = holder
    assert person.types("groups", "v").endswith("shoal groups v -o FILE (for the holder alone)")
    for words, name, columns in (
        (("groups", "v"), "groups.csv", 2),
        (("groups", "v"), "groups.parquet", 2),
        (("export", "v"), "originals.csv", None),
        (("export", "v"), "originals.parquet", None),
    ):
        assert f"Written: {name} " in person.types(*words, "-o", name)
        assert Path(name).stat().st_mode & 0o777 == 0o600
        held = pq.read_table(name) if name.endswith("parquet") else pa_csv.read_csv(name)
        assert held.num_rows == 60
        assert columns in (None, held.num_columns)
        assert "QxKey007" in Path(name).read_text(errors="replace") or name.endswith("parquet")
        Path(name).write_text("mine")
        Path(name).chmod(0o644)
        assert "--force" in person.is_refused(*words, "-o", name)
        assert Path(name).read_text() == "mine"
        person.types(*words, "-o", name, "--force")
        assert Path(name).stat().st_mode & 0o777 == 0o600
    assert not [path for path in Path().iterdir() if path.name.endswith(".part")]
    Path("v").rename("v.csv")
    person.types("publish", "v.csv")
    for verb in (("groups", "v.csv"), ("export", "v.csv"), ("publish", "v.csv"), ("release", "v.csv", "1")):
        assert "would be lost" in person.is_refused(*verb, "-o", "v.csv", "--force")


def test_existing_files_need_force(holder: Person) -> None:
    person = holder
    Path("taken.csv").write_text("mine")
    person.types("publish", "v", "-o", "1.csv")
    for words in (
        ("publish", "v", "--even-if-unchanged", "-o", "taken.csv"),
        ("release", "v", "1", "-o", "taken.csv"),
        ("backup", "v", "taken.csv"),
    ):
        assert "--force" in person.is_refused(*words)
        assert Path("taken.csv").read_text() == "mine"
    assert len(person.asks("releases", "v")["releases"]) == 1
    assert person.types("release", "v", "1", "-o", "taken.csv", "--force")
    assert Path("taken.csv").read_bytes() == Path("1.csv").read_bytes()
    assert "is a release" in person.is_refused("backup", "v", "taken.csv", "--force")
    assert Path("taken.csv").read_bytes() == Path("1.csv").read_bytes()
    Path("old").write_text("mine")
    person.types("backup", "v", "old", "--force")
    assert person.types("check", "old").startswith("✓")


def test_keys_are_hashed_with_a_secret(person: Person) -> None:
    Path("secret").write_text("a long and boring secret\n")
    Path("wrong").write_text("another one, just as long")
    Path("empty").write_text("\n")
    made = ("init", "v", "-s", "schema.toml", "-k", "3", "--data", "people.csv")
    assert "empty" in person.is_refused(*made, "--key-secret-file", "empty")
    assert "cannot be read" in person.is_refused(*made, "--key-secret-file", "nowhere")
    person.types(*made, "--key-secret-file", "secret")
    assert "hashed with a secret" in person.types("status", "v")
    assert person.asks("status", "v")["keys_hashed"] is True
    assert b"QxKey" not in Path("v").read_bytes()
    for extra in ((), ("--key-secret-file", "wrong")):
        assert "secret" in person.is_refused("insert", "v", "new.csv", *extra)
    person.types("insert", "v", "new.csv", "--key-secret-file", "secret")
    person.types("delete", "v", "leaving.csv", SHOAL_KEY_SECRET="a long and boring secret")
    person.types("publish", "v", "-o", "1.csv")
    person.types("export", "v", "-o", "originals.csv")
    assert "QxKey" not in Path("originals.csv").read_text()
    assert person.types("check", "v").startswith("✓ All is well: 64 records")


def test_damage_is_found(holder: Person) -> None:
    with sqlite3.connect("v") as connection:
        connection.execute("UPDATE records SET carried = replace(carried, 'QxIll1', 'QxIll2') WHERE id % 2 = 0")
    connection.close()
    assert "✗ Something is wrong" in holder.types("check", "v", code=1)
    holder.types("check", "v", "--json", code=1)
    found = json.loads(holder.heard)
    assert found["ok"] is False
    assert found["problems"]


def test_a_password_is_never_shown(person: Person) -> None:
    url = f"postgresql://somebody:{PASSWORD}@127.0.0.1:1/nothing"
    for words in (
        ("init", url, "-s", "schema.toml", "-k", "3"),
        ("status", url),
        ("insert", url, "new.csv"),
        ("publish", url, "-o", "1.csv"),
        ("export", url, "-o", "1.csv"),
        ("backup", url, "copy"),
        ("restore", "people.csv", url),
    ):
        assert person.is_refused(*words).startswith("Error: "), words
    assert person.is_refused("insert", "v", url).startswith("Error: ")  # a table may come from a database
    for swapped in (("backup", "v", url), ("restore", url, "v"), ("export", "v", "-o", url)):
        person.types(*swapped, code=2)
        assert "a file is wanted here" in person.said, swapped
