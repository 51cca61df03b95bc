"""A million rows end to end: read Parquet, Mondrian, recode, verify, write. In a process of its own, for its memory."""

from __future__ import annotations

import json
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import shoal
from benchmarks.finding import Finding, in_its_own_process, peak_memory
from benchmarks.inputs import spaced

ROWS, QUICK_ROWS = 1_000_000, 100_000


class Stopwatch(shoal.Progress):
    """How long each stage took."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._name, self._start = "", time.perf_counter()

    def stage(self, name: str, total: int | None = None) -> None:
        now = time.perf_counter()
        if self._name:
            self.seconds[self._name] = self.seconds.get(self._name, 0) + now - self._start
        self._name, self._start = name, now


def run(quick: bool) -> list[Finding]:
    rows = QUICK_ROWS if quick else ROWS
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "people.parquet"
        pq.write_table(enlarged_adult(rows), source)
        report = in_its_own_process(__name__, source)
    stages = "; ".join(f"{name} {seconds:.1f}" for name, seconds in report["seconds"].items())
    what = f"{spaced(rows)} rows end to end"
    return [
        Finding(f"{what}, k = 10 ({stages})", report["total"], "s"),
        Finding(f"{what}: peak memory", report["peak"], "GiB", wanted="< 2 GiB"),
    ]


def enlarged_adult(rows: int) -> pa.Table:
    """Adult drawn with replacement, ages moved by up to two years: many records, few of them quite equal."""
    rng = np.random.default_rng(1)
    table = shoal.datasets.adult()
    table = table.take(pa.array(rng.integers(0, table.num_rows, rows)))
    ages = table["age"].to_numpy() + rng.integers(-2, 3, rows)
    return table.set_column(0, "age", pa.array(ages))


def end_to_end(source: Path) -> dict[str, object]:
    """The whole job in this process; what it took."""
    watch = Stopwatch()
    start = time.perf_counter()
    release = shoal.anonymize(source, shoal.datasets.adult_schema(), k=10, method="mondrian", progress=watch)
    watch.stage("writing")
    release.write(source.with_name("release.parquet"))
    watch.stage("done")
    return {"total": time.perf_counter() - start, "seconds": watch.seconds, "peak": peak_memory()}


if __name__ == "__main__":
    pa.set_cpu_count(1)
    print(json.dumps(end_to_end(Path(sys.argv[1]))))  # noqa: T201  # read by the process that started this one
