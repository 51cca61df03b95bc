"""Mondrian as a person would write it down: lists and recursion, straight from the description in its docstring."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

Record = tuple[int, ...]
Cost = Callable[[int, int, int], float]  # of column, smallest code, largest code


def mondrian(
    records: Sequence[Record], cost: Cost, k: int, *, relaxed: bool = False, cut: str = "best"
) -> list[list[int]]:
    """The groups, as lists of record numbers."""

    def divide(group: list[int]) -> list[list[int]]:
        if len(group) < 2 * k:
            return [group]
        columns = []
        for j in range(len(records[0])):
            codes = [records[i][j] for i in group]
            if min(codes) < max(codes):
                columns.append((-cost(j, min(codes), max(codes)), j))
        for _, j in sorted(columns):
            halves = halve(group, j) if relaxed else between(group, j)
            if halves:
                return divide(halves[0]) + divide(halves[1])
        return [group]

    def halve(group: list[int], j: int) -> tuple[list[int], list[int]]:
        in_order = sorted(group, key=lambda i: records[i][j])  # stable: equal codes keep their order
        left = set(in_order[: len(group) // 2])
        return [i for i in group if i in left], [i for i in group if i not in left]

    def between(group: list[int], j: int) -> tuple[list[int], list[int]] | None:
        counts = Counter(records[i][j] for i in group)
        codes = sorted(counts)
        median = sorted(records[i][j] for i in group)[(len(group) - 1) // 2]
        best, at = 0, None
        for code in codes[:-1]:
            left = sum(counts[other] for other in codes if other <= code)
            if min(left, len(group) - left) > best and (cut == "best" or code == median):
                best, at = min(left, len(group) - left), code
        if at is None or best < k:
            return None
        return [i for i in group if records[i][j] <= at], [i for i in group if records[i][j] > at]

    return divide(list(range(len(records))))
