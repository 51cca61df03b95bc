"""Codes: unique, decodable, ordered; the same whatever the table came in."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given

import shoal
from shoal.records.encode import encode
from shoal.records.reading import read_for
from tests.support.tables import MadeTable, tables

pytestmark = pytest.mark.versions


@given(made=tables(min_rows=1))
def test_codes_are_unique_and_decode_back(made: MadeTable) -> None:
    records = encode(made.table, made.schema)
    for j, column in enumerate(made.columns.values()):
        codes, book = records.codes[:, j], records.books[j]
        assert len(set(book.texts)) == len(book.texts)
        pairs = set(zip(column.values, codes.tolist(), strict=True))
        assert len(pairs) == len({value for value, _ in pairs}) == len({code for _, code in pairs})
        for value, text in zip(column.values, book.decode(codes), strict=True):
            assert text == (None if value is None else str(value))
        assert (book.counts == np.bincount(codes, minlength=book.size)).all()


@given(made=tables(min_rows=1))
def test_similar_values_have_close_codes(made: MadeTable) -> None:
    """Numbers and dates keep their order; the leaves below any node of a hierarchy are neighbours."""
    records = encode(made.table, made.schema)
    for j, column in enumerate(made.columns.values()):
        book = records.books[j]
        if column.plain.number is not None:
            present = sorted({column.plain.number(value) for value in column.values if value is not None})
            assert book.axis is not None
            assert book.axis.tolist() == present
        else:
            assert book.tree is not None
            for node in range(len(book.tree.labels)):
                below = np.flatnonzero((book.tree.paths == node).any(axis=1))
                assert (np.diff(below) == 1).all()


ROWS = {
    "born": [dt.date(1980, 5, 17), None, dt.date(1975, 1, 2)],
    "age": [44, None, 49],
    "zip": ["04109", "10115", None],
    "sex": ["f", "m", "f"],
    "ill": ["flu", "flu", None],
}
SCHEMA = shoal.Schema(
    columns={
        "born": {"role": "quasi-identifier", "type": "date"},
        "age": {"role": "quasi-identifier", "type": "numeric"},
        "zip": {"role": "quasi-identifier", "type": "prefix"},
        "sex": {"role": "quasi-identifier", "type": "categorical"},
        "ill": {"role": "sensitive"},
    }
)


FRAMES: dict[str, Callable[[], object]] = {
    "pyarrow": lambda: pa.table(ROWS),
    "record batch": lambda: pa.table(ROWS).to_batches()[0],
    "pandas": lambda: pd.DataFrame(ROWS),
    "pandas, with other row labels": lambda: pd.DataFrame(ROWS, index=[7, 3, 5]),
    "pandas, categories": lambda: pd.DataFrame(ROWS).astype({"sex": "category", "zip": "category"}),
    "pandas from arrow": lambda: pa.table(ROWS).to_pandas(types_mapper=pd.ArrowDtype),
    "polars": lambda: pl.DataFrame(ROWS),
    "polars, categories": lambda: pl.DataFrame(ROWS).cast({"sex": pl.Categorical}),
    "duckdb": lambda: duckdb.from_arrow(pa.table(ROWS)),
}


@pytest.mark.parametrize("name", FRAMES)
def test_every_frame_gives_the_same_codes(name: str) -> None:
    table, file = read_for(SCHEMA, FRAMES[name]())
    assert file is None
    assert encode(table, SCHEMA).codes.tolist() == [[2, 1, 1, 1], [0, 0, 2, 2], [1, 2, 0, 1]]


def test_numbers_in_any_dress_are_the_same_numbers() -> None:
    schema = shoal.Schema(columns={"age": {"role": "quasi-identifier", "type": "numeric"}})
    for ages in (
        pa.array([39, 40, None]),
        pa.array([39.0, 40.0, float("nan")]),
        pa.array(["39", " 40", ""]),
        pa.array(["39.0", "+40", None]),
        pa.array([39, 40, None], pa.decimal128(5, 1)),
        pa.array(["39", "40", None]).dictionary_encode(),
    ):
        records = encode(pa.table({"age": ages}), schema)
        assert records.codes[:, 0].tolist() == [1, 2, 0]
        assert records.books[0].texts == ["39", "40"]


def test_days_in_any_dress_are_the_same_days() -> None:
    schema = shoal.Schema(columns={"day": {"role": "quasi-identifier", "type": "date"}})
    moment = dt.datetime(2024, 5, 17, 23, 30)
    for day in (
        pa.array([dt.date(2024, 5, 17), None]),
        pa.array(["2024-05-17", ""]),
        pa.array([moment, None]),
        pa.array([moment - dt.timedelta(hours=2), None], pa.timestamp("us", "UTC")).cast(
            pa.timestamp("us", "Europe/Berlin")
        ),
    ):
        records = encode(pa.table({"day": day}), schema)
        assert records.books[0].texts == ["2024-05-17"]
        assert records.codes[:, 0].tolist() == [1, 0]
    german = shoal.Schema(columns={"day": {"role": "quasi-identifier", "type": "date", "format": "%d.%m.%Y"}})
    assert encode(pa.table({"day": ["17.05.2024", None]}), german).books[0].texts == ["2024-05-17"]


def test_texts_that_mean_missing() -> None:
    schema = shoal.Schema(columns={"job": {"role": "quasi-identifier", "type": "categorical"}}, missing=["?", "n/a"])
    assert encode(pa.table({"job": ["a", "?", "", "n/a", None]}), schema).codes[:, 0].tolist() == [1, 0, 0, 0, 0]


def test_missing_numbers_are_missing_in_every_dress() -> None:
    schema = shoal.Schema(columns={"age": {"role": "quasi-identifier", "type": "numeric"}}, missing=["-9", "?"])
    for ages in (pa.array([30, -9]), pa.array([30.0, -9.0]), pa.array(["30", "-9"]), pa.array(["30", "?"])):
        assert encode(pa.table({"age": ages}), schema).codes[:, 0].tolist() == [1, 0]


def test_numbers_in_a_hierarchy_are_found_by_their_shortest_form() -> None:
    schema = shoal.Schema(
        columns={
            "x": {"role": "quasi-identifier", "type": "numeric", "hierarchy": {"low": ["1", "1.5"], "high": ["3"]}}
        }
    )
    assert encode(pa.table({"x": [1.0, 1.5, 3.0]}), schema).codes[:, 0].tolist() == [1, 2, 3]


def test_lost_zeros_are_suspected() -> None:
    schema = shoal.Schema(columns={"zip": {"role": "quasi-identifier", "type": "prefix"}})
    with pytest.warns(shoal.ShoalWarning, match="4 and 5 digits; were leading zeros lost"):
        encode(pa.table({"zip": [1067, 10115]}), schema)


def test_unknown_values_can_be_attached() -> None:
    column = {"role": "quasi-identifier", "hierarchy": {"Europe": ["France", "Spain"], "Asia": ["Japan"]}}
    table = pa.table({"country": ["France", "Mordor", "Gondor", "Japan"]})
    schema = shoal.Schema(columns={"country": {**column, "on_unknown": "attach"}})
    assert encode(table, schema).books[0].texts == ["France", "Spain", "Japan", "Gondor", "Mordor"]
    with pytest.raises(shoal.DataError) as refused:
        encode(table, shoal.Schema(columns={"country": column}))
    assert refused.value.rows == [2, 3]
    assert "Mordor" not in str(refused.value)
    assert "Mordor" in refused.value.reveal()
