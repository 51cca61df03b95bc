"""Partition: which record is in which group, and the groups' boxes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from shoal.boxes.geometry import group_boxes, without_gaps
from shoal.errors import InternalError
from shoal.privacy import GroupFacts, Privacy, Rule

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
    privacy: Privacy

    @classmethod
    def from_labels(cls, codes: Ints, labels: NDArray[np.integer], privacy: Privacy) -> Partition:
        """The partition with these labels, which may be any numbers: equal label, same group."""
        if len(labels) != len(codes):
            raise InternalError(f"{len(labels)} labels for {len(codes)} records.")
        numbered = without_gaps(labels)
        lo, hi, sizes = group_boxes(codes, numbered, int(numbered.max(initial=-1)) + 1)
        return cls(codes, numbered, lo, hi, sizes, privacy)

    @property
    def k(self) -> int:
        return self.privacy.k

    @cached_property
    def facts(self) -> GroupFacts:
        """What each group is, and what it reaches of what is asked."""
        return self.privacy.facts_of(self.labels, len(self))

    def __len__(self) -> int:
        """How many groups there are."""
        return len(self.sizes)

    def obstacles(self) -> list[str]:
        """Why this partition must not be published, in words; empty if nothing stands in the way."""
        if not len(self):
            return ["there are no records"]
        facts = self.facts
        reasons = []
        small = int((facts.people < self.k).sum())
        if small:
            counted, smallest = self.privacy.counted, facts.people.min()
            reasons.append(
                f"{small} of {len(self)} groups have fewer than k = {self.k} {counted} (the smallest {smallest})"
            )
        for rule, found, fine in zip(self.privacy.rules, facts.found.T, facts.fine.T, strict=True):
            if not fine.all():
                reasons.append(f"{int((~fine).sum())} of {len(self)} groups do not have {rule} ({_worst(rule, found)})")
        return reasons

    @property
    def publishable(self) -> bool:
        return not self.obstacles()

    def check(self) -> None:
        """Recompute everything from codes and labels; raise InternalError where the guarantee does not hold."""
        if (
            len(np.unique(self.labels)) != len(self)
            or self.labels.min(initial=0) < 0
            or self.labels.max(initial=-1) >= len(self)
        ):
            raise InternalError("groups are not numbered 0..groups − 1, or one is empty.")
        lo, hi, sizes = group_boxes(self.codes, self.labels, len(self))
        if not (np.array_equal(lo, self.lo) and np.array_equal(hi, self.hi) and np.array_equal(sizes, self.sizes)):
            raise InternalError("boxes or sizes do not agree with the records in the groups.")

    def __repr__(self) -> str:
        return f"<Partition of {len(self.codes)} records into {len(self)} groups, k = {self.k}>"


def _worst(rule: Rule, found: NDArray[np.float64]) -> str:
    if rule.model == "recursive":
        return f"the worst needs c above {found.max():.4g}"
    worst = found.min() if rule.symbol == "l" else found.max()
    return f"the worst reaches {worst:.4g}"
