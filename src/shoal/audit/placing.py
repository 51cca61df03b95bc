"""People placed into the classes of release files, by their own values.

Where boxes overlap, a file does not say in whose class somebody is. Whoever fits one class only is in it; a class with
as many such people as rows has no room for others; what is left after that is *ambiguous*, and no credit is claimed for
it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.audit.label_boxes import Boxes

Longs = NDArray[np.int64]
Ints = NDArray[np.int32]
Bools = NDArray[np.bool_]


class Placed(NamedTuple):
    classes: Longs  # of each person; −1: not known
    ambiguous: Bools  # who fit several
    misfits: Bools  # who fit none
    overfull: Bools  # the classes that more people must be in than it has rows


def placed(codes: Ints, boxes: Boxes, sizes: Longs) -> Placed:
    """People by the numbers of their values; `sizes`: the rows of each class."""
    people, classes = _fitting(codes, boxes)
    n_people, n_classes = len(codes), len(sizes)
    misfits = np.bincount(people, minlength=n_people) == 0
    found = np.full(n_people, -1, np.int64)
    while True:
        several = np.bincount(people, minlength=n_people)
        alone = (several[people] == 1) & (found[people] < 0)
        found[people[alone]] = classes[alone]
        taken = np.bincount(found[found >= 0], minlength=n_classes)
        gone = (taken >= sizes)[classes] & (found[people] < 0)
        if not gone.any():
            break
        people, classes = people[~gone], classes[~gone]
    return Placed(found, (found < 0) & ~misfits, misfits, taken > sizes)


def _fitting(codes: Ints, boxes: Boxes) -> tuple[Longs, Longs]:
    """Who fits which class: pairs. For each class the column is asked first in which the fewest fit."""
    orders = [np.argsort(column, kind="stable") for column in codes.T]
    ranked = [column[order] for column, order in zip(codes.T, orders, strict=True)]
    starts = np.stack([np.searchsorted(r, boxes.low[:, j], "left") for j, r in enumerate(ranked)], axis=1)
    ends = np.stack([np.searchsorted(r, boxes.high[:, j], "right") for j, r in enumerate(ranked)], axis=1)
    best = np.argmin(ends - starts, axis=1)
    people, classes = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    for number, column in enumerate(best.tolist()):
        some = orders[column][starts[number, column] : max(starts[number, column], ends[number, column])]
        own = codes[some]
        fit = some[((own >= boxes.low[number]) & (own <= boxes.high[number])).all(axis=1)]
        people.append(fit)
        classes.append(np.full(len(fit), number))
    return np.concatenate(people), np.concatenate(classes)
