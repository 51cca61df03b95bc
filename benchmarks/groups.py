"""The best group for a record through the group tree against a full scan, and how the search grows with the groups."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.finding import Finding, best_of
from benchmarks.inputs import adult_records, census_records, spaced
from benchmarks.scans import best_group as by_scan
from shoal.boxes.changes import new_grouping
from shoal.boxes.costs import cost_tables
from shoal.boxes.group_tree.build import weigh
from shoal.boxes.group_tree.catalog import Query
from shoal.boxes.group_tree.search import NOBODY, best_group
from shoal.boxes.grouping import Grouping, Groups
from shoal.cluster import cluster
from shoal.compiling import kernel
from shoal.errors import InternalError
from shoal.privacy.rules import no_rules
from shoal.records.encode import Records

Ints = NDArray[np.int32]
QUERIES = 5_000
ROWS, QUICK_ROWS = (13_000, 1_300_000), (2_000, 20_000)  # Mondrian makes 2 000 and 200 000 groups of them


class Search(NamedTuple):
    """Groups, and records that look for one."""

    grouping: Grouping
    records: Ints


def run(quick: bool) -> list[Finding]:
    adult = adult_records()
    search = prepared(adult, "k-member", 6)
    scanned = checked(search)
    scan = 1e6 * best_of(3, lambda: by_scanning(*scanned)) / len(scanned.records)
    what = f"best of {spaced(len(search.grouping.groups.sizes))} groups for a record, Adult; beside it by full scan"
    findings = [Finding(what, microseconds(search), "µs", scan, wanted="ratio ≥ 25")]
    for method in ("mondrian", "k-member"):
        times = []
        for rows in QUICK_ROWS if quick else ROWS:
            search = prepared(census_records(rows), method, 5)
            checked(search)
            times.append((len(search.grouping.groups.sizes), microseconds(search)))
        (few, fast), (many, slow) = times
        findings.append(
            Finding(
                f"best of {spaced(many)} groups for a record, census, {method}; beside it among {spaced(few)}",
                slow,
                "µs",
                fast,
                wanted="≥ 0.33×",
            )
        )
    return findings


def checked(search: Search) -> Search:
    """Some of the queries, after what they find has been held to a full scan."""
    some = search._replace(records=search.records[: QUERIES // 10])
    if not np.allclose(values(some, through_the_tree(*some)), values(some, by_scanning(*some))):
        raise InternalError("the tree and the scan disagree.")
    return some


def microseconds(search: Search) -> float:
    """Per record, through the tree."""
    return 1e6 * best_of(4, lambda: through_the_tree(*search)) / len(search.records)


def prepared(records: Records, method: str, k: int) -> Search:
    partition = cluster(records, k, method=method, seed=1)
    costs = cost_tables(records.books, "il")
    grouping = new_grouping(records.codes, partition.labels.copy(), costs, no_rules(k))
    rows = np.random.default_rng(1).integers(0, len(records), QUERIES)
    return Search(grouping, records.codes[rows])


@kernel
def through_the_tree(g: Grouping, records: Ints) -> Ints:
    found = np.empty(len(records), np.int32)
    for i in range(len(records)):
        record = records[i]
        found[i] = best_group(g, Query(record, record, 1.0, 0.0, np.inf, NOBODY, NOBODY), False)
    return found


@kernel
def by_scanning(g: Grouping, records: Ints) -> Ints:
    found = np.empty(len(records), np.int32)
    for i in range(len(records)):
        found[i] = by_scan(g.costs, g.groups, records[i], np.inf, NOBODY)
    return found


def values(search: Search, found: Ints) -> NDArray[np.float64]:
    """What each record costs in the group that was found for it."""
    groups = search.grouping.groups
    joined = Groups(
        lo=np.minimum(groups.lo[found], search.records),
        hi=np.maximum(groups.hi[found], search.records),
        sizes=np.ones(len(found), np.int64),
        losses=np.zeros(len(found)),
    )
    weigh(joined, search.grouping.costs)
    return joined.losses + groups.sizes[found] * (joined.losses - groups.losses[found])
