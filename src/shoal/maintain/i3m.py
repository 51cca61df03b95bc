"""I3M: incremental maintenance (Truta & Campan 2007, Figures 1 and 2).

I3M+: each new record joins the group whose total loss it raises least; a group that reaches 2k is split. I3M−: records
leave; a group that has fewer than k left is dispersed, each of its records as if it were new. Updates are deletes, then
inserts. The paper looks at every group for each record; the group tree finds one of the same value.

Decisions. All deletes come first. Undersized groups are dispersed in ascending order of their numbers, and looked at
again when their turn comes; other undersized groups may take in what is dispersed. Groups of 2k and more that are there
at the beginning are split first. Where rules are asked for, a record joins the best group of those in which they still
hold; if there is none it stays alone for the moment. Groups that do not keep the rules in the end take in others: the
best with which they do, else the best of all, and so on, unless the whole table does not keep them: then all stays as
it is, and the partition says that it cannot be published.

Guarantee: after `apply` every group has at least k records (people) and keeps every rule, if the table as a whole does;
without rules and people every group has fewer than 2k records.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from shoal.arrays import grow
from shoal.boxes.costs import CostTables
from shoal.boxes.group_changes import settle, tend
from shoal.boxes.group_tree import GroupTree, best_group, build, groups_with_room, tree_with_room
from shoal.boxes.layout import COUNT
from shoal.boxes.members import Members
from shoal.boxes.recoding import new_names, rename
from shoal.boxes.work import (
    NOBODY,
    SPARE,
    Work,
    crowd,
    depart,
    enter,
    give_back,
    is_large,
    listed,
    merge_groups,
    new_group,
    refresh,
    satisfied,
    split_large,
    work_of,
)
from shoal.compiling import ZERO, inner, kernel
from shoal.progress import SILENT, Progress

if TYPE_CHECKING:
    from shoal.maintain.live import LivePartition

Ints = NDArray[np.int32]
ITEMS_PER_TURN = 5_000
INSERT, DELETE, REFRESH, DISPERSE, SPLIT = range(5)
SPARE_GROUPS = 16


@kernel
def follow(work: Work, costs: CostTables, k: int, tables: Any, counts: Any, tally: Any, what: int, items: Ints) -> None:
    """One step of the algorithm for each item, which is a record or a group. (One way in: see `group_changes.py`.)"""
    for item in items:
        one = item + ZERO
        if what == INSERT:  # I3M+
            insert(work, costs, k, tables, counts, tally, one)
        elif what == DELETE:  # the first half of I3M−: records leave
            depart(work, tables, counts, one)
        elif what == REFRESH:  # the groups that they have left
            refresh(work, costs, one)
        elif what == DISPERSE:  # the second half: what is left of groups with fewer than k goes elsewhere
            if work.groups.sizes[one] > 0 and crowd(work, counts, one) < k and not is_alone(work.tree):
                disperse(work, costs, k, tables, counts, tally, one)
        else:
            split_large(work, costs, k, tables, counts, tally, one)
        tend(work.tree, costs, work.groups)


@inner
def insert(work: Work, costs: CostTables, k: int, tables: Any, counts: Any, tally: Any, record: int) -> None:
    point = work.codes[record]
    group = best_group(work.tree, costs, point, point, 1.0, 0.0, np.inf, NOBODY, tables, counts, record + ZERO)
    if group < 0:
        alone = np.full(1, record, np.int32)
        new_group(work, costs, tables, counts, alone)
        return
    enter(work, costs, tables, counts, record, group)
    if is_large(work, k, counts, group):
        split_large(work, costs, k, tables, counts, tally, group)


@inner
def is_alone(tree: GroupTree) -> bool:
    """Whether there is one group only."""
    return tree.nodes[0, COUNT] == 1 and tree.children[0, 0] < 0 and tree.leaves[-1 - tree.children[0, 0], COUNT] == 1


@inner
def disperse(work: Work, costs: CostTables, k: int, tables: Any, counts: Any, tally: Any, group: int) -> None:
    records = listed(work, group)
    for record in records:
        depart(work, tables, counts, record + ZERO)
    give_back(work, group)
    settle(work.tree, costs, work.groups, group)
    for record in records:
        insert(work, costs, k, tables, counts, tally, record + ZERO)


@kernel
def mend_some(
    work: Work, costs: CostTables, k: int, tables: Any, counts: Any, tally: Any, groups: Ints, feasible: bool
) -> bool:
    """Groups that do not keep the rules take in others until they do. False: only if the whole table keeps them."""
    for offender in groups:
        group = offender + ZERO
        while work.groups.sizes[group] > 0 and not satisfied(work, k, tables, counts, group):
            lo, hi = work.groups.lo[group], work.groups.hi[group]
            size, loss = float(work.groups.sizes[group]), work.groups.losses[group]
            other = best_group(work.tree, costs, lo, hi, size, loss, np.inf, group, tables, counts, NOBODY)
            if other < 0:
                if not feasible:
                    return False
                other = best_group(work.tree, costs, lo, hi, size, loss, np.inf, group, None, None, NOBODY)
                if other < 0:
                    return False
            merge_groups(work, costs, tables, counts, group, other)
        split_large(work, costs, k, tables, counts, tally, group)
        tend(work.tree, costs, work.groups)
    return True


class I3M:
    """The engine of a live partition that follows its data as the paper does."""

    def __init__(self, live: LivePartition) -> None:
        """From the labels that the records have."""
        self.live = live
        labels = live.labels
        numbers = np.unique(labels[labels >= 0])
        # There can be no more groups than this, unless rules refuse records: those are alone for the moment.
        room = max(int(numbers.max(initial=-1)) + 1, int((labels >= 0).sum() * 9 // 8) // live.k) + SPARE_GROUPS
        work = work_of(live.codes, labels, live.costs, room, reshapes=False)
        self.work = work._replace(members=work.members._replace(labels=labels))  # the live partition's own
        if live.privacy is not None:
            live.privacy.count(labels, room)
        self._large = numbers[work.groups.sizes[numbers] >= 2 * live.k]  # split when the first batch comes

    def _asked(self) -> tuple[int, Any, Any, Any]:
        privacy = self.live.privacy
        return (
            (self.live.k, None, None, None)
            if privacy is None
            else (self.live.k, privacy.tables, privacy.counts, privacy.tally)
        )

    def _make_room(self, groups: int) -> None:
        """Room for all records of the live partition, and for so many groups more."""
        live, work = self.live, self.work
        room, records = len(work.groups.sizes), len(live.labels)
        lacking = groups - int(work.marks[SPARE])
        if lacking > 0:
            new = np.arange(room, room + max(lacking, room // 4), dtype=np.int32)
            room += len(new)
            spare = np.concatenate([new[::-1], work.spare[: work.marks[SPARE]]])
            work = work._replace(
                groups=groups_with_room(work.groups, room),
                tree=tree_with_room(work.tree, room),
                spare=grow(spare, room),
                marks=np.array([len(spare)]),
                retry=grow(work.retry, room),
            )
        members = Members(
            live.labels,
            grow(work.members.heads, room, -1),
            grow(work.members.nexts, records, -1),
            grow(work.members.befores, records, -1),
        )
        self.work = work._replace(codes=live.codes, members=members)
        if live.privacy is not None:
            live.privacy.make_room(records, room)

    def apply(self, gone: Ints, come: Ints, replaced: Ints, progress: Progress) -> None:
        """These records go, and these come. (`replaced` are of no interest: an update is both.)"""
        live = self.live
        there = int(self.work.groups.sizes.sum())
        self._make_room(there // live.k + len(self._offending()) - self.n_groups() + SPARE_GROUPS)
        if len(self._large):
            self._follow(SPLIT, self._large)
            build(self.work.tree, live.costs, self.work.groups)  # most may be new
            self._large = np.zeros(0, np.int64)
        left = np.unique(live.labels[gone])
        self._follow(DELETE, gone)
        self._follow(REFRESH, left)
        small = np.union1d(left, self._offending())
        # No more groups than this have k; where more is asked, everybody who is dispersed or comes may be alone.
        alone = len(come) + int(self.work.groups.sizes[small].sum()) if live.privacy is not None else len(small)
        self._make_room((there + len(come)) // live.k + alone - self.n_groups() + SPARE_GROUPS)
        self._refill(small)
        self._follow(DISPERSE, small, progress, "dispersing what is left of groups")
        self._follow(INSERT, come, progress, "inserting")
        if live.privacy is not None and live.privacy.tables.rules.size:
            self._mend()

    def _refill(self, small: Ints) -> None:
        """What may be done for groups that have too little, before they are dispersed. The paper does nothing."""

    def _follow(self, what: int, items: NDArray[np.integer], progress: Progress = SILENT, stage: str = "") -> None:
        """A step for each item, so many at a time that Python may draw progress, and be interrupted, in between."""
        progress.stage(stage, len(items))
        for first in range(0, len(items), ITEMS_PER_TURN):
            some = items[first : first + ITEMS_PER_TURN].astype(np.int32)
            follow(self.work, self.live.costs, *self._asked(), what, some)
            progress.advance(len(some))

    def _mend(self) -> None:
        """Whoever keeps no rule takes in others, unless there is no hope."""
        mended = mend_some(self.work, self.live.costs, *self._asked(), self._offending(), False)
        if not mended and self.live.feasible():
            mend_some(self.work, self.live.costs, *self._asked(), self._offending(), True)

    def _offending(self) -> Ints:
        """Groups that do not have what is asked of them."""
        found = np.zeros(len(self.work.groups.sizes), np.int32)
        several = find_offending(self.work, *self._asked()[:3], found)
        return found[:several]

    def publishable(self) -> bool:
        return not len(self._offending())

    def loss(self) -> float:
        return float(self.work.groups.sizes @ self.work.groups.losses)

    def n_groups(self) -> int:
        return len(self.work.groups.sizes) - int(self.work.marks[SPARE])

    def recoded(self, moved: Sequence[Ints | None]) -> None:
        """Codes have new names, in the same order: those of each column that has any."""
        rename(new_names(moved), self.work.groups, self.work.tree)

    def renumbered(self, places: Ints) -> None:
        """Records have new numbers: `places[i]` is that of record i, −1 if it is no more."""
        members, live = self.work.members, self.live
        kept = np.flatnonzero(places >= 0)
        places = np.append(places, np.int32(-1))  # so that −1 stays −1
        records = len(live.labels)
        nexts, befores = np.full((2, records), -1, np.int32)
        nexts[: len(kept)] = places[members.nexts[kept]]
        befores[: len(kept)] = places[members.befores[kept]]
        members = Members(live.labels, places[members.heads], nexts, befores)
        self.work = self.work._replace(codes=live.codes, members=members)


@kernel
def find_offending(work: Work, k: int, tables: Any, counts: Any, found: Ints) -> int:
    several = 0
    for group in range(len(work.groups.sizes)):
        if work.groups.sizes[group] > 0 and not satisfied(work, k, tables, counts, group):
            found[several] = group
            several += 1
    return several
