"""Code books from different values and their counts are those of the whole column."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import shoal
from shoal.records.codebook import CodeBook
from shoal.records.encode import encode
from shoal.regions.books import book_of

AGES = {"role": "quasi-identifier", "type": "numeric", "domain": "winsorized"}
DAYS = {"role": "quasi-identifier", "type": "date", "levels": ["month", "year"]}


def counted(column: pa.ChunkedArray) -> tuple[pa.ChunkedArray, np.ndarray]:
    found = column.combine_chunks().value_counts()
    return pa.chunked_array([found.field("values")]), found.field("counts").to_numpy()


def same(one: CodeBook, other: CodeBook) -> None:
    assert one.texts == other.texts
    assert one.domain == other.domain
    assert np.array_equal(one.counts, other.counts)
    assert (one.tree is None) == (other.tree is None)
    if one.tree is not None and other.tree is not None:
        assert one.tree.labels == other.tree.labels
        assert np.array_equal(one.tree.breadths, other.tree.breadths)


@pytest.mark.parametrize("name", ["census", "adult"])
def test_every_column_of_a_table(name: str) -> None:
    table = shoal.datasets.census(3_000, seed=1) if name == "census" else shoal.datasets.adult("test")
    schema = getattr(shoal.datasets, f"{name}_schema")()
    for book in encode(table, schema).books:
        values, counts = counted(table[book.name])
        same(book_of(book.name, book.column, values, counts, schema.missing), book)


def test_a_domain_that_depends_on_how_often_values_occur() -> None:
    ages = [*([30] * 500), *range(31, 60), *([60] * 500), 900]
    table = pa.table({"age": [str(age) for age in ages], "day": ["2024-01-05"] * 500 + ["2024-02-07"] * 530})
    schema = shoal.Schema({"age": AGES, "day": DAYS})
    for book in encode(table, schema).books:
        values, counts = counted(table[book.name])
        same(book_of(book.name, book.column, values, counts, schema.missing), book)


def test_a_fault_names_no_row_and_shows_no_value() -> None:
    column = shoal.Column(role="quasi-identifier", type="numeric")
    with pytest.raises(shoal.DataError) as caught:
        book_of("age", column, pa.chunked_array([["30", "many"]]), np.array([5, 1]), ("",))
    assert "row" not in str(caught.value)
    assert "many" not in str(caught.value)
    assert "column 'age'" in str(caught.value)
    assert caught.value.rows == []
