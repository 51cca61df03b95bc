"""A first guess at a schema, and holding one against a table."""

from __future__ import annotations

import datetime as dt
import json
from pathlib import Path

import polars as pl
import pyarrow as pa
import pytest

import shoal
from shoal.fit import check_fit
from shoal.inference import propose
from tests.support.commands import run

TABLE = pa.table(
    {
        "patient_id": [f"P{i}" for i in range(100)],
        "Surname": [f"Name{i % 40}" for i in range(100)],
        "e-mail": [f"{i}@example.org" for i in range(100)],
        "birth_date": [dt.date(1950 + i % 50, 1, 1) for i in range(100)],
        "zip": [f"0{i % 10}10{i % 7}" for i in range(100)],
        "sex": ["f", "m"] * 50,
        "age": [20 + i % 50 for i in range(100)],
        "diagnosis": ["flu", "gout"] * 50,
        "income": [1000.5 + i for i in range(100)],
        "reading": [i * 1.25 for i in range(100)],
        "ward": ["A", "B", "?", "C"] * 25,
        "token": [f"tok{i:04x}" for i in range(100)],
    }
)


def test_roles_and_types_are_guessed() -> None:
    proposal = propose(TABLE)
    found = {guess.name: (str(guess.role), str(guess.type) if guess.type else None) for guess in proposal.guesses}
    assert found == {
        "patient_id": ("key", None),
        "Surname": ("identifier", None),
        "e-mail": ("identifier", None),
        "birth_date": ("quasi-identifier", "date"),
        "zip": ("quasi-identifier", "prefix"),
        "sex": ("quasi-identifier", "categorical"),
        "age": ("quasi-identifier", "numeric"),
        "diagnosis": ("sensitive", None),
        "income": ("sensitive", "numeric"),
        "reading": ("quasi-identifier", "numeric"),
        "ward": ("quasi-identifier", "categorical"),
        "token": ("identifier", None),  # unique as well, but there is a key
    }
    assert proposal.missing == ["?"]
    assert [warning.split(":")[0] for warning in proposal.warnings] == ["income", "reading"]


def test_what_could_identify_somebody_is_never_proposed_to_be_published() -> None:
    """200 rows of distinct numbers under names as they occur."""
    names = "patient_age AgeAtAdmission patient_ssn mrn kontonummer insurance_no latitude lon credit_card".split()
    names += "medicare medical_record_number whatever".split()
    numbers = {name: [7 * i for i in range(200)] for name in names}
    roles = {guess.name: guess.role for guess in propose(pa.table(numbers)).guesses}
    for name in ("patient_age", "AgeAtAdmission", "latitude", "lon"):
        assert roles[name] == "quasi-identifier"
    for name in set(names) - {"patient_age", "AgeAtAdmission", "latitude", "lon"}:
        assert roles[name] in ("identifier", "key"), name


def test_odd_columns_do_not_stop_the_guessing(tmp_path: Path) -> None:
    table = pa.table(
        {"tags": [["a"], ["b"]], "raw": [b"x", b"y"], "no\x7fname": ["a", "b"], "when": ["2024-13-45", "x"]}
    )
    (tmp_path / "schema.toml").write_text(propose(table).toml())
    schema = shoal.Schema.load(tmp_path / "schema.toml")
    assert schema.columns["tags"].role == schema.columns["raw"].role == "identifier"
    assert schema.columns["when"].type == "categorical"
    assert "no\x7fname" in schema.columns


def test_what_is_proposed_works(tmp_path: Path) -> None:
    (tmp_path / "schema.toml").write_text(propose(TABLE).toml())
    loaded, inferred = shoal.Schema.load(tmp_path / "schema.toml"), shoal.Schema.infer(TABLE)
    assert loaded.quasi_identifiers == inferred.quasi_identifiers
    assert shoal.anonymize(TABLE, loaded, k=5).k == 5
    assert "# WARNING" in propose(TABLE).toml()
    assert "# levels = [" in propose(TABLE).toml()


@pytest.mark.parametrize("make", [lambda: shoal.datasets.adult("test"), lambda: shoal.datasets.census(500, 1)])
def test_known_tables_are_understood(make: object, tmp_path: Path) -> None:
    table = make()  # type: ignore[operator]
    schema = shoal.Schema.infer(table)
    assert shoal.anonymize(table, schema, k=5).k == 5
    expected = {"age", "sex", "race", "native-country", "born", "zip", "country"} & set(table.column_names)
    assert expected <= set(schema.quasi_identifiers)
    if "person_id" in table.column_names:
        assert schema.names(shoal.Role.KEY) == ["person_id"]
        assert "name" in schema.names(shoal.Role.IDENTIFIER)
        assert {"income", "diagnosis"} <= set(schema.names(shoal.Role.SENSITIVE))


