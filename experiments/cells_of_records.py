"""What is published of each record, column by column, as runs of codes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.measures.holder import closure
from shoal.partition import Partition
from shoal.records.codebook import CodeBook
from shoal.records.encode import Records

Ints = NDArray[np.int32]


class CellsOfRecords(NamedTuple):
    """`first[i, j]..last[i, j]`: the codes that a reader must reckon with for record i in column j. None is missing."""

    books: Sequence[CodeBook]
    first: Ints
    last: Ints

    @classmethod
    def of_originals(cls, records: Records) -> CellsOfRecords:
        """Each record shows its own values."""
        return cls(records.books, records.codes, records.codes)

    @classmethod
    def of_release(cls, records: Records, partition: Partition) -> CellsOfRecords:
        """Each record shows the box of its group: an interval of numbers, all leaves below a node of a hierarchy."""
        columns = [closure(book, partition.lo[:, j], partition.hi[:, j]) for j, book in enumerate(records.books)]
        first, last = (np.stack(ends, axis=1)[partition.labels] for ends in zip(*columns, strict=True))
        return cls(records.books, first, last)
