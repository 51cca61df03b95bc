"""Ten million census rows with the default method, on all cores of this machine, beside a million."""

from __future__ import annotations

import math

from benchmarks import workers
from benchmarks.finding import Finding, in_its_own_process
from benchmarks.inputs import spaced
from shoal.workers import cores

ALL_CORES = True
ROWS, QUICK_ROWS = 10_000_000, 200_000
K = 10
FEWER = 10  # times


def run(quick: bool) -> list[Finding]:
    rows = QUICK_ROWS if quick else ROWS
    few, many = (in_its_own_process(workers.__name__, n, K, cores()) for n in (rows // FEWER, rows))
    exponent = math.log(many["seconds"] / few["seconds"]) / math.log(FEWER)
    what = f"{spaced(rows)} census rows, k = {K}, {cores()} workers"
    return [
        Finding(what, many["seconds"], "s"),
        Finding(f"{what}: rows in a second, for every core", rows / many["seconds"] / cores(), ""),
        Finding(f"{what}: exponent from {spaced(rows // FEWER)} rows", exponent, "", wanted="≤ 1.15"),
        Finding(f"{what}: peak memory", many["peak"], "GiB", wanted="< 10 GiB"),
    ]
