"""The audit: many releases of a vault, and one more beside what publishing it takes."""

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
from shoal.vault.releases.audited import audit_vault
from shoal.vault.releases.prepare import Publication, prepare
from shoal.vault.state.republication import new_republication

K = 5
MANY = (100_000, 50, (100, 1_000))  # records, releases, changes between them
QUICK_MANY = (5_000, 10, (10, 50))
FEW = (1_000_000, 4, 1_000)
QUICK_FEW = (20_000, 3, 100)


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
        path = Path(folder) / "few.vault"
        in_its_own_process(__name__, "make", rows, releases, changes, path)
        report = in_its_own_process(__name__, "gate", rows, releases, changes, path)
    what = f"release {releases + 1}, {spaced(rows)} records, {spaced(changes)} changes between"
    both = report["published"] + report["audited"]
    findings += [
        Finding(f"publishing {what}, and its audit before; beside it publishing alone", both, "s", report["published"]),
        Finding(
            "  the same with loading the records, as a command does",
            report["loaded"] + both,
            "s",
            report["loaded"] + report["published"],
            wanted="≥ 0.5×",
        ),
        Finding(f"peak memory of {what}", report["peak"], "GiB"),
    ]
    return findings


def make(rows: int, releases: int, changes: int, path: Path) -> dict[str, float]:
    """A vault with so many releases, that has changed since the last one."""
    table = shoal.datasets.census(rows, 1)
    schema = shoal.datasets.census_schema()
    with shoal.Vault.create(path, schema, k=K, data=table, method="mondrian", seed=1, republication="none") as vault:
        for batch in shoal.datasets.census_changes(table, batches=releases, size=changes, seed=2):
            vault.publish()
            vault.apply(batch)
    return {}


def audit(path: Path) -> dict[str, float]:
    with shoal.Vault.open(path) as vault:
        return {"seconds": best_of(1, vault.audit), "peak": peak_memory()}


def gate(path: Path) -> dict[str, float]:
    """One more release of a vault that has changed: what it takes with its audit, and without."""
    with shoal.Vault.open(path) as vault:

        def load() -> None:
            with vault._writing(SILENT):
                pass

        loaded = best_of(1, load)
        candidates: list[Publication] = []

        def prepared() -> None:
            with vault._writing(SILENT) as state:
                choice = new_republication()
                candidates.append(prepare(vault._store, state, choice, SILENT, even_if_unchanged=True, strict=False))

        def audited() -> None:
            with vault._reading() as connection:
                audit_vault(connection, vault.where, SILENT, candidates[0])

        prepared()
        audited_in = best_of(1, audited)
        published = best_of(1, lambda: vault.publish(path.with_suffix(".parquet"), accept_findings=True, force=True))
        return {"loaded": loaded, "audited": audited_in, "published": published, "peak": peak_memory()}


if __name__ == "__main__":
    pa.set_cpu_count(1)
    what, rows, releases, changes, path = sys.argv[1], *map(int, sys.argv[2:5]), Path(sys.argv[5])
    report = make(rows, releases, changes, path) if what == "make" else audit(path) if what == "audit" else gate(path)
    print(json.dumps(report))  # noqa: T201  # read by the process that started this one
