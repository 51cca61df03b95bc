"""Why somebody comes out: what has happened to those whom counts or values give away.

- *update*: somebody who is in both releases, with another sensitive value: before they are one unit, after another.
- *re-entry*: somebody who was away and is back: a release between two that show them does not.
- *critical absence*: somebody who has left, and with them a value that nobody shows any more in the classes where those
  are who shared their class (it was theirs); or somebody who has stayed, and who cannot have had a value that has left
  their class with others.

What is none of these stays what it was: a *difference* or an *intersection*.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.arrays import runs
from shoal.audit.history import History

Longs = NDArray[np.int64]
Bools = NDArray[np.bool_]


DIFFERENCE, INTERSECTION, LINKING = "difference", "intersection", "linking"
UPDATE, RE_ENTRY, CRITICAL_ABSENCE = "update", "re-entry", "critical absence"
UNDECIDED = "undecided"  # in the place of an attack
ATTACKS = (DIFFERENCE, UPDATE, RE_ENTRY, CRITICAL_ABSENCE, INTERSECTION, LINKING)


class Happened:
    """What is known of units over all releases."""

    def __init__(self, history: History) -> None:
        self._history = history
        pairs = history.successors
        self._links = np.concatenate([pairs, pairs[:, ::-1]]) if len(pairs) else np.zeros((0, 2), np.int64)
        self._links = self._links[np.argsort(self._links[:, 0], kind="stable")]
        self.changed = np.zeros(len(history.people), bool)
        self.changed[self._links[:, 0]] = True
        self.back = self._back()

    def _back(self) -> Bools:
        """Units of somebody who was away and is back."""
        first, last, times = (np.zeros(len(self.changed), np.int64) for _ in range(3))
        same = _leaders(self._links, len(self.changed))
        for at, shown in enumerate(self._history.releases):
            there = np.zeros(len(self.changed), bool)
            there[same[shown.classes >= 0]] = True
            first[there & (times == 0)] = at
            last[there] = at
            times[there] += 1
        away = (times > 0) & (times < last - first + 1)
        found: Bools = away[same]
        return found

    def updated(self, units: Longs, before: Longs, after: Longs) -> Bools:
        """Those who are in the one release, and in the other with another value. (−1: in whichever.)"""
        found = np.zeros(len(units), bool)
        at = np.flatnonzero(self.changed[units])
        starts = np.searchsorted(self._links[:, 0], units[at])
        ends = np.searchsorted(self._links[:, 0], units[at], side="right")
        for entry, start, end in zip(at.tolist(), starts.tolist(), ends.tolist(), strict=True):
            others = self._links[start:end, 1]
            if before[entry] < 0:
                found[entry] = True
                continue
            old, new = (self._history.releases[r].classes for r in (int(before[entry]), int(after[entry])))
            unit = units[entry]
            found[entry] = (old[unit] >= 0 and (new[others] >= 0).any()) or (
                new[unit] >= 0 and (old[others] >= 0).any()
            )
        return found

    def differences(self, units: Longs, sets: Longs, releases: Longs) -> list[str]:
        """The attack on each set: by what has happened to some of its units between its two releases (−1: any)."""
        before, after = releases[sets].T
        kinds = np.zeros(len(units), np.int64)
        for pair in np.unique(releases[releases[:, 0] >= 0], axis=0):
            some = np.flatnonzero((before == pair[0]) & (after == pair[1]))
            old, new = (self._history.releases[r].classes[units[some]] for r in pair)
            kinds[some[self.took_a_value(units[some], *pair.tolist())]] = 1
            kinds[some[self.back[units[some]] & ((old < 0) != (new < 0))]] = 2
        whenever = np.flatnonzero(before < 0)
        for last in range(1, len(self._history.releases)) if len(whenever) else ():
            kinds[whenever[self.took_a_value(units[whenever], last - 1, last)]] = 1
        kinds[whenever[self.back[units[whenever]]]] = 2
        kinds[self.updated(units, before, after)] = 3
        of_set = np.zeros(len(releases), np.int64)
        np.maximum.at(of_set, sets, kinds)
        return [(DIFFERENCE, CRITICAL_ABSENCE, RE_ENTRY, UPDATE)[kind] for kind in of_set.tolist()]

    def intersections(self, units: Longs, sets: Longs, n_sets: int) -> list[str]:
        """The attack on each set of those who are left with too few values."""
        lost = np.zeros(n_sets, bool)
        for after in range(1, len(self._history.releases)):
            lost[sets[self.lost_a_value(units, after - 1, after)]] = True
        return [CRITICAL_ABSENCE if one else INTERSECTION for one in lost.tolist()]

    def took_a_value(self, units: Longs, before: int, after: int) -> Bools:
        """Those who have left between two releases, and with them a value that nobody shows any more who is in a class
        with those who shared theirs."""
        old, new = self._history.releases[before].classes, self._history.releases[after].classes
        found = np.zeros(len(units), bool)
        gone = np.flatnonzero((old[units] >= 0) & (new[units] < 0) & self._history.known[units])
        if not len(gone):
            return found
        classes = np.unique(old[units[gone]])
        mates = np.flatnonzero(_among(old, classes) & (new >= 0))
        n_new = int(new.max(initial=-1)) + 1
        went = np.unique(old[mates] * n_new + new[mates])
        into = np.flatnonzero(_among(new, np.unique(went % max(1, n_new))))
        for values in self._history.values.values():
            width = len(values.names) + 1
            shown = np.unique(new[into] * width + values.numbers[into])
            starts = np.searchsorted(went, old[units[gone]] * n_new)
            lengths = np.searchsorted(went, (old[units[gone]] + 1) * n_new) - starts
            entry, who = runs(starts, lengths)
            wanted = went[entry] % max(1, n_new) * width + values.numbers[units[gone]][who]
            still = np.bincount(who, np.isin(wanted, shown), minlength=len(gone)) > 0
            found[gone[~still & (lengths > 0)]] = True
        return found

    def lost_a_value(self, units: Longs, before: int, after: int) -> Bools:
        """Those who have stayed, and whose class showed a value before that has left with somebody, and that theirs
        does not show any more."""
        old, new = self._history.releases[before].classes, self._history.releases[after].classes
        found = np.zeros(len(units), bool)
        stayed = np.flatnonzero((old[units] >= 0) & (new[units] >= 0))
        if not len(stayed):
            return found
        left = np.flatnonzero(_among(old, np.unique(old[units[stayed]])) & (new < 0) & self._history.known)
        into = np.flatnonzero(_among(new, np.unique(new[units[stayed]])))
        for values in self._history.values.values():
            width = len(values.names) + 1
            gone = np.unique(old[left] * width + values.numbers[left])
            shown = np.unique(new[into] * width + values.numbers[into])
            starts = np.searchsorted(gone, old[units[stayed]] * width)
            lengths = np.searchsorted(gone, (old[units[stayed]] + 1) * width) - starts
            entry, who = runs(starts, lengths)
            wanted = new[units[stayed]][who] * width + gone[entry] % width
            found[stayed[who[~np.isin(wanted, shown)]]] = True
        return found


def _leaders(links: Longs, size: int) -> Longs:
    """One unit for all that are linked."""
    leader = np.arange(size)
    while len(links):
        before = leader
        leader = leader.copy()
        np.minimum.at(leader, links[:, 0], before[links[:, 1]])
        leader = leader[leader]
        if np.array_equal(leader, before):
            break
    return leader


def _among(classes: Longs, wanted: Longs) -> Bools:
    flags = np.zeros(int(classes.max(initial=-1)) + 2, bool)
    flags[wanted] = True
    flags[-1] = False  # of those who are absent
    found: Bools = flags[classes]
    return found
