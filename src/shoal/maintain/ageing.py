"""Whether groups have aged, told by what the same table has lost before.

Some groups age in a way that no small step mends: columns that have nothing to do with each other end a twentieth above
starting again after all records have been replaced once (docs/method.md). Refining does not see how much there is to
gain. What tells is memory: a record has lost less before, when there were as many or fewer. Then either the groups have
aged or the records have become others.

More records lose less each, as a power of how many there are. Where a table has grown that power is needed, and the
groups that take the least time to make tell it: straight cuts, of all records and of half of them.
"""

from __future__ import annotations

from collections import deque

import numpy as np

REMEMBERED = 1_000  # batches
AS_LARGE = 1.02  # times the records that there are: what was larger is no measure
GROWN = 1.05  # times the records that there were
DOUBT = 0.1  # of the power


class Ageing:
    """What a record has lost after each batch."""

    def __init__(self) -> None:
        self.past: deque[tuple[int, float]] = deque(maxlen=REMEMBERED)  # how many there were, and what each lost

    def note(self, records: int, loss: float) -> None:
        """What a batch has left."""
        if records:
            self.past.append((records, loss / records))

    def has_grown(self) -> bool:
        """Whether there have been clearly fewer records."""
        return bool(self.past) and self.past[-1][0] > GROWN * min(count for count, _ in self.past)

    def shown(self, power: float) -> float:
        """What a record lost after the last batch, as a multiple of what it would as it was before, at best.

        With twice the records each loses 2^−power times as much; or a little more or less, so what was long before the
        table had its size says less.
        """
        if not self.past:
            return 1.0
        counts, losses = np.array(self.past).T
        growth = np.log(counts[-1] / counts)
        as_large = growth > -np.log(AS_LARGE)
        least = float((losses * np.exp((DOUBT - power) * np.maximum(0.0, growth)))[as_large].min())
        return float(losses[-1]) / least if least > 0.0 else 1.0
