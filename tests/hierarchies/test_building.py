"""Hierarchies built for the values of a column: every value once, labels that name one set, a file that reads back."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from shoal import Hierarchy
from shoal.fit import check_fit
from shoal.hierarchies.building import WAYS
from tests.support.commands import run

VALUES: dict[str, list[str]] = {
    "widths": ["21", "24", "38", "40", "55", "58", "59", "60"],
    "quantiles": [str(number * number) for number in range(1, 30)],
    "rounding": ["-114.61", "-114.6", "-115.02", "3.14", "0"],
    "dates": ["1950-12-31", "1951-01-01", "1963-05-05"],
    "prefix": ["47906", "47907", "10115"],
    "suffix": ["47906", "47907", "10115"],
    "order": ["low", "medium", "high", "top", "none"],
    "frequency": ["a"] * 9 + ["b"] * 5 + ["c", "d", "e", "f", "g"],
    "icd-10": ["I21.4", "I21", "I10.90", "C50.9", "D48", "D50", "Z38.0"],
    "nuts": ["DE212", "DE21", "DE11", "FR10", "ITC4", "DE"],
    "countries": ["Germany", "France", "Kenya", "Japan", "Brazil", "Atlantis"],
}


@pytest.mark.parametrize("by", WAYS)
def test_every_way_makes_a_tree_of_all_values(by: str, tmp_path: Path) -> None:
    built = Hierarchy.suggest(VALUES[by], by=by)
    tree = built.grow()
    assert sorted(tree.leaves) == sorted(set(VALUES[by]))
    assert tree.labels[0] == "*"
    assert Hierarchy.tree(built.save(tmp_path / "h.csv")).grow().labels == tree.labels
    drawn = built.show(leaves=True)
    assert all(value in drawn for value in VALUES[by])


def test_every_way_has_values_to_try() -> None:
    assert set(VALUES) == set(WAYS)


@pytest.mark.parametrize(
    ("values", "label"),
    [
        (["21", "24", "25", "38", "41", "55", "58"], "[20..23]"),
        (["1950-12-31", "1960-01-01"], "1950s"),
        (["31.12.1950", "01.01.1960"], "1960-01"),
        (VALUES["icd-10"], "I00-I99"),
        (["E119", "I10", "J449", "M545"], "J40-J49"),
        (["A101", "B204", "C310", "D405"], "A10*"),  # rooms
        (["M11AE", "E16AN", "N19GU", "B12HX"], "M11A*"),  # postcodes
        (["DE212", "DE213", "FR101"], "DE21_"),
        (["01067", "01069"], "0106*"),
        (["Germany", "Italy", "Kenya"], "Africa"),
        (["x", "y", "y"], "*"),
    ],
)
def test_values_say_how(values: list[str], label: str) -> None:
    assert label in Hierarchy.suggest(values).grow().labels


@given(st.lists(st.integers(-1000, 1000) | st.integers(2**60, 2**62), min_size=1, max_size=60))
def test_intervals_hold_their_numbers(numbers: list[int]) -> None:
    for row in Hierarchy.suggest(numbers, by="widths", widths=[5, 10, 40]).rows():
        for label in row[1:-1]:
            low, high = label.strip("[]").split("..")
            assert int(low) <= int(row[0]) <= int(high)


def test_what_cannot_be_built_is_said() -> None:
    for by, values, message in (
        ("widths", ["Rumpelstiltskin", "1"], "1 of the 2 values are not numbers"),
        ("dates", ["x"], "not dates"),
        ("icd-10", ["x"], "no code of ICD-10"),
        ("nuts", ["x"], "no code of NUTS"),
        ("widht", ["1"], "Did you mean 'widths'"),
    ):
        with pytest.raises(shoal.InputError, match=message) as refused:
            Hierarchy.suggest(values, by=by)
        assert "Rumpelstiltskin" not in str(refused.value)
    with pytest.raises(shoal.HierarchyError, match="no values"):
        Hierarchy.suggest([None, ""])
    with pytest.raises(shoal.ParameterError, match="multiple of the one before"):
        Hierarchy.suggest([1, 2], widths=[5, 7])


@pytest.mark.parametrize(
    "values",
    [5, 3.5, True, None, object(), "abc", b"abc", {"a": 1}, [[1, 2], [3]], [("a", "b")], [{"a": 1}],
     pa.table({"a": [1]}), np.array([[1, 2], [3, 4]])],
    ids=lambda values: type(values).__name__,
)  # fmt: skip
def test_what_is_no_list_of_values_is_said(values: Any) -> None:
    with pytest.raises(shoal.ParameterError, match=r"values must be (a list of|single) values"):
        Hierarchy.suggest(values)


@pytest.mark.parametrize("values", [[], [None, ""], iter([]), [float("nan")], pd.Series([pd.NaT]), [pd.NA]])
def test_what_has_no_values_is_said(values: Any) -> None:
    with pytest.raises(shoal.HierarchyError, match="no values"):
        Hierarchy.suggest(values)


@pytest.mark.parametrize(
    ("wish", "message"),
    [
        ({"widths": 5}, "a list of positive numbers"),
        ({"widths": "5,10"}, "a list of positive numbers"),
        ({"widths": []}, "a list of positive numbers"),
        ({"widths": ["a"]}, "a list of positive numbers"),
        ({"widths": [float("inf")]}, "a list of positive numbers"),
        ({"widths": [-5]}, "a list of positive numbers"),
        ({"groups": 0}, "at least 1"),
        ({"groups": "x"}, "at least 1"),
        ({"groups": 2.5}, "at least 1"),
        ({"order": 5}, "order must be a list"),
        ({"order": []}, "from the first to the last"),
        ({"order": [1, 2, 2, 3]}, "more than once"),
        ({"order": ["1", "2", "3", "*"]}, "stands for every value"),
        ({"type": "nummeric"}, "Did you mean 'numeric'"),
        ({"by": 5}, "must be one of"),
    ],
)
def test_wishes_without_a_meaning_are_said(wish: dict[str, Any], message: str) -> None:
    with pytest.raises(shoal.ParameterError, match=message):
        Hierarchy.suggest([1, 2, 3], **wish)


def test_whatever_holds_values_gives_them() -> None:
    for values in ([1, 2], pd.Series([1.0, 2.0, None]), pa.array([1, 2]), pa.chunked_array([[1], [2]]), range(1, 3)):
        assert Hierarchy.suggest(values).grow().leaves == ["1", "2"]
    assert Hierarchy.suggest([0.1, 0.2, 0.5], widths=[0.1, 0.3]).grow().height == 3
    assert Hierarchy.suggest([1, 2, 3], order=[3, 1, 2]).grow().leaves == ["3", "1", "2"]


def test_codes_that_look_like_numbers_get_no_intervals() -> None:
    codes = [4, 13, 25, 47, 86, 90, 95]
    assert "[0..19]" in Hierarchy.suggest(codes).grow().labels
    assert not any("[" in label for label in Hierarchy.suggest(codes, type="categorical").grow().labels)


GERMAN = {
    "Geburtsdatum": ["31.12.1950", "01.02.1960", "13.05.1971", "keine Angabe"],
    "Einkommen": ["1.234,50", "2.000,00", "999,99", "850,00", "12.345,10", "4.100,25", "3.333,30", "k.A."],
    "Branche": ["1", "4", "13", "25", "47", "86", "90", "-9"],
}


@pytest.mark.parametrize(
    ("column", "leaves", "entry"),
    [
        ("Geburtsdatum", ["1950-12-31", "1960-02-01", "1971-05-13"], 'type = "date", format = "%d.%m.%Y"'),
        (
            "Einkommen",
            ["850", "999.99", "1234.5", "2000", "3333.3", "4100.25", "12345.1"],
            'type = "numeric", decimal = ",", thousands = "."',
        ),
        ("Branche", ["1", "4", "13", "25", "47", "86", "90"], 'type = "categorical", missing = ["-9"]'),
    ],
)
def test_the_command_reads_a_column_as_the_proposed_schema_does(
    column: str, leaves: list[str], entry: str, tmp_path: Path
) -> None:
    rows = [";".join(values[n % len(values)] for values in GERMAN.values()) for n in range(80)]
    (tmp_path / "tä.csv").write_text(";".join(GERMAN) + ";Größe\n" + "".join(f"{r};ß\n" for r in rows), "cp1252")
    done = run("hierarchy", column, "--in", "tä.csv", "-o", "h.csv", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert f'In the schema: {entry}, hierarchy = "h.csv".' in done.stdout
    found = [line.split(";")[0] for line in (tmp_path / "h.csv").read_text().splitlines()]
    assert sorted(found) == sorted(leaves)
    schema = shoal.Schema.infer(tmp_path / "tä.csv")
    columns: dict[str, Any] = {name: {"role": "identifier"} for name in schema.columns}
    told: dict[str, Any] = tomllib.loads("\n".join(entry.split(", ")) + '\nhierarchy = "h.csv"')
    columns[column] = {**told, "role": "quasi-identifier", "hierarchy": tmp_path / "h.csv"}
    read = shoal.Schema(columns, missing=schema.missing, encoding="cp1252")
    assert check_fit(tmp_path / "tä.csv", read).records == 80  # every value is in the file, as the schema reads it


def test_the_command_leaves_out_what_does_not_read(tmp_path: Path) -> None:
    days = [f"{1 + n % 28:02d}.{1 + n % 12:02d}.1950" for n in range(60)]
    days[4] = "Rumpelstiltskin"
    (tmp_path / "t.csv").write_text("id,born\n" + "".join(f"{n},{day}\n" for n, day in enumerate(days)))
    done = run("hierarchy", "born", "--in", "t.csv", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "1950-05" in done.stdout
    assert "do not read as dates: row 5" in done.stderr
    assert "Rumpelstiltskin" not in done.stdout + done.stderr
    assert "Did you mean 'born'" in run("hierarchy", "borm", "--in", "t.csv", cwd=tmp_path).stderr


def test_on_the_command_line(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(
        "id,age\n" + "".join(f"{number},{20 + number}\n" for number in range(40)) + "99,Unknown\n"
    )
    done = run("hierarchy", "age", "--in", "t.csv", "--widths", "10,20", "-o", "age.csv", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "[20..29] (10 values)" in done.stdout
    assert (tmp_path / "age.csv").read_text().startswith("20;[20..29];[20..39];*\n")
    assert run("hierarchy", "age", "--in", "t.csv", "-o", "age.csv", cwd=tmp_path).returncode == 2
    (tmp_path / "empty.csv").write_text("id,age\n1,\n2,\n")
    assert (
        "empty.csv: column 'age': there are no values"
        in run("hierarchy", "age", "--in", "empty.csv", cwd=tmp_path).stderr
    )
    assert "no column 'shoe'" in run("hierarchy", "shoe", "--in", "t.csv", cwd=tmp_path).stderr
