"""What generalization costs, from boxes: Total-IL and LM."""

from __future__ import annotations

from collections.abc import Sequence

from shoal.boxes.costs import box_costs
from shoal.partition import Partition
from shoal.records.codebook import CodeBook


def losses(partition: Partition, books: Sequence[CodeBook]) -> dict[str, float]:
    """Total-IL (Byun, Definitions 5 and 6), its share of the worst case, and LM (Goldberger & Tassa, eq. 3).

    Unweighted: weights steer a method, they do not change what a reader of the release has lost.
    """
    cells = len(partition.codes) * len(books)
    il = float(partition.sizes @ box_costs(books, "il", partition.lo, partition.hi).sum(axis=1))
    lm = float(partition.sizes @ box_costs(books, "lm", partition.lo, partition.hi).sum(axis=1))
    return {"il": il, "il_share": il / cells, "lm": lm / cells}
