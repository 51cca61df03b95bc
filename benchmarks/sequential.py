"""Sequential clustering through the group tree against the same algorithm by full scan."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from benchmarks.finding import Finding, best_of
from benchmarks.inputs import adult_records
from benchmarks.scans import sequential_pass
from shoal.boxes.changes import groups_of
from shoal.boxes.costs import cost_tables
from shoal.boxes.members import members_of
from shoal.cluster import Task, cluster
from shoal.cluster.sequential import search
from shoal.cluster.sequential.through_tree import PASS, ThroughTree
from shoal.privacy import Privacy
from shoal.progress import SILENT
from shoal.records.encode import Records

Ints = NDArray[np.int32]
K = 10


def run(quick: bool) -> list[Finding]:
    records = adult_records()
    some = first(records, 3_000) if quick else records
    by_scan(first(records, 100))  # compiles
    cluster(some, K, method="sequential", seed=1)
    what = f"sequential, Adult ({'3 000' if quick else '30 162'} rows), k = {K}; beside it by full scan"
    tree = best_of(2, lambda: cluster(some, K, method="sequential", seed=1))
    return [Finding(what, tree, "s", best_of(2, lambda: by_scan(some)), wanted="" if quick else "ratio ≥ 8")]


def first(records: Records, rows: int) -> Records:
    return replace(records, codes=records.codes[:rows], passthrough=records.passthrough.slice(0, rows))


def by_scan(records: Records) -> Ints:
    """The method with the same start, splits and end; the passes look at every group."""
    rng, privacy = np.random.default_rng(1), Privacy.only_k(K, len(records))
    task = Task(records, "il", cost_tables(records.books, "il"), privacy, rng, SILENT)
    return search(task, Scanning(task))


class Scanning(ThroughTree):
    def one_pass(self, labels: Ints, name: str) -> tuple[Ints, int, float]:
        groups = groups_of(self.task.codes, labels, self.task.costs)
        members, done = members_of(labels.copy(), len(groups.sizes)), np.zeros(1, PASS)
        sequential_pass(self.task.codes, self.task.costs, groups, members, done)
        return members.labels, int(done["moved"][0]), float(done["gained"][0])
