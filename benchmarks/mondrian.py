"""Mondrian, compiled, against the same algorithm in plain numpy: Adult, 30 162 complete rows, 8 quasi-identifiers."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from benchmarks.finding import Finding, best_of
from benchmarks.inputs import adult_records
from shoal.boxes.costs import column_costs
from shoal.boxes.costs.tables import ColumnCosts
from shoal.cluster import cluster
from shoal.errors import InternalError
from shoal.records.encode import Records

Ints = NDArray[np.int32]


def run(quick: bool) -> list[Finding]:
    records = adult_records()
    findings = []
    for k in (10,) if quick else (5, 10, 50):
        if not np.array_equal(cluster(records, k, method="mondrian").labels, plain_mondrian(records, k)):
            raise InternalError("the two versions of Mondrian disagree.")
        findings.append(
            Finding(
                f"Mondrian, Adult (30 162 rows), k = {k}; beside it in plain numpy",
                best_of(3, lambda k=k: cluster(records, k, method="mondrian")),  # type: ignore[misc]  # k is bound now, on purpose
                "s",
                best_of(1 if quick else 2, lambda k=k: plain_mondrian(records, k)),  # type: ignore[misc]
                wanted="ratio ≥ 5",
            )
        )
    return findings


def plain_mondrian(records: Records, k: int) -> Ints:
    """Strict Mondrian as one would write it with numpy: the same cuts as `cluster/mondrian.py`, group by group."""
    costs = [column_costs(book, "il") for book in records.books]
    labels = np.empty(len(records), np.int32)
    stack, finished = [np.arange(len(records))], 0
    while stack:
        rows = stack.pop()
        left = cut(records.codes[rows], costs, k) if len(rows) >= 2 * k else None
        if left is None:
            labels[rows] = finished
            finished += 1
        else:
            stack += [rows[~left], rows[left]]
    return labels


def cut(group: Ints, costs: list[ColumnCosts], k: int) -> NDArray[np.bool_] | None:
    """Which records of a group go left, or None if no column can be cut."""
    lo, hi = group.min(axis=0), group.max(axis=0)
    widths = np.array([column.of(lo[j : j + 1], hi[j : j + 1])[0] for j, column in enumerate(costs)])
    for j in np.argsort(-widths, kind="stable"):
        if lo[j] == hi[j]:
            continue
        codes, counts = np.unique(group[:, j], return_counts=True)
        left = np.cumsum(counts)[:-1]
        sides = np.minimum(left, len(group) - left)
        if sides.max() >= k:
            chosen: NDArray[np.bool_] = group[:, j] <= codes[np.argmax(sides)]
            return chosen
    return None
