"""Mending: groups that do not satisfy the rules are merged with others, at the least loss.

For methods whose papers do not know of a rule, and for people who have records in several groups. An offending group
takes in the group whose merger satisfies the rules at the least additional loss; where none does, the one that costs
least, and it is looked at again. What was merged is then cut up again as far as the rules allow (Mondrian's cuts).

The search is a scan over all groups that gives up on a group as soon as it costs more than the best so far.

Guarantee: every group of the result has at least k people and satisfies every rule, given that the whole table does.
Where people are counted this holds for equivalence classes too: two groups that are published alike are one class, and
a person in both makes its shares differ from those of either.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.boxes.cells import cell_texts
from shoal.boxes.compiling import announced, kernel
from shoal.boxes.costs import CostTables
from shoal.boxes.geometry import group_boxes
from shoal.boxes.kernels import box_cost, cell_cost
from shoal.cluster import Task
from shoal.cluster.mondrian import cut_further
from shoal.privacy.counts import GroupCounts, count_all, holds, may_merge, merge, new_counts
from shoal.privacy.tables import PrivacyTables
from shoal.records.codebook import CodeBook

Ints = NDArray[np.int32]
GROUPS_PER_TURN = 2_000_000  # how many groups a kernel call looks at before Python may draw progress


class Groups(NamedTuple):
    """All groups, and what is left to do."""

    lo: Ints
    hi: Ints
    losses: NDArray[np.float64]  # per record
    alive: Ints  # the groups that are left
    places: Ints  # of each group in `alive`
    into: Ints  # the group that each group was merged into; itself
    todo: Ints  # a stack of offending groups
    marks: NDArray[np.int64]  # [groups alive, groups on the stack]


def mended(task: Task, labels: Ints) -> Ints:
    """The labels of a partition that satisfies every rule; the same ones where it already does."""
    labels = _merged(task, labels, recut=True)
    while task.privacy.people is not None:
        classes = published_classes(task.records.books, task.codes, labels)
        if task.privacy.facts_of(classes, int(classes.max()) + 1).holds(task.k).all():
            break
        labels = _merged(task, classes, recut=False)  # cutting might give the same classes again
    return labels


def published_classes(books: Sequence[CodeBook], codes: Ints, labels: Ints) -> Ints:
    """The equivalence class of each record: groups with the same published cells are one."""
    labels = _numbered(labels)
    lo, hi, _ = group_boxes(codes, labels, int(labels.max()) + 1)
    cells = np.empty(lo.shape, np.int64)
    for j, book in enumerate(books):
        texts, cell_of_group = cell_texts(book, lo[:, j], hi[:, j], codes[:, j], labels)
        numbers = {text: number for number, text in enumerate(dict.fromkeys(texts))}
        cells[:, j] = np.array([numbers[text] for text in texts])[cell_of_group]
    classes = np.unique(cells, axis=0, return_inverse=True)[1].reshape(-1)
    return classes.astype(np.int32)[labels]


def _numbered(labels: Ints) -> Ints:
    """The same groups, numbered from 0 without gaps."""
    return np.unique(labels, return_inverse=True)[1].astype(np.int32)


def _merged(task: Task, labels: Ints, *, recut: bool) -> Ints:
    labels = _numbered(labels)
    several = int(labels.max()) + 1
    fine = task.privacy.facts_of(labels, several).holds(task.k)
    if fine.all():
        return labels
    lo, hi, _ = group_boxes(task.codes, labels, several)
    todo = np.zeros(several + 1, np.int32)
    offending = np.flatnonzero(~fine)[::-1]
    todo[: len(offending)] = offending
    groups = Groups(
        lo=lo,
        hi=hi,
        losses=np.zeros(several),
        alive=np.arange(several, dtype=np.int32),
        places=np.arange(several, dtype=np.int32),
        into=np.arange(several, dtype=np.int32),
        todo=todo,
        marks=np.array([several, len(offending)]),
    )
    tables = task.privacy.tables
    counts = new_counts(tables, several)
    with announced(task.progress):
        weigh(task.costs, groups)
        count_all(tables, counts, labels)
        merge_some(task.costs, tables, groups, counts, 0)
    task.progress.stage("merging groups that the rules do not allow", len(offending))
    while groups.marks[1]:
        before = int(groups.marks[1])
        merge_some(task.costs, tables, groups, counts, GROUPS_PER_TURN)
        task.progress.advance(before - int(groups.marks[1]))
    into = groups.into
    while not np.array_equal(into, into[into]):
        into = into[into]
    grown = np.bincount(into, minlength=several) > 1
    merged = into[labels]
    if not recut:
        return merged
    return cut_further(task, merged, np.flatnonzero(grown))


@kernel
def weigh(costs: CostTables, groups: Groups) -> None:
    for group in range(len(groups.losses)):
        groups.losses[group] = box_cost(costs, groups.lo[group], groups.hi[group])


@kernel
def merge_some(costs: CostTables, tables: PrivacyTables, groups: Groups, counts: GroupCounts, budget: int) -> None:
    """Merge offending groups until the budget of groups looked at is spent, or none is left."""
    while groups.marks[1] > 0 and budget > 0:
        group = groups.todo[groups.marks[1] - 1]
        if groups.into[group] != group or groups.marks[0] == 1 or holds(tables, counts, group):
            groups.marks[1] -= 1
            continue
        budget -= groups.marks[0]
        take_in(costs, tables, groups, counts, group, best_partner(costs, tables, groups, counts, group))


@kernel
def best_partner(costs: CostTables, tables: PrivacyTables, groups: Groups, counts: GroupCounts, group: int) -> int:
    """The group to merge with: the cheapest that mends, else the cheapest of all."""
    columns = groups.lo.shape[1]
    size = counts.sizes[group]
    cheapest, mending = -1, -1
    least, least_mending = np.inf, np.inf
    for place in range(groups.marks[0]):
        other = groups.alive[place]
        if other == group:
            continue
        together = size + counts.sizes[other]
        # What both lose now is paid already; the merger must stay below the best so far.
        paid = size * groups.losses[group] + counts.sizes[other] * groups.losses[other]
        ceiling = (least_mending + paid) / together
        loss = 0.0
        for j in range(columns):
            loss += cell_cost(
                costs,
                j,
                min(groups.lo[group, j], groups.lo[other, j]),
                max(groups.hi[group, j], groups.hi[other, j]),
            )
            if loss >= ceiling:
                break
        added = together * loss - paid
        if added < least:
            least, cheapest = added, other
        if loss < ceiling and may_merge(tables, counts, group, other):
            least_mending, mending = added, other
    return mending if mending >= 0 else cheapest


@kernel
def take_in(
    costs: CostTables, tables: PrivacyTables, groups: Groups, counts: GroupCounts, group: int, other: int
) -> None:
    merge(tables, counts, group, other)
    groups.into[other] = group
    for j in range(groups.lo.shape[1]):
        groups.lo[group, j] = min(groups.lo[group, j], groups.lo[other, j])
        groups.hi[group, j] = max(groups.hi[group, j], groups.hi[other, j])
    groups.losses[group] = box_cost(costs, groups.lo[group], groups.hi[group])
    groups.marks[0] -= 1
    last = groups.alive[groups.marks[0]]
    groups.alive[groups.places[other]] = last
    groups.places[last] = groups.places[other]