def test_names_that_toml_must_quote(tmp_path: Path) -> None:
    table = pa.table({'Größe in "cm"': [1, 2, 3], "a.b": ["x", "y", "x"]})
    (tmp_path / "schema.toml").write_text(propose(table).toml(), encoding="utf-8")
    assert list(shoal.Schema.load(tmp_path / "schema.toml").columns) == table.column_names


def test_an_empty_table_teaches_nothing() -> None:
    with pytest.raises(shoal.DataError, match="no records"):
        propose(TABLE.slice(0, 0))


def test_levels_are_counted() -> None:
    schema = shoal.datasets.adult_schema()
    fit = check_fit(shoal.datasets.adult(), schema)
    levels = {column.name: column.levels for column in fit.columns}
    assert levels["native-country"] == [41, 5, 1]
    assert levels["workclass"] == [8, 3, 1]
    assert levels["sex"] == [2, 1]
    assert levels["age"] == [74, 1]
    assert {column.name: column.missing for column in fit.columns}["workclass"] == 2799
    assert fit.warnings == []


def test_columns_that_deserve_a_second_look() -> None:
    schema = shoal.Schema(
        columns={
            "q": {"role": "quasi-identifier", "type": "numeric"},
            "constant": {"role": "quasi-identifier", "type": "categorical"},
            "serial": {"role": "insensitive"},
        }
    )
    assert "1977" not in repr(check_fit(pa.table({"q": [1977, 2], "constant": ["x"] * 2, "serial": ["a"] * 2}), schema))
    serial = [f"s{number}" for number in range(30)]
    fit = check_fit(pa.table({"q": list(range(30)), "constant": ["x"] * 30, "serial": serial}), schema)
    assert len(fit.warnings) == 2
    assert "acts as a key" in fit.warnings[0]


def test_frames_are_understood() -> None:
    frame = pl.DataFrame({"age": [30, 31, 30], "job": ["a", "?", "b"]})
    assert shoal.Schema.infer(frame).missing == ("", "?")
    schema = shoal.Schema(
        columns={"q": {"role": "quasi-identifier", "type": "numeric"}, "tags": {"role": "insensitive"}}
    )
    assert "look at what is in it" in check_fit(pa.table({"q": [1, 2], "tags": [["a"], ["b"]]}), schema).warnings[0]


def test_on_the_command_line(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("id,age,name\n1,30,Rumpelstiltskin\n2,31,Eve\n3,30,Bob\n")
    shown = run("schema", "infer", "t.csv", cwd=tmp_path)
    assert '[columns.age]\nrole = "quasi-identifier"' in shown.stdout
    assert "Rumpelstiltskin" not in shown.stdout
    assert run("schema", "infer", "t.csv", "-o", "s.toml", cwd=tmp_path).returncode == 0
    assert run("schema", "infer", "t.csv", "-o", "s.toml", cwd=tmp_path).returncode == 2
    facts = json.loads(run("schema", "infer", "t.csv", "-o", "s.toml", "--force", "--json", cwd=tmp_path).stdout)
    assert facts["columns"]["id"]["role"] == "key"
    assert "Rumpelstiltskin" not in json.dumps(facts)
    checked = run("schema", "check", "s.toml", "t.csv", cwd=tmp_path)
    assert checked.returncode == 0
    assert "fits the schema" in checked.stdout
    assert "30" not in checked.stdout.replace("30%", "")  # no value of the data
    assert json.loads(run("schema", "check", "s.toml", "t.csv", "--json", cwd=tmp_path).stdout)["records"] == 3
    (tmp_path / "s.toml").write_text('[columns.age]\nrole = "key"\n')
    assert run("schema", "check", "s.toml", "t.csv", cwd=tmp_path).returncode == 2
    assert run("anonymize", "t.csv", "-s", "s.toml", "-k", "2", "-o", "r.csv", cwd=tmp_path).returncode == 2


def test_measuring_on_the_command_line(tmp_path: Path) -> None:
    shoal.anonymize(shoal.datasets.census(300, 1), shoal.datasets.census_schema(), k=3).write(tmp_path / "r.csv")
    (tmp_path / "s.toml").write_text(
        '[columns.sex]\nrole = "quasi-identifier"\ntype = "categorical"\n[columns.diagnosis]\nrole = "sensitive"\n'
    )
    shown = run("measure", "r.csv", "-s", "s.toml", "--columns", "--unique", "1", cwd=tmp_path)
    assert shown.returncode == 0, shown.stderr
    for part in ("CM", "prosecutor", "What it means".lower(), "unique in sex"):
        assert part in shown.stdout
    facts = json.loads(
        run("measure", "r.csv", "-s", "s.toml", "--sampling-fraction", "0.1", "--json", cwd=tmp_path).stdout
    )
    assert facts["risks"]["journalist"]["maximum"] < facts["risks"]["prosecutor"]["maximum"]
    refused = run("measure", "r.csv", "-s", "s.toml", "--threshold", "7", cwd=tmp_path)
    assert refused.returncode == 2
