"""Agglomerative clustering without an n × n matrix: its time and its memory."""

from __future__ import annotations

import json
import time

from benchmarks.finding import Finding, in_its_own_process, peak_memory
from benchmarks.inputs import adult_records
from shoal.cluster import cluster

K = 10


def run(quick: bool) -> list[Finding]:
    report = in_its_own_process(__name__)
    return [
        Finding(f"agglomerative, Adult (30 162 rows), k = {K}", report["seconds"], "s"),
        Finding("agglomerative, Adult: peak memory", 1024 * report["peak"], "MiB", wanted="< 500 MB"),
    ]


if __name__ == "__main__":
    cluster(adult_records(), K, method="agglomerative")
    start = time.perf_counter()
    cluster(adult_records(), K, method="agglomerative")
    print(json.dumps({"seconds": time.perf_counter() - start, "peak": peak_memory()}))  # noqa: T201  # for its parent
