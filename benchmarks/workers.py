"""The default method with one worker, with two, and so on up to all cores: time, memory, and the same groups."""

from __future__ import annotations

import hashlib
import json
import resource
import sys
import time
from typing import Any

from benchmarks.finding import Finding, in_its_own_process, peak_memory
from benchmarks.inputs import spaced
from shoal import datasets
from shoal.cluster import cluster
from shoal.measures import total_loss
from shoal.records.encode import encode
from shoal.workers import cores, using

ALL_CORES = True
ROWS, QUICK_ROWS = 1_000_000, 50_000
SIZES = (5, 10)


def run(quick: bool) -> list[Finding]:
    rows = QUICK_ROWS if quick else ROWS
    return [finding for k in SIZES for finding in curve(rows, k)]


def curve(rows: int, k: int) -> list[Finding]:
    findings = []
    alone = in_its_own_process(__name__, rows, k, 1)
    for workers in numbers(cores()):
        found = in_its_own_process(__name__, rows, k, workers)
        if found["groups"] != alone["groups"]:
            raise AssertionError(f"with {workers} workers there are other groups than with one")
        what = f"{spaced(rows)} census rows, k = {k}: {workers} workers beside one"
        findings += [
            Finding(what, found["seconds"], "s", alone["seconds"], "≥ 1.5×" if workers == 2 else ""),
            Finding(f"{what}, memory", found["peak"], "GiB", alone["peak"], "≥ 0.77×"),
        ]
    return findings


def numbers(most: int) -> list[int]:
    """2, 4, 8 … and all."""
    doubled = [2**i for i in range(1, most.bit_length()) if 2**i < most]
    return [*doubled, most] if most > 1 else []


def measured(rows: int, k: int, workers: int, effort: str = "balanced") -> dict[str, Any]:
    """Clustering alone, with kernels that are there."""
    records = encode(datasets.census(rows, 1), datasets.census_schema())
    few = encode(datasets.census(8_000, 1), datasets.census_schema())
    with using(workers):
        cluster(few, k, seed=1, options={"effort": effort})
        start, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_SELF)
        made = cluster(records, k, seed=1, options={"effort": effort})
        seconds, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_SELF)
    return {
        "seconds": seconds,
        "cpu": after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime,
        "peak": peak_memory(),
        "loss": total_loss(made, records.books),
        "groups": hashlib.sha256(made.labels.tobytes()).hexdigest(),
    }


if __name__ == "__main__":
    rows, k, workers = map(int, sys.argv[1:4])
    print(json.dumps(measured(rows, k, workers)))  # noqa: T201  # read by the process that started this one
