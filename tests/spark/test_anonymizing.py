"""Releases that Spark makes: anonymous by both verifiers, complete, in no order, and the same for the same seed."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import shoal
from shoal import spark as on_spark
from shoal.spark import anonymizing, values
from shoal.spark.cutting import find_regions
from tests.support.spark_tables import SERIAL, frame, groups_of, numbered_census

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

ROWS, K, L, SEED, REGION = 3_000, 4, 1.6, 7, 800


@dataclass
class Made:
    table: pa.Table
    schema: shoal.Schema
    source: DataFrame
    frame: DataFrame
    released: pa.Table


@pytest.fixture(scope="module")
def made(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Made:
    table, schema = numbered_census(ROWS)
    source = frame(spark, table, tmp_path_factory.mktemp("source"))
    released = on_spark.anonymize(source, schema, K, l=L, seed=SEED, max_region=REGION, rounds=2)
    return Made(table, schema, source, released, released.toArrow())


@pytest.mark.versions
def test_it_is_anonymous_by_both_verifiers(made: Made) -> None:
    for verdict in (
        on_spark.verify(made.frame, made.schema, K, l=L),
        shoal.verify(made.released, made.schema, K, l=L),
    ):
        assert verdict.ok, verdict.reasons
        assert verdict.records == ROWS
        assert verdict.k >= K


def test_every_record_is_there_once_as_it_was(made: Made) -> None:
    assert sorted(made.released[SERIAL].to_pylist()) == list(range(ROWS))
    order = pc.sort_indices(made.released[SERIAL])
    for name in ("income", "diagnosis"):
        assert made.released[name].take(order).to_pylist() == made.table[name].to_pylist()


def test_every_cell_covers_its_record(made: Made) -> None:
    order = pc.sort_indices(made.released[SERIAL])
    born = made.released["born"].take(order).to_pylist()
    for cell, day in zip(born, made.table["born"].to_pylist(), strict=True):
        low, _, high = cell.strip("[]").partition("..")
        assert low <= str(day) <= (high or low)
    sexes = made.released["sex"].take(order).to_pylist()
    assert all(cell in ("*", sex) for cell, sex in zip(sexes, made.table["sex"].to_pylist(), strict=True))


def test_only_published_columns_leave(made: Made) -> None:
    assert made.released.column_names == [name for name in made.table.column_names if name in made.schema.published]


def test_no_order_of_the_input_survives(made: Made) -> None:
    serials = np.array(made.released[SERIAL].to_pylist())
    assert abs(np.corrcoef(serials, np.arange(ROWS))[0, 1]) < 0.1
    assert (np.diff(serials) == 1).mean() < 0.01
    # Nor are groups together: rows that look the same are neighbours no oftener than by chance.
    cells = list(zip(*(made.released[name].to_pylist() for name in made.schema.quasi_identifiers), strict=True))
    assert sum(a == b for a, b in pairwise(cells)) < 0.02 * ROWS


def test_the_loss_is_near_that_of_one_machine(made: Made) -> None:
    here = shoal.anonymize(made.table, made.schema, k=K, l=L, seed=SEED)
    there = on_spark.measure(made.frame, made.schema)
    assert there.totals["il"] < 1.1 * here.measures(public=True)["il"]


def test_the_same_seed_gives_the_same_groups_however_rows_are_partitioned(made: Made) -> None:
    """Other partitions, another order; and the order of the release is new."""
    mixed = made.source.orderBy("zip", "person_id").repartition(5)
    again = on_spark.anonymize(mixed, made.schema, K, l=L, seed=SEED, max_region=REGION, rounds=2).toArrow()
    names = made.schema.quasi_identifiers
    assert groups_of(again, names) == groups_of(made.released, names)
    assert again[SERIAL].to_pylist() != made.released[SERIAL].to_pylist()


def test_regions_that_are_not_close_to_the_table_join_or_are_cut_by_chance(
    spark: SparkSession, made: Made, tmp_path_factory: pytest.TempPathFactory
) -> None:
    released = on_spark.anonymize(made.source, made.schema, K, t={"diagnosis": 0.15}, seed=1, max_region=600, rounds=1)
    verdict = shoal.verify(released.toArrow(), made.schema, K, t={"diagnosis": 0.15})
    assert verdict.ok, verdict.reasons
    released.unpersist()


def test_methods_of_the_papers_run_in_regions(made: Made) -> None:
    released = on_spark.anonymize(made.source, made.schema, K, method="mondrian", max_region=REGION)
    assert shoal.verify(released.toArrow(), made.schema, K).ok
    released.unpersist()


def test_what_cannot_be_done_is_said_before_anything_is(spark: SparkSession, made: Made) -> None:
    schema = made.schema
    with pytest.raises(shoal.InputError, match="a Spark DataFrame is needed"):
        on_spark.anonymize(made.table, schema, K)
    with pytest.raises(shoal.DataError, match="column 'more' that the schema does not name"):
        on_spark.anonymize(made.source.withColumn("more", made.source["zip"]), schema, K)
    with pytest.raises(shoal.DataError, match="key is not unique"):
        on_spark.anonymize(made.source.union(made.source), schema, K)
    with pytest.raises(shoal.ParameterError, match="max_region"):
        on_spark.anonymize(made.source, schema, K, max_region=3)
    with pytest.raises(shoal.ParameterError, match="effort must be one of"):
        on_spark.anonymize(made.source, schema, K, effort="some")
    people = shoal.Schema({**schema.columns, "person_id": shoal.Column(role="person")})
    with pytest.raises(shoal.SchemaError, match="k counts records only"):
        on_spark.anonymize(made.source, people, K)
    with pytest.raises(shoal.ParameterError, match="k must be at most the number of records, 3000"):
        on_spark.anonymize(made.source, schema, ROWS + 1, max_region=10**6)


def test_too_many_different_values_are_refused(made: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(values, "MOST_VALUES", 1_000)
    with pytest.raises(shoal.DataError, match=r"column 'born' has [0-9,]+ different values"):
        on_spark.anonymize(made.source, made.schema, K)


def test_numbers_that_are_whole_here_and_broken_there_have_one_type(spark: SparkSession) -> None:
    """A CSV's cells are texts: one partition has whole numbers, the other fractions."""
    rows = [(str(20 + i % 7), "1" if i < 50 else "2.5") for i in range(100)]
    table = spark.createDataFrame(rows, "age string, income string").coalesce(1).repartition(4, "income")
    schema = {
        "age": {"role": "quasi-identifier", "type": "numeric"},
        "income": {"role": "insensitive", "type": "numeric"},
    }
    released = on_spark.anonymize(table, schema, 5, rounds=0)
    assert dict(released.dtypes) == {"age": "string", "income": "double"}
    assert sorted({row.income for row in released.collect()}) == [1.0, 2.5]
    released.unpersist()


