"""Mondrian as a person would write it down: lists and recursion, straight from the description in its docstring."""

from __future__ import annotations

from collections.abc import Callable, Sequence

Record = tuple[int, ...]
Cost = Callable[[int, int, int], float]  # of column, smallest code, largest code


def mondrian(
    records: Sequence[Record],
    cost: Cost,
    k: int,
    *,
    relaxed: bool = False,
    cut: str = "best",
    allowed: Callable[[list[int]], bool] = lambda group: True,
) -> list[list[int]]:
    """The groups, as lists of record numbers. `allowed`: whether a group satisfies what is asked besides k records."""

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

    def halve(group: list[int], j: int) -> tuple[list[int], list[int]] | None:
        in_order = sorted(group, key=lambda i: records[i][j])  # stable: equal codes keep their order
        left = set(in_order[: len(group) // 2])
        halves = [i for i in group if i in left], [i for i in group if i not in left]
        return halves if all(map(allowed, halves)) else None

    def between(group: list[int], j: int) -> tuple[list[int], list[int]] | None:
        codes = sorted({records[i][j] for i in group})
        median = sorted(records[i][j] for i in group)[(len(group) - 1) // 2]
        best, chosen = 0, None
        for code in [median] if cut == "median" else codes:
            sides = [i for i in group if records[i][j] <= code], [i for i in group if records[i][j] > code]
            smaller = min(map(len, sides))
            if smaller >= k and smaller > best and all(map(allowed, sides)):
                best, chosen = smaller, sides
        return chosen

    return divide(list(range(len(records))))
