"""The audit of many releases of a vault; and what a release takes that is held against those before, or safe."""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

import pyarrow as pa

import shoal
from benchmarks.finding import Finding, best_of, in_its_own_process, peak_memory
from benchmarks.inputs import spaced
from shoal.progress import SILENT
from shoal.vault.state.republication import AUDIT, NONE, SAFE

K = 5
MANY = (100_000, 50, (100, 1_000))  # records, releases, changes between them
QUICK_MANY = (5_000, 10, (10, 50))
FEW = (1_000_000, 2, 1_000)
QUICK_FEW = (20_000, 2, 100)
MODES = (NONE, AUDIT, SAFE)


def run(quick: bool) -> list[Finding]:
    rows, releases, several = QUICK_MANY if quick else MANY
    findings = []
    with tempfile.TemporaryDirectory() as folder:
        for changes in several:
            path = Path(folder) / f"many-{changes}.vault"
            in_its_own_process(__name__, "make", rows, releases, changes, path)
            report = in_its_own_process(__name__, "audit", rows, releases, changes, path)
            what = f"{spaced(releases)} releases of {spaced(rows)} records, {spaced(changes)} changes between, k = {K}"
            findings += [
                Finding(f"audit of {what}", report["seconds"], "s", wanted="< 60 s"),
                Finding(f"peak memory of the audit of {what}", report["peak"], "GiB", wanted="< 2 GiB"),
            ]
        rows, releases, changes = QUICK_FEW if quick else FEW
        took = {}
        for mode in MODES:
            path = Path(folder) / f"{mode}.vault"
            in_its_own_process(__name__, f"make {mode}", rows, releases, changes, path)
            took[mode] = in_its_own_process(__name__, "publish", rows, releases, changes, path)
    what = f"release {releases + 1}, {spaced(rows)} records, {spaced(changes)} changes between"
    plain = took[NONE]
    for mode in (AUDIT, SAFE):
        one = took[mode]
        findings += [
            Finding(
                f"opening and publishing {what}, {mode}; beside it without",
                one["opened"] + one["published"],
                "s",
                plain["opened"] + plain["published"],
                wanted="≥ 0.5×",
            ),
            Finding("  the same in a vault that is open", one["published"], "s", plain["published"]),
            Finding("  peak memory", one["peak"], "GiB", plain["peak"]),
        ]
    return findings


def make(mode: str, rows: int, releases: int, changes: int, path: Path) -> dict[str, float]:
    """A vault with so many releases, that has changed since the last one."""
    table = shoal.datasets.census(rows, 1)
    schema = shoal.datasets.census_schema()
    with shoal.Vault.create(path, schema, k=K, data=table, method="mondrian", seed=1, republication=mode) as vault:
        for batch in shoal.datasets.census_changes(table, batches=releases, size=changes, seed=2):
            vault.publish(accept_findings=mode == AUDIT)
            vault.apply(batch)
    return {}


def audit(path: Path) -> dict[str, float]:
    with shoal.Vault.open(path) as vault:
        return {"seconds": best_of(1, vault.audit), "peak": peak_memory()}


def publish(path: Path) -> dict[str, float]:
    """One more release of a vault that has changed, as a command makes it."""
    with shoal.Vault.open(path) as vault:

        def load() -> None:
            with vault._writing(SILENT):
                pass

        opened = best_of(1, load)
        accept = vault.status().republication == AUDIT
        published = best_of(1, lambda: vault.publish(path.with_suffix(".parquet"), accept_findings=accept))
        return {"opened": opened, "published": published, "peak": peak_memory()}


if __name__ == "__main__":
    pa.set_cpu_count(1)
    (what, *mode), rows, releases, changes, path = sys.argv[1].split(), *map(int, sys.argv[2:5]), Path(sys.argv[5])
    if what == "make":
        report = make(mode[0] if mode else NONE, rows, releases, changes, path)
    else:
        report = audit(path) if what == "audit" else publish(path)
    print(json.dumps(report))  # noqa: T201  # read by the process that started this one
