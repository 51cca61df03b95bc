"""Mending: groups that do not satisfy the rules are merged with others, at the least loss.

For methods whose papers do not know of a rule, and for people who have records in several groups. An offending group
takes in the group that costs least of those with which it satisfies the rules; where there is none, the one that costs
least of all, and it is looked at again. What was merged is then cut up again as far as the rules allow (Mondrian's
cuts). The group tree finds the groups.

Guarantee: every group of the result has at least k people and satisfies every rule, given that the whole table does.
Where people are counted this holds for equivalence classes too: two groups that are published alike are one class, and
a person in both makes its shares differ from those of either.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.boxes.catalog import NEVER
from shoal.boxes.cells import cell_texts
from shoal.boxes.costs import CostTables
from shoal.boxes.geometry import group_boxes, without_gaps
from shoal.boxes.group_changes import absorb, tend
from shoal.boxes.group_tree import (
    Groups,
    GroupTree,
    best_group,
    build,
    new_group_tree,
    new_groups,
    weigh,
)
from shoal.cluster import Task
from shoal.cluster.mondrian import cut_further
from shoal.compiling import ZERO, announced, kernel
from shoal.privacy.counts import GroupCounts, count_all, holds, merge, new_counts
from shoal.privacy.tables import PrivacyTables
from shoal.records.codebook import CodeBook

Ints = NDArray[np.int32]
MERGERS_PER_TURN = 200  # how many a kernel call makes before Python may draw progress


class Work(NamedTuple):
    """What is left to do."""

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
    labels = without_gaps(labels)
    lo, hi, _ = group_boxes(codes, labels, int(labels.max()) + 1)
    cells = np.empty(lo.shape, np.int64)
    for j, book in enumerate(books):
        texts, cell_of_group = cell_texts(book, lo[:, j], hi[:, j], codes[:, j], labels)
        numbers = {text: number for number, text in enumerate(dict.fromkeys(texts))}
        cells[:, j] = np.array([numbers[text] for text in texts])[cell_of_group]
    classes = np.unique(cells, axis=0, return_inverse=True)[1].reshape(-1)
    return classes.astype(np.int32)[labels]


def _merged(task: Task, labels: Ints, *, recut: bool) -> Ints:
    labels = without_gaps(labels)
    several = int(labels.max()) + 1
    fine = task.privacy.facts_of(labels, several).holds(task.k)
    if fine.all():
        return labels
    groups = new_groups(several, task.codes.shape[1])
    groups.lo[:], groups.hi[:], groups.sizes[:] = group_boxes(task.codes, labels, several)
    offending = np.flatnonzero(~fine)[::-1]
    work = Work(
        into=np.arange(several, dtype=np.int32),
        todo=np.zeros(several, np.int32),
        marks=np.array([several, len(offending)]),
    )
    work.todo[: len(offending)] = offending
    tables = task.privacy.tables
    counts = new_counts(tables, several)
    with announced(task.progress):
        weigh(task.costs, groups)
        tree = new_group_tree(groups, catalog=NEVER)
        build(tree, task.costs, groups)
        count_all(tables, counts, labels)
        merge_some(task.costs, tables, groups, tree, counts, work, 0)
    task.progress.stage("merging groups that the rules do not allow", len(offending))
    while work.marks[1]:
        before = int(work.marks[1])
        merge_some(task.costs, tables, groups, tree, counts, work, MERGERS_PER_TURN)
        task.progress.advance(before - int(work.marks[1]))
    into = work.into
    while not np.array_equal(into, into[into]):
        into = into[into]
    grown = np.bincount(into, minlength=several) > 1
    merged = into[labels]
    if not recut:
        return merged
    return cut_further(task, merged, np.flatnonzero(grown))


@kernel
def merge_some(
    costs: CostTables,
    tables: PrivacyTables,
    groups: Groups,
    tree: GroupTree,
    counts: GroupCounts,
    work: Work,
    budget: int,
) -> None:
    """Merge offending groups until the budget of mergers is spent, or none is left."""
    while work.marks[1] > 0 and budget > 0:
        group = work.todo[work.marks[1] - 1] + ZERO
        if work.into[group] != group or work.marks[0] == 1 or holds(tables, counts, group):
            work.marks[1] -= 1
            continue
        budget -= 1
        other = partner(costs, tables, groups, tree, counts, group)
        merge(tables, counts, group, other)
        work.into[other] = group
        work.marks[0] -= 1
        absorb(tree, costs, groups, group, other)
        tend(tree, costs, groups)


@kernel
def partner(
    costs: CostTables,
    tables: PrivacyTables,
    groups: Groups,
    tree: GroupTree,
    counts: GroupCounts,
    group: int,
) -> int:
    """The group to merge with: the cheapest that mends, else the cheapest of all."""
    lo, hi, size, loss = groups.lo[group], groups.hi[group], float(groups.sizes[group]), groups.losses[group]
    other = best_group(tree, costs, lo, hi, size, loss, np.inf, group, tables, counts, ZERO - 1)
    if other < 0:
        other = best_group(tree, costs, lo, hi, size, loss, np.inf, group, None, None, ZERO - 1)
    return other
