"""Schemas: what they say, and what they refuse."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import shoal
from shoal.schema import ColumnType

pytestmark = pytest.mark.versions

EXAMPLE = """
missing = ["?"]
[columns.patient_id]
role = "key"
[columns.name]
role = "identifier"
[columns.age]
role = "quasi-identifier"
type = "numeric"
weight = 2
domain = [0, 120]
[columns.born]
role = "quasi-identifier"
type = "date"
levels = ["month", "year"]
domain = [1900-01-01, 2030-12-31]
[columns.zip]
role = "quasi-identifier"
type = "prefix"
[columns.country]
role = "quasi-identifier"
type = "categorical"
hierarchy = "hierarchies/country.csv"
on_unknown = "attach"
generalize = "set"
[columns.sex]
role = "quasi-identifier"
[columns.sex.hierarchy]
Person = ["f", "m"]
[columns.diagnosis]
role = "sensitive"
"""


def load(folder: Path, text: str) -> shoal.Schema:
    (folder / "hierarchies").mkdir(exist_ok=True)
    (folder / "hierarchies/country.csv").write_text("France;Europe;*\nJapan;Asia;*\n")
    (folder / "schema.toml").write_text(text)
    return shoal.Schema.load(folder / "schema.toml")


def test_a_schema_file_is_read(tmp_path: Path) -> None:
    schema = load(tmp_path, EXAMPLE)
    assert schema.quasi_identifiers == ["age", "born", "zip", "country", "sex"]
    assert schema.published == ["age", "born", "zip", "country", "sex", "diagnosis"]
    assert schema.missing == ("", "?")
    assert schema.columns["sex"].type == ColumnType.CATEGORICAL
    assert schema.columns["born"].domain == [dt.date(1900, 1, 1), dt.date(2030, 12, 31)]
    assert repr(schema) == "<Schema of 8 columns: 1 identifier, 1 key, 5 quasi-identifier, 1 sensitive>"


def column(**fields: Any) -> dict[str, Any]:
    return {"x": {"role": "quasi-identifier", "type": "numeric", **fields}}


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({}, "no columns"),
        ({"x": {}}, "column 'x': has no role"),
        ({"x": "numeric"}, "must be a table of fields"),
        ({"x": {"role": "quasi-identifer"}}, "Did you mean 'quasi-identifier'"),
        ({"x": {"role": "quasi-identifier"}}, "needs a type"),
        (column(type="number"), "must be one of numeric, date, categorical, prefix"),
        (column(wieght=2), "Did you mean 'weight'"),
        (column(weight=-1), "weight must be"),
        (column(weight=float("nan")), "weight must be"),
        (column(min_level=1), "min_level needs levels"),
        (column(levels=[5], min_level=-1), "min_level must be"),
        (column(levels=["month"]), "levels must be interval widths"),
        (column(levels=[5, 7]), "not a multiple"),
        (column(type="date", levels=["year", "month"]), "must rise"),
        (column(levels=[5], hierarchy="flat"), "contradict"),
        (column(domain=[5]), "domain must be"),
        (column(domain=[9, 5]), "domain must be"),
        (column(domain=["a", "b"]), "domain must be"),
        (column(type="categorical", domain=[1, 2]), "domain is for numeric and date"),
        (column(type="categorical", levels=[5]), "levels is for numeric"),
        (column(type="prefix", hierarchy="flat"), "makes its own hierarchy"),
        (column(on_unknown="ignore"), "must be one of error, attach"),
        (column(generalize="average"), "must be one of ancestor, set"),
        (column(generalize="set"), "for categorical and prefix"),
        (column(format="%Y"), "format is for date"),
        (column(type="categorical", hierarchy={"a": {"b": 5}}), "mapping or a list"),
        (column(levels=5), "levels must be a list"),
        (column(domain=5), "domain must be"),
        (column(domain=[0, float("inf")]), "domain must be"),
        (column(type="date", domain=[dt.date(2020, 1, 1), dt.datetime(2021, 1, 1)]), "domain must be"),
        (column(levels=[5], origin="x"), "origin must be a number"),
        (column(levels=[5], origin=float("nan")), "must be numbers"),
        (column(levels=[float("inf")]), "must be numbers"),
        (column(hierarchy=5), "hierarchy must be"),
        (column(type="categorical", hierarchy="."), "cannot be read"),
        (column(type="date", format="%d%d"), "format must name"),
        (column(type="date", format=5), "format must be"),
        (column(hierarchy=shoal.Hierarchy.dates()), "for date columns"),
        (column(type="categorical", hierarchy=shoal.Hierarchy.intervals([5])), "for numeric columns"),
        (5, "no columns"),
        (column(type="categorical", hierarchy="nowhere.csv"), r"nowhere\.csv: the hierarchy file does not exist"),
        ({"a": {"role": "key"}, "b": {"role": "key"}}, "only one column can be the key"),
    ],
)
def test_schemas_that_make_no_sense(columns: dict[str, Any], message: str) -> None:
    with pytest.raises(shoal.SchemaError, match=message):
        shoal.Schema(columns=columns)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[columns.x\nrole=", "not a TOML file"),
        ("[colums.x]\nrole = 'key'", "Did you mean 'columns'"),
        ("", "no columns"),
        ("[columns.x]\nrole = 'key'\nhierarchy = 'hierarchies/none.csv'", "does not exist"),
    ],
)
def test_schema_files_that_make_no_sense(text: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(shoal.SchemaError, match=message) as refused:
        load(tmp_path, text)
    assert str(tmp_path / "schema.toml") in str(refused.value)


def test_dates_of_a_domain_may_be_texts() -> None:
    schema = shoal.Schema(columns=column(type="date", domain=["2020-01-01", "2020-12-31"]))
    assert schema.columns["x"].domain == [dt.date(2020, 1, 1), dt.date(2020, 12, 31)]


def test_what_means_missing() -> None:
    assert shoal.Schema(columns=column(), missing="NA").missing == ("", "NA")
    with pytest.raises(shoal.SchemaError, match="missing must be"):
        shoal.Schema(columns=column(), missing=[-9])  # type: ignore[list-item]


def test_levels_of_a_numeric_hierarchy_count() -> None:
    shoal.Schema(columns=column(hierarchy={"low": ["1", "2"], "high": ["3"]}, min_level=1))


def test_a_schema_that_is_a_folder(tmp_path: Path) -> None:
    with pytest.raises(shoal.SchemaError, match="cannot be read"):
        shoal.Schema.load(tmp_path)


def test_a_schema_file_that_does_not_exist(tmp_path: Path) -> None:
    with pytest.raises(shoal.SchemaError, match=r"nowhere\.toml: the schema file does not exist"):
        shoal.Schema.load(tmp_path / "nowhere.toml")


def test_weights_steer_and_do_not_change_what_is_reported() -> None:
    table = pa.table({"a": [1, 1, 9, 9], "b": [1, 9, 1, 9]})
    for heavy, kept in (("a", ["1", "1", "9", "9"]), ("b", ["1", "9", "1", "9"])):
        schema = shoal.Schema(
            columns={
                name: {"role": "quasi-identifier", "type": "numeric", "weight": 5 if name == heavy else 1}
                for name in ("a", "b")
            }
        )
        release = shoal.anonymize(table, schema, k=2)
        assert release.trace(range(4))[heavy].to_pylist() == kept
        assert release.measures()["il"] == 4


def test_a_dict_is_a_schema_everywhere_and_nothing_is_none() -> None:
    columns = {"age": {"role": "quasi-identifier", "type": "numeric"}}
    published = pa.table({"age": ["[1..2]", "[1..2]"]})
    assert shoal.verify(published, columns, 2).ok
    assert shoal.audit([published, published], columns, 2).ok
    with pytest.raises(shoal.SchemaError, match="Got NoneType instead"):
        shoal.anonymize({"age": [1, 2]}, None, k=2)  # type: ignore[arg-type]
