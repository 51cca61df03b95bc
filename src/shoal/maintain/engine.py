"""Engine: what a maintainer does for a live partition."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from shoal.progress import Progress

if TYPE_CHECKING:
    from shoal.maintain.live import LivePartition

Ints = NDArray[np.int32]


class Engine(Protocol):
    """It is made from a live partition's labels, and changes them; of the partition it needs codes, books and costs."""

    def __init__(self, live: LivePartition) -> None:
        """Groups that are too large may be split at once."""

    def apply(self, gone: Ints, come: Ints, replaced: Ints, progress: Progress) -> None:
        """Records go and come. `replaced[i]`: the record of `gone` that `come[i]` is the new version of, or −1."""

    def publishable(self) -> bool:
        """Whether every group has what is asked."""

    def n_groups(self) -> int:
        """How many groups there are."""

    def loss(self) -> float:
        """What all records lose together."""

    def recoded(self, moved: Sequence[Ints | None]) -> None:
        """Codes have new names, in the same order: those of each column that has any."""

    def renumbered(self, slots: Ints) -> None:
        """Records have new slots: `slots[i]` is that of record i, −1 if it is no more."""
