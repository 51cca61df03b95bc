"""The command line over a vault, as a person or a program uses it; nothing that is printed names a record."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import pytest

import shoal
from shoal.vault.facts import Changed, Checked, Compacted, Diff, Entry, Optimized, Rebased, Status
from tests.support.person import HEADER, PASSWORD, Person, row, table

COMMANDS = (
    "init", "status", "insert", "update", "delete", "apply", "optimize", "publish", "releases", "release", "diff",
    "groups", "export", "check", "compact", "rebase", "backup", "restore", "log", "erase", "schema-change",
)  # fmt: skip


def names_of(kind: type) -> set[str]:
    return {field.name for field in fields(kind)}


def test_a_session(person: Person) -> None:
    made = person.types(
        *("init", "my vault", "-s", "schema.toml", "-k", "3", "--data", "people.csv", "--republication", "none")
    )
    assert made.startswith("✓ 60 records in ")
    assert made.endswith("k = 3. Publish with: shoal publish 'my vault' -o FILE")
    assert "It may be published as it is" in person.types("status", "my vault")
    assert "No release yet" in person.types("releases", "my vault")

    inserted = person.types("insert", "my vault", "new.csv")
    assert inserted.startswith("✓ 6 records inserted; ")
    assert inserted.endswith("Nothing of this is published until: shoal publish 'my vault' -o FILE")
    published = person.types("publish", "my vault", "-o", "1.csv")
    assert published.startswith("✓ Release 1: 66 records in ")
    assert "Written: 1.csv and 1.csv.manifest.json" in published
    assert shoal.verify("1.csv", shoal.Schema.load("schema.toml"), 3).ok
    first = Path("1.csv").read_bytes()

    assert "✓ 2 records updated; " in person.types("update", "my vault", "now.csv")
    assert "✓ 2 records deleted; " in person.types("delete", "my vault", "leaving.csv")
    assert "✓ 1 record inserted, 1 updated, 1 deleted; " in person.types("apply", "my vault", "changes.csv")
    status = person.types("status", "my vault")
    assert "3 changes: 1 inserted, 3 updated, 3 deleted" in status
    person.types("optimize", "my vault")
    assert "Kept in the history. Write it with: shoal release 'my vault' 2 -o FILE" in person.types(
        "publish", "my vault"
    )

    assert " 66 " in person.types("releases", "my vault")
    assert "3 left" not in person.types("diff", "my vault", "1", "2")  # the updated have left too
    assert "60 stayed" in person.heard
    assert "6 left" in person.heard
    assert "4 joined" in person.heard
    assert "3 of its rows" in person.is_refused("release", "my vault", "1", "-o", "again.csv")
    left = person.types("release", "my vault", "1", "-o", "again.csv", "--for-holder")
    assert left.startswith("What is left of release 1: 63 rows. It has not been verified.")
    assert set(Path("again.csv").read_bytes().replace(b'"', b"").splitlines()) <= set(first.splitlines())
    whole = person.types("release", "my vault", "2", "-o", "2.parquet")
    assert whole == "✓ Release 2 again: the 64 rows that it had. Written: 2.parquet and 2.parquet.manifest.json"
    assert shoal.verify("2.parquet", shoal.Schema.load("schema.toml"), 3).ok

    assert person.types("check", "my vault") == "✓ All is well: 64 records and 2 releases looked at."
    assert "Compacted: " in person.types("compact", "my vault")
    assert "Written: copy. It holds the originals" in person.types("backup", "my vault", "copy")
    assert person.types("restore", "copy", "other").endswith("k = 3; last release: 2.")
    assert person.types("check", "other").startswith("✓ All is well")
    assert person.types("rebase", "other", "-k", "5", "-l", "1.2").startswith("✓ Epoch 2: 64 records in ")
    assert "k = 5; frequency 1.2-diversity of 'ill'" in person.types("status", "other")
    assert person.types("publish", "other", "-o", "3.csv").startswith("✓ Release 3: 64 records in ")
    assert "Every class has frequency 1.2-diversity of 'ill'." in person.heard
    person.types("rebase", "other", "--no-rules")
    assert person.asks("status", "other")["rules"] == []


def test_a_program_gets_the_same_facts(person: Person) -> None:
    asked = "init", "v", "-s", "schema.toml", "-k", "3", "--data", "people.csv", "--republication", "none"
    status = person.asks(*asked)
    assert set(status) == names_of(Status) | {"dry_run"}
    assert (status["records"], status["k"], status["publishable"], status["last_release"]) == (60, 3, True, None)
    assert set(person.asks("status", "v")) == names_of(Status)
    assert set(person.asks("insert", "v", "new.csv")) == names_of(Changed)
    release = person.asks("publish", "v", "-o", "1.csv")
    assert release["number"] == 1
    assert release["output"] == "1.csv"
    assert release["manifest"] == "1.csv.manifest.json"
    assert release["k"] == 3
    assert release["dry_run"] is False
    changed = person.asks("apply", "v", "changes.csv", "--spare", "1")
    assert set(changed) == {*names_of(Changed), "optimized"}
    assert set(changed["optimized"]) == names_of(Optimized)
    assert (changed["inserted"], changed["updated"], changed["deleted"], changed["dry_run"]) == (1, 1, 1, False)
    assert person.asks("update", "v", "now.csv")["updated"] == 2
    assert person.asks("delete", "v", "leaving.csv")["deleted"] == 2
    assert set(person.asks("optimize", "v")) == names_of(Optimized)
    assert set(person.asks("optimize", "v", "--max-seconds", "1")) == names_of(Optimized)
    assert person.asks("status", "v")["drift"] is None
    assert person.asks("status", "v", "--drift")["drift"] >= 1.0
    unwritten = person.asks("publish", "v")
    assert unwritten["output"] is None
    assert unwritten["manifest"] is None
    history = person.asks("releases", "v")["releases"]
    assert [entry["number"] for entry in history] == [1, 2]
    assert set(history[0]) == names_of(Entry)
    assert set(person.asks("diff", "v", "1", "2")) == names_of(Diff)
    left = person.asks("release", "v", "1", "-o", "again.csv", "--for-holder")
    assert (left["number"], left["rows"], left["manifest"]) == (1, 63, None)
    assert person.asks("release", "v", "2", "-o", "second.csv")["rows"] == unwritten["rows"]
    sizes = person.asks("groups", "v")
    assert set(sizes) == {"records", "groups", "smallest", "median", "largest", "output"}
    assert sizes["records"] == 64
    assert sizes["smallest"] >= 3
    exported = person.asks("export", "v", "-o", "originals.parquet")
    assert exported["records"] == 64
    assert "town" in exported["columns"]
    assert set(person.asks("check", "v")) == names_of(Checked)
    assert set(person.asks("compact", "v")) == names_of(Compacted)
    assert set(person.asks("rebase", "v")) == names_of(Rebased)
    assert person.asks("backup", "v", "copy") == {"output": "copy"}
    assert set(person.asks("restore", "copy", "w")) == names_of(Status)


def test_releases_are_held_against_each_other(person: Person) -> None:
    """It is asked once, when it matters; each way on is one command."""
    for name in ("v", "w", "x"):
        person.types("init", name, "-s", "schema.toml", "-k", "3", "--data", "people.csv")
        assert "audit: a release that gives somebody away" in person.types("status", name)
        person.types("publish", name, "-o", f"{name}-1.csv")
        person.types("delete", name, "leaving.csv")
        person.types("insert", name, "new.csv")
        refused = person.is_refused("publish", name, "-o", f"{name}-2.csv", code=1)
        assert "it gives away " in refused
        for way in ("--republication safe", "--accept-findings", "--republication none"):
            assert way in refused
        assert not Path(f"{name}-2.csv").exists()
        assert len(person.asks("releases", name)["releases"]) == 1

    said = person.types("publish", "v", "-o", "v-2.csv", "--republication", "safe", "--max-hold", "5")
    assert "Safe together with all others" in said
    status = person.asks("status", "v")
    assert (status["republication"], status["max_hold"], status["vacancies"]) == ("safe", 5, "single")
    assert "safe: " in person.types("status", "v")
    assert "(5 releases at most" in person.heard
    person.types("apply", "v", "changes.csv")
    person.types("publish", "v", "-o", "v-3.csv")
    assert person.types("audit", "v").startswith("✓ 3 releases together")
    assert "Safe together: releases 2 to 3." in person.types("releases", "v")
    assert "undo that" in person.is_refused("publish", "v", "--republication", "none", "--even-if-unchanged")
    assert "--break-guarantee" in person.is_refused("rebase", "v", "-k", "4")
    person.types("rebase", "v", "-k", "4", "--break-guarantee")
    assert person.types("check", "v").startswith("✓ All is well")

    assert "it gives away" in person.types("publish", "w", "-o", "w-2.csv", "--accept-findings")
    entries = person.asks("releases", "w")["releases"]
    assert entries[1]["accepted"] > 0
    assert "Release 2, with those before, gives away " in person.types("releases", "w")
    person.types("apply", "w", "changes.csv")
    assert "shoal audit w --next" in person.types("status", "w")
    assert "shoal audit w --next -o FILE" in person.types("audit", "w", "--next", code=1)
    assert json.loads(Path("w-2.csv.manifest.json").read_text())["republication"]["accepted_findings"]["people"] > 0

    person.types("publish", "x", "-o", "x-2.csv", "--republication", "none")
    person.types("apply", "x", "changes.csv")
    person.types("publish", "x", "-o", "x-3.csv")
    assert person.asks("status", "x")["republication"] == "none"
    assert "30d" in person.is_refused("publish", "x", "--max-hold", "soon", "--even-if-unchanged")
    assert "nobody does" in person.is_refused("publish", "x", "--max-hold", "3", "--even-if-unchanged")
    assert "nobody does" in person.is_refused("init", "y", "-s", "schema.toml", "-k", "3", "--max-hold", "3")


def test_a_trial_changes_nothing(holder: Person) -> None:
    person = holder
    person.types("publish", "v", "-o", "1.csv")
    person.types("insert", "v", "new.csv")
    before = person.asks("status", "v"), person.asks("releases", "v"), sorted(path.name for path in Path().iterdir())
    for words, conditional in (
        (("init", "w", "-s", "schema.toml", "-k", "3", "--data", "people.csv"), "A vault of 60 records in "),
        (("insert", "v", "more.csv"), "1 record would be inserted; "),
        (("update", "v", "now.csv"), "2 records would be updated; "),
        (("delete", "v", "leaving.csv"), "2 records would be deleted; "),
        (("apply", "v", "changes.csv"), "1 record would be inserted, 1 updated, 1 deleted; "),
        (("optimize", "v"), ""),
        (("publish", "v", "-o", "2.csv"), "Release 2 would have 66 records in "),
        (("rebase", "v", "-k", "5"), "Epoch 2 would begin: 66 records in "),
    ):
        Path("more.csv").write_text(f"{HEADER}\n{row(80)}\n")
        said = person.types(*words, "--dry-run")
        assert conditional in said
        assert "✓" not in said
        assert "Nothing" in said
        assert person.asks(*words, "--dry-run")["dry_run"] is True
        Path("more.csv").unlink()
        names = sorted(path.name for path in Path().iterdir())
        assert (person.asks("status", "v"), person.asks("releases", "v"), names) == before, words


def test_an_empty_vault_is_filled(person: Person) -> None:
    made = person.types("init", "v", "-s", "schema.toml", "-k", "3")
    assert made == "✓ An empty vault, k = 3. Fill it with: shoal insert v FILE"
    assert "No groups" in person.types("groups", "v")
    Path("two.csv").write_text(table(range(2)))
    assert "published until" not in person.types("insert", "v", "two.csv")
    assert "It may not be published as it is:" in person.heard
    assert "It may not be published as it is:" in person.types("status", "v")
    assert person.is_refused("publish", "v", "-o", "1.csv", code=1).startswith("Error: ")
    assert not Path("1.csv").exists()
    Path("others.csv").write_text(table(range(2, 9)))
    person.types("insert", "v", "others.csv")
    assert "✓ Release 1: 9 records" in person.types("publish", "v", "-o", "1.csv")


def test_no_is_1_and_failure_is_2(holder: Person) -> None:
    person = holder
    person.types("publish", "v")
    assert "--even-if-unchanged" in person.is_refused("publish", "v", code=1)
    assert person.types("publish", "v", "--even-if-unchanged").startswith("✓ Release 2")
    for words, message in (
        (("status", "nowhere"), "nowhere"),
        (("status", "people.csv"), "people.csv"),
        (("init", "v", "-s", "schema.toml", "-k", "3"), "v"),
        (("init", "w", "-s", "schema.toml", "-k", "1"), "k must be a whole number of at least 2"),
        (("init", "w", "-s", "nowhere.toml", "-k", "3"), "the schema file does not exist"),
        (("init", "w", "-s", "schema.toml", "-k", "3", "--maintainer", "i3n"), "Did you mean 'i3m'"),
        (("insert", "v", "nowhere.csv"), "the file does not exist"),
        (("apply", "v", "people.csv"), "'op'"),
        (("optimize", "v", "--how", "braking"), "Did you mean 'breaking'"),
        (("publish", "v", "-o", "x.doc", "--even-if-unchanged"), ".csv or .parquet"),
        (("release", "v", "7", "-o", "x.csv"), "7"),
        (("diff", "v", "1", "7"), "7"),
        (("groups", "v", "-o", "x.txt"), ".csv or .parquet"),
        (("export", "v", "-o", "nowhere/x.csv"), "does not exist"),
        (("rebase", "v", "--no-rules", "-l", "2"), "say one or the other"),
        (("restore", "copy", "v"), "copy"),
        (("restore", "v", "v"), "v"),
    ):
        assert message in person.is_refused(*words), words
    for words in (("diff", "v", "1"), ("release", "v", "one", "-o", "x.csv"), ("insert", "v"), ("init", ":memory:")):
        person.types(*words, code=2)
        assert "Usage" in person.said


def test_a_busy_vault_says_how_to_wait(holder: Person, monkeypatch: pytest.MonkeyPatch) -> None:
    given = []

    def busy(*_: object, wait: float, **__: object) -> None:
        given.append(wait)
        raise shoal.VaultBusy("another process is changing the vault.", hint="Wait longer (--wait).")

    monkeypatch.setattr(shoal.Vault, "open", busy)
    assert "--wait" in holder.is_refused("insert", "v", "new.csv", "--wait", "0.5")
    holder.types("compact", "v", code=2)
    assert given == [0.5, 0.5, 10.0]


def test_faulty_batches_name_rows_and_columns_alone(holder: Person) -> None:
    person = holder
    for verb, text, wanted in (
        ("insert", table(range(3)), "rows 1, 2 and 3, column 'id'"),  # they are there already
        ("insert", f"{HEADER}\n{row(80)}\n{row(80)}\n", "row 2"),
        ("insert", f"{HEADER}\nQxKey081,QxName,QxMany,QxTown1,QxIll1\n", "row 1, column 'income'"),
        ("insert", "id,income\nQxKey082,91827300\n", "column 'town'"),
        ("update", table(range(80, 82)), "rows 1 and 2"),  # nobody has these keys
        ("delete", "id\nQxKey083\n", "row 1"),
        ("delete", "number\nQxKey001\n", "'id'"),
        ("apply", f"op,{HEADER}\nQxAdd,{row(84)}\n", "must be one of insert, update, upsert, delete"),
    ):
        Path("faulty.csv").write_text(text)
        before = person.asks("status", "v")
        for extra in ((), ("--show-values",), ("--dry-run",)):
            assert wanted in person.is_refused(verb, "v", "faulty.csv", *extra), (verb, text)
        assert person.asks("status", "v") == before
    Path("faulty.csv").write_text(HEADER + "\n")
    assert person.types("insert", "v", "faulty.csv") == "The file has no records: none has changed."


def test_a_vault_in_postgresql(person: Person, postgres_url: str) -> None:
    url = postgres_url.replace("@", f":{PASSWORD}@")  # any password will do
    made = person.types("init", url, "-s", "schema.toml", "-k", "3", "--data", "people.csv")
    assert made.endswith("Publish with: shoal publish VAULT -o FILE")
    assert "127.0.0.1" in person.types("status", url)
    person.types("apply", url, "changes.csv")
    assert "✓ Release 1: 60 records" in person.types("publish", url, "-o", "1.csv")
    person.types("backup", url, "copy")
    assert person.asks("releases", "copy") == person.asks("releases", url)


def test_the_help_of_every_command(person: Person) -> None:
    shown = person.types("--help")
    assert shown.index("One table") < shown.index("anonymize") < shown.index("Vault: a table that changes")
    for name in COMMANDS:
        assert f" {name} " in shown
        told = person.types(name, "--help", COLUMNS="200")
        assert "Usage: " in told
        assert "--json" in told
        writes = name not in ("status", "releases", "release", "diff", "groups", "export", "check", "backup", "log")
        assert ("--wait" in told) == writes, name
        assert ("--dry-run" in told) == writes, name


def test_help_loads_no_database() -> None:
    code = "import atexit, sys; atexit.register(lambda: print({'sqlalchemy', 'numba', 'psycopg'} & set(sys.modules)))"
    for words in (["--help"], ["init", "--help"]):
        script = f"{code}\nfrom shoal.cli import main\nsys.argv = ['shoal', *{words}]\nmain()"
        done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
        assert done.stdout.endswith("set()\n")
