"""shoal on Spark: seconds, processor time and memory, with two executors of 2 GiB; and what regions lose.

The curve of docs/spark.md over regions and rounds comes from `regions`, which needs no Spark.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.finding import Finding, in_its_own_process
from benchmarks.inputs import spaced
from benchmarks.million import Stopwatch
from shoal.datasets import census, census_schema

ROWS, QUICK_ROWS = (1_000_000, 10_000_000), (20_000, 100_000)
CHUNK = 1_000_000
MASTER = "local-cluster[2,1,2048]"
SETTINGS = {"spark.executor.memory": "1g", "spark.driver.memory": "1g", "spark.sql.shuffle.partitions": "8"}
TICKS, PAGE = os.sysconf("SC_CLK_TCK"), os.sysconf("SC_PAGE_SIZE")


def run(quick: bool) -> list[Finding]:
    """Effort `fast`; the larger table beside ten times (five times, if quick) the smaller."""
    reports, findings = [], []
    for rows in QUICK_ROWS if quick else ROWS:
        with tempfile.TemporaryDirectory() as folder:
            source = Path(folder) / "census.parquet"
            write_census(source, rows)
            reports.append(in_its_own_process(__name__, source, "fast", 200_000 if not quick else 10_000))
        report = reports[-1]
        what = f"{spaced(rows)} rows on two executors of 2 GiB"
        findings += [
            Finding(f"{what}, effort fast", report["seconds"], "s"),
            Finding(f"{what}: processor time of all processes", report["cpu"], "s"),
            Finding(f"{what}: the largest Python process of an executor", report["worker"], "GiB", wanted="< 1 GiB"),
            Finding(f"{what}: the driver's Python process", report["driver"], "GiB"),
        ]
    for what, fact in (("time", "seconds"), ("processor time", "cpu")):
        small, large = (report[fact] for report in reports)
        findings.append(Finding(f"{what} of the larger table, beside the smaller", large, "s", small, "≥ 0.083×"))
    return findings


def write_census(path: Path, rows: int) -> None:
    """So many people, a million at a time."""
    writer = None
    for start in range(0, rows, CHUNK):
        table = census(min(CHUNK, rows - start), seed=1 + start)
        keys = pa.array([f"p{start + i}" for i in range(table.num_rows)])
        table = table.set_column(table.column_names.index("person_id"), "person_id", keys)
        writer = writer or pq.ParquetWriter(path, table.schema)
        writer.write_table(table, row_group_size=100_000)
    assert writer is not None
    writer.close()


def on_spark(source: Path, effort: str, max_region: int) -> dict[str, object]:
    """The whole job, from a file to a folder of files; what it took."""
    import pyspark

    from shoal import spark

    watch, usage = Stopwatch(), Usage()
    os.environ.setdefault("SPARK_HOME", str(Path(pyspark.__file__).parent))  # where executors are started from
    session = spark.session(MASTER, SETTINGS)
    session.sparkContext.setLogLevel("ERROR")
    start = time.perf_counter()
    rows = session.read.parquet(str(source))
    released = spark.anonymize(rows, census_schema(), 10, effort=effort, seed=1, max_region=max_region, progress=watch)
    watch.stage("writing")
    released.write.parquet(str(source.with_name("release.parquet")))
    watch.stage("done")
    seconds = time.perf_counter() - start
    return {"seconds": seconds, "stages": watch.seconds, **usage.told()}


class Usage(threading.Thread):
    """Processor time and memory of this process and of all that it starts, looked at twice a second."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.ticks: dict[int, int] = {}
        self.peaks: dict[int, int] = {}
        self.names: dict[int, str] = {}
        self.start()

    def run(self) -> None:
        while True:
            for process, name, ticks, pages in below(os.getpid()):
                self.ticks[process] = ticks
                self.names[process] = name
                self.peaks[process] = max(pages, self.peaks.get(process, 0))
            time.sleep(0.5)

    def told(self) -> dict[str, float]:
        """The largest Python process of an executor, this one, and the largest Java process, in GiB."""
        me = os.getpid()
        size = {process: pages * PAGE / 2**30 for process, pages in self.peaks.items()}
        return {
            "cpu": sum(self.ticks.values()) / TICKS,
            "driver": size[me],
            "worker": max((size[p] for p, name in self.names.items() if "python" in name and p != me), default=0.0),
            "java": max((size[p] for p, name in self.names.items() if "java" in name), default=0.0),
        }


def below(root: int) -> Iterator[tuple[int, str, int, int]]:
    """Processes that this one has started, and those that they have: number, name, ticks and pages of each."""
    found = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                head, _, tail = (folder / "stat").read_text().rpartition(") ")
            except OSError:
                continue
            fields = tail.split()
            ticks, pages = int(fields[11]) + int(fields[12]), int(fields[21])
            found[int(folder.name)] = (int(fields[1]), head.partition("(")[2], ticks, pages)
    family = {root}
    grown = True
    while grown:
        more = {process for process, facts in found.items() if facts[0] in family} - family
        family |= more
        grown = bool(more)
    return ((process, *found[process][1:]) for process in family if process in found)


if __name__ == "__main__":
    os.sched_setaffinity(0, range(os.cpu_count() or 1))  # executors are not for one core
    print(json.dumps(on_spark(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]))))  # noqa: T201  # for who started this
