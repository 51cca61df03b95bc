"""Somebody who types commands, in a folder with what they need."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.person import HEADER, SCHEMA, Person, row, table


@pytest.fixture
def person(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Person:
    """In a folder with a schema and tables."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("SHOAL_KEY_SECRET", raising=False)
    for name, text in (
        ("schema.toml", SCHEMA),
        ("people.csv", table(range(60))),
        ("new.csv", table(range(60, 66))),
        ("now.csv", f"{HEADER}\n{row(3, town=1)}\n{row(4, town=2)}\n"),
        ("leaving.csv", "id\nQxKey010\nQxKey011\n"),
        ("changes.csv", f"op,{HEADER}\ninsert,{row(70)}\nupdate,{row(5, town=6)}\ndelete,QxKey012,,,,\n"),
    ):
        Path(name).write_text(text)
    return Person()


@pytest.fixture
def holder(person: Person) -> Person:
    """The same, with a vault."""
    person.types("init", "v", "-s", "schema.toml", "-k", "3", "--data", "people.csv", "--republication", "none")
    return person
