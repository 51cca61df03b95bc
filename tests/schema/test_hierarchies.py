"""Hierarchies: what they grow, and what they refuse."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import shoal
from shoal import Hierarchy, HierarchyError
from shoal.hierarchies import DateLevels, IntervalLevels

pytestmark = pytest.mark.versions


def labels(hierarchy: Hierarchy, *groups: tuple[str, ...]) -> list[str]:
    """The label of each group of values."""
    tree = hierarchy.grow([value for group in groups for value in group])
    places = [[tree.leaves.index(value) for value in group] for group in groups]
    first = np.array([min(group) for group in places], np.int32)
    last = np.array([max(group) for group in places], np.int32)
    return [tree.labels[node] for node in tree.common_ancestor(first, last)]


def test_tree_from_a_file_groups_rows_in_any_order_and_of_any_length(tmp_path: Path) -> None:
    file = tmp_path / "country.csv"
    file.write_text("\ufeffUSA;America;*\nJapan;Asia;*\nCanada;America;*\nIndia;South;Asia;*\nAntarctica;*\n\n")
    hierarchy = Hierarchy.tree(file)
    tree = hierarchy.grow()
    assert tree.leaves == ["USA", "Canada", "Japan", "India", "Antarctica"]
    assert tree.height == 3
    assert labels(hierarchy, ("USA", "Canada"), ("Japan", "India"), ("USA", "Antarctica"), ("India",)) == [
        "America",
        "Asia",
        "*",
        "India",
    ]


@pytest.mark.parametrize("delimiter", [";", ",", "\t"])
def test_tree_files_may_use_other_delimiters(tmp_path: Path, delimiter: str) -> None:
    file = tmp_path / "h.csv"
    file.write_text("\n".join(delimiter.join(row) for row in (["a", "x", "*"], ["b", "x", "*"])))
    assert labels(Hierarchy.tree(file), ("a", "b")) == ["x"]


def test_nested_mappings_and_rows_say_the_same() -> None:
    nested = Hierarchy.tree({"America": ["USA", "Canada"], "Asia": {"East": ["Japan"], "Iran": {}}})
    rows = Hierarchy.tree(
        [("USA", "America", "*"), ("Canada", "America", "*"), ("Japan", "East", "Asia", "*"), ("Iran", "Asia", "*")]
    )
    assert nested == rows
    assert Hierarchy.tree({"Person": ["Male", "Female"]}).grow().labels[0] == "Person"


def test_a_level_may_repeat_a_label_for_the_same_values() -> None:
    tree = Hierarchy.tree([("White", "White", "*"), ("a", "b", "*")]).grow()
    assert tree.height == 2
    assert sorted(tree.leaves) == ["White", "a"]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([("a", "b", "a", "*")], "cyclic"),
        ([("x", "A", "B", "*"), ("y", "B", "A", "*")], "inconsistent"),
        ([("x", "A"), ("A", "x")], "cyclic"),
        (
            [("a", "Other", "X", "*"), ("b", "Other", "Y", "*")],
            "a label of row 2 stands below another one than in row 1",
        ),
        ([("a", "X", "*"), ("a", "Y", "*")], "a second, different path"),
        ([("a", "X", "*"), ("b", "Y")], "2 roots"),
        ([("USA", "America", "*"), ("America", "*")], "both a value and a group"),
        ([("a", "", "*")], "empty label"),
        ([("a", "*", "World")], "stands for every value"),
        ([], "no values"),
        ([tuple(str(level) for level in range(1500))], "1500 levels"),
    ],
)
def test_hierarchies_without_a_meaning_are_refused(rows: list[tuple[str, ...]], message: str) -> None:
    with pytest.raises(HierarchyError, match=message):
        Hierarchy.tree(rows)


def test_a_mapping_that_contains_itself_is_refused() -> None:
    knot: dict[str, object] = {"leaf": {}}
    knot["again"] = knot
    with pytest.raises(HierarchyError, match="cyclic"):
        Hierarchy.tree(knot)


def test_a_list_of_values_is_flat() -> None:
    assert Hierarchy.tree([("a",), ("b",)]).grow().labels == ["*", "a", "b"]


def test_a_set_of_values_has_one_order() -> None:
    words = [f"word{number}" for number in range(50)]
    assert Hierarchy.tree({"x": set(words)}).grow().leaves == sorted(words)


def test_large_hierarchies_grow_in_reasonable_time() -> None:
    """Not timed: 200 000 leaves in quadratic time would not end today."""
    rows = [(f"leaf{i}", f"group{i // 100}", "*") for i in range(200_000)]
    tree = Hierarchy.tree(rows).grow().at_least(1)
    assert len(tree.leaves) == 200_000


def test_every_kind_has_the_name_of_its_maker() -> None:
    makers: dict[str, list[object]] = {
        "flat": [],
        "tree": [{"a": ["b"]}],
        "prefix": [],
        "intervals": [[5]],
        "dates": [],
    }
    for name, arguments in makers.items():
        assert getattr(Hierarchy, name)(*arguments).kind == name


def test_prefixes() -> None:
    assert labels(
        Hierarchy.prefix(), ("47906", "47907"), ("47906", "47918"), ("12345", "47906"), ("479",), ("479", "47906")
    ) == ["4790*", "479**", "*", "479", "479**"]


def test_fixed_intervals() -> None:
    ages = np.array([17, 19, 20, 33, 39])
    tree = IntervalLevels((5, 10)).grow(ages, [str(age) for age in ages], (17, 39))
    first, last = np.array([0, 0, 3, 0], np.int32), np.array([1, 2, 4, 0], np.int32)
    assert [tree.labels[node] for node in tree.common_ancestor(first, last)] == ["[15..19]", "*", "[30..39]", "17"]
    assert [tree.labels[node] for node in tree.at_least(1).common_ancestor(first, last)][3] == "[15..19]"


def test_fixed_intervals_of_fractions_cover_their_values() -> None:
    values = np.array([0.1, 0.2, 0.3, 0.7, 0.75])  # 0.3 / 0.1 is 2.9999999999999996
    tree = IntervalLevels((0.1, 0.2)).grow(values, [repr(value) for value in values], (0.1, 0.75)).at_least(1)
    for leaf, value in enumerate(values):
        node = tree.common_ancestor(np.array([leaf], np.int32), np.array([leaf], np.int32))[0]
        low, high = tree.labels[node].strip("[)").split("..")
        assert float(low) <= value < float(high)


def test_dates() -> None:
    days = np.array(["2024-05-01", "2024-05-17", "2024-06-01", "2025-01-01"], "datetime64[D]").astype(np.int64)
    tree = DateLevels(("month", "year")).grow(days, ["a", "b", "c", "d"], (days[0], days[-1]))
    first, last = np.array([0, 0, 0, 0], np.int32), np.array([0, 1, 2, 3], np.int32)
    assert [tree.labels[node] for node in tree.common_ancestor(first, last)] == ["a", "2024-05", "2024", "*"]


@pytest.mark.parametrize(
    "make",
    [
        lambda: Hierarchy.intervals([]),
        lambda: Hierarchy.intervals([5, -10]),
        lambda: Hierarchy.intervals([5, 12]),
        lambda: Hierarchy.intervals([10, 5]),
        lambda: Hierarchy.dates(["year", "month"]),
        lambda: Hierarchy.dates(["week"]),
        lambda: Hierarchy.dates([]),
    ],
)
def test_levels_must_nest(make: object) -> None:
    with pytest.raises(HierarchyError):
        make()  # type: ignore[operator]


def test_attached_values_come_last_under_the_root() -> None:
    tree = Hierarchy.tree({"America": ["USA", "Canada"], "Asia": ["Japan"]}).grow()
    grown = tree.attach(["Atlantis"])
    assert grown.leaves == ["USA", "Canada", "Japan", "Atlantis"]
    node = grown.common_ancestor(np.array([2], np.int32), np.array([3], np.int32))[0]
    assert grown.labels[node] == "*"
    assert grown.height == tree.height
    with pytest.raises(HierarchyError, match="name of a group"):
        tree.attach(["Asia"])


def test_attached_values_respect_min_level() -> None:
    tree = Hierarchy.tree({"America": ["USA", "Canada"], "Asia": ["Japan"]}).grow().at_least(1).attach(["Atlantis"])
    leaf = np.array([3], np.int32)
    assert tree.labels[tree.common_ancestor(leaf, leaf)[0]] == "*"
    with pytest.raises(HierarchyError, match="min_level"):
        tree.at_least(3)


DEEP = 3_000


def nested(depth: int) -> dict[str, object]:
    inside: dict[str, object] = {"leaf": {}}
    for level in range(depth):
        inside = {f"group{level}": inside}
    return inside


def test_a_hierarchy_without_an_end_is_refused(tmp_path: Path) -> None:
    with pytest.raises(HierarchyError, match="more than 100 levels"):
        Hierarchy.tree(nested(DEEP))
    with pytest.raises(HierarchyError, match="in it"):
        Hierarchy.tree({"x": [nested(DEEP)]})
    file = tmp_path / "deep.csv"
    file.write_text(";".join(f"level{level}" for level in range(DEEP)))
    with pytest.raises(HierarchyError, match="line 1 has 3000 levels"):
        Hierarchy.tree(file)
    assert Hierarchy.tree(nested(99)).grow().height == 99


@pytest.mark.parametrize(
    "content",
    [
        "hierarchy." + ".".join("a" * DEEP) + " = 1",
        "hierarchy = " + "{a=" * DEEP + "1" + "}" * DEEP,
        "hierarchy = " + "[" * DEEP + "]" * DEEP,
        "weight." + ".".join("a" * DEEP) + " = 1",
        "role." + ".".join("a" * DEEP) + " = 1",
    ],
)
def test_a_schema_without_an_end_is_refused(tmp_path: Path, content: str) -> None:
    file = tmp_path / "schema.toml"
    role = "" if content.startswith("role") else 'role = "quasi-identifier"\n'
    file.write_text(f"[columns.x]\n{role}{content}\n")
    with pytest.raises(shoal.SchemaError):
        shoal.Schema.load(file)


SECRET = "Rumpelstiltskin"


@pytest.mark.parametrize(
    ("lines", "line"),
    [
        ([f"{SECRET};a;x", "b;a;x", f"{SECRET};b;x"], 3),
        ([f"a;{SECRET};x", f"b;{SECRET};y"], 2),
        ([f"a;b;{SECRET}", f"b;c;{SECRET}2"], 2),
        ([f"{SECRET};x", f"z;{SECRET};x"], 1),
        ([f"{SECRET};b;{SECRET};x"], 1),
        ([f"{SECRET};a", f"a;{SECRET}"], 1),
        ([f"{SECRET};;x"], 1),
        ([f"{SECRET};*;x", "b;*;x"], None),
        (['"' + SECRET + "x" * 200_000 + '";y'], 1),
    ],
)
def test_a_file_of_people_given_as_a_hierarchy_is_not_quoted(
    tmp_path: Path, lines: list[str], line: int | None
) -> None:
    """Whoever gives the wrong file learns where it stumbles, not whose line that is."""
    (tmp_path / "people.csv").write_text("\n".join(lines))
    (tmp_path / "schema.toml").write_text('[columns.x]\nrole = "quasi-identifier"\nhierarchy = "people.csv"\n')
    makers: list[tuple[Callable[[Path], object], Path]] = [
        (Hierarchy.tree, tmp_path / "people.csv"),
        (shoal.Schema.load, tmp_path / "schema.toml"),
    ]
    for make, file in makers:
        with pytest.raises(HierarchyError, match=r"people\.csv") as refused:
            make(file)
        error = refused.value
        assert SECRET not in str(error) + repr(error.facts()) + repr(error)
        assert error.__suppress_context__ or error.__context__ is None
        assert error.line == line
        assert line is None or f"line {line}" in str(error) or f"{line} and" in str(error) or f", {line}" in str(error)
        if len(lines) > 1 and "*" not in lines[0]:
            assert SECRET in error.reveal()


@pytest.mark.parametrize(
    ("content", "line"),
    [
        (f"name;ill\n{SECRET};flu\n", 1),
        (f"x = 1\n{SECRET} = 5\n{SECRET} = 6\n", 3),
        (f"[{SECRET}]\n[{SECRET}]\n", 2),
        (f"x = {{{SECRET} = 1, {SECRET} = 2}}\n", 1),
        (f"{SECRET} = 5\n", None),
        (f"columns = 5\n{SECRET} = 5\n", None),
        (f'{{"name": "{SECRET}"}}\n', 1),
        (f"missing = [5, '{SECRET}']\n[columns.x]\nrole = 'key'\n", None),
        (f"[columns]\nx = '{SECRET}'\n", None),
        (f"[columns.x]\nrole = 'quasi-identifier'\nhierarchy = ['{SECRET}']\n", None),
        (f"[columns.x]\nrole = 'quasi-identifier'\nhierarchy = {{a = '{SECRET}'}}\n", None),
        (f"[columns.x]\nrole = 'quasi-identifier'\nhierarchy = {{{SECRET} = 5}}\n", None),
    ],
)
def test_a_file_of_people_given_as_a_schema_is_not_quoted(tmp_path: Path, content: str, line: int | None) -> None:
    (tmp_path / "people.csv").write_text(content)
    with pytest.raises(shoal.SchemaError, match=r"people\.csv") as refused:
        shoal.Schema.load(tmp_path / "people.csv")
    error = refused.value
    assert SECRET not in str(error) + repr(error.facts()) + repr(error)
    assert error.line == line


def test_a_slip_in_a_schema_is_shown_with_what_was_meant(tmp_path: Path) -> None:
    (tmp_path / "schema.toml").write_text("colums = 5\n")
    with pytest.raises(shoal.SchemaError, match=r"'colums' instead\. Did you mean 'columns'"):
        shoal.Schema.load(tmp_path / "schema.toml")
