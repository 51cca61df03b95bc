"""k-member through the record tree against the same algorithm by full scan, and how it grows on the census."""

from __future__ import annotations

import json
import math
import sys
import time

import pyarrow as pa

from benchmarks.finding import Finding, best_of, in_its_own_process, peak_memory
from benchmarks.inputs import adult_records, census_records, spaced
from benchmarks.scans import k_member as by_scan
from shoal.boxes.costs import cost_tables
from shoal.cluster import cluster

K = 10
ROWS, QUICK_ROWS = (100_000, 1_000_000), (5_000, 20_000)


def run(quick: bool) -> list[Finding]:
    records = adult_records()
    codes = records.codes[:5_000] if quick else records.codes
    costs = cost_tables(records.books, "il")
    by_scan(codes[: 2 * K], costs, K, 0)  # compiles
    cluster(records, K, method="k-member", seed=1)
    findings = [
        Finding(
            f"k-member, Adult (30 162 rows), k = {K}; beside it by full scan{' of 5 000 rows' if quick else ''}",
            best_of(3, lambda: cluster(records, K, method="k-member", seed=1)),
            "s",
            best_of(3, lambda: by_scan(codes, costs, K, 0)),
            wanted="" if quick else "ratio ≥ 12",
        )
    ]
    small, large = QUICK_ROWS if quick else ROWS
    reports = {rows: in_its_own_process(__name__, rows) for rows in (small, large)}
    exponent = math.log(reports[large]["seconds"] / reports[small]["seconds"]) / math.log(large / small)
    findings += [
        Finding(f"k-member, census, {spaced(rows)} rows, k = {K}", report["seconds"], "s")
        for rows, report in reports.items()
    ]
    findings += [
        Finding(f"k-member, census, {spaced(small)} to {spaced(large)} rows: exponent", exponent, "", wanted="≤ 1.4"),
        Finding(
            f"k-member, census, {spaced(large)} rows: peak memory", reports[large]["peak"], "GiB", wanted="< 1 GiB"
        ),
    ]
    return findings


def measured(rows: int) -> dict[str, float]:
    """Time and memory of k-member on so many rows of the census, in this process."""
    cluster(census_records(1_000), K, method="k-member", seed=1)
    records = census_records(rows)
    start = time.perf_counter()
    cluster(records, K, method="k-member", seed=1)
    return {"seconds": time.perf_counter() - start, "peak": peak_memory()}


if __name__ == "__main__":
    pa.set_cpu_count(1)
    print(json.dumps(measured(int(sys.argv[1]))))  # noqa: T201  # read by the process that started this one
