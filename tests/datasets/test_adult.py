"""Adult: the figures that everybody knows of it, and hierarchies that cover it."""

from __future__ import annotations

from pathlib import Path

import pytest

import shoal
from shoal.records.encode import encode
from shoal.schema import Role


def test_adult_is_whole() -> None:
    table = shoal.datasets.adult()
    assert table.num_rows == 48_842
    assert table.num_columns == 15
    assert shoal.datasets.adult("train").num_rows == 32_561
    assert shoal.datasets.adult("test").num_rows == 16_281
    assert shoal.datasets.adult("train", complete=True).num_rows == 30_162
    complete = shoal.datasets.adult(complete=True)
    assert complete.num_rows == 45_222
    counts = {entry["values"]: entry["counts"] for entry in complete["salary-class"].value_counts().to_pylist()}
    assert counts == {"<=50K": 34_014, ">50K": 11_208}
    distinct = complete.select(shoal.datasets.adult_schema().quasi_identifiers).group_by(
        shoal.datasets.adult_schema().quasi_identifiers
    )
    assert distinct.aggregate([]).num_rows == 24_766
    assert table["workclass"].null_count == 2_799


def test_the_papers_schema() -> None:
    schema = shoal.datasets.adult_schema()
    assert schema.quasi_identifiers == [
        "age", "workclass", "education-num", "marital-status", "occupation", "race", "sex", "native-country",
    ]  # fmt: skip
    assert schema.names(Role.SENSITIVE) == ["salary-class"]
    heights = {
        book.name: book.tree.height
        for book in encode(shoal.datasets.adult().drop_columns(schema.names(Role.IDENTIFIER)), schema).books
        if book.tree is not None
    }
    assert heights == {
        "workclass": 2, "marital-status": 2, "occupation": 2, "race": 1, "sex": 1, "native-country": 2,
    }  # fmt: skip


def test_the_suppression_schema() -> None:
    schema = shoal.datasets.adult_schema("suppression")
    assert len(schema.quasi_identifiers) == 14
    books = encode(shoal.datasets.adult(), schema).books
    assert {book.tree.height for book in books if book.tree is not None} == {1}
    assert len(books) == 14


HIERARCHIES = sorted((shoal.datasets.ADULT / "hierarchies").glob("*.csv"))


@pytest.mark.parametrize("path", HIERARCHIES, ids=lambda path: path.stem)
def test_every_hierarchy_covers_its_column(path: Path) -> None:
    tree = shoal.Hierarchy.tree(path).grow()
    values = {str(value) for value in shoal.datasets.adult()[path.stem].to_pylist() if value is not None}
    assert values <= set(tree.leaves)
    assert tree.labels[0] == "*"
    heights = {"age": 4, "education": 3, "race": 1, "sex": 1, "salary-class": 1}
    assert tree.height == heights.get(path.stem, 2)


@pytest.mark.parametrize("call", [lambda: shoal.datasets.adult("half"), lambda: shoal.datasets.adult_schema("mine")])
def test_unknown_names(call: object) -> None:
    with pytest.raises(shoal.ParameterError, match="must be one of"):
        call()  # type: ignore[operator]
