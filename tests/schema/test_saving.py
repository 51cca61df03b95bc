"""A schema that is saved and loaded again is the same schema."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest

import shoal
from shoal import Hierarchy
from shoal.vault.state.schema_json import schema_facts

DAY = date(1900, 1, 1)
COLUMNS: dict[str, dict[str, object]] = {
    "key": {"role": "key"},
    'a "name" with. dots': {"role": "identifier"},
    "age": {"role": "quasi-identifier", "type": "numeric", "levels": [5, 10], "origin": 2, "min_level": 1},
    "pay": {"role": "sensitive", "type": "numeric", "decimal": ",", "thousands": ".", "bins": [1000, 2000.5]},
    "born": {"role": "quasi-identifier", "type": "date", "format": "%d.%m.%Y", "domain": [DAY, date(2020, 1, 1)]},
    "rooms": {"role": "quasi-identifier", "type": "numeric", "domain": "winsorized", "missing": ["999"]},
    "town": {
        "role": "quasi-identifier",
        "hierarchy": {"Süd": {"Bayern": ["Ulm", "Fürth"], "Saar": []}, "Nord": ["Kiel"]},
        "on_unknown": "attach",
        "generalize": "set",
    },
    "flat": {"role": "quasi-identifier", "type": "categorical", "hierarchy": "flat"},
    "listed": {"role": "quasi-identifier", "type": "categorical", "hierarchy": Hierarchy.flat(["x", "y"])},
    "zip": {"role": "quasi-identifier", "type": "prefix"},
    "fixed": {"role": "quasi-identifier", "type": "numeric", "hierarchy": Hierarchy.intervals([2, 4], 1)},
    "days": {"role": "quasi-identifier", "type": "date", "hierarchy": Hierarchy.dates(["year", "decade"])},
}  # fmt: skip


def test_what_is_saved_reads_back(tmp_path: Path) -> None:
    schema = shoal.Schema(COLUMNS, missing=["?", "n/a"], header=False, encoding="cp1252", sheet="2023")
    again = shoal.Schema.load(schema.save(tmp_path / "schema.toml"))
    assert again.to_toml() == schema.to_toml()
    assert (again.missing, again.header, again.encoding, again.sheet) == (("", "?", "n/a"), False, "cp1252", "2023")
    for name, column in schema.columns.items():
        told = again.columns[name]
        assert (told.role, told.type, told.missing, told.decimal) == (
            column.role,
            column.type,
            column.missing,
            column.decimal,
        )
        if (
            column.hierarchy is not None
            and name != "flat"
            and column.grower is not None
            and column.grower.kind == "tree"
        ):
            assert told.grower is not None
            assert told.grower.grow().leaves == column.grower.grow().leaves
            assert told.grower.grow().labels == column.grower.grow().labels
    with pytest.raises(shoal.OutputError, match="exists already"):
        schema.save(tmp_path / "schema.toml")
    assert schema.save(tmp_path / "schema.toml", force=True).exists()


def test_a_vault_keeps_how_its_files_are_written() -> None:
    schema = shoal.Schema({"id": {"role": "key"}}, encoding="cp1252", sheet="x")
    facts = schema_facts(schema)
    assert (facts["encoding"], facts["sheet"]) == ("cp1252", "x")
    assert "encoding" not in schema_facts(shoal.Schema({"id": {"role": "key"}}))


def test_adults_schema_survives(tmp_path: Path) -> None:
    schema = shoal.datasets.adult_schema()
    again = shoal.Schema.load(schema.save(tmp_path / "adult.toml"))
    for name in schema.quasi_identifiers:
        grower, told = schema.columns[name].grower, again.columns[name].grower
        if grower is not None and grower.kind == "tree":
            assert told is not None
            assert told.grow().labels == grower.grow().labels
