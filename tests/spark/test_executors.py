"""Executors that are processes of their own: they compile nothing, and one that is killed changes nothing."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import shoal
from shoal import spark as on_spark
from tests.spark.cluster_job import REGION, ROUNDS, ROWS, SEED, K
from tests.support.spark_tables import frame, groups_of, numbered_census

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROOT = Path(__file__).parents[2]


def job(folder: Path, *words: str) -> dict[str, Any]:
    command = [sys.executable, "-m", "tests.spark.cluster_job", str(folder), *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    assert done.returncode == 0, done.stderr[-5_000:]
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


@pytest.mark.slow
@pytest.mark.parametrize("words", [(), ("kill",)], ids=["left alone", "one killed"])
def test_separate_executors_make_the_same_groups_and_compile_nothing(
    spark: SparkSession, tmp_path: Path, words: tuple[str, ...]
) -> None:
    found = job(tmp_path, *words)
    assert found["ok"]
    assert found["rows"] == ROWS
    assert found["compiled"] == []
    assert found["killed"] == len(words)
    table, schema = numbered_census(ROWS)
    source = frame(spark, table, tmp_path)
    here = on_spark.anonymize(source, schema, K, seed=SEED, max_region=REGION, rounds=ROUNDS).toArrow()
    assert {frozenset(group) for group in found["groups"]} == groups_of(here, schema.quasi_identifiers)


def test_a_kernel_that_is_not_there_is_an_error_and_not_compiled(tmp_path: Path) -> None:
    code = (
        "from shoal.spark import kernels\n"
        "kernels.receive(None)\n"
        "import shoal\n"
        "table, schema = shoal.datasets.adult('test'), shoal.datasets.adult_schema()\n"
        "shoal.anonymize(table, schema, k=5, method='mondrian')"
    )
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 1
    assert "InputError: an executor has no compiled kernel shoal." in done.stderr
    assert "wheel, which carries its kernels" in done.stderr
    assert not list(tmp_path.rglob("*.kernel"))


def test_without_the_extra_the_error_names_it() -> None:
    code = (
        "import sys\n"
        "sys.modules['pyspark'] = sys.modules['pyspark.sql'] = None\n"
        "import shoal\n"
        "try:\n"
        "    import shoal.spark\n"
        "except shoal.InputError as error:\n"
        "    print(error)"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert "pip install 'shoal[spark]'" in said


def test_without_java_the_error_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(shoal.InputError, match="Spark needs Java 17 or newer, and there is none: JAVA_HOME names"):
        on_spark.session("local[1]")
    monkeypatch.delenv("JAVA_HOME")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(shoal.InputError, match="none is on PATH"):
        on_spark.session("local[1]")
