"""Every method on tables of every character: realistic, uniform, all distinct, all equal, thirty columns.

The made-up census is what methods could be tuned to without meaning to; the others stand beside it so that it shows.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa

import shoal
from benchmarks.finding import Finding, best_of
from benchmarks.inputs import spaced
from shoal.cluster import METHODS, cluster
from shoal.measures import total_loss
from shoal.records.encode import Records, encode
from shoal.schema import Role

QUICK_ROWS = 2_000
# Where no record has near neighbours the trees help little, and a method that looks at pairs takes its time.
ROWS = {
    "shoal": 20_000,
    "mondrian": 100_000,
    "hilbert": 100_000,
    "k-member": 20_000,
    "sequential": 5_000,
    "agglomerative": 5_000,
}
Made = tuple[pa.Table, shoal.Schema]


def census(rows: int) -> Made:
    schema = shoal.datasets.census_schema()
    return shoal.datasets.census(rows, 1).drop_columns(schema.names(Role.IDENTIFIER)), schema


def uniform(rows: int, columns: int = 8, values: int = 20) -> Made:
    """Independent, uniform: no record has a neighbour that is better than chance."""
    drawn = np.random.default_rng(1).integers(0, values, (rows, columns))
    names = [f"q{j}" for j in range(columns)]
    kinds = ["numeric" if j % 2 else "categorical" for j in range(columns)]
    specs = {name: {"role": "quasi-identifier", "type": kind} for name, kind in zip(names, kinds, strict=True)}
    return pa.table(dict(zip(names, drawn.T, strict=True))), shoal.Schema(columns=specs)


def distinct(rows: int) -> Made:
    """No value occurs twice in any column."""
    rng = np.random.default_rng(1)
    specs = {name: {"role": "quasi-identifier", "type": "numeric"} for name in "abcd"}
    return pa.table({name: rng.permutation(rows) for name in specs}), shoal.Schema(columns=specs)


def continuous(rows: int, columns: int = 30) -> Made:
    """Independent, and no value occurs twice: in so many columns everybody is about as far from everybody."""
    drawn = np.random.default_rng(1).random((columns, rows))
    names = [f"q{j}" for j in range(columns)]
    specs = {name: {"role": "quasi-identifier", "type": "numeric"} for name in names}
    return pa.table(dict(zip(names, drawn, strict=True))), shoal.Schema(columns=specs)


def equal(rows: int) -> Made:
    specs = {name: {"role": "quasi-identifier", "type": "numeric"} for name in "abcd"}
    return pa.table({name: np.zeros(rows, np.int64) for name in specs}), shoal.Schema(columns=specs)


TABLES: dict[str, Callable[[int], Made]] = {
    "census": census,
    "uniform": uniform,
    "all distinct": distinct,
    "all equal": equal,
    "30 columns": lambda rows: uniform(rows, columns=30, values=5),
    "30 continuous columns": continuous,
}


def run(quick: bool) -> list[Finding]:
    findings = []
    for name, make in TABLES.items():
        for method in METHODS:
            table, schema = make(QUICK_ROWS if quick else ROWS[method])
            findings.append(_one(name, method, encode(table, schema)))
    return findings


def _one(name: str, method: str, records: Records) -> Finding:
    share = total_loss(cluster(records, 10, method=method), records.books) / (len(records) * len(records.books))
    rows = spaced(len(records))
    seconds = best_of(1, lambda: cluster(records, 10, method=method))
    return Finding(f"{method} on {name}, {rows} rows, k = 10: loses {share:.1%}", seconds, "s")
