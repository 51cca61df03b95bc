"""Benchmarks: each compares two ways to do the same work in one run, on one core unless it is about several.

To add one, write a module with `run(quick) -> list[Finding]` and register it here.
"""

from __future__ import annotations

import importlib
import os

import pyarrow as pa

from benchmarks.finding import Finding
from shoal.errors import ParameterError, one_of
from shoal.workers import using

# By name: the module of each, which is imported when it is run, so that it measures itself alone.
BENCHMARKS = {
    "mondrian": "benchmarks.mondrian",
    "k-member": "benchmarks.k_member",
    "groups": "benchmarks.groups",
    "sequential": "benchmarks.sequential",
    "agglomerative": "benchmarks.agglomerative",
    "refining": "benchmarks.refining",
    "maintenance": "benchmarks.maintenance",
    "drift": "benchmarks.drift",
    "vault": "benchmarks.vault",
    "audit": "benchmarks.audit",
    "extracts": "benchmarks.extracts",
    "privacy": "benchmarks.privacy",
    "tables": "benchmarks.tables",
    "million": "benchmarks.million",
    "workers": "benchmarks.workers",
    "ten-million": "benchmarks.ten_million",
    "measures": "benchmarks.measuring",
    "startup": "benchmarks.startup",
    "spark": "benchmarks.spark",
}


def run(name: str, *, quick: bool = False) -> list[Finding]:
    """Run one benchmark on one core, unless it is about all of them."""
    if name not in BENCHMARKS:
        raise ParameterError(one_of("a benchmark", name, BENCHMARKS))
    module = importlib.import_module(BENCHMARKS[name])
    findings: list[Finding]
    if hasattr(module, "ALL_CORES"):
        findings = module.run(quick)
        return findings
    cores = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else None
    threads = pa.cpu_count()
    try:
        if cores:
            os.sched_setaffinity(0, {min(cores)})
        pa.set_cpu_count(1)
        with using(1):
            findings = module.run(quick)
        return findings
    finally:
        if cores:
            os.sched_setaffinity(0, cores)
        pa.set_cpu_count(threads)
