"""Linking: rows of two releases that must be the same person's, because nobody else has what they show.

Sensitive and insensitive columns are published as they are. A combination that one row has in either release links the
two rows, and with them their classes: it belongs to one of those who are in both. If those are fewer than k, the two
releases say together what neither says alone.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from shoal.audit.equations import classes_of_atoms
from shoal.audit.history import History, Members

Longs = NDArray[np.int64]


def linked(history: History, members: Members, combinations: Longs) -> list[tuple[Longs, int, int]]:
    """The units that are linked with fewer than k candidates, for each two releases that follow each other.

    `combinations`: what each unit shows beside its quasi-identifiers, as a number; −1: it is not known, or has changed.
    """
    found = []
    of_atoms = classes_of_atoms(history, members)
    for at, (old, new) in enumerate(pairwise(of_atoms)):
        both = np.flatnonzero((old >= 0) & (new >= 0))
        cells = old[both] * (int(new.max(initial=0)) + 1) + new[both]
        names, cell = np.unique(cells, return_inverse=True)
        n_units = np.bincount(cell, np.diff(members.starts)[both], minlength=len(names))
        # No cell has more people than units: only where people are counted is it worth looking at larger ones.
        near = np.ones(len(names), bool) if history.by_people else n_units < history.k
        units, place = members.of(both[near[cell]])
        set_of_unit = cell[near[cell]][place]
        small = history.sizes(units, set_of_unit, len(names)) < history.k
        few = np.sort(units[small[set_of_unit]])
        shown = (history.releases[at].classes, history.releases[at + 1].classes)
        exposed = few[_alone(combinations, shown[0], few) & _alone(combinations, shown[1], few)]
        if len(exposed):
            found.append((exposed, at, at + 1))
    return found


def _alone(combinations: Longs, classes: Longs, units: Longs) -> NDArray[np.bool_]:
    """Which of these units show something in a release that nobody else shows there, as far as is known."""
    wanted = np.unique(combinations[units])
    if not len(wanted):
        return np.zeros(len(units), bool)
    likely = np.zeros(2**16, bool)  # by the last bits: most of the others need not be looked for
    likely[wanted % 2**16] = True
    shown = combinations[likely[combinations % 2**16] & (classes >= 0)]
    at = np.minimum(np.searchsorted(wanted, shown), len(wanted) - 1)
    counts = np.bincount(at[wanted[at] == shown], minlength=len(wanted))
    alone: NDArray[np.bool_] = (counts[np.searchsorted(wanted, combinations[units])] == 1) & (combinations[units] >= 0)
    return alone
