"""What groups look like in one release after the other, as numbers: all snapshots are read once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import sqlalchemy as sa
from numpy.typing import NDArray

from shoal.vault.releases.snapshots import GroupLabels, Snapshot, class_numbers, stored_snapshots

Longs = NDArray[np.int64]


class Looks:
    """The number of each group's look in a release; −1 of a group that it does not know.

    Two groups have the same number exactly if they look the same in the release. What `numbers_at` is asked for must
    not go back: a later snapshot is taken in when its version comes.
    """

    def __init__(self, connection: sa.Connection, groups: Longs, where: str) -> None:
        """`groups`: all that will be asked for, by rising number, each once."""
        self._groups = groups
        self._numbers = np.full(len(groups), -1, np.int64)
        self._coming = _numbered(stored_snapshots(connection), where)

    def numbers_at(self, version: int) -> Longs:
        """Of each of the groups."""
        while self._coming and self._coming[0][0].version <= version:
            snapshot, groups, numbers = self._coming.pop(0)
            if snapshot.base == snapshot.version:  # a complete one: nothing from before counts
                self._numbers = np.full(len(self._groups), -1, np.int64)
            self._know(self._numbers, groups, numbers)
        return self._numbers

    def numbers_in(self, labels: GroupLabels) -> Longs:
        """Of each of the groups in a release that is not stored."""
        found = np.full(len(self._groups), -1, np.int64)
        self._know(found, labels.groups, class_numbers(labels)[0])
        return found

    def _know(self, numbers: Longs, groups: Longs, looks: Longs) -> None:
        if len(self._groups):
            at = np.minimum(np.searchsorted(self._groups, groups), len(self._groups) - 1)
            there = self._groups[at] == groups
            numbers[at[there]] = looks[there]


def _numbered(stored: Sequence[Snapshot], where: str) -> list[tuple[Snapshot, Longs, Longs]]:
    """Snapshots by rising version, with their groups and the numbers of their looks: those of one base together."""
    found = []
    for base in sorted({one.base for one in stored}):
        some = [one for one in stored if one.base == base]
        labels = [one.labels(where) for one in some]
        numbers = class_numbers(*labels)
        found += [(one, its.groups, looks) for one, its, looks in zip(some, labels, numbers, strict=True)]
    return found
