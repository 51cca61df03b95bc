"""`shoal schema infer`: what names and values say, what lies beside a table, questions and explanations."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import shoal
from shoal.inference import propose
from shoal.inference.levels import nice_widths
from shoal.inference.missing import numbers_for_missing
from tests.support.commands import run


def guessed(name: str, values: list[object]) -> str:
    (guess,) = propose(pa.table({name: values})).guesses
    return f"{guess.role} {guess.type}" if guess.type else str(guess.role)


@pytest.mark.parametrize(
    ("name", "values", "expected"),
    [
        ("sex", [1, 2, 9] * 20, "quasi-identifier categorical"),
        ("geschlecht", ["1", "2"] * 30, "quasi-identifier categorical"),
        ("industry", [4, 13, 25, 47, 86] * 12, "quasi-identifier categorical"),
        ("tax_filer", ["Y", "N"] * 30, "quasi-identifier categorical"),
        ("date_of_birth", ["31.12.1950", "01.02.1960", "13.05.1971"] * 20, "quasi-identifier date"),
        ("dob", ["12/31/1950", "02/13/1960", "05/03/1971"] * 20, "quasi-identifier date"),
        ("geboren_am", ["31.12.50", "01.02.60", "13.05.71"] * 20, "quasi-identifier date"),
        ("icd", ["I21.4", "E11.9", "J18.9"] * 20, "sensitive"),
        ("diagnose_code", ["I21.4", "E11.9", "J18.9"] * 20, "sensitive"),
        ("dx1", ["E119", "I10", "J449", "M545", "C509"] * 12, "sensitive"),
        ("hauptdiagnose", ["E119", "I219", "J449"] * 20, "sensitive"),
        ("room", ["A101", "B204", "C310", "D405"] * 15, "quasi-identifier categorical"),
        ("via", ["Calle Mayor 3", "Avenida del Sol 12", "Plaza Nueva 1"] * 20, "identifier"),
        ("wo", ["Hauptstraße 5", "Am Weg 12a", "Lindenallee 7, 10115 Berlin"] * 20, "identifier"),
        ("where", ["221B Baker Street", "10 Downing Street", "4 Privet Drive"] * 20, "identifier"),
        ("where", ["Wall Street", "Abbey Road", "Penny Lane"] * 20, "quasi-identifier categorical"),
        ("heure", [f"{n % 24:02d}:{n % 60:02d}" for n in range(60)], "quasi-identifier prefix"),
        ("num_assure", [f"A{5000 + n // 2}" for n in range(80)], "person"),
        ("num_children", [n % 4 for n in range(80)], "quasi-identifier numeric"),
        ("num_beneficiario", [110_100_000 + 17 * n for n in range(80)], "key"),
        ("sheet", [f"HP{1000 + n // 3}" for n in range(80)], "identifier"),
        ("mileage", [2000 + 97 * n for n in range(90)] + [2000], "quasi-identifier numeric"),
        ("in_town", [0, 1] * 30, "quasi-identifier categorical"),
        ("siteid", [100, 101, 102, 103] * 20, "quasi-identifier prefix"),
        ("income", [1, 2, 3, 4, 5, 6, 7, 8] * 10, "sensitive"),
        ("household", [1, 2, 3, 4, 5] * 12, "quasi-identifier numeric"),
        ("household_type", [1, 2, 3, 4, 5] * 12, "quasi-identifier categorical"),
        ("Né le", ["31/12/50", "01/02/60", "13/05/71"] * 20, "quasi-identifier date"),
        ("Métier", ["médecin", "ouvrier", "cadre"] * 20, "quasi-identifier categorical"),
        ("Salaire annuel", ["24 968", "35 326", "19 000"] * 20, "sensitive numeric"),
        ("Bruttolohn", ["2468", "3326", "1900"] * 20, "sensitive numeric"),
        ("Telemóvel", ["912", "913", "914"] * 20, "identifier"),
        ("ill", ["flu", "gout", "none"] * 20, "sensitive"),
        ("einkommen", ["1.234,50", "2.000,00", "999,99"] * 20, "sensitive numeric"),
        ("anything", [f"{number}@example.org" for number in range(60)], "identifier"),
        ("nb_enfants", [0, 1, 2, 3] * 15, "quasi-identifier numeric"),
        ("school_name", ["North", "South", "East"] * 20, "quasi-identifier categorical"),
        (
            "created",
            [f"2024-01-{1 + n % 28:02d} 10:{n // 28:02d}:{n % 28:02d}" for n in range(60)],
            "quasi-identifier date",
        ),
        ("Patientenname", ["Ada", "Bea", "Eve"] * 20, "identifier"),
        ("kundenname", ["Ada", "Bea", "Eve"] * 20, "identifier"),
        ("Gemeindename", ["Ulm", "Bonn", "Trier"] * 20, "quasi-identifier categorical"),
        ("hospitalname", ["North", "South", "East"] * 20, "quasi-identifier categorical"),
        ("patient_id", [n // 2 for n in range(80)], "person"),
        ("case_id", list(range(80)), "key"),
    ],
)
def test_names_and_values_speak(name: str, values: list[object], expected: str) -> None:
    assert guessed(name, values) == expected


@pytest.mark.parametrize(
    ("numbers", "missing"),
    [
        ([*range(15, 90), 999], [999]),
        ([1, 2, 3, -9], [-9]),
        ([1, 2, 3, 4, 5, 99], [99]),
        ([*range(60, 100)], []),  # ages up to 99
        ([-20, -5, 3, 8], []),  # temperatures
        ([1, 2], []),
    ],
)
def test_numbers_far_from_all_others_mean_no_value(numbers: list[int], missing: list[int]) -> None:
    assert numbers_for_missing(numbers, [20] * len(numbers)) == missing


def test_no_level_has_width_one() -> None:
    for top in (2, 3, 5, 9, 20, 50, 100):
        widths = nice_widths(np.arange(top, dtype=np.float64))
        assert widths is None or min(widths) > 1


def test_day_and_month_are_told_by_other_columns() -> None:
    table = pa.table({"born": ["01/02/1950", "03/04/1960"] * 20, "seen_date": ["01/31/2020", "02/01/2020"] * 20})
    formats = {guess.name: guess.format for guess in propose(table).guesses}
    assert formats == {"born": "%m/%d/%Y", "seen_date": "%m/%d/%Y"}
    (alone,) = propose(table.select(["born"])).guesses
    assert alone.sure == "doubtful"
    assert "day or the month" in alone.why


def test_hierarchies_beside_the_table_are_taken(tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text("id,town,job\n" + "".join(f"{n},Ulm,clerk\n" for n in range(30)))
    (tmp_path / "people_hierarchy_town.csv").write_text("Ulm;South;*\nKiel;North;*\n")
    (tmp_path / "hierarchies").mkdir()
    (tmp_path / "hierarchies" / "job.csv").write_text("smith;craft;*\n")
    proposal = propose(tmp_path / "people.csv")
    guesses = {guess.name: guess for guess in proposal.guesses}
    assert guesses["town"].hierarchy == "people_hierarchy_town.csv"
    assert guesses["job"].hierarchy is None
    assert "lacks 1 of the column's 1 values" in str(guesses["job"].warning)
    assert shoal.Schema.infer(tmp_path / "people.csv").columns["town"].grower is not None


def test_how_identifying_columns_and_pairs_are(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("age,sex,town\n30,f,Ulm\n30,m,Ulm\n31,f,Ulm\n31,f,Bonn\n")
    facts = json.loads(run("schema", "infer", "t.csv", "--explain", "--json", cwd=tmp_path).stdout)
    alone = {tuple(one["columns"]): one["alone"] for one in facts["identifying"]}
    assert alone[("sex",)] == 1
    assert alone[("town",)] == 1
    assert alone[("age",)] == 0
    assert {frozenset(pair): count for pair, count in alone.items()}[frozenset(("age", "sex"))] == 2
    shown = run("schema", "infer", "t.csv", "--explain", cwd=tmp_path).stdout
    assert "Ulm" not in shown
    assert "%" in shown


def test_what_is_missing_identifies_nobody(tmp_path: Path) -> None:
    rows = [f"{n},{30 + n % 5},{'unknown' if n == 3 else 'fm'[n % 2]},{-9 if n == 7 else 1 + n % 3}" for n in range(60)]
    (tmp_path / "t.csv").write_text("lab_value,age,sex,children\n" + "\n".join(rows) + "\n")
    facts = json.loads(run("schema", "infer", "t.csv", "--explain", "--json", cwd=tmp_path).stdout)
    found = {tuple(sorted(one["columns"])): one for one in facts["identifying"]}
    assert found[("sex",)]["different"] == 2
    assert found[("children",)]["different"] == 3
    assert (found[("sex",)]["alone"], found[("children",)]["alone"]) == (0, 0)


def test_pairs_that_say_nothing_new_are_not_shown(tmp_path: Path) -> None:
    moments = [f"2024-01-{1 + n % 28:02d} 10:{n:02d}:00" for n in range(60)]
    rows = [f"{moment},{30 + n % 5},{'fm'[n % 2]},x" for n, moment in enumerate(moments)]
    (tmp_path / "t.csv").write_text("created,age,sex,kind\n" + "\n".join([*rows, f"{moments[0]},99,f,x"]) + "\n")
    facts = json.loads(run("schema", "infer", "t.csv", "--explain", "--json", cwd=tmp_path).stdout)
    found = [tuple(one["columns"]) for one in facts["identifying"]]
    assert ("created",) in found
    assert not any("created" in pair for pair in found if len(pair) == 2)  # alone it singles out everybody
    assert not any("kind" in pair for pair in found if len(pair) == 2)  # a constant adds nothing


def test_questions_are_asked_in_a_terminal(tmp_path: Path) -> None:
    rows = "".join(f"{n % 17},{n % 13}\n" for n in range(60))
    (tmp_path / "t.csv").write_text("frobs,age\n" + rows)
    refused = run("schema", "infer", "t.csv", "--header", "--ask", cwd=tmp_path)
    assert refused.returncode == 2
    assert "needs a terminal" in refused.stderr
    outer, inner = pty.openpty()
    words = ["schema", "infer", "t.csv", "--header", "--ask", "-o", "s.toml"]
    command = [sys.executable, "-c", "from shoal.cli import main; main()", *words]
    with subprocess.Popen(
        command, stdin=inner, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, cwd=tmp_path
    ) as asked:
        os.close(inner)
        os.write(outer, b"nonsense\nsens\n")
        said, _ = asked.communicate(timeout=300)
    os.close(outer)
    assert asked.returncode == 0, said
    assert b"That is none of them" in said
    assert shoal.Schema.load(tmp_path / "s.toml").columns["frobs"].role == "sensitive"


@pytest.mark.parametrize("header", ["id;id;gewicht;born;dx", "id;age;born;age;dx", "id;age;dx;born;dx"])
def test_a_header_with_a_name_twice_is_no_record(header: str, tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text(header + "\n" + "".join(f"{n};2{n % 10};6{n % 10},5;1{n % 10}.02.1951;flu\n" for n in range(30)))
    with pytest.raises(shoal.DataError, match=r"one name for columns \d and \d"):
        propose(path)


def test_a_first_record_with_a_value_twice_is_no_header(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("yes;yes;m\n" * 3 + "no;yes;f\n" * 30)
    assert propose(path).header is False


def test_levels_of_dates_are_proposed_and_not_taken() -> None:
    proposal = propose(pa.table({"date_of_birth": ["31.12.1950", "01.02.1960", "13.05.1971"] * 20}))
    assert "levels" not in proposal.columns()["date_of_birth"]
    assert '# levels = ["month", "year", "decade"]' in proposal.toml()
