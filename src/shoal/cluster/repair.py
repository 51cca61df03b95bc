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

import numpy as np
from numpy.typing import NDArray

from shoal.arrays import grow, row_type
from shoal.boxes.changes import has_what_is_asked, new_grouping
from shoal.boxes.geometry import group_boxes, without_gaps
from shoal.boxes.group_tree.catalog import NEVER
from shoal.boxes.group_tree.search import best_group_for_group, best_group_whatever_is_asked
from shoal.boxes.group_tree.update import absorb, rebuild_if_stale
from shoal.boxes.grouping import Grouping
from shoal.cluster import Task
from shoal.cluster.mondrian import cut_further
from shoal.compiling import ZERO, kernel
from shoal.compiling.structs import Struct, struct
from shoal.privacy.counts import count_all, merge
from shoal.privacy.rules import rules_of
from shoal.records.cells import cell_texts
from shoal.records.codebook import CodeBook

Ints = NDArray[np.int32]
MERGERS_PER_TURN = 200  # how many a kernel call makes before Python may draw progress
STATE = row_type([("alive", np.int64), ("todo", np.int64)])


@struct
class Mending(Struct):
    """What is left to do."""

    into: Ints  # the group that each group was merged into; itself
    todo: Ints  # a stack of offending groups
    state: NDArray[np.void]  # STATE, one: how many groups are alive, how many on the stack


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
    n_groups = int(labels.max()) + 1
    fine = task.privacy.facts_of(labels, n_groups).holds(task.k)
    if fine.all():
        return labels
    offending = np.flatnonzero(~fine)[::-1]
    mending = Mending(
        into=np.arange(n_groups, dtype=np.int32),
        todo=grow(offending.astype(np.int32), n_groups),
        state=np.array([(n_groups, len(offending))], STATE),
    )
    rules = rules_of(task.privacy.tables, n_groups)
    count_all(rules, labels)
    g = new_grouping(task.codes, labels.copy(), task.costs, rules, catalog=NEVER)
    merge_some(g, mending, 0)
    task.progress.stage("merging groups that the rules do not allow", len(offending))
    left = mending.state["todo"]
    while left[0]:
        before = int(left[0])
        merge_some(g, mending, MERGERS_PER_TURN)
        task.progress.advance(before - int(left[0]))
    into = mending.into
    while not np.array_equal(into, into[into]):
        into = into[into]
    grown = np.bincount(into, minlength=n_groups) > 1
    merged: Ints = into[labels]
    if not recut:
        return merged
    return cut_further(task, merged, np.flatnonzero(grown))


@kernel
def merge_some(g: Grouping, mending: Mending, budget: int) -> None:
    """Merge offending groups until the budget of mergers is spent, or none is left."""
    into, state = mending.into, mending.state[0]
    while state.todo > 0 and budget > 0:
        group = mending.todo[state.todo - 1] + ZERO
        if into[group] != group or state.alive == 1 or has_what_is_asked(g, group):
            state.todo -= 1
            continue
        budget -= 1
        other = best_group_for_group(g, group)
        if other < 0:
            other = best_group_whatever_is_asked(g, group)
        merge(g.rules, group, other)
        into[other] = group
        state.alive -= 1
        absorb(g, group, other)
        rebuild_if_stale(g)
