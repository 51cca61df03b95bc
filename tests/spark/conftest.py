"""One Spark for all tests that need one: two threads of this machine, and nothing that listens elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from shoal.spark.sessions import session
from tests.support.java import java_or_skip

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    java_or_skip()
    settings = {
        "spark.sql.shuffle.partitions": "2",
        "spark.driver.memory": "1g",
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",  # short jobs: no time to optimize
        "spark.sql.warehouse.dir": str(tmp_path_factory.mktemp("warehouse")),
        "spark.local.dir": str(tmp_path_factory.mktemp("local")),
    }
    made = session("local[2]", settings)
    made.sparkContext.setLogLevel("ERROR")
    yield made
    made.stop()
