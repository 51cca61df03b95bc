"""Partition: which record is in which group, and the groups' boxes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shoal.boxes.geometry import group_boxes
from shoal.errors import InternalError

Ints = NDArray[np.int32]


@dataclass(frozen=True)
class Partition:
    """Records in groups.

    Guarantee: every record is in exactly one group, groups are numbered 0..groups − 1 and none is empty, and a box is
    the smallest around its group. Whether it may be published is another question: ask `obstacles`.
    """

    codes: Ints  # (records, columns)
    labels: Ints  # the group of each record; the holder's secret
    lo: Ints  # (groups, columns)
    hi: Ints
    sizes: NDArray[np.int64]
    k: int

    @classmethod
    def from_labels(cls, codes: Ints, labels: NDArray[np.integer], k: int) -> Partition:
        """The partition with these labels, which may be any numbers: equal label, same group."""
        if len(labels) != len(codes):
            raise InternalError(f"{len(labels)} labels for {len(codes)} records.")
        found, numbered = np.unique(labels, return_inverse=True)
        numbered = numbered.astype(np.int32)
        lo, hi, sizes = group_boxes(codes, numbered, len(found))
        return cls(codes, numbered, lo, hi, sizes, k)

    def __len__(self) -> int:
        """How many groups there are."""
        return len(self.sizes)

    def obstacles(self) -> list[str]:
        """Why this partition must not be published, in words; empty if nothing stands in the way."""
        small = int((self.sizes < self.k).sum())
        if not small:
            return []
        return [f"{small} of {len(self)} groups have fewer than k = {self.k} records (the smallest {self.sizes.min()})"]

    @property
    def publishable(self) -> bool:
        return not self.obstacles()

    def check(self) -> None:
        """Recompute everything from codes and labels; raise InternalError where the guarantee does not hold."""
        if len(np.unique(self.labels)) != len(self) or self.labels.min() < 0 or self.labels.max() >= len(self):
            raise InternalError("groups are not numbered 0..groups − 1, or one is empty.")
        lo, hi, sizes = group_boxes(self.codes, self.labels, len(self))
        if not (np.array_equal(lo, self.lo) and np.array_equal(hi, self.hi) and np.array_equal(sizes, self.sizes)):
            raise InternalError("boxes or sizes do not agree with the records in the groups.")

    def __repr__(self) -> str:
        return f"<Partition of {len(self.codes)} records into {len(self)} groups, k = {self.k}>"
