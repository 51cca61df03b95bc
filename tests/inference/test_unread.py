"""Columns of dates or numbers in which a few cells are neither: what is proposed and said, and what reading says."""

from __future__ import annotations

from datetime import date, datetime
from pathlib import Path

import openpyxl
import pyarrow as pa
import pytest

import shoal
from shoal.fit import check_fit
from shoal.inference import Guess, propose

DAYS = [f"{1 + n % 28:02d}.{1 + n % 12:02d}.{1930 + n % 60}" for n in range(100)]
SECRET = "Rumpelstiltskin"


def the_guess(name: str, values: list[object]) -> Guess:
    (guess,) = propose(pa.table({name: values})).guesses
    return guess


def with_cells(values: list[str], cells: dict[int, str]) -> list[object]:
    """The values, where rows (from 1 on) have these cells instead."""
    return [cells.get(row, value) for row, value in enumerate(values, start=1)]


@pytest.mark.parametrize("name", ["born", "x"])
@pytest.mark.parametrize(
    ("values", "form"),
    [
        (DAYS, "%d.%m.%Y"),
        ([f"{day[6:]}-{day[3:5]}-{day[:2]}" for day in DAYS], None),
        ([f"{day[3:5]}/{day[:2]}/{day[6:]}" for day in DAYS], "%m/%d/%Y"),
    ],
)
def test_a_few_cells_that_are_no_dates_are_counted_by_row(name: str, values: list[str], form: str | None) -> None:
    guess = the_guess(name, with_cells(values, {5: SECRET, 51: "May 1950", 80: f"{SECRET} 2"}))
    assert (guess.type, guess.format) == ("date", form)
    assert guess.warning is not None
    assert "3 cells do not read as a date (rows 5, 51 and 80)" in guess.warning
    assert "`missing`" in guess.warning
    assert SECRET not in repr(guess) + str(guess.warning) + guess.why


def test_what_is_proposed_refuses_those_cells_by_file_row_and_column(tmp_path: Path) -> None:
    cells = with_cells(DAYS, {5: SECRET, 51: "31.02.1960"})
    path = tmp_path / "people.csv"
    path.write_text("id,born\n" + "".join(f"{n},{cell}\n" for n, cell in enumerate(cells)))
    text = propose(path).toml()
    assert SECRET not in text
    (tmp_path / "schema.toml").write_text(text)
    schema = shoal.Schema.load(tmp_path / "schema.toml")
    with pytest.raises(shoal.DataError) as refused:
        check_fit(path, schema)
    assert str(refused.value).startswith(f"{path}: column 'born', rows 5 and 51: not of the form %d.%m.%Y.")
    assert "add it to `missing`" in str(refused.value)
    assert SECRET not in str(refused.value)
    declared = text.replace('format = "%d.%m.%Y"', f'format = "%d.%m.%Y"\nmissing = ["{SECRET}", "31.02.1960"]')
    (tmp_path / "schema.toml").write_text(declared)
    assert check_fit(path, shoal.Schema.load(tmp_path / "schema.toml")).columns[0].missing == 2


def test_a_word_that_is_often_there_means_no_value() -> None:
    guess = the_guess("ended", ["ongoing" if n % 3 else f"2020-01-{1 + n % 28:02d}" for n in range(90)])
    assert (guess.type, guess.missing, guess.profile.unread) == ("date", ["ongoing"], [])  # type: ignore[union-attr]
    assert "a word that is often there among them is taken for no value" in guess.why
    marks = the_guess("x", ["absent" if n % 9 == 0 else f"{n / 7:.1f}" for n in range(90)])
    assert (marks.type, marks.missing) == ("numeric", ["absent"])


def test_a_name_in_a_wrong_cell_is_not_shown() -> None:
    guess = the_guess("born", with_cells(DAYS, {7: SECRET, 20: SECRET}))
    assert (guess.type, guess.missing) == ("date", [])
    assert "2 cells do not read as a date (rows 7 and 20)" in str(guess.warning)


@pytest.mark.parametrize("zero", ["00.00.0000", "0000-00-00", "99.99.9999", "9999-12-31"])
def test_a_date_that_is_none_means_no_value(zero: str) -> None:
    guess = the_guess("born", with_cells(DAYS, {7: zero}))
    assert (guess.type, guess.missing, guess.profile.unread) == ("date", [zero], [])  # type: ignore[union-attr]


def test_moments_that_are_none_are_missing_when_they_are_read() -> None:
    moments = [datetime(2020, 1, 1 + n % 28, 8, n % 60) for n in range(60)] + [datetime(9999, 12, 31)]
    table = pa.table({"left_on": pa.array(moments, pa.timestamp("us"))})
    schema = shoal.Schema.infer(table)
    assert schema.columns["left_on"].missing == ("9999-12-31",)
    assert check_fit(table, schema).columns[0].missing == 1


def test_a_text_among_numbers_is_counted_where_they_must_be_numbers() -> None:
    ages = [str(20 + n % 70) for n in range(100)]
    guess = the_guess("age", with_cells(ages, {9: "90+", 30: "90+", 77: SECRET}))
    assert guess.type == "numeric"
    assert "3 cells do not read as a number (rows 9, 30 and 77)" in str(guess.warning)
    communes = [str(10_000 + 37 * n) for n in range(100)]
    assert the_guess("x", with_cells(communes, {9: "2A004"})).type != "numeric"  # may be a code: nothing says it is not


def test_texts_with_some_dates_among_them_stay_texts() -> None:
    mixed = [day if n % 2 else f"see file {n % 10}" for n, day in enumerate(DAYS)]
    assert the_guess("x", list(mixed)).type != "date"


def test_a_text_among_the_dates_of_a_workbook(tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    book.active.append(["id", "born"])
    days = [f"{day[6:]}-{day[3:5]}-{day[:2]}" for day in DAYS]
    for n, day in enumerate(days):
        book.active.append([n, SECRET if n == 3 else date.fromisoformat(day)])
    book.save(tmp_path / "people.xlsx")
    guess = propose(tmp_path / "people.xlsx").guesses[1]
    assert guess.type == "date"
    assert "1 cell does not read as a date (row 4)" in str(guess.warning)
