"""The method and the maintainer `shoal`: what they lose beside the others, what that costs, and whether it lasts."""

from __future__ import annotations

import json
import math
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from itertools import islice
from typing import NamedTuple

import numpy as np
import pyarrow as pa

import shoal
from benchmarks.finding import Finding, best_of, in_its_own_process, peak_memory
from benchmarks.inputs import adult_records, census_records, spaced
from benchmarks.scans import k_member as by_scan
from benchmarks.tables import TABLES, Made
from shoal.boxes.costs import cost_tables
from shoal.cluster import METHODS, cluster
from shoal.maintain.live import LivePartition, Settings
from shoal.measures import total_loss
from shoal.records.changes import ChangeBatch
from shoal.records.encode import Records, encode
from shoal.schema import Role

K = 10
SEEDS, QUICK_SEEDS = 5, 1
# The most that shoal may lose on Adult, as a share of what another method loses.
WANTED = {
    "sequential": {5: 0.91, 10: 0.91, 50: 0.91, 100: 0.92},
    "k-member": {5: 0.83, 10: 0.77, 50: 0.65, 100: 0.65},
}
SAMPLE, QUICK_SAMPLE = 2_000, 400
SIZES, QUICK_SIZES = (2, 5, 10, 25, 50, 100), (2, 10)
MEASURES, QUICK_MEASURES = ("il", "lm", "mi"), ("il",)
ROWS, QUICK_ROWS = (100_000, 1_000_000), (2_000, 10_000)
FOLLOWED, QUICK_FOLLOWED = 10_000, 1_000
DRIFTING, QUICK_DRIFTING = (5, 10), (5,)
GROWING, SHRINKING, MIXED = 50, 50, 200  # batches
BATCHES = GROWING + SHRINKING + MIXED
MAINTAINERS = ("shoal", "i3m")
TRIES = 3  # the fastest counts


def run(quick: bool) -> list[Finding]:
    return [*losses_on_adult(quick), *losses_on_samples(quick), *times(quick), *drift(quick)]


def first_of(records: Records, rows: int) -> Records:
    return replace(records, codes=records.codes[:rows], passthrough=records.passthrough.slice(0, rows))


# What it loses


def losses_on_adult(quick: bool) -> list[Finding]:
    """Total-IL of Adult, mean over the seeds; beside it another method's."""
    records, seeds = adult_records(), QUICK_SEEDS if quick else SEEDS
    if quick:
        records = first_of(records, 5_000)
    findings = []
    for k in WANTED["sequential"]:
        loss = {method: _mean_loss(records, k, method, seeds) for method in ("shoal", *WANTED)}
        findings += [
            Finding(
                f"Total-IL of shoal, Adult ({spaced(len(records))} rows), k = {k}, mean of {seeds}; "
                f"beside it {method}'s",
                loss["shoal"],
                "",
                loss[method],
                wanted="" if quick else f"≥ {1 / wanted[k]:.3f}×",
            )
            for method, wanted in WANTED.items()
        ]
    return findings


def _mean_loss(records: Records, k: int, method: str, seeds: int, measure: str = "il") -> float:
    found = (cluster(records, k, method=method, measure=measure, seed=seed) for seed in range(1, seeds + 1))
    return float(np.mean([total_loss(partition, records.books, measure) for partition in found]))


def losses_on_samples(quick: bool) -> list[Finding]:
    """On tables of every character: the worst that shoal does, of all k, beside the best of the other methods."""
    rows = QUICK_SAMPLE if quick else SAMPLE
    findings = []
    for name, make in {**SHIPPED, **TABLES}.items():
        table, schema = make(rows)
        records = encode(table, schema)
        for measure in QUICK_MEASURES if quick else MEASURES:
            share, where = max(_beside_the_best(records, k, measure) for k in (QUICK_SIZES if quick else SIZES))
            findings.append(
                Finding(
                    f"{measure} of shoal, {name}, {spaced(rows)} rows: share of the best other's, worst of all k "
                    f"({where})",
                    share,
                    "",
                    wanted="≤ 1.005",
                )
            )
    return findings


