"""What programs put around a table: a line that names the delimiter, one at the end of every line, titles above it."""

from __future__ import annotations

from pathlib import Path

import openpyxl
import pytest

import shoal
from shoal.inference import propose

SECRET = "Rumpelstiltskin"
ROWS = [("a", 30, "m"), ("b", 31, "f"), ("c", 32, "m")]
PLAIN = {"id": ["a", "b", "c"], "age": [30, 31, 32], "sex": ["m", "f", "m"]}


def written(path: Path, *, before: str = "", end: str = "", sign: str = ";", newline: str = "\n") -> Path:
    lines = [sign.join(map(str, row)) + end for row in [("id", "age", "sex"), *ROWS]]
    path.write_text(before + newline.join(lines) + newline, newline="")
    return path


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize("sign", [";", "\t"])
def test_a_line_that_names_the_delimiter_is_no_record(sign: str, newline: str, tmp_path: Path) -> None:
    path = written(tmp_path / "t.csv", before=f"sep={sign}{newline}", sign=sign, newline=newline)
    assert shoal.read(path).to_pydict() == PLAIN
    again = shoal.read(path, header=False)
    assert again.num_rows == 4
    path.write_text(path.read_text() + f"d{sign}33\n")
    with pytest.raises(shoal.DataError, match="line 6 has 2 cells, the table has 3 columns"):
        shoal.read(path)


def test_a_delimiter_at_the_end_of_every_line_is_no_column(tmp_path: Path) -> None:
    path = written(tmp_path / "t.csv", end=";")
    assert shoal.read(path).to_pydict() == PLAIN
    assert [guess.name for guess in propose(path).guesses] == ["id", "age", "sex"]
    schema = {
        "id": {"role": "key"},
        "age": {"role": "quasi-identifier", "type": "numeric"},
        "sex": {"role": "quasi-identifier", "type": "categorical"},
    }
    assert shoal.anonymize(path, schema, k=3, method="mondrian").table.num_rows == 3


def test_but_nothing_that_stands_behind_it_is_lost(tmp_path: Path) -> None:
    path = written(tmp_path / "t.csv", end=";")
    long = path.read_text() + "".join(f"x{n};33;f;\n" for n in range(300)) + f"y;34;f;{SECRET}\n"
    path.write_text(long)
    with pytest.raises(
        shoal.DataError, match="the last column has no name in the header, and a value in row 304"
    ) as no:
        shoal.read(path)
    assert SECRET not in str(no.value)
    with pytest.raises(shoal.DataError, match="line 305 has 3 cells, the table has 4 columns"):
        shoal.read(_changed(path, f"y;34;f;{SECRET}", "y;34;f"))


def test_a_header_without_a_name_is_no_record(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text(",age,sex\n" + "".join(f"{n},{30 + n},m\n" for n in range(40)))
    with pytest.raises(shoal.DataError, match="the header has no name for column 1"):
        propose(path)
    path.write_text("Ulm,,m\nBonn,x,f\n" * 20)
    assert propose(path).header is False


def test_a_title_above_the_header_is_named_for_what_it_is(tmp_path: Path) -> None:
    path = written(tmp_path / "t.csv", before=f"{SECRET} 2023\n")
    with pytest.raises(shoal.DataError, match=r"line 1 should name the columns and has 1 cell.*a title") as refused:
        shoal.read(path)
    assert SECRET not in str(refused.value)
    book = openpyxl.Workbook()
    for row in ([SECRET], [], ["id", "age", "sex"], *map(list, ROWS)):
        book.active.append(row)
    book.save(tmp_path / "t.xlsx")
    with pytest.raises(shoal.DataError, match=r"row 3 of the sheet has more cells than row 1.*a title") as refused:
        shoal.read(tmp_path / "t.xlsx")
    assert SECRET not in str(refused.value)


def test_a_nameless_column_is_named_by_its_place(tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    for row in (["id", None, "sex"], *map(list, ROWS)):
        book.active.append(row)
    book.save(tmp_path / "t.xlsx")
    with pytest.raises(shoal.DataError, match="1 column has a name of blanks or with a zero byte: column 2"):
        shoal.read(tmp_path / "t.xlsx")


def _changed(path: Path, old: str, new: str) -> Path:
    path.write_text(path.read_text().replace(old, new))
    return path
