"""`shoal anonymize --engine spark`: a CSV or Parquet in, a folder of parts out."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import shoal
from shoal.cli import on_spark
from tests.support.java import java_or_skip

PATIENTS = Path(__file__).parents[2] / "examples" / "patients"


def run(*words: str | Path, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "shoal", "anonymize", *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, **environment})


def test_a_csv_becomes_a_folder_that_verifies(tmp_path: Path) -> None:
    java_or_skip()
    out = tmp_path / "released.parquet"
    words: list[str | Path] = [
        PATIENTS / "patients.csv",
        "-s",
        PATIENTS / "patients.toml",
        "-k",
        "4",
        "--engine",
        "spark",
    ]
    words += ["--master", "local[2]", "--rounds", "1", "--json", "-o", out]
    done = run(*words)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    schema = shoal.Schema.load(PATIENTS / "patients.toml")
    rows = pq.read_table(out)
    assert shoal.verify(rows, schema, 4).ok
    assert told["records"] == rows.num_rows == shoal.read(PATIENTS / "patients.csv").num_rows
    assert told["measures"]["il"] == pytest.approx(shoal.measure(rows, schema).totals["il"])
    assert rows.schema.field("days").type == pa.string()  # no type in the schema: as it was read
    again = run(*words)
    assert again.returncode == 2
    assert "exists already" in again.stderr


def test_a_store_is_read_and_written_and_csv_verifies_too(tmp_path: Path) -> None:
    """`file://` goes the way of hdfs:// and s3a://."""
    java_or_skip()
    source, out = (PATIENTS / "patients.csv").as_uri(), (tmp_path / "released.csv")
    out.mkdir()
    words: list[str | Path] = [
        source,
        "-s",
        PATIENTS / "patients.toml",
        "-k",
        "4",
        "-o",
        out.as_uri(),
        "--engine",
        "spark",
    ]
    words += ["--master", "local[2]", "--rounds", "0", "--force"]
    done = run(*words)
    assert done.returncode == 0, done.stderr
    assert shoal.verify(out, PATIENTS / "patients.toml", 4).ok
    assert sorted(path.name for path in tmp_path.iterdir()) == ["released.csv"]  # nothing half made is left


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--engine", "spark", "--suppress", "0.1"], "--suppress is not possible with --engine spark"),
        (["--engine", "hadoop"], "--engine must be one of here, spark"),
        (["--master", "local[2]"], "--master is for --engine spark"),
        (["--engine", "spark", "--master", "local[2]"], "Spark needs Java 17"),
        (["-o", "hdfs://host/released.parquet"], "hdfs://host/released.parquet is a place for --engine spark"),
        (["-o", "s3a://key:secret@bucket/released.parquet"], "a file is wanted here"),
    ],
)
def test_what_is_not_possible_is_said(tmp_path: Path, words: list[str], said: str) -> None:
    out = tmp_path / "released.parquet"
    given: list[str | Path] = [PATIENTS / "patients.csv", "-s", PATIENTS / "patients.toml", "-k", "4", "-o", out]
    done = run(*given, *words, JAVA_HOME=str(tmp_path))
    assert done.returncode == 2
    assert said in done.stderr.replace("\n", " ")
    assert "secret" not in done.stderr + done.stdout
    assert not out.exists()


def test_who_interrupts_hears_of_nothing_else() -> None:
    """Java is interrupted as well, and complains."""

    def complaining() -> None:
        with on_spark.interruption() as listen:
            listen()
            try:
                os.kill(os.getpid(), signal.SIGTERM)
                time.sleep(5)
            except KeyboardInterrupt:
                raise RuntimeError("the gateway is gone") from None

    before = signal.getsignal(signal.SIGTERM)
    with pytest.raises(KeyboardInterrupt):
        complaining()
    assert signal.getsignal(signal.SIGTERM) == before
    with pytest.raises(RuntimeError, match="another fault"), on_spark.interruption():
        raise RuntimeError("another fault")
