"""All public measures and risks of a million published rows, beside the time that reading the file takes."""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

import pyarrow as pa

import shoal
from benchmarks.finding import Finding, best_of, in_its_own_process, peak_memory
from shoal.records.reading import read_coded, read_text

ROWS, QUICK_ROWS = 1_000_000, 50_000


def run(quick: bool) -> list[Finding]:
    rows = QUICK_ROWS if quick else ROWS
    schema = shoal.datasets.census_schema()
    findings = []
    with tempfile.TemporaryDirectory() as folder:
        release = shoal.anonymize(shoal.datasets.census(rows, 1), schema, k=10, method="mondrian")
        for suffix in ("parquet", "csv"):
            file = release.write(Path(folder) / f"release.{suffix}")
            report = in_its_own_process(__name__, file)
            what = f"measures and risks of {rows:,} rows ({suffix})".replace(",", " ")
            findings += [
                Finding(
                    f"{what}; beside it reading the file",
                    report["measuring"],
                    "s",
                    report["reading"],
                    "≥ 0.33×",
                ),
                Finding(f"{what}: peak memory", report["peak"], "GiB", wanted="< 2 GiB"),
            ]
    return findings


def measure_one(file: Path) -> dict[str, float]:
    """Reading the file, and measuring what was read."""
    schema = shoal.datasets.census_schema()
    shoal.measure(read_text(file, schema.published).slice(0, 1000), schema)  # loads what has to be loaded
    reading = best_of(3, lambda: read_text(file, schema.published))
    table = read_coded(file, schema.published, schema.quasi_identifiers)  # as `shoal measure` reads it
    measuring = best_of(3, lambda: shoal.measure(table, schema))
    return {"reading": reading, "measuring": measuring, "peak": peak_memory()}


if __name__ == "__main__":
    pa.set_cpu_count(1)
    print(json.dumps(measure_one(Path(sys.argv[1]))))  # noqa: T201  # read by the process that started this one
