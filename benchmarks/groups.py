"""The best group for a record through the group tree against a full scan, and how the search grows with the groups."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.finding import Finding, best_of
from benchmarks.inputs import adult_records, census_records, spaced
from benchmarks.scans import best_group as by_scan
from shoal.boxes.costs import CostTables, cost_tables
from shoal.boxes.geometry import group_boxes
from shoal.boxes.group_tree import Groups, GroupTree, best_group, build, new_group_tree, new_groups, weigh
from shoal.cluster import cluster
from shoal.compiling import ZERO, kernel
from shoal.errors import InternalError
from shoal.records.encode import Records

Ints = NDArray[np.int32]
QUERIES = 5_000
ROWS, QUICK_ROWS = (13_000, 1_300_000), (2_000, 20_000)  # Mondrian makes 2 000 and 200 000 groups of them


class Search(NamedTuple):
    """A tree over groups, and records that look for one."""

    tree: GroupTree
    costs: CostTables
    groups: Groups
    records: Ints


def run(quick: bool) -> list[Finding]:
    adult = adult_records()
    search = prepared(adult, "k-member", 6)
    scanned = checked(search)
    scan = 1e6 * best_of(3, lambda: by_scanning(*scanned)) / len(scanned.records)
    what = f"best of {spaced(len(search.groups.sizes))} groups for a record, Adult; beside it by full scan"
    findings = [Finding(what, microseconds(search), "µs", scan, wanted="ratio ≥ 25")]
    for method in ("mondrian", "k-member"):
        times = []
        for rows in QUICK_ROWS if quick else ROWS:
            search = prepared(census_records(rows), method, 5)
            checked(search)
            times.append((len(search.groups.sizes), microseconds(search)))
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
    several = len(partition.sizes)
    costs = cost_tables(records.books, "il")
    groups = new_groups(several, records.codes.shape[1])
    groups.lo[:], groups.hi[:], groups.sizes[:] = group_boxes(records.codes, partition.labels, several)
    weigh(costs, groups)
    tree = new_group_tree(groups)
    build(tree, costs, groups)
    rows = np.random.default_rng(1).integers(0, len(records), QUERIES)
    return Search(tree, costs, groups, records.codes[rows])


@kernel
def through_the_tree(tree: GroupTree, costs: CostTables, groups: Groups, records: Ints) -> Ints:
    found = np.empty(len(records), np.int32)
    for place in range(len(records)):
        record = records[place]
        found[place] = best_group(tree, costs, record, record, 1.0, 0.0, np.inf, ZERO - 1, None, None, ZERO - 1)
    return found


@kernel
def by_scanning(tree: GroupTree, costs: CostTables, groups: Groups, records: Ints) -> Ints:
    found = np.empty(len(records), np.int32)
    for place in range(len(records)):
        found[place] = by_scan(costs, groups, records[place], np.inf, ZERO - 1)
    return found


def values(search: Search, found: Ints) -> NDArray[np.float64]:
    """What each record costs in the group that was found for it."""
    groups = search.groups
    joined = new_groups(len(found), search.records.shape[1])
    joined.lo[:] = np.minimum(groups.lo[found], search.records)
    joined.hi[:] = np.maximum(groups.hi[found], search.records)
    joined.sizes[:] = 1
    weigh(search.costs, joined)
    return joined.losses + groups.sizes[found] * (joined.losses - groups.losses[found])
