"""Sequential clustering (Goldberger & Tassa 2010, Algorithms 1, 2 and 3).

Start with random groups of about k0 = αk records. Go through the records again and again; each moves to the group
where the loss falls most, if it falls. After a pass, groups above ωk are split at random. When no move is left, groups
below k are merged, the two closest first, and the last one joins the closest of all.

Decisions. k0 = max(1, ⌊αk⌋), sizes as even as possible; splits only after a pass; a singleton moves on its own turn;
the end is a pass without a move, one that gains less than 1e-4 of the loss, or the hundredth, but a pass that only
split is followed by another; ties go to the smaller group, then to the lower number. "Closest" is dist(A, B) of Section
6.2.1. Under mi, too, the cost of a record alone is left out: it is the same wherever the record is.

With rules (Algorithm 2, for any of the privacy models): the random groups follow the distribution of the sensitive
values (Algorithm 3), and no record moves where a rule would break, at either end. Where the random groups do not
satisfy the rules, the paper gives the trivial clustering; with small k0 that is the normal case, so larger k0 are tried
first. A group that empties breaks nothing.

The paper looks at every group for each record; the group tree (`boxes/group_tree.py`) finds one of the same value.

Guarantee: every group has at least k records, given k ≤ n; the rules hold from the first groups on.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.boxes.costs import CostTables
from shoal.boxes.geometry import group_boxes
from shoal.boxes.group_tree import Groups, GroupTree, best_group, build, new_group_tree, new_groups, settle, weigh
from shoal.boxes.kernels import box_cost
from shoal.cluster import Task
from shoal.cluster.agglomerative import merge_small
from shoal.compiling import ZERO, announced, kernel
from shoal.errors import ParameterError, whole_number
from shoal.privacy.counts import GroupCounts, count_all, join, leave, may_leave, may_split, new_counts
from shoal.privacy.tables import PrivacyTables
from shoal.privacy.tally import new_tally

Ints = NDArray[np.int32]
Longs = NDArray[np.int64]
Floats = NDArray[np.float64]
RECORDS_PER_TURN = 5_000
MOST_PASSES = 100
LEAST_GAIN = 1e-4


class Work(NamedTuple):
    """The state between two calls of the kernel."""

    labels: Ints
    heads: Ints  # of each group: its first record
    nexts: Ints  # of each record: the next of its group, −1 at the end
    befores: Ints
    marks: Longs  # [the next record of the pass, records moved in the pass]
    gained: Floats  # [the loss that the pass saved]


def run(task: Task, *, alpha: float = 0.5, omega: float = 1.5, restarts: int = 1) -> Ints:
    """The group of each record. `restarts`: so many random starts, of which the best result is kept."""
    if not 0 < alpha <= 1:
        raise ParameterError(f"alpha must be above 0 and at most 1. Got {alpha!r} instead.")
    if not 1 < omega <= 2:
        raise ParameterError(f"omega must be above 1 and at most 2. Got {omega!r} instead.")
    whole_number("restarts", restarts, least=1)
    best, least = None, np.inf
    for _ in range(restarts):
        labels = _search(task, alpha, omega)
        loss = _total(task, labels)
        if best is None or loss < least:
            best, least = labels, loss
    assert best is not None
    return best


def _search(task: Task, alpha: float, omega: float) -> Ints:
    with announced(task.progress):
        labels = _start(task, max(1, int(alpha * task.k)))
        for turn in range(MOST_PASSES):
            before = _total(task, labels)
            labels, moved, gained = _one_pass(task, labels, turn)
            if moved and gained < LEAST_GAIN * before:
                break  # halves of a split that nobody refines would be merged with whatever is near
            labels, splits = _split(task, labels, omega * task.k)
            if not moved and not splits:
                break
        return merge_small(task, labels)


def _total(task: Task, labels: Ints) -> float:
    """What all records cost together."""
    labels = _without_gaps(labels)
    groups = _groups(task, labels, int(labels.max()) + 1)
    return float(groups.sizes @ groups.losses)


def _groups(task: Task, labels: Ints, several: int) -> Groups:
    groups = new_groups(several, task.codes.shape[1])
    groups.lo[:], groups.hi[:], groups.sizes[:] = group_boxes(task.codes, labels, several)
    weigh(task.costs, groups)
    return groups


def _start(task: Task, k0: int) -> Ints:
    """Random groups of k0 records or a few more that satisfy the rules; one group of all if none do."""
    records = len(task.codes)
    while True:
        several = max(1, records // k0)
        labels = _spread(task, np.arange(records), several)
        if not task.privacy.rules or several == 1:
            return labels
        if task.privacy.facts_of(labels, several).fine.all():
            return labels
        k0 *= 2


def _spread(task: Task, rows: NDArray[np.integer], parts: int) -> Ints:
    """Deal records to so many parts at random; with rules, every sensitive value evenly to all (Algorithm 3)."""
    if not task.privacy.rules:
        dealt = np.empty(len(rows), np.int32)
        dealt[task.rng.permutation(len(rows))] = np.arange(len(rows)) % parts
        return dealt
    values = task.privacy.tables.values[rows].astype(np.int64)
    kinds = np.zeros(len(rows), np.int64)
    for j in range(values.shape[1]):  # several sensitive columns: the values that occur together
        kinds = np.unique(kinds * (values[:, j].max() + 1) + values[:, j], return_inverse=True)[1]
    dealt = np.empty(len(rows), np.int32)
    for kind in range(int(kinds.max()) + 1):
        here = task.rng.permutation(np.flatnonzero(kinds == kind))
        order = task.rng.permutation(parts)  # which parts get one more (eq. 25)
        dealt[here] = order[np.arange(len(here)) % parts]
    return _without_gaps(dealt)


def _without_gaps(labels: Ints) -> Ints:
    return np.unique(labels, return_inverse=True)[1].astype(np.int32)


def _split(task: Task, labels: Ints, most: float) -> tuple[Ints, int]:
    """Groups of more than `most` records in two, at random, where the rules allow it."""
    labels = _without_gaps(labels)
    sizes = np.bincount(labels)
    order = np.argsort(labels, kind="stable").astype(np.int32)
    ends = np.cumsum(sizes)
    used, splits = len(sizes), 0
    tally = new_tally(task.privacy.tables) if task.privacy.rules else None
    for group in np.flatnonzero(sizes > most):
        rows = order[ends[group] - sizes[group] : ends[group]]
        halves = _spread(task, rows, 2)
        if tally is not None and not may_split(task.privacy.tables, tally, rows, rows[halves == 1], ZERO):
            continue
        labels[rows[halves == 1]] = used
        used += 1
        splits += 1
    return labels, splits


def _one_pass(task: Task, labels: Ints, turn: int, trace: list[int] | None = None) -> tuple[Ints, int, float]:
    """Ask every record once. The labels, how many moved, what that saved. `trace`: where each went, for the tests."""
    labels = _without_gaps(labels)
    several, records = int(labels.max()) + 1, len(labels)
    groups = _groups(task, labels, several)
    tree = new_group_tree(groups)
    build(tree, task.costs, groups)
    work = Work(
        labels=labels.copy(),
        heads=np.full(several, -1, np.int32),
        nexts=np.full(records, -1, np.int32),
        befores=np.full(records, -1, np.int32),
        marks=np.zeros(2, np.int64),
        gained=np.zeros(1),
    )
    link(work)
    privacy: Any = task.privacy.tables if task.privacy.rules else None
    counts: Any = None
    if task.privacy.rules:
        counts = new_counts(privacy, several)
        count_all(privacy, counts, labels)
    move_some(task.codes, task.costs, groups, tree, work, privacy, counts, 0)
    task.progress.stage(f"moving records, pass {turn + 1}", records)
    while work.marks[0] < records:
        before = int(work.marks[0])
        move_some(task.codes, task.costs, groups, tree, work, privacy, counts, RECORDS_PER_TURN)
        task.progress.advance(int(work.marks[0]) - before)
    if trace is not None:
        trace += work.labels.tolist()  # a record is asked once in a pass, and stays where it went
    return work.labels, int(work.marks[1]), float(work.gained[0])


@kernel
def link(work: Work) -> None:
    """Make the list of each group's records."""
    for record in range(len(work.labels) - 1, -1, -1):
        group = work.labels[record]
        first = work.heads[group]
        work.nexts[record] = first
        if first >= 0:
            work.befores[first] = record
        work.heads[group] = record


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
        here = work.labels[record]
        size = groups.sizes[here]
        without = remaining_box(codes, work, groups, record, here, lo, hi)
        left = box_cost(costs, lo, hi) if without else 0.0
        # A singleton must go; any other goes only where it costs less than it saves here.
        saved = size * groups.losses[here] - (size - 1) * left
        below = saved - 1e-12 if size > 1 else np.inf
        if below <= 0.0:
            continue
        if privacy is not None and not may_leave(privacy, counts, record, here, 0):
            continue
        there = best_group(
            tree, costs, groups, codes[record], codes[record], 1.0, 0.0, below, here + ZERO, privacy, counts, record
        )
        if there < 0:
            continue
        before = groups.sizes[there] * groups.losses[there]
        relink(work, record, here, there)
        groups.sizes[here] -= 1
        if without:
            groups.lo[here] = lo
            groups.hi[here] = hi
        groups.losses[here] = left
        groups.sizes[there] += 1
        for j in range(columns):
            groups.lo[there, j] = min(groups.lo[there, j], codes[record, j])
            groups.hi[there, j] = max(groups.hi[there, j], codes[record, j])
        groups.losses[there] = box_cost(costs, groups.lo[there], groups.hi[there])
        if privacy is not None:
            leave(privacy, counts, record, here)
            join(privacy, counts, record, there)
        if without:
            settle(tree, costs, groups, here)
        settle(tree, costs, groups, there)
        work.marks[1] += 1
        work.gained[0] += saved - (groups.sizes[there] * groups.losses[there] - before)
        if tree.changes[0] > tree.changes[1]:
            build(tree, costs, groups)
    work.marks[0] = last


