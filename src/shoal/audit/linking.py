"""Linking: rows of two releases that must be the same person's, because nobody else has what they show.

Sensitive and insensitive columns are published as they are. A combination that one row has in either release links the
two rows, and with them their classes: it belongs to one of those who are in both. If those are fewer than k, the two
releases say together what neither says alone.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.audit.history import History

Longs = NDArray[np.int64]


def linked(history: History, combinations: Longs) -> list[tuple[Longs, int, int]]:
    """The units that are linked with fewer than k candidates, for each two releases that follow each other.

    `combinations`: what each unit shows beside its quasi-identifiers, as a number; −1: it is not known, or has changed.
    """
    found = []
    for at, (old, new) in enumerate(zip(history.releases, history.releases[1:], strict=False)):
        both = np.flatnonzero((old.classes >= 0) & (new.classes >= 0))
        cells = old.classes[both] * (int(new.classes.max(initial=0)) + 1) + new.classes[both]
        names, cell = np.unique(cells, return_inverse=True)
        small = history.sizes(both, cell, len(names)) < history.k
        few = both[small[cell]]
        exposed = few[_alone(combinations, old.classes, few) & _alone(combinations, new.classes, few)]
        if len(exposed):
            found.append((exposed, at, at + 1))
    return found


def _alone(combinations: Longs, classes: Longs, units: Longs) -> NDArray[np.bool_]:
    """Which of these units show something in a release that nobody else shows there, as far as is known."""
    wanted = np.unique(combinations[units])
    if not len(wanted):
        return np.zeros(len(units), bool)
    shown = combinations[classes >= 0]
    at = np.minimum(np.searchsorted(wanted, shown), len(wanted) - 1)
    counts = np.bincount(at[wanted[at] == shown], minlength=len(wanted))
    alone: NDArray[np.bool_] = (counts[np.searchsorted(wanted, combinations[units])] == 1) & (combinations[units] >= 0)
    return alone
