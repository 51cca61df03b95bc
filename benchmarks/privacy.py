"""What ℓ-diversity and t-closeness cost: the same method with and without them, in one run.

ℓ = 1 asks of every group what every group has: the same groups are found, and the ratio is what asking costs. A rule
that binds makes a method look further, which is part of its work and not of the asking; shown beside it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import shoal
from benchmarks.finding import Finding, best_of
from shoal.cluster import cluster
from shoal.privacy import Rule, make_rules
from shoal.records.encode import Records, encode
from shoal.schema import Role

CENSUS_ROWS, QUICK_ROWS = 200_000, 5_000
ASK_ALWAYS = ("mondrian",)  # methods whose kernels ask the rules at every step


def run(quick: bool) -> list[Finding]:
    adult_schema, census_schema = shoal.datasets.adult_schema(), shoal.datasets.census_schema()
    adult = shoal.datasets.adult("train", complete=True)
    rows = QUICK_ROWS if quick else CENSUS_ROWS
    census = shoal.datasets.census(rows, 1)
    findings = []
    for method in ASK_ALWAYS:
        for name, table, schema, asked, wanted in (
            ("Adult, ℓ = 1", adult, adult_schema, {"l": 1}, "≥ 0.5×"),
            ("Adult, ℓ = 1.2", adult, adult_schema, {"l": 1.2}, ""),
            ("Adult, t = 0.3", adult, adult_schema, {"t": 0.3}, ""),
            (f"census ({rows} rows, two columns), ℓ = 1", census, census_schema, {"l": 1}, "≥ 0.5×"),
            (f"census ({rows} rows, two columns), ℓ = 2", census, census_schema, {"l": 2}, ""),
        ):
            findings.append(_one(f"{method} on {name}", method, table, schema, asked, wanted))
    return findings


def _one(what: str, method: str, table: Any, schema: shoal.Schema, asked: dict[str, Any], wanted: str) -> Finding:
    records = encode(table.drop_columns(schema.names(Role.IDENTIFIER)), schema)
    rules = make_rules(schema.names(Role.SENSITIVE), **asked)
    with_rules, without = best_of_each(records, method, rules)
    return Finding(f"{what}, k = 10; beside it without", with_rules, "s", without, wanted=wanted)


def best_of_each(records: Records, method: str, rules: Sequence[Rule]) -> tuple[float, float]:
    """Turn about, so that a busy moment of the machine meets both."""
    times: list[list[float]] = [[], []]
    for _ in range(4):
        for kind, asked in enumerate((rules, ())):
            times[kind].append(best_of(1, lambda asked=asked: cluster(records, 10, asked, method=method, seed=1)))  # type: ignore[misc]
    return float(np.min(times[0])), float(np.min(times[1]))
