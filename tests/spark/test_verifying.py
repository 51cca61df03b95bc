"""The verifier and the measures on Spark say what those of one machine say."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pytest

import shoal
from shoal import spark as on_spark
from shoal.spark.measuring import class_sizes, telling

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SCHEMA = shoal.Schema(
    {
        "age": {"role": "quasi-identifier", "type": "numeric"},
        "sex": {"role": "quasi-identifier", "type": "categorical"},
        "ill": {"role": "sensitive"},
        "pay": {"role": "sensitive", "type": "numeric"},
    }
)
ASKED = [
    {}, {"l": 2}, {"l": {"ill": 1.5}, "diversity": "entropy"}, {"l": 2, "diversity": "distinct"},
    {"l": 2, "diversity": "recursive", "c": 1.2}, {"t": 0.4}, {"t": {"pay": 0.2}, "l": {"ill": 1.4}},
    {"alpha": {"ill": {"Flu ": 0.5}}},
]  # fmt: skip


def badly_released(rows: int = 400) -> pa.Table:
    rng = np.random.default_rng(5)
    ages = rng.choice(["[1..9]", "[10..19]", "20", "*", "[30..35]"], rows, p=[0.5, 0.3, 0.1, 0.06, 0.04])
    sexes = rng.choice(["f", "m", "*"], rows, p=[0.5, 0.47, 0.03])
    ills = [None if word == "-" else word for word in rng.choice(["flu", " FLU", "gout", "HIV", "-"], rows)]
    pays = [None if value == 7 else int(value) for value in rng.integers(0, 8, rows)]
    return pa.table({"age": ages, "sex": sexes, "ill": ills, "pay": pays})


@pytest.mark.parametrize("asked", ASKED, ids=str)
def test_the_verdict_is_that_of_one_machine(spark: SparkSession, asked: dict[str, object]) -> None:
    table = badly_released()
    here = shoal.verify(table, SCHEMA, 6, **asked)  # type: ignore[arg-type]
    there = on_spark.verify(spark.createDataFrame(table).repartition(3), SCHEMA, 6, **asked)  # type: ignore[arg-type]
    ours, theirs = here.facts(), there.facts()
    assert not here.ok
    for mine, other in zip(ours.pop("rules"), theirs.pop("rules"), strict=True):  # type: ignore[call-overload]
        assert mine.pop("found") == pytest.approx(other.pop("found"))
        assert mine == other
    assert ours == theirs
    assert sorted(map(str, here.offending.to_pylist())) == sorted(map(str, there.offending.to_pylist()))


def test_columns_that_must_not_be_there_are_found(spark: SparkSession) -> None:
    table = badly_released().append_column("name", pa.array(["x"] * 400))
    assert "column 'name' is not in the schema" in str(on_spark.verify(spark.createDataFrame(table), SCHEMA, 2).reasons)
    with pytest.raises(shoal.DataError, match="no column 'sex'"):
        on_spark.verify(spark.createDataFrame(table.drop_columns(["sex"])), SCHEMA, 2)
    with pytest.raises(shoal.DataError, match="no rows"):
        on_spark.verify(spark.createDataFrame(table).limit(0), SCHEMA, 2)
    without = on_spark.verify(spark.createDataFrame(table), None, 2, quasi_identifiers=["age", "sex"])
    assert without.k == shoal.verify(table, None, 2, quasi_identifiers=["age", "sex"]).k


@pytest.mark.parametrize("name", ["adult", "census", "patients"])
def test_measures_are_those_of_one_machine(spark: SparkSession, name: str) -> None:
    if name == "adult":
        table, schema = shoal.datasets.adult("test").slice(0, 3_000), shoal.datasets.adult_schema()
    elif name == "census":
        table, schema = shoal.datasets.census(2_000, seed=2), shoal.datasets.census_schema()
    else:
        days = pa.array(["2024-01-05", "2024-01-17", "2024-03-01", "2025-03-02", "2025-04-01", "2025-04-02"] * 20)
        heights = pa.array([1.5, 1.62, 1.7, 1.81, 1.9, 2.0] * 20)
        table = pa.table({"day": days, "height": heights, "ill": ["flu", "gout"] * 60})
        date = {"role": "quasi-identifier", "type": "date", "levels": ["month", "year"]}
        height = {"role": "quasi-identifier", "type": "numeric", "domain": [1.0, 2.5]}
        schema = shoal.Schema({"day": date, "height": height, "ill": {"role": "sensitive"}})
    released = shoal.anonymize(table, schema, k=30 if name == "patients" else 5, method="mondrian", seed=1).table
    here = shoal.measure(released, schema)
    there = on_spark.measure(spark.createDataFrame(released).repartition(3), schema)
    ours, theirs = here.facts(), there.facts()
    for part in ("measures", "shares"):
        assert ours.pop(part) == pytest.approx(theirs.pop(part), rel=1e-9)
    for part in ("columns", "risks"):
        mine, other = ours.pop(part), theirs.pop(part)
        assert isinstance(mine, dict)
        assert isinstance(other, dict)
        assert mine.keys() == other.keys()
        assert all(mine[key] == pytest.approx(other[key]) for key in mine)
    assert ours == theirs
    sizes = class_sizes(spark.createDataFrame(released), schema)
    assert sum(size * count for size, count in sizes.items()) == released.num_rows
    assert min(sizes) == here.smallest_class
    assert sum(sizes.values()) == here.classes


def test_a_label_that_is_none_is_refused(spark: SparkSession) -> None:
    table = badly_released().set_column(0, "age", pa.array(["about ten"] * 400))
    with pytest.raises(Exception, match="no label of this column") as caught:
        on_spark.measure(spark.createDataFrame(table), SCHEMA)
    assert "about ten" not in str(caught.value)


def test_few_labels_tell_what_all_cost() -> None:
    column = shoal.Column(role="quasi-identifier", type="numeric")
    labels = ["[3..5]", "7", "*", "[1..2]", "[4..90]", "[5..6]"]
    assert telling(column, labels) == ["[1..2]", "[4..90]"]
    assert telling(column, ["[1..2.5]", "3", "4", "[0..1]"]) == ["[1..2.5]", "4", "[0..1]"]
    assert telling(shoal.Column(role="quasi-identifier", type="prefix"), ["47***", "4", "123456"]) == ["123456"]
    assert telling(shoal.Column(role="quasi-identifier", type="categorical"), ["a", "b"]) == []


def test_what_spark_takes_for_the_same_is_told_apart(spark: SparkSession) -> None:
    """−0.0 and 0.0; and with a collation, A and a: in groups, and as sensitive values."""
    from pyspark.sql import functions as F

    zeros = pa.table({"a": [0.0, 0.0, -0.0, 1.0, 1.0, 1.0]})
    frame = spark.createDataFrame(zeros)
    assert on_spark.verify(frame, k=3, quasi_identifiers=["a"]).k == 1
    assert not shoal.verify(zeros, k=3, quasi_identifiers=["a"]).ok
    words = spark.createDataFrame(pa.table({"a": ["x"] * 4 + ["X"] * 2, "s": ["u", "v", "U", "V", "u", "U"]}))
    collated = words.select(*[F.collate(F.col(name), "UTF8_LCASE").alias(name) for name in ("a", "s")])
    assert on_spark.verify(collated, k=3, quasi_identifiers=["a"]).k == 2
    verdict = on_spark.verify(collated, k=2, l=2, quasi_identifiers=["a"], sensitive=["s"])
    assert verdict.ok == on_spark.verify(words, k=2, l=2, quasi_identifiers=["a"], sensitive=["s"]).ok
