"""Moving records to the group where the loss falls most, through the group tree: il, lm, tree and mi.

Guarantee: each record goes where a full scan over all groups would find the same fall, or stays where it would stay.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.boxes.costs import CostTables
from shoal.boxes.geometry import group_boxes
from shoal.boxes.group_changes import settle, tend
from shoal.boxes.group_tree import Groups, GroupTree, best_group, build, new_group_tree, new_groups, weigh
from shoal.boxes.kernels import box_cost
from shoal.boxes.members import Members, box_without, members_of, move
from shoal.cluster import Task
from shoal.cluster.agglomerative import merge_small
from shoal.compiling import ZERO, kernel
from shoal.privacy.counts import GroupCounts, count_all, join, leave, may_leave, new_counts
from shoal.privacy.tables import PrivacyTables

Ints = NDArray[np.int32]
Longs = NDArray[np.int64]
Floats = NDArray[np.float64]
RECORDS_PER_TURN = 5_000


class Work(NamedTuple):
    """The state between two calls of the kernel."""

    members: Members
    marks: Longs  # [the next record of the pass, records moved in the pass]
    gained: Floats  # [the loss that the pass saved]


class ThroughTree:
    """The engine of sequential clustering for costs that grow with the box."""

    def __init__(self, task: Task) -> None:
        self.task = task

    def total(self, labels: Ints) -> float:
        groups = self.groups(labels)
        return float(groups.sizes @ groups.losses)

    def merge_small(self, labels: Ints) -> Ints:
        return merge_small(self.task, labels, per_record=True)

    def groups(self, labels: Ints) -> Groups:
        """The groups that labels without gaps make."""
        groups = new_groups(int(labels.max()) + 1, self.task.codes.shape[1])
        groups.lo[:], groups.hi[:], groups.sizes[:] = group_boxes(self.task.codes, labels, len(groups.sizes))
        weigh(self.task.costs, groups)
        return groups

    def one_pass(self, labels: Ints, name: str) -> tuple[Ints, int, float]:
        task, groups = self.task, self.groups(labels)
        several, records = len(groups.sizes), len(labels)
        tree = new_group_tree(groups)
        build(tree, task.costs, groups)
        work = Work(members_of(labels, several), marks=np.zeros(2, np.int64), gained=np.zeros(1))
        privacy: Any = task.privacy.tables if task.privacy.rules else None
        counts: Any = None
        if task.privacy.rules:
            counts = new_counts(privacy, several)
            count_all(privacy, counts, labels)
        move_some(task.codes, task.costs, groups, tree, work, privacy, counts, 0)
        task.progress.stage(name, records)
        while work.marks[0] < records:
            before = int(work.marks[0])
            move_some(task.codes, task.costs, groups, tree, work, privacy, counts, RECORDS_PER_TURN)
            task.progress.advance(int(work.marks[0]) - before)
        return work.members.labels, int(work.marks[1]), float(work.gained[0])


@kernel
def move_some(
    codes: Ints,
    costs: CostTables,
    groups: Groups,
    tree: GroupTree,
    work: Work,
    privacy: PrivacyTables,
    counts: GroupCounts,
    budget: int,
) -> None:
    """Ask so many records whether they move. `privacy` and `counts` are None where there are no rules."""
    columns = codes.shape[1]
    lo, hi = np.empty(columns, np.int32), np.empty(columns, np.int32)
    last = min(len(codes), work.marks[0] + budget)
    for record in range(work.marks[0], last):
        here = work.members.labels[record] + ZERO
        size = groups.sizes[here]
        without = box_without(codes, work.members, groups.lo[here], groups.hi[here], record, lo, hi)
        left = box_cost(costs, lo, hi) if without else 0.0
        # A singleton must go; any other goes only where it costs less than it saves here.
        saved = size * groups.losses[here] - (size - 1) * left
        below = saved - 1e-12 if size > 1 else np.inf
        if below <= 0.0:
            continue
        if privacy is not None and not may_leave(privacy, counts, record, here, 0):
            continue
        there = best_group(tree, costs, codes[record], codes[record], 1.0, 0.0, below, here, privacy, counts, record)
        if there < 0:
            continue
        before = groups.sizes[there] * groups.losses[there]
        move(work.members, record, here, there)
        groups.sizes[here] -= 1
        if without:
            groups.lo[here] = lo
            groups.hi[here] = hi
        groups.losses[here] = left
        settle(tree, costs, groups, here)
        groups.sizes[there] += 1
        for j in range(columns):
            groups.lo[there, j] = min(groups.lo[there, j], codes[record, j])
            groups.hi[there, j] = max(groups.hi[there, j], codes[record, j])
        groups.losses[there] = box_cost(costs, groups.lo[there], groups.hi[there])
        if privacy is not None:
            leave(privacy, counts, record, here)
            join(privacy, counts, record, there)
        settle(tree, costs, groups, there)
        tend(tree, costs, groups)
        work.marks[1] += 1
        work.gained[0] += saved - (groups.sizes[there] * groups.losses[there] - before)
    work.marks[0] = last
