"""What two release files say together without knowing who is in them: counts of the same class that have changed.

A class with the same labels in both, or classes whose boxes overlap with no others, hold the same people but for those
who came or left. If fewer than k rows have disappeared there, or appeared, these are rows of fewer than k people.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.audit.label_boxes import Boxes
from shoal.audit.released import Released, as_texts, numbered
from shoal.schema import Schema

Longs = NDArray[np.int64]
MOST_COMPARED = 25_000_000  # pairs of classes


class Changed(NamedTuple):
    """Rows that are those of fewer than k people."""

    before: int
    after: int
    rows: int


def changed_counts(
    releases: Sequence[Released], boxes: Sequence[Boxes], schema: Schema, k: int
) -> tuple[list[Changed], bool]:
    """Where counts change by fewer than k, smallest first; and whether all pairs of classes were compared."""
    found, complete = [], True
    for after in range(1, len(releases)):
        for before in range(after):
            old, new = releases[before], releases[after]
            for first, second in _same_people(old, new, boxes[before], boxes[after], schema):
                found += [Changed(before, after, rows) for rows in _few(old, new, first, second, k)]
            complete &= old.n_classes * new.n_classes <= MOST_COMPARED
    return sorted(found, key=lambda one: one.rows), complete


def _same_people(
    old: Released, new: Released, here: Boxes, there: Boxes, schema: Schema
) -> Iterator[tuple[Longs, Longs]]:
    """Numbers for the classes of two releases: those with one number hold the same people; −1: no others do."""
    labels = [
        pa.concat_arrays([as_texts(one.table[name]).take(pa.array(one.first)) for one in (old, new)])
        for name in schema.quasi_identifiers
    ]
    numbers = numbered(labels)
    yield numbers[: old.n_classes], numbers[old.n_classes :]
    if old.n_classes * new.n_classes <= MOST_COMPARED:
        together = _components(here, there)
        sizes = np.bincount(together[: old.n_classes], minlength=len(together))
        others = np.bincount(together[old.n_classes :], minlength=len(together))
        several = (sizes + others > 2)[together]  # two that are alone with each other, and differ in their labels, too
        several |= ((sizes == 1) & (others == 1))[together] & (np.bincount(numbers)[numbers] == 1)
        shown = np.where(several, together, -1)
        yield shown[: old.n_classes], shown[old.n_classes :]


def _components(here: Boxes, there: Boxes) -> Longs:
    """Connected components of boxes that overlap."""
    n_old, n_new = len(here.low), len(there.low)
    left, right = [], []
    for number in range(n_old):
        meets = ((there.low <= here.high[number]) & (there.high >= here.low[number])).all(axis=1)
        found = np.flatnonzero(meets)
        left.append(np.full(len(found), number))
        right.append(n_old + found)
    edges = np.stack([np.concatenate(left), np.concatenate(right)]) if left else np.zeros((2, 0), np.int64)
    labels = np.arange(n_old + n_new)
    while True:
        before = labels
        low = np.minimum(labels[edges[0]], labels[edges[1]])
        labels = labels.copy()
        np.minimum.at(labels, before[edges[0]], low)
        np.minimum.at(labels, before[edges[1]], low)
        labels = labels[labels]
        if np.array_equal(labels, before):
            return labels


def _few(old: Released, new: Released, first: Longs, second: Longs, k: int) -> list[int]:
    """How many rows have disappeared, and appeared, where that is fewer than k, and some."""
    both = np.intersect1d(first[first >= 0], second[second >= 0])
    if not len(both):
        return []
    of_old, of_new = _at(both, first[old.classes]), _at(both, second[new.classes])
    gone, come = np.zeros(len(both)), np.zeros(len(both))
    nothing = {"": (np.zeros(old.table.num_rows, np.int64), np.zeros(new.table.num_rows, np.int64))}
    values = {name: (numbers, new.sensitive[name]) for name, numbers in old.sensitive.items()} or nothing
    for numbers, others in values.values():
        width = int(max(numbers.max(initial=0), others.max(initial=0))) + 1
        before = of_old[of_old >= 0] * width + numbers[of_old >= 0]
        after = of_new[of_new >= 0] * width + others[of_new >= 0]
        keys, at = np.unique(np.concatenate([before, after]), return_inverse=True)
        change = np.bincount(at, np.repeat([1.0, -1.0], [len(before), len(after)]), minlength=len(keys))
        of_class = keys // width
        gone = np.maximum(gone, np.bincount(of_class, np.maximum(change, 0), minlength=len(both)))
        come = np.maximum(come, np.bincount(of_class, np.maximum(-change, 0), minlength=len(both)))
    rows = np.concatenate([gone, come])
    found: list[int] = rows[(rows > 0) & (rows < k)].astype(np.int64).tolist()
    return found


def _at(ordered: Longs, wanted: Longs) -> Longs:
    """At which place each is; −1: nowhere."""
    at = np.minimum(np.searchsorted(ordered, wanted), len(ordered) - 1)
    return np.where(ordered[at] == wanted, at, -1)
