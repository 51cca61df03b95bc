"""Where Spark reads and writes: a release is there as a whole or not at all."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import shoal
from shoal.addresses import is_store
from shoal.spark.stores import Place, check_output

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.mark.parametrize("ending", [".parquet", ".csv"])
def test_what_is_written_is_read_again(spark: SparkSession, tmp_path: Path, ending: str) -> None:
    rows = spark.createDataFrame(pa.table({"a": ['x, "y"', "é\nz"], "b": ["1", None]}))
    place = Place(spark, tmp_path / f"some where{ending}")
    for _ in range(2):  # over the first one
        place.write(rows)
        assert sorted(map(tuple, place.read(None, None).collect())) == [('x, "y"', "1"), ("é\nz", None)]
    assert [path.name for path in tmp_path.iterdir()] == [f"some where{ending}"]


def test_a_release_that_fails_on_the_way_leaves_what_was_there(spark: SparkSession, tmp_path: Path) -> None:
    from pyspark.errors import PySparkException
    from pyspark.sql import functions as F

    place = Place(spark, tmp_path / "released.parquet")
    place.write(spark.createDataFrame(pa.table({"a": [1, 2]})))
    failing = spark.range(10).select(F.when(F.col("id") > 8, F.raise_error(F.lit("no"))).otherwise(F.col("id")))
    with pytest.raises(PySparkException):
        place.write(failing)
    assert pq.read_table(tmp_path / "released.parquet").num_rows == 2
    assert [path.name for path in tmp_path.iterdir()] == ["released.parquet"]


def test_what_was_there_comes_back_if_the_new_one_cannot_be_put_there(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Refusing:
        """Files where what is half made cannot be renamed."""

        def __init__(self, files: Any) -> None:
            self.files = files

        def __getattr__(self, name: str) -> Any:
            return getattr(self.files, name)

        def rename(self, old: Any, new: Any) -> bool:
            return not old.toString().endswith(".partial") and bool(self.files.rename(old, new))

    place = Place(spark, tmp_path / "released.parquet")
    place.write(spark.createDataFrame(pa.table({"a": [1, 2]})))
    monkeypatch.setattr(place, "_files", Refusing(place._files))
    with pytest.raises(shoal.OutputError, match="could not be put there"):
        place.write(spark.createDataFrame(pa.table({"a": [3]})))
    assert pq.read_table(tmp_path / "released.parquet").num_rows == 2
    assert [path.name for path in tmp_path.iterdir()] == ["released.parquet"]


def test_a_csv_of_another_encoding(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    path.write_bytes("name;town\nJosé;Köln\n".encode("latin-1"))
    assert [tuple(row) for row in Place(spark, path).read("latin-1", None).collect()] == [("José", "Köln")]
    with pytest.raises(shoal.DataError, match="Spark reads CSV in UTF-8, US-ASCII, ISO-8859-1 only"):
        Place(spark, path).read("cp1252", None)


def test_what_cannot_be_read_is_said(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(shoal.DataError, match="there is no such file"):
        Place(spark, tmp_path / "none.parquet").read(None, None)
    with pytest.raises(shoal.DataError, match=r"Spark cannot reach it \("):
        Place(spark, "abfss://container@account.invalid/people.parquet")
    (tmp_path / "empty.parquet").mkdir()
    with pytest.raises(shoal.DataError, match=r"Spark cannot read it \(UNABLE_TO_INFER_SCHEMA"):
        Place(spark, tmp_path / "empty.parquet").read(None, None)


def test_what_was_read_is_never_overwritten(tmp_path: Path) -> None:
    source = tmp_path / "people.parquet"
    for output in (source, source.as_uri()):
        with pytest.raises(shoal.OutputError, match="would overwrite what it is made from"):
            check_output(output, [source, tmp_path / "schema.toml"])
    with pytest.raises(shoal.OutputError, match="would overwrite"):
        check_output(source, [source / "part-0.parquet"])
    with pytest.raises(shoal.OutputError, match="would lie in the folder"):
        check_output(source / "released.parquet", [source])
    check_output(tmp_path / "released.parquet", [source])
    with pytest.raises(shoal.OutputError, match=r"Spark writes .parquet or .csv"):
        check_output(tmp_path / "released.xlsx", [source])


def test_a_store_is_told_from_an_address_with_a_password() -> None:
    places = ["hdfs://name:8020/a/b.csv", "s3a://bucket/a", "abfss://box@account.net/a", "file:///a/b c.csv", "gs://b"]
    assert all(is_store(place) for place in places)
    others = ["s3a://key:secret@bucket/a", "postgresql://host/db", "people.csv", "hdfs:/a", "https://host/a"]
    assert not any(is_store(place) for place in others)
