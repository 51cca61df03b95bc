"""Which of those who wait form new cohorts: groups that lose little, compared with what others lose.

All who wait are grouped by the default method, and a group goes out if its people lose at most so many times the
average. Somebody who has waited long enough goes out with the group that there is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa

from shoal.cluster import cluster
from shoal.cohorts.places import Bools, Floats, Longs, Table
from shoal.progress import SILENT, Progress
from shoal.records.encode import Records

TRIED = 0.05  # of a value that is too common: the share of its records that wait in any case, in each attempt


def form(
    table: Table,
    waiting: Longs,
    limits: Floats,
    *,
    method: str,
    seed: int | None,
    progress: Progress = SILENT,
) -> Longs:
    """The new cohort of each of these records, numbered from 0; −1: it waits.

    `limits`: what each would have its group lose, per person, at most; a group goes out if its members' limits allow
    it on average.

    Guarantee: every new cohort has what is asked of a class.
    """
    labels = np.full(len(waiting), -1, np.int64)
    chosen = feasible(table, waiting)
    if not len(chosen):
        return labels
    some = only(table.records, waiting[chosen])
    groups = cluster(
        some, table.k, table.rules, method=method, measure=table.measure, seed=seed, progress=progress,
        reference=table.reference,
    )  # fmt: skip
    found = trimmed(table, waiting[chosen], groups.labels.astype(np.int64), limits[chosen])
    boxes = table.boxes(some.codes[found >= 0], found[found >= 0], len(groups))
    allowed = np.bincount(found[found >= 0], limits[chosen][found >= 0], minlength=len(groups)) / boxes.sizes
    out = boxes.losses <= allowed
    numbers = np.where(out, np.cumsum(out) - 1, -1)
    labels[chosen] = np.where(found >= 0, numbers[found], -1)
    return labels


def trimmed(table: Table, records: Longs, labels: Longs, limits: Floats) -> Longs:
    """The groups without those who cost the others more than waiting costs themselves; −1: waits.

    Waiting costs somebody what one would lose at most. Groups keep what is asked of a class.
    """
    labels = labels.copy()
    codes = table.records.codes[records]
    order = np.argsort(labels, kind="stable")
    groups = np.split(order, np.flatnonzero(np.diff(labels[order])) + 1)
    while groups := [members for members in groups if len(members) > table.k]:
        # Each group without each of its members, all at once: asking for a few losses takes as long as for many.
        rests = [np.array([np.delete(members, i) for i in range(len(members))]) for members in groups]
        lo = np.concatenate([codes[rest].min(axis=1) for rest in rests])
        hi = np.concatenate([codes[rest].max(axis=1) for rest in rests])
        losses = np.split(table.losses(lo, hi), np.cumsum([len(members) for members in groups])[:-1])
        whole = table.losses(
            *(np.stack([end(codes[members], axis=0) for members in groups]) for end in (np.min, np.max))
        )
        better = []
        for members, rest, without, loss in zip(groups, rests, losses, whole.tolist(), strict=True):
            gains = len(members) * loss - (len(members) - 1) * without - limits[members]
            worst = int(np.argmax(gains))
            if gains[worst] > 0:
                better.append((members[worst], rest[worst]))
        holds = _alone(table, [records[rest] for _, rest in better])
        groups = []
        for (left, rest), held in zip(better, holds, strict=True):
            if held:
                labels[left] = -1
                groups.append(rest)
    return labels


def _alone(table: Table, groups: Sequence[Longs]) -> list[bool]:
    """Which of these would have what is asked as a cohort of their own."""
    if not groups:
        return []
    some = only(table.records, np.concatenate(groups))
    labels = np.repeat(np.arange(len(groups), dtype=np.int32), [len(group) for group in groups])
    found: list[bool] = table.privacy_of(some).facts_of(labels, len(groups)).holds(table.k).tolist()
    return found


def feasible(table: Table, waiting: Longs) -> Longs:
    """Which of them can be grouped at all: all, or all but some of those whose value is too common among them."""
    left = np.arange(len(waiting))
    while len(left) >= table.k:
        some = only(table.records, waiting[left])
        privacy = table.privacy_of(some)
        facts = privacy.facts_of(np.zeros(len(left), np.int32), 1)
        if facts.holds(table.k)[0]:
            return left
        if facts.people[0] < table.k:
            break
        rule = table.rules[int(np.argmin(facts.fine[0]))]
        (column,) = (one for one in privacy.columns if one.name == rule.column)
        counts = np.bincount(column.codes)
        common = np.flatnonzero(column.codes == int(counts.argmax()))
        if len(common) == len(left):  # nobody else has another value
            break
        left = np.delete(left, common[-max(1, int(TRIED * len(common))) :])
    return np.zeros(0, np.int64)


def only(records: Records, which: Longs | Bools) -> Records:
    """Some of the records, in the order given."""
    passthrough = records.passthrough
    return replace(
        records,
        codes=np.ascontiguousarray(records.codes[which]),
        passthrough=passthrough.take(pa.array(np.arange(len(records))[which]))
        if passthrough.num_columns
        else passthrough,
        people=None if records.people is None else records.people[which],
    )