@kernel
def remaining_box(codes: Ints, work: Work, groups: Groups, record: int, group: int, lo: Ints, hi: Ints) -> bool:
    """The box of a group without one of its records, into `lo` and `hi`; False if nobody remains."""
    if groups.sizes[group] == 1:
        return False
    columns = len(lo)
    shrinks = False
    for j in range(columns):
        lo[j], hi[j] = groups.lo[group, j], groups.hi[group, j]
        if lo[j] < hi[j] and (codes[record, j] == lo[j] or codes[record, j] == hi[j]):
            shrinks = True
    if not shrinks:
        return True
    first = True
    other = work.heads[group]
    while other >= 0:
        if other != record:
            for j in range(columns):
                code = codes[other, j]
                lo[j] = code if first else min(lo[j], code)
                hi[j] = code if first else max(hi[j], code)
            first = False
        other = work.nexts[other]
    return True


@kernel
def relink(work: Work, record: int, here: int, there: int) -> None:
    """Take a record out of one list and put it at the head of another."""
    before, after = work.befores[record], work.nexts[record]
    if before >= 0:
        work.nexts[before] = after
    else:
        work.heads[here] = after
    if after >= 0:
        work.befores[after] = before
    first = work.heads[there]
    work.nexts[record], work.befores[record] = first, -1
    if first >= 0:
        work.befores[first] = record
    work.heads[there] = record
    work.labels[record] = there
