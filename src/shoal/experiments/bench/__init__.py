"""Benchmarks: each compares two ways to do the same work in one run, on one core.

To add one, write a module with `run(quick) -> list[Finding]` and register it here.
"""

from __future__ import annotations

import importlib
import os

import pyarrow as pa

from shoal.errors import ParameterError, one_of
from shoal.experiments.bench.finding import Finding

BENCHMARKS = {
    "mondrian": "shoal.experiments.bench.mondrian",
    "k-member": "shoal.experiments.bench.k_member",
    "groups": "shoal.experiments.bench.groups",
    "sequential": "shoal.experiments.bench.sequential",
    "agglomerative": "shoal.experiments.bench.agglomerative",
    "refining": "shoal.experiments.bench.refining",
    "maintenance": "shoal.experiments.bench.maintenance",
    "vault": "shoal.experiments.bench.vault",
    "privacy": "shoal.experiments.bench.privacy",
    "tables": "shoal.experiments.bench.tables",
    "million": "shoal.experiments.bench.million",
    "measures": "shoal.experiments.bench.measuring",
    "startup": "shoal.experiments.bench.startup",
}


def run(name: str, *, quick: bool = False) -> list[Finding]:
    """Run one benchmark on one core."""
    if name not in BENCHMARKS:
        raise ParameterError(one_of("a benchmark", name, BENCHMARKS))
    module = importlib.import_module(BENCHMARKS[name])
    cores = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else None
    threads = pa.cpu_count()
    try:
        if cores:
            os.sched_setaffinity(0, {min(cores)})
        pa.set_cpu_count(1)
        findings: list[Finding] = module.run(quick)
        return findings
    finally:
        if cores:
            os.sched_setaffinity(0, cores)
        pa.set_cpu_count(threads)
