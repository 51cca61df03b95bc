"""What a change has done to a live partition, as long as it can be taken back."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

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


@dataclass
class Change:
    """What a block does to a live partition. When the block ends it is taken back, unless it was accepted."""

    before: NDArray[np.int32]  # the group of each slot
    applied: Applied = field(init=False)
    accepted: bool = False

    def accept(self) -> None:
        """From here on it lasts."""
        self.accepted = True
