"""What a change has done to a live partition, as long as it can be taken back."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.maintain.extracts import equal
from shoal.maintain.table import LiveTable
from shoal.records.changes import Arrivals


class Applied(NamedTuple):
    """What a change has done; records by their slots."""

    inserted: int
    updated: int
    deleted: int
    groups: NDArray[np.int64]  # numbers of the groups that have changed, come or gone
    moved: NDArray[np.int64]  # records that are in another group than before, or have come
    gone: NDArray[np.int32]  # records that were deleted, and those that an update has replaced
    come: NDArray[np.int32]  # records that were inserted, then those that have replaced others
    arrivals: Arrivals


def changes_values(table: LiveTable, applied: Applied) -> bool:
    """Whether a batch has changed any record: not one that says of records what they are already."""
    if applied.inserted or applied.deleted or not applied.updated:
        return True
    before, after = applied.gone, applied.come
    if not np.array_equal(table.codes[before], table.codes[after]):
        return True
    if table.persons is not None and [table.persons[i] for i in before] != [table.persons[i] for i in after]:
        return True
    names = table.passthrough[0].column_names
    return not all(equal(table.carried_in(name, before), table.carried_in(name, after)).all() for name in names)


@dataclass
class Change:
    """What a block does to a live partition. When the block ends it is taken back, unless it was accepted."""

    before: NDArray[np.int32]  # the group of each slot
    applied: Applied = field(init=False)
    accepted: bool = False

    def accept(self) -> None:
        """From here on it lasts."""
        self.accepted = True
