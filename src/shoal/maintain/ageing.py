"""Whether groups have aged, told by what the same table has lost before.

Some groups age in a way that no small step mends: columns that have nothing to do with each other end a twentieth above
starting again after all records have been replaced once (docs/method.md). Refining does not see how much there is to
gain. What tells is memory: the table was as large before, or smaller, and lost less for every record. More records lose
less each, not more, so either the groups have aged or the records have become others.
"""

from __future__ import annotations

from collections import deque

REMEMBERED = 1_000  # batches
AS_LARGE = 1.02  # times the records that there are: what was larger is no measure


class Ageing:
    """What a record has lost after each batch."""

    def __init__(self) -> None:
        self.past: deque[tuple[int, float]] = deque(maxlen=REMEMBERED)  # how many there were, and what each lost

    def note(self, records: int, loss: float) -> None:
        """What a batch has left."""
        if records:
            self.past.append((records, loss / records))

    def shown(self) -> float:
        """What a record lost after the last batch, as a multiple of the least when there were as many records."""
        if not self.past:
            return 1.0
        records, loss = self.past[-1]
        least = min(lost for count, lost in self.past if count <= AS_LARGE * records)
        return loss / least if least > 0.0 else 1.0
