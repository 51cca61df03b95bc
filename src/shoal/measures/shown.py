"""What is shown of every record, for the holder's measures: the box of its group, or nothing at all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shoal.boxes.costs import box_costs, column_costs
from shoal.partition import Partition
from shoal.records.codebook import CodeBook
from shoal.records.encode import Records

Ints = NDArray[np.int32]
Longs = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Shown:
    """Boxes, and which of them each record is shown as.

    Records that are withheld share one more box, the last, which covers everything: a row of nothing but `*`. So every
    measure counts them as what it would be told of such a row, and needs to know nothing else of them.
    """

    labels: Ints  # of all records
    lo: Ints  # (boxes, columns)
    hi: Ints
    sizes: Longs  # records shown as each box
    withheld: int

    @classmethod
    def of(cls, records: Records, partition: Partition, kept: NDArray[np.bool_] | None = None) -> Shown:
        """`kept`: which records the partition is of, where some are withheld."""
        if kept is None or kept.all():
            return cls(partition.labels, partition.lo, partition.hi, partition.sizes, 0)
        labels = np.full(len(records), len(partition), np.int32)
        labels[kept] = partition.labels
        withheld = len(records) - int(kept.sum())
        return cls(
            labels,
            np.concatenate([partition.lo, np.zeros((1, len(records.books)), np.int32)]),
            np.concatenate([partition.hi, [[book.size - 1 for book in records.books]]]).astype(np.int32),
            np.append(partition.sizes, withheld),
            withheld,
        )

    def costs(self, books: Sequence[CodeBook], measure: str) -> Floats:
        """The unweighted cost of each box in each column."""
        found = box_costs(books, measure, self.lo, self.hi)
        if self.withheld:  # also where a column has nothing but missing values
            found[-1] = [column_costs(book, measure).full for book in books]
        return found
