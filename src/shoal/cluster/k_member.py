"""k-member: greedy clustering (Byun, Kamra, Bertino & Li 2007, Figure 5).

Start a group with the record furthest from the last one added; add the record that raises the loss least until there
are k; begin the next. Fewer than k are left in the end: each joins the group that it costs least.

Decisions. The first seed is furthest from a random record. "Furthest" is from the last record added, as the
pseudo-code has it (the text says from the seed). `class_penalty` (Section 3.4) is added to a record whose label in the
first sensitive column is not the most common one of the group; tied labels are all most common; leftovers pay none.

The paper looks at every record for each choice; the record tree (`boxes/record_tree/`) finds one of the same value.

Guarantee: every group has k to 2k − 1 records, given k ≤ n.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.arrays import row_type
from shoal.boxes.costs import CostTables
from shoal.boxes.costs.kernels import box_cost, cell_cost
from shoal.boxes.record_tree.build import RecordTree, record_tree, take
from shoal.boxes.record_tree.search import LabelPenalty, furthest, label_penalty, nearest
from shoal.cluster import Task
from shoal.compiling import kernel
from shoal.compiling.structs import Struct, struct
from shoal.errors import ParameterError

Ints = NDArray[np.int32]
Longs = NDArray[np.int64]
Floats = NDArray[np.float64]
Rows = NDArray[np.void]  # of named fields
RECORDS_PER_TURN = 2_000

DONE = row_type([("chosen", "i8"), ("last", "i8")])


@struct
class GreedyGroups(Struct):
    """Groups that grow one after the other."""

    k: int
    near: RecordTree  # of the free records, to be asked what is nearest
    far: RecordTree  # and furthest
    penalty: LabelPenalty
    label_counts: Ints  # of each label: how many of the group that grows have it
    chosen: Ints  # records in the order in which they were chosen: k per group
    done: Rows  # [DONE]: how many records are chosen, and the last one
    labels: Ints  # the group of each record
    lo: Ints  # of each group
    hi: Ints
    losses: Floats  # of each group, per record
    sizes: Longs


def run(task: Task, *, class_penalty: float = 0.0) -> Ints:
    """The group of each record. `class_penalty`: what a record with another label than the group's costs more."""
    if not (np.isfinite(class_penalty) and class_penalty >= 0):
        raise ParameterError(f"class_penalty must be a number of at least 0. Got {class_penalty!r} instead.")
    classes = task.classes("class_penalty") if class_penalty else np.zeros(len(task.codes), np.int32)
    return cluster_with(task, classes, class_penalty).labels


def cluster_with(task: Task, classes: Ints, class_penalty: float) -> GreedyGroups:
    """The groups when all is done; what the tests look at."""
    records, columns = task.codes.shape
    n_groups = max(1, records // task.k)
    task.progress.stage("building the tree")
    own = own_costs(task.codes, task.costs) if task.measure == "mi" else np.zeros(records)
    penalty = label_penalty(classes, class_penalty)
    groups = GreedyGroups(
        k=task.k,
        near=record_tree(task.codes, own, task.costs, far=False),
        far=record_tree(task.codes, own, task.costs, far=True),
        penalty=penalty,
        label_counts=np.zeros(len(penalty.favoured), np.int32),
        chosen=np.zeros(records, np.int32),
        done=np.array([(0, int(task.rng.integers(records)))], DONE),
        labels=np.zeros(records, np.int32),
        lo=np.zeros((n_groups, columns), np.int32),
        hi=np.zeros((n_groups, columns), np.int32),
        losses=np.zeros(n_groups),
        sizes=np.zeros(n_groups, np.int64),
    )
    done = groups.done[0]
    choose_some(groups, 0)
    task.progress.stage("clustering", records)
    while done["chosen"] < n_groups * task.k:
        before = int(done["chosen"])
        choose_some(groups, RECORDS_PER_TURN)
        task.progress.advance(int(done["chosen"]) - before)
    chosen = groups.chosen[: int(done["chosen"])]
    leftovers = task.rng.permutation(np.setdiff1d(np.arange(records), chosen)).astype(np.int32)
    place_leftovers(groups, leftovers)
    return groups


@kernel
def own_costs(codes: Ints, costs: CostTables) -> Floats:
    """The cost of each record alone."""
    own = np.empty(len(codes))
    for record in range(len(codes)):
        own[record] = box_cost(costs, codes[record], codes[record])
    return own


@kernel
def choose_some(groups: GreedyGroups, budget: int) -> None:
    """Make whole groups until the budget of records chosen is spent, or fewer than k are free."""
    k, near, far, done, penalty = groups.k, groups.near, groups.far, groups.done, groups.penalty
    codes, costs, label_counts, favoured = near.codes, near.costs, groups.label_counts, penalty.favoured
    # Nobody can cost less than the box does already; under mi somebody might, who costs something alone.
    growing = near.nodes[0].most_own == 0.0
    while budget > 0 and len(codes) - done[0].chosen >= k:
        group = done[0].chosen // k
        lo, hi = groups.lo[group], groups.hi[group]
        label_counts[:] = 0
        for size in range(k):
            if size == 0:
                record = furthest(far, done[0].last, 2.0)
                lo[:] = codes[record]
                hi[:] = codes[record]
            else:
                least = (size + 1) * box_cost(costs, lo, hi) if growing else -np.inf
                record = nearest(near, lo, hi, size + 1.0, least, penalty)
            for j in range(len(lo)):
                lo[j] = min(lo[j], codes[record, j])
                hi[j] = max(hi[j], codes[record, j])
            if penalty.penalty > 0.0:
                label_counts[penalty.labels[record]] += 1
                most = label_counts.max()
                for label in range(len(favoured)):
                    favoured[label] = label_counts[label] == most
            take(near, record)
            take(far, record)
            groups.chosen[done[0].chosen] = record
            groups.labels[record] = group
            done[0].chosen += 1
            done[0].last = record
        groups.losses[group] = box_cost(costs, lo, hi)
        groups.sizes[group] = k
        budget -= k


@kernel
def place_leftovers(groups: GreedyGroups, leftovers: Ints) -> None:
    """Each joins the group whose loss it raises least. Fewer than k: a scan will do."""
    codes, costs, done = groups.near.codes, groups.near.costs, groups.done
    lo, hi, losses, sizes = groups.lo, groups.hi, groups.losses, groups.sizes
    columns = codes.shape[1]
    for record in leftovers:
        best, chosen = np.inf, 0
        for group in range(len(sizes)):
            loss = 0.0
            for j in range(columns):
                code = codes[record, j]
                loss += cell_cost(costs, j, min(lo[group, j], code), max(hi[group, j], code))
            added = (sizes[group] + 1) * loss - sizes[group] * losses[group]
            if added < best:
                best, chosen = added, group
        for j in range(columns):
            lo[chosen, j] = min(lo[chosen, j], codes[record, j])
            hi[chosen, j] = max(hi[chosen, j], codes[record, j])
        losses[chosen] = box_cost(costs, lo[chosen], hi[chosen])
        sizes[chosen] += 1
        groups.labels[record] = chosen
        groups.chosen[done[0].chosen] = record
        done[0].chosen += 1
