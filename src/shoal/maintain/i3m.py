"""I3M: incremental maintenance (Truta & Campan 2007, Figures 1 and 2).

I3M+: each new record joins the group whose total loss it raises least; a group that reaches 2k is split. I3M−: records
leave; a group that has fewer than k left is dispersed, each of its records as if it were new. Updates are deletes, then
inserts. The paper looks at every group for each record; the group tree finds one of the same value.

Decisions. All deletes come first. Undersized groups are dispersed in ascending order of their numbers, and looked at
again when their turn comes; other undersized groups may take in what is dispersed. Groups of 2k and more that are there
at the beginning are split first. Where rules are asked for, a record joins the best group of those in which they still
hold; if there is none it stays alone for the moment. Closeness is meant to the table as it is after the batch, so a
group that nobody has touched may not keep it any more. Groups that do not keep the rules in the end are mended
(`mending.py`), unless the whole table does not keep them: then the partition says that it cannot be published.

Guarantee: after `apply` every group has at least k records (people) and keeps every rule, if the table as a whole does;
without rules and people every group has fewer than 2k records.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from shoal.arrays import grow
from shoal.boxes.changes import (
    depart,
    enter,
    give_back,
    grow_groups,
    has_what_is_asked,
    is_large,
    new_group,
    new_grouping,
    people_in,
    refresh,
    split_large,
    total_loss,
)
from shoal.boxes.group_tree.build import build
from shoal.boxes.group_tree.recode import new_names, rename
from shoal.boxes.group_tree.search import (
    NOBODY,
    best_group_for_record,
)
from shoal.boxes.group_tree.update import rebuild_if_stale, update_group
from shoal.boxes.grouping import Grouping, GroupTree, Members
from shoal.boxes.members import records_of
from shoal.compiling import ZERO, allocating, inner, kernel
from shoal.maintain.mending import mend_some
from shoal.privacy.rules import Rules, no_rules
from shoal.progress import SILENT, Progress

if TYPE_CHECKING:
    from shoal.maintain.live import LivePartition

Ints = NDArray[np.int32]
ITEMS_PER_TURN = 5_000
INSERT, DELETE, REFRESH, DISPERSE, SPLIT = range(5)
SPARE_GROUPS = 16


@kernel
def follow(g: Grouping, what: int, items: Ints) -> None:
    """One step of the algorithm for each item, which is a record or a group."""
    for item in items:
        one = item + ZERO
        if what == INSERT:  # I3M+
            insert(g, one)
        elif what == DELETE:  # the first half of I3M−: records leave
            depart(g, one)
        elif what == REFRESH:  # the groups that they have left
            refresh(g, one)
        elif what == DISPERSE:  # the second half: what is left of groups with fewer than k goes elsewhere
            if g.groups.sizes[one] > 0 and people_in(g, one) < g.k and not is_alone(g.tree):
                disperse(g, one)
        else:
            split_large(g, one)
        rebuild_if_stale(g)


@allocating
def insert(g: Grouping, record: int) -> None:
    group = best_group_for_record(g, record, np.inf, NOBODY)
    if group < 0:
        new_group(g, np.full(1, record, np.int32))
        return
    enter(g, record, group)
    if is_large(g, group):
        split_large(g, group)


@inner
def is_alone(tree: GroupTree) -> bool:
    """Whether there is one group only."""
    child = tree.children[0, 0]
    return tree.nodes[0].count == 1 and child < 0 and tree.leaves[-1 - child].count == 1


@allocating
def disperse(g: Grouping, group: int) -> None:
    records = records_of(g, group)
    for record in records:
        depart(g, record + ZERO)
    give_back(g, group)
    update_group(g, group)
    for record in records:
        insert(g, record + ZERO)


class I3M:
    """The engine of a live partition that follows its data as the paper does."""

    def __init__(self, live: LivePartition) -> None:
        self.live = live
        self._take_groups()

    def _take_groups(self) -> None:
        """From the labels that the records have."""
        live, labels = self.live, self.live.labels
        numbers = np.unique(labels[labels >= 0])
        # There can be no more groups than this, unless rules refuse records: those are alone for the moment.
        room = max(int(numbers.max(initial=-1)) + 1, int((labels >= 0).sum() * 9 // 8) // live.k) + SPARE_GROUPS
        if live.privacy is not None:
            live.privacy.count(labels, room)
        rules = self._rules()
        self.grouping = new_grouping(live.codes, labels, live.costs, rules, room=room, reshapes=False)
        self._large = numbers[self.grouping.groups.sizes[numbers] >= 2 * live.k]  # split when the first batch comes

    def _rules(self) -> Rules:
        return no_rules(self.live.k) if self.live.privacy is None else self.live.privacy.rules

    def _make_room(self, n_groups: int) -> None:
        """Room for all records of the live partition, and for so many groups more."""
        live, g = self.live, self.grouping
        room, records = len(g.groups.sizes), len(live.labels)
        lacking = n_groups - int(g.state["n_spare"][0])
        if lacking > 0:
            g = grow_groups(g, max(lacking, room // 4))
            room = len(g.groups.sizes)
        before = g.members
        nexts, previous = grow(before.nexts, records, -1), grow(before.previous, records, -1)
        members = before.replace(labels=live.labels, nexts=nexts, previous=previous)
        if live.privacy is not None:
            live.privacy.make_room(records, room)
        self.grouping = g.replace(codes=live.codes, members=members, costs=live.costs, rules=self._rules())

    def apply(self, gone: Ints, come: Ints, replaced: Ints, progress: Progress) -> None:
        """These records go, and these come. (`replaced` are of no interest: an update is both.)"""
        live = self.live
        there = int(self.sizes.sum())
        self._make_room(there // live.k + len(self._offending()) - self.n_groups() + SPARE_GROUPS)
        if len(self._large):
            self._follow(SPLIT, self._large)
            build(self.grouping)  # most may be new
            self._large = np.zeros(0, np.int64)
        left = np.unique(live.labels[gone])
        self._follow(DELETE, gone)
        self._follow_closeness(gone, come)
        self._follow(REFRESH, left)
        small = np.union1d(left, self._offending())
        # No more groups than this have k; where more is asked, everybody who is dispersed or comes may be alone.
        alone = len(come) + int(self.sizes[small].sum()) if live.privacy is not None else len(small)
        self._make_room((there + len(come)) // live.k + alone - self.n_groups() + SPARE_GROUPS)
        self._settle(small, come, progress)
        if live.privacy is not None and live.privacy.rules.rules.size:
            self._mend()

    def _follow_closeness(self, gone: Ints, come: Ints) -> None:
        """Groups are compared with the table as it will be: who has gone does not count, who comes does."""
        if self.live.privacy is not None and self.live.privacy.compares:
            stay = self.live.labels >= 0
            stay[gone], stay[come] = False, True
            self.live.privacy.follow(np.flatnonzero(stay))
            self.grouping = self.grouping.replace(rules=self._rules())

    @property
    def sizes(self) -> NDArray[np.int64]:
        """Of all groups; 0 of those that are no more."""
        return self.grouping.groups.sizes

    def _settle(self, small: Ints, come: Ints, progress: Progress) -> None:
        """What is left of groups that have too little goes elsewhere, and those who come are given groups."""
        self._disperse(small, progress)
        self._insert(come, progress)

    def _disperse(self, small: Ints, progress: Progress) -> None:
        self._follow(DISPERSE, small, progress, "dispersing what is left of groups")

    def _insert(self, come: Ints, progress: Progress) -> None:
        self._follow(INSERT, come, progress, "inserting")

    def _follow(self, what: int, items: NDArray[np.integer], progress: Progress = SILENT, stage: str = "") -> None:
        """A step for each item, so many at a time that Python may draw progress, and be interrupted, in between."""
        progress.stage(stage, len(items))
        for first in range(0, len(items), ITEMS_PER_TURN):
            some = items[first : first + ITEMS_PER_TURN].astype(np.int32)
            follow(self.grouping, what, some)
            progress.advance(len(some))

    def _mend(self) -> None:
        """Whoever keeps no rule is mended, unless there is no hope."""
        mended = mend_some(self.grouping, self._offending(), False)
        if not mended and self.live.feasible():
            mend_some(self.grouping, self._offending(), True)

    def _offending(self) -> Ints:
        """Groups that do not have what is asked of them."""
        return find_offending(self.grouping)

    def publishable(self) -> bool:
        return not len(self._offending())

    def loss(self) -> float:
        return total_loss(self.grouping.groups)

    def n_groups(self) -> int:
        return len(self.sizes) - int(self.grouping.state["n_spare"][0])

    def recoded(self, moved: Sequence[Ints | None]) -> None:
        """Codes have new names, in the same order: those of each column that has any."""
        rename(self.grouping, new_names(moved))

    def renumbered(self, slots: Ints) -> None:
        """Records have new numbers: `slots[i]` is that of record i, −1 if it is no more."""
        members, live = self.grouping.members, self.live
        kept = np.flatnonzero(slots >= 0)
        slots = np.append(slots, np.int32(-1))  # so that −1 stays −1
        nexts, previous = np.full((2, len(live.labels)), -1, np.int32)
        nexts[: len(kept)] = slots[members.nexts[kept]]
        previous[: len(kept)] = slots[members.previous[kept]]
        members = Members(live.labels, slots[members.heads], nexts, previous)
        self.grouping = self.grouping.replace(codes=live.codes, members=members, rules=self._rules())


@kernel
def find_offending(g: Grouping) -> Ints:
    """Groups that do not have what is asked of them."""
    sizes = g.groups.sizes
    found, count = np.zeros(len(sizes), np.int32), 0
    for group in range(len(sizes)):
        if sizes[group] > 0 and not has_what_is_asked(g, group + ZERO):
            found[count] = group
            count += 1
    return found[:count]
