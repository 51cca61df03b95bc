"""Texts that a spreadsheet would run: warned of in a CSV, neutralized on request, and still the same release."""

from __future__ import annotations

import csv
import hashlib
import json
import warnings
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import shoal
from tests.support.commands import run

SCHEMA = shoal.Schema(
    columns={
        "id": {"role": "key"},
        "q": {"role": "quasi-identifier", "type": "categorical"},
        "n": {"role": "quasi-identifier", "type": "numeric"},
        "ill": {"role": "sensitive", "hierarchy": {"=HIV": ["+", "-x"], "other": ["gout", "-5"]}},
        "note": {"role": "insensitive"},
    }
)
QS = ["=1+1", "=1+1", "@home", "@home"]
ILL = ["+", "gout", "-x", "-5"]
NOTES = ["=cmd|'/c calc'!A1", "'=a", "=a", "-5"]


def table() -> pa.Table:
    return pa.table({"id": [1, 2, 3, 4], "q": QS, "n": [-5, -5, 7, 7], "ill": ILL, "note": NOTES})


def cells(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


ASKED: dict[str, Any] = {"l": 2, "alpha": {"ill": {"+": 0.5}}, "t": 0.6}


def test_texts_get_an_apostrophe_and_numbers_none(tmp_path: Path) -> None:
    release = shoal.anonymize(table(), SCHEMA, k=2, **ASKED)
    path = release.write(tmp_path / "out.csv", neutralize_formulas=True)
    rows = sorted(cells(path), key=lambda row: row["ill"])
    assert sorted(row["ill"] for row in rows) == ["'+", "'-x", "-5", "gout"]
    assert sorted(row["note"] for row in rows) == sorted(["'=cmd|'/c calc'!A1", "''=a", "'=a", "-5"])
    assert {row["q"] for row in rows} == {"'=1+1", "'@home"}
    assert {row["n"] for row in rows} == {"-5", "7"}
    assert json.loads((tmp_path / "out.csv.manifest.json").read_text())["neutralized_formulas"] is True
    assert release.table["ill"].to_pylist() != [row["ill"] for row in rows]  # in memory it is as it was


def test_the_verifier_finds_what_was_promised_in_the_neutralized_file(tmp_path: Path) -> None:
    release = shoal.anonymize(table(), SCHEMA, k=2, **ASKED)
    path = release.write(tmp_path / "out.csv", neutralize_formulas=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # alpha finds the value that it names
        assert shoal.verify(path, SCHEMA, 2, **ASKED).ok
    plain = shoal.verify(release.table, SCHEMA, 2, **ASKED)
    again = shoal.verify(path, SCHEMA, 2, **ASKED)
    assert [rule.found for rule in again.rules] == pytest.approx([rule.found for rule in plain.rules])


def test_without_it_a_warning_names_the_columns(tmp_path: Path) -> None:
    release = shoal.anonymize(table(), SCHEMA, k=2)
    with pytest.warns(shoal.ShoalWarning, match="texts of 'q', 'ill', 'note' as formulas") as told:
        path = release.write(tmp_path / "out.csv")
    assert "cmd" not in str(told[0].message)
    assert sorted(row["ill"] for row in cells(path)) == sorted(ILL)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        release.write(tmp_path / "out.parquet", neutralize_formulas=True)  # no spreadsheet runs it
        tame = table().set_column(1, "q", pa.array(["a", "a", "-7", "-7"])).set_column(4, "note", pa.array(["x"] * 4))
        tame = tame.set_column(3, "ill", pa.array(["gout", "-5", "gout", "-5"]))
        shoal.anonymize(tame, SCHEMA, k=2).write(tmp_path / "tame.csv")
    assert sorted(pq.read_table(tmp_path / "out.parquet")["ill"].to_pylist()) == sorted(ILL)


def test_a_vault_keeps_the_digest_of_the_file_as_it_is_written(tmp_path: Path) -> None:
    with shoal.Vault.create(tmp_path / "v.vault", SCHEMA, republication="none", k=2, data=table(), l=2) as vault:
        path = tmp_path / "first.csv"
        vault.publish(path, neutralize_formulas=True)
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        assert json.loads((tmp_path / "first.csv.manifest.json").read_text())["sha256"] == digest
        assert shoal.verify(path, SCHEMA, 2, l=2).ok
        vault.release(1).write(tmp_path / "again.csv", neutralize_formulas=True)
        assert (tmp_path / "again.csv").read_bytes() == path.read_bytes()
        assert vault.check().ok
        vault.publish(tmp_path / "second.csv", even_if_unchanged=True, neutralize_formulas=True)
        told = json.loads((tmp_path / "second.csv.manifest.json").read_text())
        assert told["previous"]["sha256"] == digest


def test_on_the_command_line(tmp_path: Path) -> None:
    (tmp_path / "schema.toml").write_text(
        '[columns.id]\nrole = "key"\n[columns.q]\nrole = "quasi-identifier"\ntype = "numeric"\n'
        '[columns.x]\nrole = "insensitive"\n'
    )
    (tmp_path / "data.csv").write_text("id,q,x\n1,1,=a\n2,1,=a\n3,2,b\n4,2,b\n")
    anonymize = ["anonymize", "data.csv", "-s", "schema.toml", "-k", "2", "-o"]
    assert "--neutralize-formulas" in run(*anonymize, "a.csv", cwd=tmp_path).stderr
    quiet = run(*anonymize, "b.csv", "--neutralize-formulas", cwd=tmp_path)
    assert (quiet.returncode, quiet.stderr) == (0, "")
    assert run("verify", "b.csv", "-s", "schema.toml", "-k", "2", cwd=tmp_path).returncode == 0
    assert run("init", "v.vault", "-s", "schema.toml", "-k", "2", "--data", "data.csv", cwd=tmp_path).returncode == 0
    assert run("publish", "v.vault", "-o", "c.csv", "--neutralize-formulas", cwd=tmp_path).returncode == 0
    assert run("release", "v.vault", "1", "-o", "d.csv", "--neutralize-formulas", cwd=tmp_path).returncode == 0
    for name in ("b.csv", "c.csv", "d.csv"):
        assert sorted(row["x"] for row in cells(tmp_path / name)) == ["'=a", "'=a", "b", "b"]