def _beside_the_best(records: Records, k: int, measure: str) -> tuple[float, str]:
    """The loss of shoal as a share of the best of all others, and where that is."""
    others = [name for name, method in METHODS.items() if name != "shoal" and measure in method.measures]
    best, name = min((_mean_loss(records, k, other, 1, measure), other) for other in others)
    loss = _mean_loss(records, k, "shoal", 1, measure)
    where = f"k = {k}, {name}"
    if best == 0:
        return (1.0 if loss == 0 else math.inf), where
    return loss / best, where


def _adult(rows: int, schema_name: str) -> Made:
    schema, table = shoal.datasets.adult_schema(schema_name), shoal.datasets.adult()
    some = np.random.default_rng(1).choice(table.num_rows, rows, replace=False)
    return table.take(pa.array(some)).drop_columns(schema.names(Role.IDENTIFIER)), schema


SHIPPED: dict[str, Callable[[int], Made]] = {
    "Adult": partial(_adult, schema_name="papers"),
    "Adult (suppression)": partial(_adult, schema_name="suppression"),
}


# What it costs


def times(quick: bool) -> list[Finding]:
    """Beside k-member: by full scan on Adult, through its tree on the census; and how it grows."""
    records = adult_records()
    if quick:
        records = first_of(records, 5_000)
    costs = cost_tables(records.books, "il")
    by_scan(records.codes[: 2 * K], costs, K, 0)  # compiles
    cluster(first_of(records, 1_000), K, method="shoal", seed=1)
    small, large = QUICK_ROWS if quick else ROWS
    reports = {rows: in_its_own_process(__name__, "cluster", rows) for rows in (small, large)}
    other = in_its_own_process("benchmarks.k_member", large)
    exponent = math.log(reports[large]["seconds"] / reports[small]["seconds"]) / math.log(large / small)
    name = f"shoal, census, {spaced(large)} rows, k = {K}"
    return [
        Finding(
            f"shoal, Adult ({spaced(len(records))} rows), k = {K}; beside it k-member by full scan",
            best_of(3, lambda: cluster(records, K, method="shoal", seed=1)),
            "s",
            best_of(3, lambda: by_scan(records.codes, costs, K, 0)),
            wanted="" if quick else "≥ 1×",
        ),
        Finding(f"shoal, census, {spaced(small)} rows, k = {K}", reports[small]["seconds"], "s"),
        Finding(
            f"{name}; beside it k-member",
            reports[large]["seconds"],
            "s",
            other["seconds"],
            wanted="" if quick else f"≥ {1 / 6:.3f}×",
        ),
        Finding(f"{name}: peak memory", reports[large]["peak"], "GiB", wanted="< 2 GiB"),
        Finding(
            f"shoal, census, {spaced(small)} to {spaced(large)} rows: exponent",
            exponent,
            "",
            wanted="" if quick else "≤ 1.3",
        ),
    ]


def clustered(rows: int) -> dict[str, float]:
    """Time and memory of shoal on so many rows of the census, in this process."""
    cluster(census_records(1_000), K, method="shoal", seed=1)  # compiles
    records = census_records(rows)
    start = time.perf_counter()
    cluster(records, K, method="shoal", seed=1)
    return {"seconds": time.perf_counter() - start, "peak": peak_memory()}


# Whether it lasts


def drift(quick: bool) -> list[Finding]:
    """What is lost after many batches as a share of starting again, and what a change costs; beside it i3m's."""
    rows = QUICK_FOLLOWED if quick else FOLLOWED
    findings = []
    for k in QUICK_DRIFTING if quick else DRIFTING:
        report = in_its_own_process(__name__, "drift", rows, k)
        name = f"Adult, {spaced(rows)} rows, k = {k}"
        findings += [
            Finding(
                f"loss after {spaced(int(report['batches']))} batches, share of shoal from scratch, {name}; "
                f"beside it i3m's",
                report["shoal"],
                "",
                report["i3m"],
                wanted="≤ 1.03",
            ),
            Finding(
                f"a change, mean of {spaced(int(report['changes']))}, {name}; beside it i3m's",
                report["shoal_change"],
                "µs",
                report["i3m_change"],
                wanted="" if quick else "≥ 0.2×",
            ),
            Finding(f"peak memory of the same, {name}", report["peak"], "GiB"),
        ]
    return findings


