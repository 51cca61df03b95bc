"""The vault: what it costs that a change lasts, how that grows, and a release beside plain reading and writing."""

from __future__ import annotations

import json
import shutil
import sqlite3
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import shoal
from benchmarks.finding import Finding, best_of, in_its_own_process, peak_memory
from benchmarks.inputs import spaced
from shoal.progress import SILENT
from shoal.records.changes import ChangeBatch
from shoal.release.write import PARQUET_COMPRESSION

K = 5
ROWS, QUICK_ROWS = (10_000, 1_000_000), (2_000, 20_000)
CHANGES, QUICK_CHANGES = 10_000, 1_000
BATCHES = 3


def run(quick: bool) -> list[Finding]:
    small, large = QUICK_ROWS if quick else ROWS
    changes = QUICK_CHANGES if quick else CHANGES
    with tempfile.TemporaryDirectory() as folder:
        before = in_its_own_process(__name__, "apply", small, min(changes, small // 4), folder)
        at = in_its_own_process(__name__, "apply", large, changes, folder)
        opened = in_its_own_process(__name__, "open", large, changes, folder)
        published = in_its_own_process(__name__, "publish", large, changes, folder)
    name = f"census, {spaced(large)} rows, k = {K}, SQLite"
    both = at["in_memory"] + at["loop"]
    return [
        Finding(f"a batch of {spaced(changes)} changes that lasts, {name}", at["durable"], "s"),
        Finding("  the same in memory", at["in_memory"], "s"),
        Finding(f"  a bare SQLite loop that writes {spaced(int(at['written']))} rows", at["loop"], "s"),
        Finding("  the batch; beside it the sum of the two", at["durable"], "s", both, wanted="≥ 0.67×"),
        Finding(
            f"a change that lasts, {name}; beside it at {spaced(small)} rows",
            1e6 * at["durable"] / at["changes"],
            "µs",
            1e6 * before["durable"] / before["changes"],
            wanted="≥ 0.33×",
        ),
        Finding(f"a batch of 100 changes that lasts, {name}", 1e3 * at["hundred"], "ms"),
        Finding(f"bytes that the batch of 100 adds to the log, {name}", at["hundred_bytes"] / 2**20, "MiB"),
        Finding(
            f"a reader's groups() after those 100 changes, {name}; beside it without having read before",
            1e3 * at["followed"],
            "ms",
            1e3 * at["read"],
        ),
        Finding(f"opening, all records loaded and checked, {name}", opened["seconds"], "s"),
        Finding(f"peak memory of opening, {name}", opened["peak"], "GiB", wanted="< 1 GiB"),
        Finding(
            f"the first release, {name}; beside it pyarrow reading and writing the records",
            published["first"],
            "s",
            published["pyarrow"],
            wanted="≥ 0.17×",
        ),
        Finding(f"the next release, {name}", published["again"], "s", published["pyarrow"], wanted="≥ 0.17×"),
    ]


def _vault(folder: str, rows: int) -> Path:
    return Path(folder) / f"census-{rows}.vault"


def _batch(table: pa.Table, first: int, gone: int, changes: int) -> pa.Table:
    """Inserts, updates and deletes: one in two comes, one in four changes, one in four goes."""
    inserts = table.slice(first, changes // 2)
    updates = table.slice(gone, changes // 4)
    moved = table.slice(first, changes // 4).set_column(0, "person_id", updates["person_id"])
    deletes = table.slice(gone + changes // 4, changes // 4)
    ops = ["insert"] * inserts.num_rows + ["update"] * moved.num_rows + ["delete"] * deletes.num_rows
    return pa.concat_tables([inserts, moved, deletes]).append_column("op", pa.array(ops))


def applying(rows: int, changes: int, folder: str) -> dict[str, float]:
    """The same batches in a vault, in memory, and as bare statements on a copy of the file.

    The vault is as people have it: first groups by the default method, then the default maintainer.
    """
    schema = shoal.datasets.census_schema()
    table = shoal.datasets.census(rows + (BATCHES + 2) * changes, 1)
    path, copy = _vault(folder, rows), Path(folder) / "copy.vault"
    with shoal.Vault.create(path, schema, k=K, data=table.slice(0, rows), seed=1) as vault:
        vault.insert(table.slice(rows + (BATCHES + 1) * changes, 50))  # compiles; a tree is built
    shutil.copy(path, copy)
    vault, twin = shoal.Vault.open(path), shoal.Vault.open(path)
    report: dict[str, float] = {"changes": changes, "durable": 0, "in_memory": 0, "loop": 0, "written": 0}
    for one in (vault, twin):
        with one._writing(SILENT) as state:
            state.live.prepare()  # the tree is built
    assert twin._state is not None
    live, connection = twin._state.live, _bare(copy)
    mixed = np.random.default_rng(3).permutation(rows)
    everybody = table.slice(0, rows).take(pa.array(mixed))
    everybody = pa.concat_tables([everybody, table.slice(rows)])
    for number in range(BATCHES):
        batch = _batch(everybody, rows + number * changes, number * (changes // 2), changes)
        report["durable"] += _timed(partial(vault.apply, batch)) / BATCHES
        start = time.perf_counter()
        done = live.apply(ChangeBatch.from_table(batch, live.schema))
        report["in_memory"] += (time.perf_counter() - start) / BATCHES
        gone, come = live.ids[done.gone].tolist(), live.ids[done.come].tolist()
        stayed = np.setdiff1d(done.moved, done.come)
        to = list(zip(live.labels[stayed].tolist(), live.ids[stayed].tolist(), strict=True))
        report["loop"] += _timed(partial(_write, connection, gone, to, come)) / BATCHES
        report["written"] += (len(gone) + len(to) + len(come)) / BATCHES
    log = path.with_name(path.name + "-wal")
    _bare(path).execute("PRAGMA wal_checkpoint(TRUNCATE)")
    last = rows + BATCHES * changes
    report["read"] = _timed(twin.groups)
    report["hundred"] = _timed(lambda: vault.insert(everybody.slice(last, 100)))
    report["hundred_bytes"] = log.stat().st_size
    report["followed"] = _timed(twin.groups)
    vault.close()
    twin.close()
    return report


def _bare(path: Path) -> sqlite3.Connection:
    """The settings that make a write last, as the vault has them."""
    connection = sqlite3.connect(path, isolation_level=None)
    for pragma in ("journal_mode = WAL", "synchronous = FULL", "secure_delete = ON", "cache_size = -65536"):
        connection.execute(f"PRAGMA {pragma}")
    return connection


def _write(connection: sqlite3.Connection, gone: list[int], moved: list[tuple[int, int]], come: list[int]) -> None:
    cursor = connection.cursor()
    cursor.execute("BEGIN IMMEDIATE")
    for number in gone:
        cursor.execute("DELETE FROM records WHERE id = ?", (number,))
    for group, number in moved:
        cursor.execute("UPDATE records SET group_id = ?, since = 2 WHERE id = ?", (group, number))
    for number in come:
        cursor.execute(
            "INSERT INTO records VALUES (?, ?, NULL, ?, ?, 1, 2)",
            (number, f"key-{number:012d}", b"x" * 28, '{"income":"30000","diagnosis":"none of these"}'),
        )
    cursor.execute("COMMIT")


def opening(rows: int, folder: str) -> dict[str, float]:
    def load() -> None:
        with shoal.Vault.open(_vault(folder, rows)) as vault, vault._writing(SILENT):
            pass

    return {"seconds": _timed(load), "peak": peak_memory()}


def publishing(rows: int, folder: str) -> dict[str, float]:
    """A release to a Parquet file; and the records that the vault holds, read from Parquet and written to it."""
    target, original = Path(folder) / "release.parquet", Path(folder) / "original.parquet"
    schema = shoal.datasets.census_schema()
    held = shoal.datasets.census(rows, 1).drop_columns(schema.names(shoal.Role.IDENTIFIER))
    pq.write_table(held, original, compression=PARQUET_COMPRESSION)
    del held

    def plain() -> None:
        copy = Path(folder) / "copy.parquet"
        pq.write_table(pq.read_table(original), copy, compression=PARQUET_COMPRESSION)

    with shoal.Vault.open(_vault(folder, rows)) as vault:
        vault.publish(dry_run=True)  # loads the records, and what Python loads once
        first = _timed(lambda: vault.publish(target, force=True))  # every class is new
        again = _timed(lambda: vault.publish(target, force=True, even_if_unchanged=True))
    return {"first": first, "again": again, "pyarrow": best_of(2, plain)}


def _timed(work: Callable[[], object]) -> float:
    return best_of(1, work)


if __name__ == "__main__":
    pa.set_cpu_count(1)
    what, rows, changes, folder = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
    if what == "apply":
        found = applying(rows, changes, folder)
    elif what == "open":
        found = opening(rows, folder)
    else:
        found = publishing(rows, folder)
    print(json.dumps(found))  # noqa: T201  # read by the process that started this one
