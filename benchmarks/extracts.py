"""A nightly extract: what has changed in a whole table, found and applied, beside reading and encoding the file."""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv

import shoal
from benchmarks.finding import Finding, best_of, in_its_own_process
from benchmarks.inputs import spaced
from shoal.maintain.extracts import changes_of
from shoal.progress import SILENT
from shoal.records.encode import encode
from shoal.records.extracts import read_extract
from shoal.records.reading import read_for

K = 5
ROWS, QUICK_ROWS = 1_000_000, 20_000
CHANGED = 0.01
SECRET = b"sixteen bytes and more"


def run(quick: bool) -> list[Finding]:
    rows = QUICK_ROWS if quick else ROWS
    findings = []
    for hashed in (False, True):
        with tempfile.TemporaryDirectory() as folder:
            found = in_its_own_process(__name__, rows, int(hashed), folder)
        keys = ", hashed keys" if hashed else ""
        name = f"census as CSV, {spaced(rows)} rows, {CHANGED:.0%} changed, k = {K}, SQLite{keys}"
        findings += [
            Finding(
                f"an extract, read, compared and applied, {name}; beside it reading and encoding the file",
                found["all"],
                "s",
                found["encode"],
                wanted="≥ 0.33×",
            ),
            Finding("  read and compared", found["compare"], "s", found["encode"]),
            Finding("  applied: what the batch itself costs", found["all"] - found["compare"], "s"),
        ]
    return findings


def measured(rows: int, hashed: bool, folder: str) -> dict[str, float]:
    """One in two of the changed rows is updated, one in four new and one in four gone."""
    schema = shoal.datasets.census_schema()
    changes = int(rows * CHANGED)
    table = shoal.datasets.census(rows + changes, 1)
    file, path = Path(folder) / "extract.csv", Path(folder) / "census.vault"
    mixed = np.random.default_rng(3).permutation(rows)
    _, other, rest = np.split(mixed, [changes // 4, changes // 4 + changes // 2])
    newer = table.slice(rows, changes // 2).set_column(0, "person_id", table["person_id"].take(pa.array(other)))
    stayed, come = table.take(pa.array(np.sort(rest))), table.slice(rows + changes // 2, changes // 4)
    tonight = pa.concat_tables([stayed, newer, come])
    pa_csv.write_csv(tonight, file)
    secret = SECRET if hashed else None
    report: dict[str, float] = {}
    shoal.Vault.create(path, schema, k=K, data=table.slice(0, rows), seed=1, key_secret=secret).close()
    with shoal.Vault.open(path, key_secret=secret) as vault:
        with vault._writing(SILENT) as state:
            state.live.prepare()
        report["encode"] = _timed(lambda: encode(read_for(schema, file)[0], schema))

        def compare() -> None:
            extract = read_extract(schema, file)
            if vault._hashing is not None:
                extract = vault._hashing.table(extract, schema)
            changes_of(extract, state.live.table)

        report["compare"] = _timed(compare)
        report["all"] = _timed(lambda: vault.replace(file))
    return report


def _timed(work: Callable[[], object]) -> float:
    return best_of(1, work)


if __name__ == "__main__":
    pa.set_cpu_count(1)
    result = measured(int(sys.argv[1]), sys.argv[2] == "1", sys.argv[3])
    print(json.dumps(result))  # noqa: T201  # read by the process that started this one
