"""Every format gives the same table; what is broken is named and not quoted."""

from __future__ import annotations

import sqlite3
import sys
from collections.abc import Callable
from datetime import date
from pathlib import Path

import duckdb
import openpyxl
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pyreadstat
import pytest

import shoal
from shoal.sources import extras, memory

SECRET = "Rumpelstiltskin"
TABLE = pa.table(
    {
        "id": pa.array([1, 2, 3], pa.int64()),
        "town": ["Köln", "Ulm", None],
        "born": [date(1950, 12, 31), date(1960, 1, 1), date(1970, 5, 5)],
        "pay": [1.5, 2.25, None],
    }
)


def excel(folder: Path) -> str:
    book = openpyxl.Workbook()
    book.active.append([])
    book.active.append(TABLE.column_names)
    for row in TABLE.to_pylist():
        book.active.append(list(row.values()))
    book.save(folder / "people.xlsx")
    return str(folder / "people.xlsx")


def parquet_set(folder: Path) -> str:
    (folder / "set" / "_temporary").mkdir(parents=True)
    (folder / "set" / "_temporary" / "x.parquet").write_bytes(b"rubbish")
    pq.write_table(TABLE.slice(0, 2), folder / "set" / "a.parquet")
    pq.write_table(TABLE.slice(2), folder / "set" / "b.parquet")
    return str(folder / "set")


def sqlite(folder: Path) -> str:
    with sqlite3.connect(folder / "people.db") as database:
        database.execute("CREATE TABLE people (id INTEGER, town TEXT, born DATE, pay REAL)")
        rows = [(row["id"], row["town"], str(row["born"]), row["pay"]) for row in TABLE.to_pylist()]
        database.executemany("INSERT INTO people VALUES (?, ?, ?, ?)", rows)
        database.execute('CREATE TABLE "other one" (a INTEGER)')
    database.close()
    return f"sqlite:///{folder / 'people.db'}?table=people"


def duck(folder: Path) -> str:
    with duckdb.connect(str(folder / "people.duckdb")) as database:
        database.register("given", TABLE)
        database.execute("CREATE TABLE people AS SELECT * FROM given")
    return str(folder / "people.duckdb")


def spss(folder: Path) -> str:
    frame = pd.DataFrame({"id": [1.0, 2.0, 3.0], "town": ["Köln", "Ulm", ""], "born": TABLE["born"].to_pylist()})
    frame["pay"] = [1.5, 2.25, None]
    pyreadstat.write_sav(frame, str(folder / "people.sav"))
    return str(folder / "people.sav")


FORMATS: dict[str, Callable[[Path], str]] = {
    "excel": excel, "parquet set": parquet_set, "sqlite": sqlite, "duckdb": duck, "spss": spss,
}  # fmt: skip


@pytest.mark.versions
@pytest.mark.parametrize("name", FORMATS)
def test_every_format_gives_the_same_table(name: str, tmp_path: Path) -> None:
    found = shoal.read(FORMATS[name](tmp_path))
    assert found.column_names == TABLE.column_names
    assert found["id"].to_pylist() == [1, 2, 3]
    assert found["town"].to_pylist() == TABLE["town"].to_pylist()
    assert [str(day) for day in found["born"].to_pylist()] == ["1950-12-31", "1960-01-01", "1970-05-05"]
    assert found["pay"].to_pylist() == [1.5, 2.25, None]


def test_queries_only_read(tmp_path: Path) -> None:
    place = sqlite(tmp_path).partition("?")[0]
    assert shoal.read(f"{place}?query=SELECT town, id * 2 AS twice FROM people -- all")["twice"].to_pylist() == [
        2,
        4,
        6,
    ]
    for statement in ("DELETE FROM people", "SELECT 1; DROP TABLE people", "SELECT * FROM nowhere"):
        with pytest.raises(shoal.DataError):
            shoal.read(f"{place}?query={statement}")
    assert shoal.read(f"{place}?table=people").num_rows == 3


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("postgresql://user:geheim@nowhere.invalid/db", "which table"),
        ("postgresql://user:geheim@nowhere.invalid/db?table=t", "cannot be reached"),
        ("sqlite:///{folder}/people.db", "which of its 2 tables"),
        ("{folder}/people.db", "'people', 'other one'|'other one', 'people'"),
        ("sqlite:///{folder}/people.db?table=nowhere", "cannot be read"),
        ("sqlite:///{folder}/none.db?table=t", "does not exist"),
        ("sqlite://people.db?table=t", "three slashes"),
        ("sqlite:///{folder}/people.db?table=a&query=SELECT", "a table and a query"),
        ("mysql://user:geheim@host/db?table=t", "another URL"),
    ],
)
def test_what_cannot_be_read_from_a_database_is_said_without_its_address(
    given: str, message: str, tmp_path: Path
) -> None:
    sqlite(tmp_path)
    with pytest.raises(shoal.DataError, match=message) as refused:
        shoal.read(given.format(folder=tmp_path))
    assert "geheim" not in str(refused.value) + repr(refused.value.facts()) + refused.value.reveal()


