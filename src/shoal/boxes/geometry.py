"""The boxes around groups of points."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int32]
LO, HI = 0, 1  # of a box that is kept as (2, columns)


def without_gaps(labels: NDArray[np.integer]) -> Ints:
    """The same groups, numbered from 0 in the order of their numbers."""
    if len(labels) and labels.min() >= 0 and labels.max() < 2 * len(labels):  # no need to sort them
        used = np.bincount(labels) > 0
        return (np.cumsum(used) - 1).astype(np.int32)[labels]
    return np.unique(labels, return_inverse=True)[1].astype(np.int32)


def by_first_record(labels: NDArray[np.integer]) -> Ints:
    """The same groups, numbered from 0 in the order of their first records."""
    _, first, dense = np.unique(labels, return_index=True, return_inverse=True)
    numbers = np.empty(len(first), np.int32)
    numbers[np.argsort(first)] = np.arange(len(first))
    return numbers[dense]


def numbered_as(labels: NDArray[np.integer], before: NDArray[np.integer]) -> Ints:
    """The same groups, each with the number that its first record's group had before, if no other has it.

    The others have the lowest numbers that are free: numbers do not grow, however often groups are made.
    """
    _, first, dense = np.unique(labels, return_index=True, return_inverse=True)
    numbers = before[first].astype(np.int64)
    again = np.ones(len(numbers), bool)
    again[np.unique(numbers, return_index=True)[1]] = False
    free = np.setdiff1d(np.arange(len(numbers)), numbers[~again])
    numbers[again] = free[: np.count_nonzero(again)]
    return numbers[dense].astype(np.int32)


def group_boxes(codes: Ints, labels: Ints, groups: int) -> tuple[Ints, Ints, NDArray[np.int64]]:
    """The smallest and largest code of each group in each column, and the groups' sizes.

    Guarantee: given labels 0..groups − 1, each in use, `lo[g] ≤ codes[i] ≤ hi[g]` for every record i of group g, and
    both bounds are reached.
    """
    if groups == 0:
        nowhere = np.zeros((0, codes.shape[1]), np.int32)
        return nowhere, nowhere, np.zeros(0, np.int64)
    sizes = np.bincount(labels, minlength=groups)
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    order = np.argsort(labels, kind="stable")
    lo = np.empty((groups, codes.shape[1]), np.int32)
    hi = np.empty_like(lo)
    for j in range(codes.shape[1]):  # a column at a time: a sorted copy of all codes would double the memory
        column = codes[order, j]
        lo[:, j] = np.minimum.reduceat(column, starts)
        hi[:, j] = np.maximum.reduceat(column, starts)
    return lo, hi, sizes
