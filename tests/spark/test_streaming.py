"""A stream into a vault: every change once, through restarts from the checkpoint and batches that come again."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import shoal
from shoal import spark as on_spark

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROWS = 300


def write_changes(folder: Path, number: int, rows: pa.Table, op: str) -> None:
    folder.mkdir(exist_ok=True)
    part = rows.append_column("op", pa.array([op] * rows.num_rows))
    pq.write_table(part, folder / f"{number}.parquet")


def stream(spark: SparkSession, folder: Path, checkpoint: Path, apply: object) -> None:
    """Whatever is new in the folder, one file per micro-batch, until all is done."""
    schema = spark.read.parquet(str(folder)).schema
    source = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(str(folder))
    writer = source.writeStream.foreachBatch(apply).option("checkpointLocation", str(checkpoint))  # type: ignore[arg-type]
    query = writer.trigger(availableNow=True).start()
    assert query.awaitTermination(120)


def test_every_batch_is_applied_once(spark: SparkSession, tmp_path: Path) -> None:
    people = shoal.datasets.census(ROWS, seed=1)
    place, folder, checkpoint = tmp_path / "people.vault", tmp_path / "changes", tmp_path / "checkpoint"
    shoal.Vault.create(place, shoal.datasets.census_schema(), k=5, data=people.slice(0, 200)).close()
    seen: list[tuple[int, bool]] = []
    apply = on_spark.into_vault(place, told=lambda number, changed: seen.append((number, changed is not None)))

    write_changes(folder, 1, people.slice(200, 50), "insert")
    stream(spark, folder, checkpoint, apply)
    assert seen == [(0, True)]

    # Spark forgets that it had finished: the batch comes again, and the next one after it.
    for kept in (checkpoint / "commits").iterdir():
        kept.unlink()
    write_changes(folder, 2, people.slice(0, 30), "delete")
    stream(spark, folder, checkpoint, apply)
    assert seen == [(0, True), (0, False), (1, True)]

    with shoal.Vault.open(place) as vault:
        assert vault.status().records == 220
        assert [entry.batch_id.rpartition("/")[2] for entry in vault.log() if entry.batch_id] == ["0", "1"]
        assert vault.check().ok
        keys = set(vault.export()["person_id"].to_pylist())
    assert keys == set(people["person_id"].slice(30, 220).to_pylist())

    # Another stream is another stream: its first batch is not taken for the first of this one.
    later = tmp_path / "later"
    write_changes(later, 1, people.slice(250, 50), "insert")
    stream(spark, later, tmp_path / "second", apply)
    assert seen[3:] == [(0, True)]


def test_a_batch_that_is_refused_stops_the_stream_and_changes_nothing(spark: SparkSession, tmp_path: Path) -> None:
    from pyspark.errors import StreamingQueryException

    people = shoal.datasets.census(ROWS, seed=1)
    place, folder = tmp_path / "people.vault", tmp_path / "changes"
    shoal.Vault.create(place, shoal.datasets.census_schema(), k=5, data=people).close()
    write_changes(folder, 1, people.slice(0, 5), "insert")
    with pytest.raises(StreamingQueryException, match="a key that a record has already") as caught:
        stream(spark, folder, tmp_path / "checkpoint", on_spark.into_vault(place))
    assert people["person_id"][0].as_py() not in str(caught.value)
    with shoal.Vault.open(place) as vault:
        assert vault.status().records == ROWS


def test_outside_of_a_stream_a_name_is_needed(spark: SparkSession, tmp_path: Path) -> None:
    people = shoal.datasets.census(ROWS, seed=1)
    place = tmp_path / "people.vault"
    shoal.Vault.create(place, shoal.datasets.census_schema(), k=5, data=people).close()
    changes = spark.createDataFrame(people.slice(0, 3).append_column("op", pa.array(["delete"] * 3)))
    with pytest.raises(shoal.InputError, match="is for foreachBatch"):
        on_spark.into_vault(place)(changes, 0)
    for _ in range(2):
        on_spark.into_vault(place, stream="by hand")(changes, 0)
    with shoal.Vault.open(place) as vault:
        assert vault.status().records == ROWS - 3
