"""ARX's files as they are: rounding, missing and repeated last levels, projects."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

import shoal
from shoal import Hierarchy

DEFINITION = """<?xml version="1.0" encoding="UTF-8"?>
<definition>
  <assigment><name>id</name><type>IDENTIFYING_ATTRIBUTE</type><datatype>String</datatype></assigment>
  <assigment><name>born</name><type>QUASI_IDENTIFYING_ATTRIBUTE</type><datatype>Date/Time</datatype>
    <format>dd.MM.yyyy</format></assigment>
  <assigment><name>town</name><type>QUASI_IDENTIFYING_ATTRIBUTE</type><datatype>String</datatype>
    <ref>hierarchies/town.csv</ref><min>1</min><max>2</max></assigment>
  <assigment><name>ill</name><type>SENSITIVE_ATTRIBUTE</type><datatype>String</datatype></assigment>
  <assigment><name>note</name><type>INSENSITIVE_ATTRIBUTE</type><datatype>String</datatype></assigment>
</definition>
"""


def project(path: Path, definition: str = DEFINITION) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("metadata.xml", "<metadata><version>3.9.1</version></metadata>")
        archive.writestr("input/config.dat", b"\xac\xed\x00\x05")
        archive.writestr("input/definition.xml", definition)
        archive.writestr("input/hierarchies/town.csv", "Ulm;South;*\nKiel;North;*\n")
        archive.writestr("data/input.csv", "id;born;town;ill;note\n1;31.12.1950;Ulm;flu;x\n")
    return path


def test_rounding_names_values_and_groups_apart(tmp_path: Path) -> None:
    path = tmp_path / "lon.csv"
    path.write_text("-114.61;-114.6;-115;*\n-114.6;-114.6;-115;*\n-115.02;-115;-115;*\n-115;-115;-115;*\n")
    tree = Hierarchy.tree(path).grow()
    assert sorted(tree.leaves) == ["-114.6", "-114.61", "-115", "-115.02"]
    assert {"-114.6 (level 1)", "-115 (level 1)", "-115 (level 2)", "*"} <= set(tree.labels)
    sets: dict[str, set[str]] = {}
    for leaf, row in zip(tree.leaves, tree.paths, strict=True):
        for node in row[row >= 0]:
            sets.setdefault(f"{tree.labels[node]}#{node}", set()).add(leaf)
    by_label: dict[str, list[set[str]]] = {}
    for name, values in sets.items():
        by_label.setdefault(name.partition("#")[0], []).append(values)
    assert all(all(values == found[0] for values in found) for found in by_label.values())  # one label, one set


def test_a_missing_last_level_is_added() -> None:
    tree = Hierarchy.tree([("a", "X"), ("b", "X"), ("c", "Y")]).grow()
    assert tree.labels[0] == "*"
    assert tree.height == 2


@pytest.mark.parametrize("sign", [";", ","])
def test_rounding_without_a_last_level_has_both(sign: str, tmp_path: Path) -> None:
    rows = ["-114.61;-114.6;-115", "-114.6;-114.6;-115", "-115.02;-115.0;-115", "-115;-115.0;-115",
            "33.9;33.9;34", "34;34.0;34", "33.94;33.9;34"]  # fmt: skip
    path = tmp_path / "lon.csv"
    path.write_text("\n".join(rows).replace(";", sign) + "\n")
    tree = Hierarchy.tree(path).grow()
    assert sorted(tree.leaves) == sorted(row.split(";")[0] for row in rows)
    assert tree.labels[0] == "*"
    assert tree.height == 3
    assert {"-114.6 (level 1)", "-115 (level 2)", "33.9 (level 1)", "34 (level 2)"} <= set(tree.labels)
    assert len(set(tree.labels)) == len(tree.labels)


def test_a_chain_is_no_rounding() -> None:
    with pytest.raises(shoal.HierarchyError):
        Hierarchy.tree([("USA", "America"), ("America", "World"), ("Kenya", "Africa")])


def test_several_last_levels_are_one() -> None:
    several = Hierarchy.tree([("a", "X", "*", "*"), ("b", "Y", "*", "*"), ("*", "*", "*", "*")]).grow()
    assert several.height == 2
    assert several.leaves == ["a", "b"]


def test_a_label_for_two_sets_is_refused_as_before() -> None:
    with pytest.raises(shoal.HierarchyError, match="both a value and a group"):
        Hierarchy.tree([("USA", "America", "*"), ("America", "*")])


def test_a_project_gives_schema_and_hierarchies(tmp_path: Path) -> None:
    with pytest.warns(shoal.ShoalWarning) as said:
        schema = shoal.Schema.load(project(tmp_path / "people.deid"))
    assert {name: str(column.role) for name, column in schema.columns.items()} == {
        "id": "identifier",
        "born": "quasi-identifier",
        "town": "quasi-identifier",
        "ill": "sensitive",
        "note": "insensitive",
    }
    assert schema.columns["born"].format == "%d.%m.%Y"
    assert schema.columns["town"].min_level == 1
    assert schema.columns["town"].grower is not None
    assert schema.columns["town"].grower.grow().leaves == ["Ulm", "Kiel"]
    told = " ".join(str(one.message) for one in said)
    assert "privacy models and settings" in told
    assert "up to level 2" in told
    again = schema.save(tmp_path / "schema.toml")
    assert shoal.Schema.load(again).to_toml() == schema.to_toml()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            DEFINITION.replace("<definition>", '<!DOCTYPE x [<!ENTITY a "Rumpelstiltskin">]><definition>'),
            "cannot be read",
        ),
        ("<definition><assigment><name>Rumpelstiltskin", "cannot be read"),
        ("<definition></definition>", "names no columns"),
    ],
)
def test_a_broken_project_is_refused_and_not_quoted(content: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(shoal.SchemaError, match=message) as refused:
        shoal.Schema.load(project(tmp_path / "people.deid", content))
    assert "Rumpelstiltskin" not in str(refused.value)
    (tmp_path / "rubbish.deid").write_bytes(b"Rumpelstiltskin" * 9)
    with pytest.raises(shoal.SchemaError, match="not a project of ARX"):
        shoal.Schema.load(tmp_path / "rubbish.deid")
