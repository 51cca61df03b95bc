"""Moving records to the group where the loss falls most, through the group tree: il, lm, tree and mi.

Guarantee: each record goes where a full scan over all groups would find the same fall, or stays where it would stay.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.arrays import row_type
from shoal.boxes.changes import groups_of, new_grouping, total_loss, widen
from shoal.boxes.costs.kernels import box_cost
from shoal.boxes.group_tree.search import best_group_for_record
from shoal.boxes.group_tree.update import rebuild_if_stale, update_group
from shoal.boxes.grouping import Grouping
from shoal.boxes.members import box_without, move
from shoal.cluster import Task
from shoal.cluster.agglomerative import merge_small
from shoal.compiling import ZERO, kernel
from shoal.privacy.counts import count_all, join, leave, may_leave
from shoal.privacy.rules import Rules, no_rules, rules_of

Ints = NDArray[np.int32]
RECORDS_PER_TURN = 5_000
PASS = row_type([("moved", np.int64), ("gained", np.float64)])  # so far: records, and by how much the loss fell


class ThroughTree:
    """The engine of sequential clustering for costs that grow with the box."""

    def __init__(self, task: Task) -> None:
        self.task = task

    def total(self, labels: Ints) -> float:
        return total_loss(groups_of(self.task.codes, labels, self.task.costs))

    def merge_small(self, labels: Ints) -> Ints:
        return merge_small(self.task, labels, per_record=True)

    def one_pass(self, labels: Ints, name: str) -> tuple[Ints, int, float]:
        task, records = self.task, len(labels)
        g = new_grouping(task.codes, labels.copy(), task.costs, _rules(task, labels))
        done = np.zeros(1, PASS)
        move_some(g, 0, 0, done)
        task.progress.stage(name, records)
        for first in range(0, records, RECORDS_PER_TURN):
            last = min(records, first + RECORDS_PER_TURN)
            move_some(g, first, last, done)
            task.progress.advance(last - first)
        return g.members.labels, int(done["moved"][0]), float(done["gained"][0])


def _rules(task: Task, labels: Ints) -> Rules:
    """A record may leave fewer than k behind: only the rules are asked."""
    if not task.privacy.rules:
        return no_rules(task.k)
    rules = rules_of(task.privacy.tables, int(labels.max()) + 1)
    count_all(rules, labels)
    return rules


@kernel
def move_some(g: Grouping, start: int, end: int, done: NDArray[np.void]) -> None:
    """Ask the records from `start` to `end` whether they move."""
    codes, members, groups, rules = g.codes, g.members, g.groups, g.rules
    sizes, losses = groups.sizes, groups.losses
    lo, hi = np.empty(codes.shape[1], np.int32), np.empty(codes.shape[1], np.int32)
    for record in range(start, end):
        here = members.labels[record] + ZERO
        size = sizes[here]
        without = box_without(codes, members, groups, record, lo, hi)
        left = box_cost(g.costs, lo, hi) if without else 0.0
        # A singleton must go; any other goes only where it costs less than it saves here.
        saved = size * losses[here] - (size - 1) * left
        below = saved - 1e-12 if size > 1 else np.inf
        if below <= 0.0 or (rules.asked and not may_leave(rules, record, here, ZERO)):
            continue
        there = best_group_for_record(g, record, below, here)
        if there < 0:
            continue
        before = sizes[there] * losses[there]
        move(members, record, here, there)
        sizes[here] -= 1
        if without:
            groups.lo[here] = lo
            groups.hi[here] = hi
        losses[here] = left
        update_group(g, here)
        widen(g, record, there)
        if rules.asked:
            leave(rules, record, here)
            join(rules, record, there)
        update_group(g, there)
        rebuild_if_stale(g)
        done[0].moved += 1
        done[0].gained += saved - (sizes[there] * losses[there] - before)
