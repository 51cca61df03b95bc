"""Values that do not fit: an error that names column and rows and the way out, and never the value."""

from __future__ import annotations

import datetime as dt
import json
import pickle
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest

import shoal

NUMERIC = {"role": "quasi-identifier", "type": "numeric"}
DATE = {"role": "quasi-identifier", "type": "date"}
PREFIX = {"role": "quasi-identifier", "type": "prefix"}
CATEGORY = {"role": "quasi-identifier", "type": "categorical"}
COUNTRY = {"role": "quasi-identifier", "hierarchy": {"Europe": ["France"], "Asia": ["Japan"]}}
SECRET = "Rumpelstiltskin"


@pytest.mark.parametrize(
    ("column", "values", "rows", "message"),
    [
        (NUMERIC, ["1", SECRET, "3", SECRET], [2, 4], "'x', rows 2 and 4: not a number"),
        (NUMERIC, [1.0, float("inf"), 2.0], [2], "row 2: infinite"),
        (NUMERIC, ["1", "-inf", "2"], [2], "row 2: infinite"),
        (NUMERIC, ["1", "99999999999999999999", "2"], [2], "row 2: beyond 64 bits"),
        (NUMERIC, pa.array([2**64 - 1, 1], pa.uint64()), [1], "row 1: beyond 64 bits"),
        (NUMERIC, ["1", "1_000", "１２"], [2, 3], "rows 2 and 3: not a number"),
        (NUMERIC, ["9007199254740993", "0.5"], [1], "too many digits"),
        (NUMERIC, [Decimal("9007199254740993"), Decimal("0.5")], [1], "too many digits"),
        (NUMERIC, [1e301, 1.0], [1], "larger than 1e300"),
        (NUMERIC, pa.array([1, 2], pa.time32("s")), [], "holds time32"),
        (CATEGORY, [b"a", b"b"], [], "holds binary"),
        (PREFIX, ["1" * 41, "1"], [1], "not a code of up to 40 characters"),
        (PREFIX, ["1\0", "1"], [1], "not a code"),
        ({**CATEGORY, "generalize": "set"}, ["a", "{a,b}"], [2], "looks like a set"),
        (
            {"role": "sensitive"},
            pa.array([{"a": "x"}] * 2, pa.struct([("a", pa.dictionary(pa.int8(), pa.string()))])),
            [],
            "values that no row has",
        ),
        (NUMERIC, [True, False], [], "holds bool"),
        (NUMERIC, [dt.date(2020, 1, 1)] * 2, [], "holds date32"),
        (NUMERIC, [[1], [2]], [], "holds list"),
        (DATE, ["2024-05-17", "2024-02-31"], [2], "row 2: not a date of the form YYYY-MM-DD"),
        (DATE, ["2024-05-17", SECRET], [2], "row 2: not a date"),
        (DATE, [20240517, 1], [], "is a date in the schema, but holds int64"),
        (DATE, pa.array([2**30, 0], pa.int32()).cast(pa.date32()), [1], "outside the years"),
        ({**DATE, "format": "%d.%m.%Y"}, ["17.05.2024", "31.02.2024"], [2], "row 2: not of the form %d.%m.%Y"),
        (PREFIX, ["123", "4*6"], [2], r"row 2: holds '\*'"),
        (CATEGORY, ["a", "*", "b"], [2], r"row 2: holds '\*'"),
        (CATEGORY, [{"a": 1}, {"a": 2}], [], "holds struct"),
        (COUNTRY, ["France", SECRET, SECRET], [2, 3], "'x', rows 2 and 3: not in the hierarchy"),
        ({**COUNTRY, "on_unknown": "attach"}, ["France", "Europe"], [], "name of a group"),
        ({"role": "key"}, [SECRET, "b", SECRET], [1, 3], "rows 1 and 3: the key is not unique"),
        ({"role": "key"}, ["a", None, ""], [2, 3], "rows 2 and 3: the key is missing"),
        ({"role": "sensitive", "type": "numeric"}, ["1", SECRET], [2], "row 2: not a number"),
    ],
)
def test_a_value_that_does_not_fit(column: dict[str, object], values: object, rows: list[int], message: str) -> None:
    array = values if isinstance(values, pa.Array) else pa.array(values)
    table = pa.table({"x": array, "other": list(range(len(array)))})
    schema = shoal.Schema(columns={"x": column, "other": NUMERIC})
    with pytest.raises(shoal.InputError, match=message) as refused:
        shoal.anonymize(table, schema, k=2)
    error = refused.value
    assert error.column == "x"
    assert error.rows == rows
    for said in (str(error), repr(error), json.dumps(error.facts()), repr(error.__dict__ | {"_values": None})):
        assert SECRET not in said
    chain: BaseException | None = error
    while chain is not None:  # a traceback prints the causes too
        assert SECRET not in str(chain)
        chain = chain.__cause__ or (None if chain.__suppress_context__ else chain.__context__)
    if SECRET in str(values):
        assert SECRET in error.reveal()
        assert SECRET not in pickle.loads(pickle.dumps(error)).reveal()


def test_long_lists_of_rows_are_cut() -> None:
    table = pa.table({"x": [SECRET] * 100})
    with pytest.raises(shoal.DataError, match="rows 1, 2, 3, 4, 5 and 95 more") as refused:
        shoal.anonymize(table, shoal.Schema(columns={"x": NUMERIC}), k=2)
    assert len(refused.value.rows) == 20


def test_errors_name_the_file(tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    path.write_text(f"x\n1\n{SECRET}\n")
    with pytest.raises(shoal.DataError, match=r"people\.csv: column 'x', row 2: not a number"):
        shoal.anonymize(path, shoal.Schema(columns={"x": NUMERIC}), k=2)


def test_two_records_of_one_person_are_not_two_people() -> None:
    schema = shoal.Schema(columns={"x": NUMERIC, "who": {"role": "person"}})
    with pytest.raises(shoal.ParameterError, match="at most the number of people, 1"):
        shoal.anonymize(pa.table({"x": [1, 2], "who": ["a", "a"]}), schema, k=2)


def test_no_quasi_identifier() -> None:
    with pytest.raises(shoal.SchemaError, match="no quasi-identifier"):
        shoal.anonymize(pa.table({"x": [1, 2]}), shoal.Schema(columns={"x": {"role": "sensitive"}}), k=2)


def test_a_column_of_nothing_but_missing_values_is_published_as_such() -> None:
    for column in (NUMERIC, DATE, PREFIX, CATEGORY, {**NUMERIC, "levels": [5], "min_level": 1}):
        table = pa.table({"x": pa.array([None, None, None], pa.null())})
        release = shoal.anonymize(table, shoal.Schema(columns={"x": column}), k=2)
        assert release.table["x"].to_pylist() == [None] * 3
        assert release.measures()["il"] == 0
