"""Labels in files of SPSS and Stata: those of values become categories, those of columns say what a name does not."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pyreadstat
import pytest

import shoal
from shoal.fit import check_fit
from shoal.inference import Guess, propose

ROWS = 80
FRAME = pd.DataFrame(
    {
        "q1": [1.0 + n % 2 for n in range(ROWS)],
        "q2": [998.0 if n % 20 == 7 else 20.0 + n % 50 for n in range(ROWS)],
        "q3": [1940.0 + n % 60 for n in range(ROWS)],
        "q4": [1000.0 * (n % 9) + 7 for n in range(ROWS)],
        "q5": [float(n % 4) for n in range(ROWS)],
        "q6": [1.0 + n % 3 for n in range(ROWS)],
        "age": [20.0 + n % 50 for n in range(ROWS)],
    }
)
LABELS = ["Sex of respondent", "How old are you?", "Year of birth", "Monthly net income", "Number of children", "",
          "Name of the first\nvariable"]  # fmt: skip
VALUES = {"q1": {1: "male", 2: "female"}, "q2": {998: "Refused"}, "q6": {1: "north", 2: "south", 3: "Don't know"}}


@pytest.fixture(params=["sav", "dta"])
def path(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    path = tmp_path / f"survey.{request.param}"
    write = {"sav": pyreadstat.write_sav, "dta": pyreadstat.write_dta}[request.param]
    write(FRAME, str(path), column_labels=LABELS, variable_value_labels=VALUES)
    return path


def guesses(path: Path) -> dict[str, Guess]:
    return {guess.name: guess for guess in propose(path).guesses}


def test_the_label_speaks_where_the_name_says_nothing(path: Path) -> None:
    found = guesses(path)
    assert {name: f"{guess.role} {guess.type}" for name, guess in found.items()} == {
        "q1": "quasi-identifier categorical",
        "q2": "quasi-identifier numeric",
        "q3": "quasi-identifier numeric",
        "q4": "sensitive numeric",
        "q5": "quasi-identifier numeric",
        "q6": "quasi-identifier categorical",
        "age": "quasi-identifier numeric",
    }
    assert found["q3"].why.startswith("by its label: a year")
    assert found["age"].why.startswith("by its name: an age")


def test_labels_for_no_value_are_taken(path: Path) -> None:
    assert guesses(path)["q2"].missing == ["998"]
    assert propose(path).missing == ["Don't know"]


def test_the_proposal_shows_labels_and_reads_the_file(path: Path, tmp_path: Path) -> None:
    text = propose(path).toml()
    assert "[columns.q3] # Year of birth\n" in text
    assert "[columns.age] # Name of the first variable\n" in text
    (tmp_path / "schema.toml").write_text(text)
    with pytest.warns(shoal.ShoalWarning, match="some values of column 'q2' have labels"):
        fit = check_fit(path, shoal.Schema.load(tmp_path / "schema.toml"))
    assert {column.name: column.missing for column in fit.columns if column.missing} == {"q2": 4, "q6": 26}
