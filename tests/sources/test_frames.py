"""Frames and rows in memory: what cannot be exported is named by column, rows and kinds, with what to write."""

from __future__ import annotations

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import shoal
from shoal.records.changes import read_keys

SECRET = "Rumpelstiltskin"
SCHEMA = {"id": {"role": "key"}, "age": {"role": "quasi-identifier", "type": "numeric"}}


def refused(given: object) -> str:
    with pytest.raises(shoal.DataError) as caught:
        shoal.read(given)
    assert SECRET not in str(caught.value)
    assert caught.value.__context__ is None or caught.value.__suppress_context__
    return str(caught.value)


def test_a_text_among_numbers_is_named() -> None:
    said = refused(pd.DataFrame({"id": [1, 2, 3], "age": pd.Series([30, SECRET, 40], dtype=object)}))
    assert "column 'age' mixes whole numbers and texts (row 2)" in said
    assert "frame['age'] = frame['age'].map(str, na_action=\"ignore\")" in said
    assert "column 'age' mixes" in refused([{"id": 1, "age": 30}, {"id": 2, "age": SECRET}])
    assert "column 'age' mixes" in refused({"age": [1, SECRET, 2]})


def test_a_name_twice_is_named() -> None:
    frame = pd.DataFrame([[1, 2, 3]], columns=["id", "age", "age"])
    assert "has 2 columns called 'age'" in refused(frame)
    assert "~frame.columns.duplicated()" in refused(frame)


def test_what_is_nearly_a_table_is_told_how_to_become_one() -> None:
    assert "is one column, and no table. Say series.to_frame()" in refused(pd.Series([1, 2], name="age"))
    assert "is one column, and no table" in refused(pl.Series("age", [1, 2]))
    assert "Say frame.collect()" in refused(pl.LazyFrame({"age": [1]}))
    frame = pd.DataFrame({"id": [1, 2], "age": [3, 4]}).set_index("age")
    with pytest.raises(shoal.DataError, match=r"as its index, which is no column: give frame\.reset_index\(\)"):
        shoal.anonymize(frame, SCHEMA, k=2)


def test_lists_of_dicts_and_dicts_of_lists_are_tables() -> None:
    rows = [{"id": "a", "age": 1}, {"id": "b"}]
    assert shoal.read(rows).to_pydict() == {"id": ["a", "b"], "age": [1, None]}
    assert shoal.read({"id": ["a", "b"], "age": [1, None]}).to_pydict() == shoal.read(rows).to_pydict()
    assert "row 2 is none" in refused([{"id": 1}, 7])
    assert "column 'age' has 1 value, others have 2" in refused({"id": [1, 2], "x": [1, 2], "age": [1]})
    assert "must be a list of values" in refused({"id": "abc"})
    assert "is empty" in refused([])


@pytest.mark.parametrize(
    "keys",
    [
        pd.Series(["a", "b"]),
        pl.Series(["a", "b"]),
        pl.Series("id", ["a", "b"]),
        pd.DataFrame({"id": ["a", "b"]}),
        pa.chunked_array([["a", "b"]]),
    ],
    ids=["pandas", "polars", "named", "frame", "arrow"],
)
def test_a_series_of_keys_is_keys(keys: object) -> None:
    assert read_keys(shoal.Schema.load(SCHEMA), keys).to_pylist() == ["a", "b"]


def test_a_dict_is_a_schema() -> None:
    assert shoal.Schema.load(SCHEMA).quasi_identifiers == ["age"]
    whole = shoal.Schema.load({"columns": SCHEMA, "missing": ["?"], "decimal": ","})
    assert whole.missing == ("", "?")
    assert whole.columns["age"].decimal == ","
    with pytest.raises(shoal.SchemaError, match="must be a table of fields"):
        shoal.Schema.load({"columns": {"role": "key"}, "age": 7})


def test_a_dict_is_a_schema_for_a_vault_as_well() -> None:
    people = {"id": ["a", "b", "c", "d"], "age": [30, 31, 40, 41]}
    with shoal.Vault.create(":memory:", SCHEMA, k=2, data=people, method="mondrian") as vault:
        assert vault.rebase(schema={**SCHEMA, "age": {**SCHEMA["age"], "levels": [5, 10]}}).epoch == 2
        assert vault.change_schema({**SCHEMA, "age": {**SCHEMA["age"], "weight": 2}}) is not None
        assert vault.schema.columns["age"].weight == 2