class Batch(NamedTuple):
    """Rows of the table that come, and those that take another's place; keys that go."""

    inserts: pa.Table | None
    updates: pa.Table | None
    deletes: list[str] | None

    def __len__(self) -> int:
        rows = sum(table.num_rows for table in (self.inserts, self.updates) if table is not None)
        return rows + len(self.deletes or [])


def adult_with_keys() -> tuple[pa.Table, shoal.Schema]:
    """Adult in random order, its rows numbered."""
    table, without = shoal.datasets.adult("train", complete=True), shoal.datasets.adult_schema()
    table = table.take(pa.array(np.random.default_rng(5).permutation(table.num_rows)))
    keys = pa.array([f"p{row}" for row in range(table.num_rows)])
    return table.add_column(0, "id", keys), shoal.Schema(columns={"id": {"role": "key"}, **without.columns})


def batches(table: pa.Table, rows: int) -> Iterator[Batch]:
    """Half as many again in 50 batches, a third of all away in 50, then 200 of everything; each 1% of the first.

    Of a mixed batch two fifths come, two fifths go and one fifth is updated. No row comes twice.
    """
    rng = np.random.default_rng(7)
    size, coming = rows // 100, rows
    keys: list[str] = table["id"].slice(0, rows).to_pylist()

    def new(count: int) -> pa.Table:
        nonlocal coming
        coming += count
        return table.slice(coming - count, count)

    def leaving(count: int) -> list[str]:
        rows = set(rng.choice(len(keys), count, replace=False).tolist())
        gone = [keys[row] for row in sorted(rows)]
        keys[:] = [key for row, key in enumerate(keys) if row not in rows]
        return gone

    for _ in range(GROWING):
        inserts = new(size)
        keys += inserts["id"].to_pylist()
        yield Batch(inserts, None, None)
    for _ in range(SHRINKING):
        yield Batch(None, None, leaving(size))
    for _ in range(MIXED):
        gone, replaced = leaving(2 * size // 5), leaving(size // 5)
        inserts, updates = new(2 * size // 5), new(size // 5)
        keys += [*inserts["id"].to_pylist(), *replaced]
        yield Batch(inserts, updates.set_column(0, "id", pa.array(replaced)), gone)


def followed(rows: int, k: int) -> dict[str, float]:
    """What each maintainer has lost in the end, as a share of `shoal` from scratch; and what a change cost it."""
    table, schema = adult_with_keys()
    for maintainer in MAINTAINERS:  # compiles
        _follow(table, schema, 500, k, maintainer, count=GROWING + SHRINKING + 10)
    report: dict[str, float] = {}
    best = dict.fromkeys(MAINTAINERS, math.inf)
    for maintainer in MAINTAINERS * TRIES:  # in turn: a machine that is slower for a while is slower for all
        live, seconds, changes = _follow(table, schema, rows, k, maintainer)
        best[maintainer] = min(best[maintainer], 1e6 * seconds / changes)
        if maintainer in report:
            continue
        records = live.records()
        again = np.mean([total_loss(cluster(records, k, method="shoal", seed=seed), live.books) for seed in (1, 2, 3)])
        report[maintainer] = float(total_loss(live.partition(records), live.books) / again)
        report["changes"] = changes
    report |= {f"{maintainer}_change": seconds for maintainer, seconds in best.items()}
    return {**report, "batches": BATCHES, "peak": peak_memory()}


def _follow(
    table: pa.Table, schema: shoal.Schema, rows: int, k: int, maintainer: str, count: int = BATCHES
) -> tuple[LivePartition, float, int]:
    """So many batches; both maintainers have the same first groups."""
    settings = Settings(k=k, maintainer=maintainer, method="shoal", seed=1)
    live = LivePartition.start(table.slice(0, rows), schema, settings)
    live.prepare()  # the tree is built
    seconds, changes = 0.0, 0
    for batch in islice(batches(table, rows), count):
        made = ChangeBatch.of(schema, **batch._asdict())
        start = time.process_time()
        live.apply(made)
        seconds += time.process_time() - start
        changes += len(batch)
    return live, seconds, changes


if __name__ == "__main__":
    pa.set_cpu_count(1)
    what, *numbers = sys.argv[1:]
    report = clustered(int(numbers[0])) if what == "cluster" else followed(int(numbers[0]), int(numbers[1]))
    print(json.dumps(report))  # noqa: T201  # read by the process that started this one
