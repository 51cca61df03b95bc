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
        alone = _alone(combinations, old.classes) & _alone(combinations, new.classes)
        exposed = both[small[cell] & alone[both]]
        if len(exposed):
            found.append((exposed, at, at + 1))
    return found


def _alone(combinations: Longs, classes: Longs) -> NDArray[np.bool_]:
    """Who shows something in a release that nobody else shows there, as far as is known."""
    present = (classes >= 0) & (combinations >= 0)
    shown = combinations[present]
    alone = np.zeros(len(combinations), bool)
    counts = np.bincount(shown, minlength=int(combinations.max(initial=0)) + 1)
    alone[present] = counts[shown] == 1
    return alone
