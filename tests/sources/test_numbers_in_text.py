"""Numbers and dates as offices write them."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

import shoal
from shoal.records.encode import encode
from shoal.records.reading import read_for
from shoal.sources.normalize import as_days, as_numbers
from shoal.sources.numbers import NumberForm


@pytest.mark.parametrize(
    ("form", "texts", "numbers"),
    [
        (NumberForm(","), ["1,5", "-2,25", "3"], [1.5, -2.25, 3.0]),
        (NumberForm(",", "."), ["1.234,5", "12", "1.234.567"], [1234.5, 12.0, 1234567.0]),
        (NumberForm(".", ","), ["1,234", "56", None], [1234, 56, None]),
        (NumberForm(",", " "), ["1 234,5", "1\u202f234", "1\u00a0000"], [1234.5, 1234.0, 1000.0]),
        (NumberForm(".", "'"), ["1'234.5", "1’000"], [1234.5, 1000.0]),
    ],
)
def test_numbers_are_read_by_their_form(form: NumberForm, texts: list[str], numbers: list[float]) -> None:
    assert as_numbers("n", pa.array(texts), (), form).to_pylist() == numbers


@pytest.mark.parametrize("text", ["1.5", "1,234,5", "12,34,567", "abc", "1.23,4"])
def test_what_has_another_form_is_refused_by_row(text: str) -> None:
    with pytest.raises(shoal.DataError, match=r"column 'n', row 2: not a number of the form 1.234,5") as refused:
        as_numbers("n", pa.array(["1,0", text]), (), NumberForm(",", "."))
    assert text not in str(refused.value)


def test_moments_are_days() -> None:
    texts = pa.array(["2024-03-05 08:13:22", "2024-03-05T08:13:22Z", "2024-03-05"])
    assert len(set(as_days("d", texts, (), None).to_pylist())) == 1
    assert as_days("d", pa.array(["05/03/2024 08:13"]), (), "%d/%m/%Y %H:%M").to_pylist()[0].isoformat() == "2024-03-05"


def test_a_schema_says_it_for_all_columns_or_one(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("id;a;b;c\n1;1,5;1.5;7\n2;2,5;2.5;999\n")
    (tmp_path / "s.toml").write_text(
        'decimal = ","\n[columns.id]\nrole = "key"\n[columns.a]\nrole = "quasi-identifier"\ntype = "numeric"\n'
        '[columns.b]\nrole = "sensitive"\ntype = "numeric"\ndecimal = "."\n'
        '[columns.c]\nrole = "quasi-identifier"\ntype = "numeric"\nmissing = ["999"]\n'
    )
    schema = shoal.Schema.load(tmp_path / "s.toml")
    records = encode(read_for(schema, tmp_path / "t.csv")[0], schema)
    assert records.books[0].texts == ["1.5", "2.5"]
    assert records.books[1].texts == ["7"]
    assert records.codes[:, 1].tolist() == [1, 0]
    assert records.passthrough["b"].to_pylist() == [1.5, 2.5]


@pytest.mark.parametrize(
    ("field", "message"),
    [
        ({"decimal": ";"}, "decimal must be"),
        ({"decimal": ",", "thousands": ","}, "two different signs"),
        ({"thousands": 7}, "thousands must be"),
        ({"missing": [999]}, "list of texts"),
        ({"type": "categorical", "decimal": ","}, "for numeric columns"),
    ],
)
def test_what_makes_no_sense_is_refused(field: dict[str, object], message: str) -> None:
    with pytest.raises(shoal.SchemaError, match=message):
        shoal.Schema(columns={"a": {"role": "quasi-identifier", "type": "numeric", **field}})
