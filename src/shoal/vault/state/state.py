"""State: a vault in memory."""

from __future__ import annotations

from dataclasses import dataclass

from shoal.maintain.live import LivePartition
from shoal.vault.state.dictionary import Dictionary
from shoal.vault.state.epoch import Epoch


@dataclass
class State:
    """A vault in memory, at a version."""

    version: int
    epoch: Epoch
    live: LivePartition
    dictionary: Dictionary
    epochs_begun: int = 0  # of the live partition, that are stored
