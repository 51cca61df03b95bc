"""What Spark needs to be there, said before Spark says it in a hundred lines."""

from __future__ import annotations

import os
import shutil
import sys
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from shoal.errors import InputError
from shoal.sources.extras import needed

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

LEAST_JAVA = 17
SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "50000",  # Spark's own 10 000 cost more time
}
HERE = {  # of a master on this machine
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",  # Java has little to do
}


def needs_pyspark() -> None:
    """Raise InputError that names the extra, if PySpark is not there."""
    with no_word_of_pandas():
        needed("pyspark.sql", "spark", "shoal.spark")


def needs_java() -> None:
    """Raise InputError if no Java can be found where Spark will look for it."""
    home = os.environ.get("JAVA_HOME")
    there = Path(home, "bin", "java").exists() if home else shutil.which("java") is not None
    if not there:
        where = "JAVA_HOME names a folder without one" if home else "none is on PATH, and JAVA_HOME is not set"
        raise InputError(
            f"Spark needs Java {LEAST_JAVA} or newer, and there is none: {where}.",
            hint="Install one (Debian: apt-get install openjdk-17-jre-headless), or set JAVA_HOME.",
        )


def session(master: str | None = None, settings: Mapping[str, str] | None = None) -> SparkSession:
    """The Spark session of this process, made if there is none: with this `master`, and Spark settings.

    Executors on this machine run the same Python as this process: with another one no Arrow call works.
    """
    needs_pyspark()
    needs_java()
    from pyspark.errors import PySparkRuntimeError
    from pyspark.sql import SparkSession

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.appName("shoal")
    on_this_machine = HERE if master is not None and master.startswith("local") else {}
    if on_this_machine:
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    for name, value in {**SETTINGS, **on_this_machine, **(settings or {})}.items():
        builder = builder.config(name, value)
    if master is not None:
        builder = builder.master(master)
    try:
        with no_word_of_pandas():
            made: SparkSession = builder.getOrCreate()
    except PySparkRuntimeError:
        raise InputError(
            "Spark could not be started: the Java process ended at once.",
            hint=f"It needs Java {LEAST_JAVA} or newer; what it printed says more.",
        ) from None
    return made


@contextmanager
def no_word_of_pandas() -> Iterator[None]:
    """PySpark warns of new versions of pandas wherever Arrow is used; no frame of pandas is ever made here."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*pandas", category=FutureWarning)
        warnings.filterwarnings("ignore", message=".*pandas", category=UserWarning)
        yield


def check_frame(df: object) -> DataFrame:
    """A DataFrame of this machine's Spark: with Spark Connect nothing can be shipped to executors."""
    from pyspark.sql.classic.dataframe import DataFrame

    if not isinstance(df, DataFrame):
        raise InputError(
            f"a Spark DataFrame is needed here. Got {type(df).__name__} instead.",
            hint="Spark Connect is not supported; other frames and files are for shoal.anonymize.",
        )
    return df
