"""Columns that are published as they are and single out most records: named, and refused by whoever is strict."""

from __future__ import annotations

import json
import warnings
from pathlib import Path

import pyarrow as pa
import pytest

import shoal
from tests.support.commands import run

ROWS = 60


def schema(role: str) -> shoal.Schema:
    columns: dict[str, dict[str, object]] = {
        "id": {"role": "key"},
        "q": {"role": "quasi-identifier", "type": "numeric"},
        "x": {"role": role},
    }
    return shoal.Schema(columns=columns)


def table(different: int, rows: int = ROWS) -> pa.Table:
    """A table with so many different values in a column."""
    values = [f"secret {i % different}" for i in range(rows)]
    return pa.table({"id": list(range(rows)), "q": [i // 6 for i in range(rows)], "x": values})


def said(role: str, different: int, rows: int = ROWS) -> list[str]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        shoal.anonymize(table(different, rows), schema(role), k=2, method="mondrian")
    return [str(warning.message) for warning in caught if "acts as a key" in str(warning.message)]


@pytest.mark.parametrize(
    ("role", "different", "rows", "warned"),
    [
        ("insensitive", 60, 60, True),
        ("insensitive", 30, 60, True),
        ("insensitive", 29, 60, False),
        ("insensitive", 20, 20, False),
        ("sensitive", 60, 60, True),
        ("sensitive", 54, 60, True),
        ("sensitive", 53, 60, False),
        ("sensitive", 20, 20, False),
    ],
)
def test_a_column_that_acts_as_a_key_is_said(role: str, different: int, rows: int, warned: bool) -> None:
    notes = said(role, different, rows)
    assert len(notes) == warned
    assert not [note for note in notes if "secret" in note or "x is" not in note]
    assert not [note for note in notes if ("diversity says little" in note) != (role == "sensitive")]


def test_missing_values_are_no_key() -> None:
    made = table(60).set_column(2, "x", pa.array([None] * 50 + list("abcdefghij"), pa.string()))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        shoal.anonymize(made, schema("insensitive"), k=2, method="mondrian")


def test_strict_makes_it_an_error(tmp_path: Path) -> None:
    with pytest.raises(shoal.DataError, match="x is insensitive") as refused:
        shoal.anonymize(table(60), schema("insensitive"), k=2, strict=True)
    assert refused.value.column == "x"
    with pytest.raises(shoal.DataError, match="x is sensitive"):
        shoal.Vault.create(tmp_path / "a.vault", schema("sensitive"), k=2, data=table(60), strict=True)
    assert not (tmp_path / "a.vault").exists()
    with pytest.warns(shoal.ShoalWarning, match="acts as a key"):
        vault = shoal.Vault.create(tmp_path / "b.vault", schema("sensitive"), k=2, data=table(60))
    with vault:
        with pytest.raises(shoal.DataError, match="x is sensitive"):
            vault.publish(strict=True)
        assert vault.releases() == []
        with pytest.warns(shoal.ShoalWarning, match="acts as a key"):
            vault.publish()
    assert shoal.anonymize(table(3), schema("sensitive"), k=2, method="mondrian", strict=True).table.num_rows == ROWS


def test_on_the_command_line(tmp_path: Path) -> None:
    (tmp_path / "schema.toml").write_text(
        '[columns.id]\nrole = "key"\n[columns.q]\nrole = "quasi-identifier"\ntype = "numeric"\n'
        '[columns.x]\nrole = "insensitive"\n'
    )
    lines = [f"{i},{i // 6},secret{i}" for i in range(ROWS)]
    (tmp_path / "data.csv").write_text("\n".join(["id,q,x", *lines]))
    words = ["anonymize", "data.csv", "-s", "schema.toml", "-k", "2", "--method", "mondrian", "-o"]
    told = run(*words, "out.csv", cwd=tmp_path)
    assert told.returncode == 0
    assert "Note: x is insensitive" in told.stderr
    refused = run(*words, "strict.csv", "--strict", "--json", cwd=tmp_path)
    assert refused.returncode == 2
    assert json.loads(refused.stderr)["column"] == "x"
    assert not (tmp_path / "strict.csv").exists()
    for command in (["init", "v.vault", "-s", "schema.toml", "-k", "2", "--data", "data.csv"],):
        assert run(*command, "--strict", cwd=tmp_path).returncode == 2
        assert "acts as a key" in run(*command, cwd=tmp_path).stderr
    assert run("publish", "v.vault", "--strict", cwd=tmp_path).returncode == 2
