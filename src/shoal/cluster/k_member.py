"""k-member: greedy clustering (Byun, Kamra, Bertino & Li 2007, Figure 5).

Start a group with the record furthest from the last one added; add the record that raises the loss least until there
are k; begin the next. Fewer than k are left in the end: each joins the group that it costs least.

Decisions. The first seed is furthest from a random record. "Furthest" is from the last record added, as the
pseudo-code has it (the text says from the seed). `class_penalty` (Section 3.4) is added to a record whose label in the
first sensitive column is not the most common one of the group; tied labels are all most common; leftovers pay none.

The paper looks at every record for each choice; the record tree (`boxes/record_tree.py`) finds one of the same value.

Guarantee: every group has k to 2k − 1 records, given k ≤ n.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.boxes.costs import CostTables
from shoal.boxes.kernels import box_cost, cell_cost
from shoal.boxes.record_tree import RecordTree, furthest, nearest, record_tree, take
from shoal.cluster import Task
from shoal.compiling import announced, kernel
from shoal.errors import ParameterError

Ints = NDArray[np.int32]
RECORDS_PER_TURN = 2_000


class Work(NamedTuple):
    """The state between two calls of the kernel."""

    chosen: Ints  # records in the order in which they were chosen: k per group
    counts: NDArray[np.int64]  # [records chosen, the last one]
    labels: Ints
    lo: Ints  # of each group
    hi: Ints
    losses: NDArray[np.float64]  # of each group, per record
    sizes: NDArray[np.int64]


def run(task: Task, *, class_penalty: float = 0.0) -> Ints:
    """The group of each record. `class_penalty`: what a record with another label than the group's costs more."""
    if not (np.isfinite(class_penalty) and class_penalty >= 0):
        raise ParameterError(f"class_penalty must be a number of at least 0. Got {class_penalty!r} instead.")
    classes = task.classes("class_penalty") if class_penalty else np.zeros(len(task.codes), np.int32)
    work = cluster_with(task, classes, class_penalty)
    return work.labels


def cluster_with(task: Task, classes: Ints, class_penalty: float) -> Work:
    """The work when all is done; what the tests look at."""
    records, columns = task.codes.shape
    groups = max(1, records // task.k)
    with announced(task.progress):
        task.progress.stage("building the tree")
        own = own_costs(task.codes, task.costs) if task.measure == "mi" else np.zeros(records)
        near = record_tree(task.codes, own, task.costs, far=False)
        far = record_tree(task.codes, own, task.costs, far=True)
        work = Work(
            chosen=np.zeros(records, np.int32),
            counts=np.array([0, int(task.rng.integers(records))]),
            labels=np.zeros(records, np.int32),
            lo=np.zeros((groups, columns), np.int32),
            hi=np.zeros((groups, columns), np.int32),
            losses=np.zeros(groups),
            sizes=np.zeros(groups, np.int64),
        )
        choose_some(task.codes, task.costs, task.k, classes, class_penalty, near, far, work, 0)
        task.progress.stage("clustering", records)
        while work.counts[0] < groups * task.k:
            before = int(work.counts[0])
            choose_some(task.codes, task.costs, task.k, classes, class_penalty, near, far, work, RECORDS_PER_TURN)
            task.progress.advance(int(work.counts[0]) - before)
        chosen = work.chosen[: int(work.counts[0])]
        leftovers = task.rng.permutation(np.setdiff1d(np.arange(records), chosen)).astype(np.int32)
        place_leftovers(task.codes, task.costs, leftovers, work)
    return work


@kernel
def own_costs(codes: Ints, costs: CostTables) -> NDArray[np.float64]:
    """The cost of each record alone."""
    own = np.empty(len(codes))
    for record in range(len(codes)):
        own[record] = box_cost(costs, codes[record], codes[record])
    return own


@kernel
def choose_some(
    codes: Ints,
    costs: CostTables,
    k: int,
    classes: Ints,
    penalty: float,
    near: RecordTree,
    far: RecordTree,
    work: Work,
    budget: int,
) -> None:
    """Make whole groups until the budget of records chosen is spent, or fewer than k are free."""
    columns = codes.shape[1]
    many = classes.max() + 1
    tally = np.zeros(many, np.int32)
    favoured = np.zeros(many, np.int32)
    while budget > 0 and len(codes) - work.counts[0] >= k:
        group = work.counts[0] // k
        lo, hi = work.lo[group], work.hi[group]
        tally[:] = 0
        for size in range(k):
            if size == 0:
                record = furthest(far, costs, work.counts[1], 2.0)
                lo[:] = codes[record]
                hi[:] = codes[record]
            else:
                loss = box_cost(costs, lo, hi)
                # Nobody can cost less than the box does already; under mi somebody might, who costs something alone.
                least = (size + 1) * loss if near.owns[0, 1] == 0.0 else -np.inf
                record = nearest(near, costs, lo, hi, size + 1.0, least, classes, favoured, penalty)
            for j in range(columns):
                lo[j] = min(lo[j], codes[record, j])
                hi[j] = max(hi[j], codes[record, j])
            if penalty > 0.0:
                tally[classes[record]] += 1
                most = tally.max()
                for label in range(many):
                    favoured[label] = tally[label] == most
            take(near, record)
            take(far, record)
            work.chosen[work.counts[0]] = record
            work.labels[record] = group
            work.counts[0] += 1
            work.counts[1] = record
        work.losses[group] = box_cost(costs, lo, hi)
        work.sizes[group] = k
        budget -= k


@kernel
def place_leftovers(codes: Ints, costs: CostTables, leftovers: Ints, work: Work) -> None:
    """Each joins the group whose loss it raises least. Fewer than k: a scan will do."""
    columns = codes.shape[1]
    for record in leftovers:
        best, chosen = np.inf, 0
        for group in range(len(work.sizes)):
            loss = 0.0
            for j in range(columns):
                code = codes[record, j]
                loss += cell_cost(costs, j, min(work.lo[group, j], code), max(work.hi[group, j], code))
            added = (work.sizes[group] + 1) * loss - work.sizes[group] * work.losses[group]
            if added < best:
                best, chosen = added, group
        for j in range(columns):
            work.lo[chosen, j] = min(work.lo[chosen, j], codes[record, j])
            work.hi[chosen, j] = max(work.hi[chosen, j], codes[record, j])
        work.losses[chosen] = box_cost(costs, work.lo[chosen], work.hi[chosen])
        work.sizes[chosen] += 1
        work.labels[record] = chosen
        work.chosen[work.counts[0]] = record
        work.counts[0] += 1
