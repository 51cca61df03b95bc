"""Hierarchies built for the values of a column: every value once, labels that name one set, a file that reads back."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from shoal import Hierarchy
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
        (["DE212", "DE213", "FR101"], "DE21_"),
        (["01067", "01069"], "0106*"),
        (["Germany", "Italy", "Kenya"], "Africa"),
        (["x", "y", "y"], "*"),
    ],
)
def test_values_say_how(values: list[str], label: str) -> None:
    assert label in Hierarchy.suggest(values).grow().labels


@given(st.lists(st.integers(-1000, 1000), min_size=1, max_size=60))
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


def test_on_the_command_line(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(
        "id,age\n" + "".join(f"{number},{20 + number}\n" for number in range(40)) + "99,Unknown\n"
    )
    done = run("hierarchy", "age", "--in", "t.csv", "--widths", "10,20", "-o", "age.csv", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "[20..29] (10 values)" in done.stdout
    assert (tmp_path / "age.csv").read_text().startswith("20;[20..29];[20..39];*\n")
    assert run("hierarchy", "age", "--in", "t.csv", "-o", "age.csv", cwd=tmp_path).returncode == 2
    assert "no column 'shoe'" in run("hierarchy", "shoe", "--in", "t.csv", cwd=tmp_path).stderr
