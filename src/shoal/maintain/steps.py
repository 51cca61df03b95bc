"""The steps of a change to a live partition. Where one fails the partition may be left half changed: whoever calls them
takes it back (`LivePartition.changing`).
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from shoal.arrays import grow
from shoal.boxes.costs import same_costs
from shoal.boxes.geometry import numbered_as, without_gaps
from shoal.cluster import Task, cluster
from shoal.maintain.ageing import Ageing
from shoal.maintain.change import Applied
from shoal.optimize import DEFAULT_OPTIMIZER, optimized
from shoal.progress import Progress
from shoal.records.changes import Arrivals
from shoal.records.encode import Records
from shoal.records.growing import restart

if TYPE_CHECKING:
    from shoal.maintain.live import LivePartition

Ints = NDArray[np.int32]
NOBODY = np.zeros(0, np.int32)
CLEARLY_LESS = 0.99  # times the loss: for less it is not worth changing all groups


def maintain(live: LivePartition, arrivals: Arrivals, progress: Progress) -> tuple[Ints, Ints]:
    """Apply a batch that has been checked: the slots of those who have gone, and of those who have come."""
    begun = has_begun(live)
    follow_books(live, arrivals)
    if begun:
        live.prepare()  # anew where costs have changed: before there is anybody without a group
    gone, come, replaced = admit(live, arrivals)
    if begun:
        live.engine.apply(gone, come, replaced, progress)
        mend(live, progress)
    else:
        live.labels[gone], live.labels[come] = -1, 0
        begin(live, progress)
    live.table.rename(arrivals, come)
    return gone, come


def has_begun(live: LivePartition) -> bool:
    """Whether there are groups to maintain: more than one, or one that has what is asked."""
    if len(live) == 0:
        return False
    count = live.engine.n_groups()
    return count > 1 or (count == 1 and live.engine.publishable())


def begin(live: LivePartition, progress: Progress) -> None:
    """The first groups: an epoch begins. As long as there are too few records, they are one group."""
    alive, settings = live.alive(), live.settings
    live.epoch, live.ageing = live.epoch + 1, Ageing()
    live.take_books([restart(book, live.codes[alive, j]) for j, book in enumerate(live.books)])
    live.forget_engine()
    live.labels[alive] = 0
    if live.feasible():
        live.labels[alive] = cluster(
            live.records(),
            live.k,
            settings.rules,
            method=settings.static_method,
            measure=settings.measure,
            seed=int(live.rng.integers(2**32)),
            progress=progress,
        ).labels
        live.engine.apply(NOBODY, NOBODY, NOBODY, progress)  # splits what the maintainer wants smaller


def follow_books(live: LivePartition, arrivals: Arrivals) -> None:
    """Code books that know the new values: one monotone re-coding of each column in which codes have moved."""
    before, books = live.books, arrivals.books
    if all(new is old for new, old in zip(books, before, strict=True)):
        return
    moved = [grown.moved for grown in arrivals.grown]
    live.take_books(books, moved)
    if not same_costs(before, books, moved, live.settings.measure):
        live.forget_engine()


def admit(live: LivePartition, arrivals: Arrivals) -> tuple[Ints, Ints, Ints]:
    """Give new records slots. They are in no group yet. Who goes, who comes, and instead of whom."""
    table, first = live.table, live.table.used
    come = table.add(arrivals)
    if len(come) and live.privacy is not None:
        batch = Records(arrivals.codes, live.books, arrivals.passthrough, live.order, live.schema)
        live.privacy.make_room(len(live.labels))
        live.privacy.append(batch, arrivals.people, first)
    replaced = np.full(len(come), -1, np.int32)
    replaced[len(arrivals.inserted) :] = table.slots_of(arrivals.updated)
    return table.slots_of((*arrivals.deleted, *arrivals.updated)), come, replaced


def optimize(live: LivePartition, how: str, max_seconds: float | None, progress: Progress) -> None:
    """Other groups, with no more loss."""
    alive, records = live.alive(), live.records()
    if not len(alive):
        return
    labels, begun = live.labels[alive], time.monotonic()
    privacy = live.privacy_of(records)
    better = optimized(how, records.codes, without_gaps(labels), live.costs, privacy, progress, max_seconds)
    live.labels[alive] = numbered_as(better, labels)
    live.forget_engine()
    spent = time.monotonic() - begun
    # Nothing was left to gain; and where that took so long, the start of the method, which is never cut short, fits in.
    if how == DEFAULT_OPTIMIZER and (max_seconds is None or spent < max_seconds / 3):
        options = {} if max_seconds is None else {"max_seconds": max_seconds - spent}
        begin_again_if_better(live, records, options, progress)
    mend(live, progress)


def begin_again_if_better(
    live: LivePartition, records: Records, options: Mapping[str, object], progress: Progress
) -> None:
    """Other groups altogether, if they lose clearly less.

    Where columns have nothing to do with each other, groups age in a way that no step of refining mends.
    """
    alive, before = live.alive(), live.loss()
    if before == 0.0 or not live.feasible():
        return
    labels = live.labels[alive]
    again = cluster(
        records,
        live.k,
        live.settings.rules,
        measure=live.settings.measure,
        seed=int(live.rng.integers(2**32)),
        progress=progress,
        options=options,
    ).labels
    live.labels[alive] = numbered_as(again, labels)
    if live.loss() > CLEARLY_LESS * before:
        live.labels[alive] = labels


def mend(live: LivePartition, progress: Progress) -> None:
    """Groups that are published alike are one class, in which a person of two of them counts once: `repair.py`."""
    if not live.settings.rules or live.table.persons is None or not live.feasible():
        return
    from shoal.cluster.repair import mended  # loads Numba

    records, alive = live.records(), live.alive()
    task = Task(records, live.settings.measure, live.costs, live.privacy_of(records), live.rng, progress)
    labels = live.labels[alive]
    better = numbered_as(mended(task, without_gaps(labels)), labels)
    if not np.array_equal(better, labels):
        live.labels[alive] = better
        live.forget_engine()


def nothing_applied(arrivals: Arrivals) -> Applied:
    """What a batch without changes has done."""
    nobody = NOBODY.astype(np.int64)
    return Applied(0, 0, 0, nobody, nobody, NOBODY, NOBODY, arrivals)


def applied(live: LivePartition, before: Ints, arrivals: Arrivals, gone: Ints, come: Ints) -> Applied:
    """What has been done since the groups were as `before`."""
    if len(live):
        live.prepare()  # before it is told who moved: it may split large groups
    labels = live.labels[: live.table.used]
    changed = np.flatnonzero(labels != grow(before, len(labels), -1))
    groups = np.unique(np.concatenate([before[changed[changed < len(before)]], labels[changed]]))
    counts = len(arrivals.inserted), len(arrivals.updated), len(arrivals.deleted)
    moved = changed[labels[changed] >= 0]
    return Applied(*counts, groups[groups >= 0], moved, gone, come, arrivals)


def compact(live: LivePartition) -> None:
    """Give records new slots, without gaps, where most slots are out of use. All or nothing, by itself."""
    if not live.table.is_sparse:
        return
    before, engine = live.table, live.engine
    table, slots = before.compacted()
    try:
        live.table = table
        engine.renumbered(slots)
        if live.privacy is not None:
            live.forget_engine()  # made anew, without those who are no more
    except BaseException:
        live.table = before
        live.forget_engine()
        raise
