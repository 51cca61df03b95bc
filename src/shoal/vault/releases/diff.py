"""Two releases compared: who came, left or moved, and which classes stayed."""

from __future__ import annotations

import numpy as np
import sqlalchemy as sa

from shoal.errors import ParameterError
from shoal.vault.facts import Diff
from shoal.vault.releases.history import Longs, Members, release_row, shown_by
from shoal.vault.releases.snapshots import GroupLabels, class_numbers, labels_at
from shoal.vault.state.republication import SAFE
from shoal.vault.store.integrity import check_part, check_records


def _numbers(labels: GroupLabels, numbers: Longs, members: Members) -> Longs:
    """The number of each member's class. Of a group that nobody is left of it is not known what it looked like: it
    counts as a class of its own.
    """
    rows = labels.at(members.groups)
    return np.where(rows < 0, -1 - members.groups, numbers[rows] if len(numbers) else 0)


def difference(connection: sa.Connection, before: int, after: int, where: str) -> Diff:
    """What has become of one release in another; the parts that say so are checked."""
    for part in ("releases", "memberships", "classes", "places"):
        check_part(connection, part, where)
    check_records(connection, ["groups"], where)
    first, second = (release_row(connection, number, where) for number in (before, after))
    if (first["republication"] == SAFE) != (second["republication"] == SAFE):
        raise ParameterError(
            f"releases {before} and {after} cannot be compared row by row: one shows records, and one cohorts, whose "
            "rows stay when people leave.",
            hint="Compare releases from before the vault was switched to safe, or after.",
        )
    old, new = (shown_by(connection, row) for row in (first, second))
    old_labels, new_labels = (labels_at(connection, row["version"], where) for row in (first, second))
    old_number, new_number = class_numbers(old_labels, new_labels)
    was, now = _numbers(old_labels, old_number, old), _numbers(new_labels, new_number, new)
    stayed, at_old, at_new = np.intersect1d(old.ids, new.ids, assume_unique=True, return_indices=True)
    moved = int((was[at_old] != now[at_new]).sum())
    sizes_old, sizes_new = (
        dict(zip(*(column.tolist() for column in np.unique(numbers, return_counts=True)), strict=True))
        for numbers in (was, now)
    )
    common = sizes_old.keys() & sizes_new.keys()
    kept = sum(sizes_old[number] == sizes_new[number] for number in common)
    return Diff(
        before=before,
        after=after,
        rows_before=len(old.ids),
        rows_after=len(new.ids),
        stayed=len(stayed),
        joined=len(new.ids) - len(stayed),
        left=len(old.ids) - len(stayed),
        moved=moved,
        classes_before=len(sizes_old),
        classes_after=len(sizes_new),
        classes_kept=kept,
        classes_changed=len(common) - kept,
        classes_gone=len(sizes_old) - len(common),
        classes_new=len(sizes_new) - len(common),
        loss_before=first["loss"],
        loss_after=second["loss"],
    )