def test_values_with_labels_become_categories(tmp_path: Path) -> None:
    frame = pd.DataFrame({"sex": [1.0, 2.0, 1.0], "age": [30.0, 998.0, 40.0]})
    labels = {"sex": {1: "male", 2: "female"}, "age": {998: "refused"}}
    pyreadstat.write_sav(frame, str(tmp_path / "p.sav"), variable_value_labels=labels)
    with pytest.warns(shoal.ShoalWarning, match="some values of column 'age' have labels"):
        table = shoal.read(tmp_path / "p.sav")
    assert table.to_pydict() == {"sex": ["male", "female", "male"], "age": [30, 998, 40]}
    pyreadstat.write_dta(frame, str(tmp_path / "p.dta"), variable_value_labels={"sex": labels["sex"]})
    assert shoal.read(tmp_path / "p.dta")["sex"].to_pylist() == ["male", "female", "male"]
    pyreadstat.write_xport(frame, str(tmp_path / "p.xpt"))
    assert shoal.read(tmp_path / "p.xpt")["age"].to_pylist() == [30, 998, 40]


def test_a_workbook_with_several_sheets_wants_to_know_which(tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    book.active.title = "2022"
    book.active.append(["a"])
    book.active.append([1])
    book.create_sheet("2023").append(["b"])
    book["2023"].append(["x"])
    book["2023"].append([2])
    book.save(tmp_path / "years.xlsx")
    with pytest.raises(shoal.DataError, match="several sheets: '2022', '2023'"):
        shoal.read(tmp_path / "years.xlsx")
    with pytest.raises(shoal.DataError, match="no sheet of that name"):
        shoal.read(tmp_path / "years.xlsx", sheet="2021")
    assert shoal.read(tmp_path / "years.xlsx", sheet="2023")["b"].to_pylist() == ["x", "2"]  # a text among numbers


@pytest.mark.parametrize("name", ["p.xlsx", "p.dta", "p.sav", "p.sas7bdat", "p.xpt", "p.por", "p.duckdb", "p.sqlite"])
def test_rubbish_is_named_and_not_quoted(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(SECRET.encode() * 100)
    with pytest.raises(shoal.DataError) as refused:
        shoal.read(tmp_path / name)
    assert name in str(refused.value)
    assert SECRET not in str(refused.value) + refused.value.reveal()
    assert refused.value.__context__ is None or refused.value.__suppress_context__


def test_files_of_a_data_set_must_be_alike(tmp_path: Path) -> None:
    place = Path(parquet_set(tmp_path))
    pq.write_table(pa.table({"id": ["x"]}), place / "c.parquet")
    with pytest.raises(shoal.DataError, match=r"c.parquet: has other columns"):
        shoal.read(place)
    (tmp_path / "none").mkdir()
    with pytest.raises(shoal.DataError, match="has no Parquet or CSV files"):
        shoal.read(tmp_path / "none")


def test_a_folder_of_csv_files_is_one_table(tmp_path: Path) -> None:
    (tmp_path / "part-0.csv").write_text('name,age\n"Ada, Lady",36\n')
    (tmp_path / "part-1.csv").write_text("name,age\nCharles,79\n")
    (tmp_path / "_SUCCESS").touch()
    (tmp_path / ".part-0.csv.crc").write_bytes(b"crc")
    assert shoal.read(tmp_path).to_pydict() == {"name": ["Ada, Lady", "Charles"], "age": ["36", "79"]}
    (tmp_path / "part-2.csv").write_text("name,year\nMary,1797\n")
    with pytest.raises(shoal.DataError, match=r"part-2.csv: has other columns"):
        shoal.read(tmp_path)


def test_a_package_that_is_missing_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "p.dta").write_bytes(b"x")
    monkeypatch.setitem(sys.modules, "pyreadstat", None)
    with pytest.raises(shoal.InputError, match=r"needs the package pyreadstat.*pip install 'shoal\[stats\]'"):
        shoal.read(tmp_path / "p.dta")
    assert extras.needed("json", "none", "JSON").__name__ == "json"


def test_what_does_not_stream_says_what_it_takes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "WORTH_SAYING", 10)
    (tmp_path / "p.jsonl").write_text('{"a": 1}\n{"a": 2}\n')
    with pytest.warns(shoal.ShoalWarning, match="GiB of memory"):
        shoal.read(tmp_path / "p.jsonl")
