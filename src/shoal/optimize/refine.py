"""Refining: local search on the group tree, the engine of the method and of the maintainer `shoal`.

Four kinds of steps, each taken only if the total loss falls and every group that it touches still has what is asked:

- **move**: a record goes to the best of all groups, out of a group that can do without it;
- **dissolve**: each record of a group goes to the best of all others, and the group is no more;
- **split**: a group of 2k becomes two, as in maintenance (the loss cannot rise: both boxes lie in the old one);
- **pool**: a group and its nearest neighbours are partitioned anew among themselves (`pool.py`): first by moves and
  swaps from what they are, then from nothing, with a first seed by chance; the best is kept.

Maintenance has a fifth, **refill**: a group that has too few records and neighbours that have enough for all are a pool
that is made from nothing. The loss may rise, but less than where the group is dispersed.

A pool that gave nothing is not tried again before one of its groups has changed; then there is less to do in every
sweep. Steps end with everything in its place: whoever stops between two of them has a valid partition.

Guarantee: the loss never rises (but for a refill), and groups that had what is asked still have it, after every step.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.boxes.costs import CostTables
from shoal.boxes.geometry import without_gaps
from shoal.boxes.group_changes import add, settle, tend
from shoal.boxes.group_tree import best_group
from shoal.boxes.kernels import box_cost, cell_cost
from shoal.boxes.members import box_without, move, put_in, take_out
from shoal.boxes.near import near_groups
from shoal.boxes.work import SPARE, Work, give_back, listed, satisfied, split_large, work_of
from shoal.compiling import ZERO, announced, inlined, inner, kernel
from shoal.optimize.pool import LEAST_GAIN, Pool, build, search
from shoal.privacy import Privacy
from shoal.privacy.counts import count_all, holds, join, leave, may_leave, new_counts
from shoal.privacy.tally import new_tally
from shoal.progress import SILENT, Progress
from shoal.rooms import roomier

Ints = NDArray[np.int32]
Longs = NDArray[np.int64]
Floats = NDArray[np.float64]
MOVE, DISSOLVE, SPLIT, POOL, REFILL = range(5)
TURN = {MOVE: 5_000, DISSOLVE: 1_000, SPLIT: 1_000, POOL: 200, REFILL: 200}  # items between two looks at the clock
POOL_RECORDS = 35  # a pool is not much larger, unless k is
FEWEST, MOST = 2, 6  # neighbours of a group in its pool
POOL_SIZE = 8  # times k, at most


class Diary(NamedTuple):
    """When groups changed, and when their pools were last tried in vain; times count pools."""

    changed: Longs
    tried: Longs
    clock: Longs
    chance: NDArray[np.uint64]


def new_diary(groups: int, seed: int) -> Diary:
    return Diary(
        np.zeros(groups, np.int64),
        np.full(groups, -1, np.int64),
        np.zeros(1, np.int64),
        np.array([seed], np.uint64),
    )


def diary_with_room(diary: Diary, groups: int) -> Diary:
    """The same diary, for so many groups."""
    return diary._replace(changed=roomier(diary.changed, groups), tried=roomier(diary.tried, groups, -1))


@kernel
def step(
    work: Work,
    costs: CostTables,
    k: int,
    tables: Any,
    counts: Any,
    tally: Any,
    diary: Diary,
    what: int,
    items: Ints,
    neighbours: int,
    rebuilds: int,
) -> float:
    """Try one kind of step for each item, a record or a group; by how much the loss has fallen."""
    gained = 0.0
    for item in items:
        one = item + ZERO
        if what == MOVE:
            gained += try_move(work, costs, k, tables, counts, diary, one)
        elif what == DISSOLVE:
            gained += try_dissolving(work, costs, k, tables, counts, diary, one)
        elif what == SPLIT:
            split_large(work, costs, k, tables, counts, tally, one)
        elif what == REFILL:
            try_refilling(work, costs, k, tables, counts, diary, one, rebuilds)
        else:
            gained += try_pool(work, costs, k, tables, counts, diary, one, neighbours, rebuilds)
        tend(work.tree, costs, work.groups)
    return gained


@inlined
def note(diary: Diary, group: int) -> None:
    diary.changed[group] = diary.clock[0]


@inlined
def widen(work: Work, costs: CostTables, record: int, group: int) -> None:
    """The box of a group that a record has joined."""
    work.groups.sizes[group] += 1
    for j in range(work.codes.shape[1]):
        code = work.codes[record, j]
        work.groups.lo[group, j] = min(work.groups.lo[group, j], code)
        work.groups.hi[group, j] = max(work.groups.hi[group, j], code)
    work.groups.losses[group] = box_cost(costs, work.groups.lo[group], work.groups.hi[group])


@inlined
def joined_loss(work: Work, costs: CostTables, record: int, group: int) -> float:
    """What a group loses per record when a record has joined it."""
    joined = 0.0
    for j in range(work.codes.shape[1]):
        code = work.codes[record, j]
        joined += cell_cost(costs, j, min(work.groups.lo[group, j], code), max(work.groups.hi[group, j], code))
    return joined


@inner
def try_move(work: Work, costs: CostTables, k: int, tables: Any, counts: Any, diary: Diary, record: int) -> float:
    """A record goes where it costs less than it saves by going."""
    groups, members, codes = work.groups, work.members, work.codes
    here = members.labels[record] + ZERO
    size = groups.sizes[here]
    if tables is None:
        if size <= k:
            return 0.0
    elif size == 1 or not may_leave(tables, counts, record, here, k):
        return 0.0
    lo, hi = np.empty(codes.shape[1], np.int32), np.empty(codes.shape[1], np.int32)
    box_without(codes, members, groups.lo[here], groups.hi[here], record, lo, hi)
    left = box_cost(costs, lo, hi)
    saved = size * groups.losses[here] - (size - 1) * left
    point, below = codes[record], saved - LEAST_GAIN
    there = best_group(work.tree, costs, point, point, 1.0, 0.0, below, here, tables, counts, record)
    if there < 0:
        return 0.0
    before = groups.sizes[there] * groups.losses[there]
    move(members, record, here, there)
    groups.sizes[here] -= 1
    groups.lo[here] = lo
    groups.hi[here] = hi
    groups.losses[here] = left
    settle(work.tree, costs, groups, here)
    widen(work, costs, record, there)
    settle(work.tree, costs, groups, there)
    if tables is not None:
        leave(tables, counts, record, here)
        join(tables, counts, record, there)
    diary.clock[0] += 1
    note(diary, here)
    note(diary, there)
    return saved - (groups.sizes[there] * groups.losses[there] - before)


@inner
def try_dissolving(work: Work, costs: CostTables, k: int, tables: Any, counts: Any, diary: Diary, group: int) -> float:
    """All records of a group go to others, if that costs less than the group does.

    Each looks for its group as if it went alone; what they cost where several meet is added up afterwards.
    """
    groups = work.groups
    saved = groups.sizes[group] * groups.losses[group] - LEAST_GAIN
    if groups.sizes[group] == 0 or saved <= 0.0:
        return 0.0
    records = listed(work, group)
    targets = np.empty(len(records), np.int64)
    cost, found = 0.0, 0
    for record in records:
        one, point = record + ZERO, work.codes[record]
        target = best_group(work.tree, costs, point, point, 1.0, 0.0, saved - cost, group, tables, counts, one)
        if target < 0:
            break
        size = groups.sizes[target]
        cost += (size + 1) * joined_loss(work, costs, one, target) - size * groups.losses[target]
        targets[found] = target
        found += 1
        if tables is not None:  # the next one must know
            leave(tables, counts, one, group)
            join(tables, counts, one, target)
    if found == len(records):
        cost = together_cost(work, costs, records, targets)
    if found < len(records) or cost >= saved:
        if tables is not None:
            for place in range(found):
                leave(tables, counts, records[place] + ZERO, targets[place])
                join(tables, counts, records[place] + ZERO, group)
        return 0.0
    diary.clock[0] += 1
    groups.sizes[group] = 0
    settle(work.tree, costs, groups, group)
    give_back(work, group)
    for place in range(found):
        move(work.members, records[place] + ZERO, group, targets[place])
        widen(work, costs, records[place] + ZERO, targets[place])
        settle(work.tree, costs, groups, targets[place])
        note(diary, targets[place])
    return saved - cost


@inner
def together_cost(work: Work, costs: CostTables, records: Ints, targets: Longs) -> float:
    """What it adds to the loss if each record joins its group."""
    columns = work.codes.shape[1]
    lo, hi = np.empty(columns, np.int32), np.empty(columns, np.int32)
    total = 0.0
    for place in range(len(records)):
        target, size = targets[place], 0
        first = True
        for other in range(place):
            first = first and targets[other] != target
        if not first:
            continue
        lo[:] = work.groups.lo[target]
        hi[:] = work.groups.hi[target]
        for other in range(place, len(records)):
            if targets[other] == target:
                size += 1
                for j in range(columns):
                    code = work.codes[records[other], j]
                    lo[j], hi[j] = min(lo[j], code), max(hi[j], code)
        before = work.groups.sizes[target]
        total += (before + size) * box_cost(costs, lo, hi) - before * work.groups.losses[target]
    return total


@inner
def try_pool(
    work: Work,
    costs: CostTables,
    k: int,
    tables: Any,
    counts: Any,
    diary: Diary,
    group: int,
    neighbours: int,
    rebuilds: int,
) -> float:
    """A group and its neighbours, partitioned anew."""
    groups = work.groups
    size = groups.sizes[group]
    if size == 0 or not satisfied(work, k, tables, counts, group):
        return 0.0
    found, values = np.empty(neighbours, np.int64), np.empty(neighbours)
    lo, hi, loss = groups.lo[group], groups.hi[group], groups.losses[group]
    near = near_groups(work.tree, costs, lo, hi, float(size), loss, group, found, values)
    several, newest, before = 1, diary.changed[group], size * groups.losses[group]
    for place in range(near):
        one = found[place]
        if several > 1 and size + groups.sizes[one] > POOL_SIZE * k:
            break
        if not satisfied(work, k, tables, counts, one):
            continue
        found[several - 1] = one
        several += 1
        size += groups.sizes[one]
        newest = max(newest, diary.changed[one])
        before += groups.sizes[one] * groups.losses[one]
    if several == 1 or before <= LEAST_GAIN or diary.tried[group] >= newest:
        return 0.0
    pool, labels = gather(work, k, group, found, several, size)
    old = labels.copy()
    total = search(costs, k, tables, counts, pool, labels, several)
    final = several
    for _ in range(rebuilds):
        new = np.empty(size, np.int64)
        parts = build(costs, k, pool.codes, draw(diary, size), new)
        if parts - several > work.marks[SPARE]:
            break
        keep_numbers(old, several, new, parts)
        parts = max(several, parts)  # some may be empty
        if tables is not None and not relabel(tables, counts, pool, labels, new, parts):
            continue
        other = search(costs, k, tables, counts, pool, new, parts)
        if other < total - LEAST_GAIN:
            total, labels, final = other, new, parts
        elif tables is not None:
            relabel(tables, counts, pool, new, labels, final)
    diary.clock[0] += 1
    if total >= before - LEAST_GAIN:
        if tables is not None:
            relabel(tables, counts, pool, labels, old, several)
        diary.tried[group] = diary.clock[0]
        return 0.0
    scatter(work, costs, diary, pool, old, labels, several, final)
    return before - total


@inner
def try_refilling(
    work: Work, costs: CostTables, k: int, tables: Any, counts: Any, diary: Diary, group: int, rebuilds: int
) -> None:
    """A group that lacks something, and neighbours that together have enough for as many groups as they are."""
    groups = work.groups
    size = groups.sizes[group]
    if size == 0 or satisfied(work, k, tables, counts, group):
        return
    found, values = np.empty(MOST, np.int64), np.empty(MOST)
    lo, hi, loss = groups.lo[group], groups.hi[group], groups.losses[group]
    near = near_groups(work.tree, costs, lo, hi, float(size), loss, group, found, values)
    several = 1
    for place in range(near):
        if size >= several * k:
            break
        found[several - 1] = found[place]
        size += groups.sizes[found[place]]
        several += 1
    if several == 1 or size < several * k:
        return
    pool, old = gather(work, k, group, found, several, size)
    best, total = old, np.inf
    for _ in range(rebuilds):
        new = np.empty(size, np.int64)
        parts = build(costs, k, pool.codes, draw(diary, size), new)
        if parts - several > work.marks[SPARE]:
            return
        keep_numbers(old, several, new, parts)
        if tables is not None and not relabel(tables, counts, pool, best, new, parts):
            continue
        other = search(costs, k, tables, counts, pool, new, parts)
        if other < total:
            best, total = new, other
        elif tables is not None:
            relabel(tables, counts, pool, new, best, parts)
    if total < np.inf:
        diary.clock[0] += 1
        scatter(work, costs, diary, pool, old, best, several, max(several, size // k))


@inlined
def draw(diary: Diary, several: int) -> int:
    """A number below `several`, by chance: the same ones for the same seed."""
    diary.chance[0] = diary.chance[0] * np.uint64(6364136223846793005) + np.uint64(1442695040888963407)
    return ZERO + int((diary.chance[0] >> np.uint64(33)) % np.uint64(several))


@inner
def gather(work: Work, k: int, group: int, found: Longs, several: int, size: int) -> tuple[Pool, Longs]:
    """The pool of a group and those found; a group of it may get a number that is not in use."""
    most = max(several, size // k)
    pool = Pool(np.empty(size, np.int64), np.empty((size, work.codes.shape[1]), np.int32), np.empty(most, np.int64))
    labels = np.empty(size, np.int64)
    place = 0
    for part in range(most):
        if part >= several:
            free = work.marks[SPARE] - 1 - (part - several)
            pool.ids[part] = work.spare[free] if free >= 0 else -1
            continue
        one = group if part == 0 else found[part - 1]
        pool.ids[part] = one
        record = work.members.heads[one]
        while record >= 0:
            pool.records[place], labels[place] = record, part
            pool.codes[place] = work.codes[record]
            place += 1
            record = work.members.nexts[record]
    return pool, labels


@inner
def relabel(tables: Any, counts: Any, pool: Pool, old: Longs, new: Longs, several: int) -> bool:
    """The counts follow other labels; if the groups then lack something, they do not, and this is False."""
    for place in range(len(old)):
        if old[place] != new[place]:
            leave(tables, counts, pool.records[place], pool.ids[old[place]])
            join(tables, counts, pool.records[place], pool.ids[new[place]])
    for group in range(several):
        if counts.sizes[pool.ids[group]] > 0 and not holds(tables, counts, pool.ids[group]):
            for place in range(len(old)):
                if old[place] != new[place]:
                    leave(tables, counts, pool.records[place], pool.ids[new[place]])
                    join(tables, counts, pool.records[place], pool.ids[old[place]])
            return False
    return True


@inner
def keep_numbers(old: Longs, several: int, new: Longs, parts: int) -> None:
    """New groups take the numbers of those that they share most records with: who stays together is not renamed."""
    most = max(several, parts)
    shared = np.zeros((parts, most), np.int64)
    for place in range(len(old)):
        shared[new[place], old[place]] += 1
    names = np.full(parts, -1, np.int64)
    taken = np.zeros(most, np.bool_)
    for _ in range(min(several, parts)):
        best, part, number = -1, 0, 0
        for i in range(parts):
            for j in range(several):
                if names[i] < 0 and not taken[j] and shared[i, j] > best:
                    best, part, number = shared[i, j], i, j
        names[part], taken[number] = number, True
    free = several
    for part in range(parts):
        if names[part] < 0:
            names[part] = free
            free += 1
    for place in range(len(new)):
        new[place] = names[new[place]]


@inner
def scatter(
    work: Work, costs: CostTables, diary: Diary, pool: Pool, old: Longs, labels: Longs, several: int, final: int
) -> None:
    """The groups become what the pool says. (The counts have followed already.)"""
    groups, columns = work.groups, work.codes.shape[1]
    changed = np.zeros(final, np.bool_)
    for place in range(len(old)):
        if old[place] != labels[place]:
            changed[old[place]] = changed[labels[place]] = True
            take_out(work.members, pool.records[place], pool.ids[old[place]])
            put_in(work.members, pool.records[place], pool.ids[labels[place]])
    work.marks[SPARE] -= max(0, final - several)
    for part in range(final):
        group = pool.ids[part]
        if not changed[part]:
            continue
        note(diary, group)
        size = 0
        for place in range(len(labels)):
            if labels[place] == part:
                for j in range(columns):
                    code = pool.codes[place, j]
                    groups.lo[group, j] = code if size == 0 else min(groups.lo[group, j], code)
                    groups.hi[group, j] = code if size == 0 else max(groups.hi[group, j], code)
                size += 1
        groups.sizes[group] = size
        work.retry[group] = 0
        if size > 0:
            groups.losses[group] = box_cost(costs, groups.lo[group], groups.hi[group])
        if part >= several:
            add(work.tree, costs, groups, group)
        else:
            settle(work.tree, costs, groups, group)
        if size == 0:
            give_back(work, group)


class Effort(NamedTuple):
    """How long to go on."""

    sweeps: int  # over all pools, at most
    rebuilds: int  # from nothing, in each pool
    least: float  # a sweep that gains a smaller share of the loss is the last


EFFORTS = {
    "fast": Effort(sweeps=1, rebuilds=1, least=1.0),
    "balanced": Effort(sweeps=8, rebuilds=1, least=3e-3),
    "thorough": Effort(sweeps=100, rebuilds=3, least=1e-4),
}
DEFAULT_EFFORT = "balanced"


class Refiner:
    """Groups that are being refined. `asked`: k, PrivacyTables, GroupCounts and Tally (None: no more than k)."""

    def __init__(self, work: Work, costs: CostTables, asked: tuple[int, Any, Any, Any], diary: Diary) -> None:
        self.work, self.costs, self.asked, self.diary = work, costs, asked, diary
        self.neighbours = max(FEWEST, min(MOST, POOL_RECORDS // asked[0]))

    @classmethod
    def of(cls, codes: Ints, labels: Ints, costs: CostTables, privacy: Privacy, seed: int) -> Refiner:
        """For groups that have what is asked."""
        labels = without_gaps(labels)
        work = work_of(codes, labels, costs, max(int(labels.max()) + 1, len(codes) // privacy.k) + 1, reshapes=True)
        diary = new_diary(len(work.groups.sizes), seed)
        if not privacy.asks_more:
            return cls(work, costs, (privacy.k, None, None, None), diary)
        counts = new_counts(privacy.tables, len(work.groups.sizes))
        count_all(privacy.tables, counts, work.members.labels)
        return cls(work, costs, (privacy.k, privacy.tables, counts, new_tally(privacy.tables)), diary)

    def loss(self) -> float:
        return float(self.work.groups.sizes @ self.work.groups.losses)

    def alive(self) -> Longs:
        return np.flatnonzero(self.work.groups.sizes)

    def compile(self) -> None:
        step(self.work, self.costs, *self.asked, self.diary, MOVE, np.zeros(0, np.int32), ZERO, ZERO)

    def try_all(
        self,
        what: int,
        items: NDArray[np.integer],
        rebuilds: int = 0,
        progress: Progress = SILENT,
        over: Callable[[], bool] = bool,
    ) -> float:
        """One kind of step for all items, some at a time; by how much the loss has fallen."""
        gained = 0.0
        for first in range(0, len(items), TURN[what]):
            if over():
                break
            some = items[first : first + TURN[what]].astype(np.int32)
            gained += step(self.work, self.costs, *self.asked, self.diary, what, some, self.neighbours, rebuilds)
            progress.advance(len(some))
            if what == POOL:
                progress.note(f"loss {self.loss():,.0f}".replace(",", " "))
        return gained

    def run(
        self, effort: Effort, rng: np.random.Generator, progress: Progress = SILENT, over: Callable[[], bool] = bool
    ) -> None:
        """Sweep until it is no longer worth it, or `over()`."""
        records = np.flatnonzero(self.work.members.labels >= 0)
        for sweep in range(effort.sweeps):
            self._split_large()
            before = self.loss()
            progress.stage("moving records", len(records))
            self.try_all(MOVE, rng.permutation(records), progress=progress, over=over)
            self.try_all(DISSOLVE, rng.permutation(self.alive()), over=over)
            pools = rng.permutation(self.alive())
            progress.stage(f"refining, sweep {sweep + 1}", len(pools))
            self.try_all(POOL, pools, effort.rebuilds, progress, over)
            if over() or before - self.loss() < effort.least * before:
                break
        self._split_large()

    def _split_large(self) -> None:
        self.try_all(SPLIT, np.flatnonzero(self.work.groups.sizes >= 2 * self.asked[0]))


def until(max_seconds: float | None) -> Callable[[], bool]:
    """A question that is answered with yes when so many seconds are over."""
    if max_seconds is None:
        return bool
    end = time.monotonic() + max_seconds
    return lambda: time.monotonic() >= end


def run(codes: Ints, labels: Ints, costs: CostTables, privacy: Privacy, progress: Progress) -> Ints:
    with announced(progress):
        refiner = Refiner.of(codes, labels, costs, privacy, 1)
        refiner.compile()
    refiner.run(EFFORTS[DEFAULT_EFFORT], np.random.default_rng(1), progress)
    return refiner.work.members.labels