def small(names: list[str], **columns: list[str]) -> tuple[pa.Table, shoal.Schema]:
    """A table with quasi-identifiers of these names and other columns, 60 rows."""
    table = pa.table({**{name: [str(i % 3) for i in range(60)] for name in names}, **columns})
    kinds = {name: shoal.Column(role="quasi-identifier", type="categorical") for name in names}
    return table, shoal.Schema({**kinds, **{name: shoal.Column(role="sensitive", type="numeric") for name in columns}})


def test_rows_that_are_all_alike_are_soon_done(spark: SparkSession) -> None:
    table, schema = small(["a"])
    told: list[str] = []

    class Stages(shoal.Progress):
        def stage(self, name: str, total: int | None = None) -> None:
            told.append(name)

    released = on_spark.anonymize(spark.createDataFrame(table), schema, 3, max_region=20, progress=Stages())
    assert released.count() == 60
    assert "round 1" in told
    assert "round 2" not in told


def test_no_task_holds_more_than_its_region(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor where all records are alike, so that no cut divides them; and any whole number is a seed."""
    found: list[dict[int, int]] = []

    def regions(*given: object) -> object:
        made = find_regions(*given)  # type: ignore[arg-type]
        found.append(made.sizes)
        return made

    monkeypatch.setattr(anonymizing, "find_regions", regions)
    table = pa.table({"id": [str(i) for i in range(500)], "a": ["x"] * 500})
    kinds = {"id": shoal.Column(role="key"), "a": shoal.Column(role="quasi-identifier", type="categorical")}
    schema = shoal.Schema(kinds)
    released = on_spark.anonymize(spark.createDataFrame(table), schema, 3, max_region=50, seed=2**70)
    assert released.count() == sum(found[0].values()) == 500
    assert max(found[0].values()) <= 75  # by chance: about 45
    assert len(found[0]) == 12


def test_many_rounds_are_no_burden_for_the_next(spark: SparkSession, made: Made) -> None:
    """The plan of a round is not in that of the next: after a dozen no memory would be enough."""
    released = on_spark.anonymize(made.source, made.schema, K, seed=SEED, max_region=REGION, rounds=14)
    assert released.count() == ROWS
    assert len(released._jdf.queryExecution().toString()) < 100_000


def test_columns_have_any_names(spark: SparkSession) -> None:
    names = ["a.b", "`tick`", "tie", "part", "parcel", "v0", "x y", "n", "label", "c0"]
    table, schema = small(names)
    released = on_spark.anonymize(spark.createDataFrame(table), schema, 3, rounds=1)
    assert released.columns == names
    assert shoal.verify(released.toArrow(), schema, 3).ok
    twice = spark.createDataFrame(table).select("tie", "part", "tie")
    with pytest.raises(shoal.DataError, match="has column 'tie' twice"):
        on_spark.anonymize(twice, schema, 3)


def test_what_an_executor_finds_wrong_is_said_as_here(spark: SparkSession) -> None:
    table, schema = small(["a"], pay=["1"] * 59 + ["a secret"])
    with pytest.raises(shoal.DataError, match="'pay'") as refused:
        on_spark.anonymize(spark.createDataFrame(table), schema, 3)
    assert "secret" not in str(refused.value)
    assert "Traceback" not in str(refused.value)
