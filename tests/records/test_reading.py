"""Reading: every format gives the same table; broken files are named by line, never by content."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import shoal
from shoal.inference import propose
from shoal.records.reading import read_for
from shoal.sources.normalize import parse_day

pytestmark = pytest.mark.versions

TABLE = pa.table({"age": [39, 50, None], "job": ["clerk", "a, b", None], "zip": ["04109", "10115", "10117"]})
SCHEMA = shoal.Schema(
    columns={
        "age": {"role": "quasi-identifier", "type": "numeric"},
        "job": {"role": "quasi-identifier", "type": "categorical"},
        "zip": {"role": "quasi-identifier", "type": "prefix"},
    }
)
HEADER = "age,job,zip\n"
SECRET = "Rumpelstiltskin"
BODY = '39,clerk,04109\n50,"a, b",10115\n,,10117\n'


def release_rows(source: object, schema: shoal.Schema = SCHEMA) -> list[dict[str, object]]:
    """What a release with one group per table says: enough to see that codes and labels agree."""
    return shoal.anonymize(source, schema, k=3).table.to_pylist()


def write(path: Path, content: str | bytes) -> Path:
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def test_read_infers_numbers_where_nothing_is_lost(tmp_path: Path) -> None:
    table = shoal.read(write(tmp_path / "t.csv", "a,b,c,d,e\n1,1.5,007,x,\n-2,3,8,,\n"))
    assert table.to_pydict() == {
        "a": [1, -2], "b": [1.5, 3.0], "c": ["007", "8"], "d": ["x", None], "e": [None, None],
    }  # fmt: skip
    long = ["12345678901234567890", "12345678901234567891"]
    assert (
        shoal.read(write(tmp_path / "long.csv", "id,x\n" + "".join(f"{n},1\n" for n in long)))["id"].to_pylist() == long
    )


@pytest.mark.parametrize("suffix", ["csv", "csv.gz", "parquet", "jsonl", "jsonl.gz"])
def test_every_format_reads_the_same(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"people.{suffix}"
    lines = "".join(json.dumps(row) + "\n" for row in TABLE.to_pylist()).encode()
    match suffix:
        case "csv":
            write(path, HEADER + BODY)
        case "csv.gz":
            write(path, gzip.compress((HEADER + BODY).encode()))
        case "parquet":
            pq.write_table(TABLE, path)
        case "jsonl":
            write(path, lines)
        case "jsonl.gz":
            write(path, gzip.compress(lines))
    assert release_rows(path) == release_rows(TABLE)
    assert shoal.read(path).to_pydict()["age"] == [39, 50, None]
    assert shoal.read(path)["zip"].to_pylist() == ["04109", "10115", "10117"]


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
@pytest.mark.parametrize("header", [True, False])
@pytest.mark.parametrize("ending", ["\n", "\r\n"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_dialects_are_detected(delimiter: str, header: bool, ending: str, mark: str, tmp_path: Path) -> None:
    rows = [["age", "job", "zip"]] * header + [["39", "clerk", "04109"], ["50", '"a, b; c|d"', "10115"], ["", "", "1"]]
    path = write(tmp_path / "people.csv", mark + "".join(delimiter.join(row) + ending for row in rows))
    schema = SCHEMA if header else shoal.Schema(columns=SCHEMA.columns, header=False)
    table, _ = read_for(schema, path)
    assert table.to_pydict() == {
        "age": ["39", "50", None], "job": ["clerk", "a, b; c|d", None], "zip": ["04109", "10115", "1"],
    }  # fmt: skip


def test_a_file_without_a_header_is_taken_as_such_only_without_doubt(tmp_path: Path) -> None:
    """Every column that is published must be told by its cells: a name in the place of a diagnosis is not."""
    columns: dict[str, dict[str, object]] = {
        "name": {"role": "identifier"},
        "age": {"role": "quasi-identifier", "type": "numeric"},
        "sex": {"role": "quasi-identifier", "hierarchy": {"Person": ["f", "m"]}},
        "born": {"role": "quasi-identifier", "type": "date"},
    }
    clear = shoal.Schema(columns=columns)
    path = write(tmp_path / "people.csv", "Eve,39,f,1980-01-02\nBob,,m,1981-01-02\n")
    with pytest.warns(shoal.ShoalWarning, match="no header"):
        assert read_for(clear, path)[0]["age"].to_pylist() == ["39", None]
    vague = shoal.Schema(columns={**columns, "ill": {"role": "sensitive"}})
    told = shoal.Schema(columns={**columns, "ill": {"role": "sensitive"}}, header=False)
    path = write(tmp_path / "ill.csv", "Eve,39,f,1980-01-02,flu\nBob,40,m,1981-01-02,gout\n")
    with pytest.raises(shoal.DataError, match="say header = false"):
        read_for(vague, path)
    assert read_for(told, path)[0]["ill"].to_pylist() == ["flu", "gout"]
    with pytest.raises(shoal.DataError, match="does not name the columns"):
        read_for(told, write(tmp_path / "short.csv", "Eve,39,f,1980-01-02\n"))
    with pytest.raises(shoal.SchemaError, match="header must be"):
        shoal.Schema(columns=columns, header="no")  # type: ignore[arg-type]


def test_near_misses_are_guessed(tmp_path: Path) -> None:
    write(tmp_path / "patients.csv", HEADER + BODY)
    with pytest.raises(shoal.DataError, match=r"Did you mean patients\.csv"):
        shoal.read(tmp_path / "patient.csv")
    with pytest.raises(shoal.DataError, match="Nor does the folder"):
        shoal.read(tmp_path / "nowhere" / "patient.csv")
    with pytest.raises(shoal.DataError, match="The table has 'ZIP' without a role"):
        shoal.anonymize(TABLE.rename_columns(["age", "job", "ZIP"]), SCHEMA, k=2)


def test_blanks_around_cells_are_no_part_of_them(tmp_path: Path) -> None:
    path = write(tmp_path / "people.csv", "age , job, zip\n39, clerk , 04109\n50, clerk, 04109\n\t 50,clerk ,04109\n")
    rows = release_rows(path)
    assert {row["job"] for row in rows} == {"clerk"}
    assert shoal.read(path)["job"].to_pylist() == ["clerk"] * 3
    assert rows == release_rows(pa.table({"age": [39, 50, 50], "job": [" clerk"] * 3, "zip": ["04109"] * 3}))


def test_empty_lines_are_no_records_unless_a_record_is_one_cell(tmp_path: Path) -> None:
    path = write(tmp_path / "people.csv", "\n\n" + HEADER + "\n39,clerk,04109\n\n40,clerk,04109\n\n")
    table, _ = read_for(SCHEMA, path)
    assert table["age"].to_pylist() == ["39", "40"]
    column = write(tmp_path / "column.csv", "zip\n1\n1\n\n2\n2\n")
    schema = shoal.Schema(columns={"zip": {"role": "quasi-identifier", "type": "prefix"}})
    assert read_for(schema, column)[0]["zip"].to_pylist() == ["1", "1", None, "2", "2"]
    assert not shoal.verify(column, schema, 2).ok


def test_a_header_may_be_long(tmp_path: Path) -> None:
    names = [f"a rather long name of column {number}" for number in range(5000)]
    path = write(tmp_path / "wide.csv", ",".join(names) + "\n" + ",".join("1" for _ in names) + "\n")
    assert shoal.read(path).num_columns == 5000


def test_a_frame_that_fails_is_not_quoted() -> None:
    class Broken:
        def __arrow_c_stream__(self, requested_schema: object = None) -> object:
            raise RuntimeError(SECRET)

    with pytest.raises(shoal.DataError, match="a Broken could not be read") as refused:
        shoal.read(Broken())
    assert refused.value.__context__ is None


def test_a_cell_may_span_lines(tmp_path: Path) -> None:
    table, _ = read_for(SCHEMA, write(tmp_path / "people.csv", HEADER + '39,"two\nlines",04109\n'))
    assert table["job"].to_pylist() == ["two\nlines"]


def test_columns_may_come_in_any_order() -> None:
    assert release_rows(TABLE.select(["zip", "age", "job"]))[0].keys() == {"zip", "age", "job"}
    assert list(release_rows(TABLE.select(["zip", "age", "job"]))[0]) == ["zip", "age", "job"]


def test_identifiers_are_never_loaded(tmp_path: Path) -> None:
    schema = shoal.Schema(columns={**SCHEMA.columns, "name": {"role": "identifier"}})
    path = write(tmp_path / "people.csv", "name,age,job,zip\nEve,39,clerk,04109\n")
    table, _ = read_for(schema, path)
    assert table.column_names == ["age", "job", "zip"]


def test_json_lines_may_mix_numbers_and_text_and_leave_fields_out(tmp_path: Path) -> None:
    path = write(
        tmp_path / "people.jsonl", '{"age": 39, "zip": 4109}\n\n{"age": "50", "zip": "x1", "job": "2024-01-01"}\n'
    )
    table = shoal.read(path)
    assert table.to_pydict() == {"age": ["39", "50"], "zip": ["4109", "x1"], "job": [None, "2024-01-01"]}
    dated = shoal.read(write(tmp_path / "dated.jsonl", '{"job": "2024-01-01"}\n{"job": "2024-01-02"}\n'))
    assert dated["job"].to_pylist() == ["2024-01-01", "2024-01-02"]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("missing.csv", None, "does not exist"),
        ("empty.csv", "", "is empty"),
        ("blank.csv", "\n\n", "is empty"),
        ("header.csv", HEADER, "no records"),
        ("short.csv", HEADER + f"39,clerk,04109\n\n40,{SECRET}\n41,x,1\n", "line 4 has 2 cells, the table has 3"),
        ("long.csv", HEADER + f"39,clerk,04109,{SECRET}\n40,1,2,3\n", r"line 2 has 4 cells.*1 more broken"),
        ("spanning.csv", HEADER + f'39,"a\nb",1\n40,{SECRET}\n', "line 4 has 2 cells"),
        ("quote.csv", HEADER + f'39,"{SECRET},04109\n40,x,1\n', "begins in line 2"),
        ("open.csv", HEADER + f'39,x,"04109\n40,{SECRET},1\n41,y,2\n', "quotes do not match.* line 2"),
        ("stray.csv", HEADER + f'39,x,"04109\n40,{SECRET},1\n41,y,"2\n42,z,3\n', "quotes do not match.* line 2"),
        ("other.csv", f"AGE,JOB,ZIP\n39,{SECRET},1\n", "does not name the columns"),
        ("order.csv", f"{SECRET},39,1\nx,40,1\n", "does not name the columns"),
        ("half.csv", f"zip,{SECRET},39\n1,x,40\n", "does not name the columns"),
        ("surrogate.jsonl", f'{{"age": "{SECRET}\\ud800"}}\n', "line 1 holds text that is not Unicode"),
        ("mixed.csv", HEADER.encode() + b"39,caf\xe9,04109\n40,caf\xc3\xa9,04109\n", "not UTF-8"),
        ("twice.csv", "age,age,zip\n1,2,3\n", "twice"),
        ("nameless.csv", "age,,zip\n1,2,3\n", "empty name"),
        ("people.xlsx", "x", "not a workbook"),
        ("people.xls", "x", "not known by its ending"),
        ("people.parquet", "not parquet", "not a Parquet file"),
        ("people.jsonl", f'{{"age": 39}}\n{{"age": "{SECRET}"\n', "line 2 is not a JSON object"),
        ("list.jsonl", "[1, 2]\n", "line 1 is not a JSON object"),
        ("damaged.csv.gz", gzip.compress(HEADER.encode() * 1000, mtime=0)[:40], "damaged|cannot be read"),
    ],
)
def test_broken_files_are_named_and_not_quoted(
    name: str, content: str | bytes | None, message: str, tmp_path: Path
) -> None:
    path = tmp_path / name
    if content is not None:
        write(path, content)
    with pytest.raises(shoal.DataError, match=message) as refused:
        read_for(SCHEMA, path)
    assert str(path) in str(refused.value)
    assert SECRET not in str(refused.value)
    assert SECRET not in json.dumps(refused.value.facts())
    chain: BaseException | None = refused.value
    while chain is not None:  # a traceback prints the causes too
        assert SECRET not in str(chain)
        chain = chain.__cause__ or (None if chain.__suppress_context__ else chain.__context__)


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (["age", "job"], "names column 'zip' that the table does not have"),
        (["age", "job", "zip", "shoe size"], "has column 'shoe size' that the schema does not name"),
    ],
)
def test_table_and_schema_must_name_the_same_columns(columns: list[str], message: str) -> None:
    table = pa.table({name: ["1"] for name in columns})
    with pytest.raises(shoal.DataError, match=message):
        shoal.anonymize(table, SCHEMA, k=2)


@pytest.mark.parametrize("given", [None, 7, {1, 2}, iter([])])
def test_what_is_no_table_is_refused(given: object) -> None:
    with pytest.raises(shoal.DataError, match="must be a path"):
        shoal.read(given)


def test_an_arrow_table_with_a_column_twice_is_refused() -> None:
    table = pa.Table.from_arrays([pa.array(["1"])] * 4, names=["age", "job", "zip", "zip"])
    with pytest.raises(shoal.DataError, match="'zip' twice"):
        shoal.anonymize(table, SCHEMA, k=2)


@pytest.mark.parametrize("name", [" ", "", "\t", "a\0b"])
def test_a_name_that_no_csv_can_say_is_refused(name: str) -> None:
    """A release with it could be written, and never be read again."""
    schema = shoal.Schema(columns={name: {"role": "quasi-identifier", "type": "numeric"}})
    with pytest.raises(shoal.DataError, match="1 column has a name of blanks or with a zero byte"):
        shoal.anonymize(pa.table({name: [1, 1, 2, 2]}), schema, k=2)


def test_a_year_of_two_digits_is_not_to_come(tmp_path: Path) -> None:
    path = write(tmp_path / "t.csv", "born\n18.01.30\n03.12.68\n13.05.71\n01.02.05\n")
    schema = shoal.Schema(columns={"born": {"role": "quasi-identifier", "type": "date", "format": "%d.%m.%y"}})
    (label,) = set(shoal.anonymize(path, schema, k=4).table["born"].to_pylist())
    assert label == "[1930-01-18..2005-02-01]"
    said = propose(path, header=True).toml()
    assert 'format = "%d.%m.%y"' in said
    assert "none after today" in said


def test_a_year_of_four_digits_may_be_to_come(tmp_path: Path) -> None:
    assert parse_day("18.01.2930", "%d.%m.%Y").year == 2930
    assert parse_day("18.01.2930 %y", "%d.%m.%Y %%y").year == 2930
