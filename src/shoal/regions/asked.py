"""Whether a region has what is asked of it, from the counts of its sensitive values alone.

A region that has k records and satisfies every rule can be cut into groups that do; another cannot. Whoever cuts a
table that he does not hold knows no more of a region than its counts. Where the arithmetic leaves a doubt, the answer
is no: then a region joins another for nothing, and is never refused by the kernels.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shoal.errors import ParameterError
from shoal.privacy import Privacy, Rule
from shoal.privacy.requirements import ALPHA, CLOSENESS
from shoal.privacy.sensitive import Distribution, SensitiveColumn
from shoal.privacy.tables import PrivacyTables, shares_in

Longs = NDArray[np.int64]
Floats = NDArray[np.float64]
DOUBT = 1e-9


@dataclass(frozen=True)
class Counts:
    """Of one region: its records, and how many have each code of each sensitive column that a rule is about."""

    records: int
    values: Mapping[str, Longs]

    def __add__(self, other: Counts) -> Counts:
        together = {name: values + other.values[name] for name, values in self.values.items()}
        return Counts(self.records + other.records, together)


class Wanted:
    """What is asked of every region."""

    def __init__(
        self,
        k: int,
        rules: Sequence[Rule],
        columns: Mapping[str, SensitiveColumn],
        reference: Mapping[str, Distribution],
    ) -> None:
        """`columns`: those that rules are about, over the different values of the whole table."""
        self.k, self.rules = k, tuple(rules)
        self._columns = columns
        self._tables: dict[str, PrivacyTables] = {}
        for name, column in columns.items():
            mine = tuple(rule for rule in rules if rule.column == name)
            self._tables[name] = Privacy(k, mine, (column,), None, len(column.codes), reference).tables

    def size(self, name: str) -> int:
        """How many codes a column has."""
        return self._columns[name].size

    def has(self, region: Counts) -> bool:
        return region.records >= self.k and all(
            self._satisfies(rule, region.values[rule.column]) for rule in self.rules
        )

    def check_feasible(self, table: Counts) -> None:
        """Refuse what the whole table does not have, as `Privacy.check_feasible` does."""
        if table.records < self.k:
            raise ParameterError(
                f"k must be at most the number of records, {table.records}. Got {self.k} instead.",
                hint="Choose a smaller k, or bring more records.",
            )
        for rule in self.rules:
            if not self._satisfies(rule, table.values[rule.column]):
                raise ParameterError(
                    f"{rule} cannot be promised: the whole table does not have it, and no group can do better.",
                    hint="Ask for less, or leave the column out.",
                )

    def _satisfies(self, rule: Rule, counts: Longs) -> bool:
        total, largest = int(counts.sum()), int(counts.max(initial=0))
        if total == 0:
            return False
        shares = counts / total
        if rule.model == CLOSENESS:
            return self._distance(rule.column, shares) <= rule.bound * (1 - DOUBT) + DOUBT / 2
        if rule.model == ALPHA:
            if rule.value is None:
                return largest <= rule.bound * total
            code = self._columns[rule.column].code_of(rule.value)
            return code is None or int(counts[code]) <= rule.bound * total
        if rule.model == "frequency":
            return total >= rule.bound * largest
        if rule.model == "distinct":
            return int((counts > 0).sum()) >= rule.bound
        if rule.model == "entropy":
            present = shares[shares > 0]
            return float(np.exp(-(present * np.log(present)).sum())) >= rule.bound * (1 + DOUBT)
        tail = int(np.sort(counts)[::-1][int(rule.bound) - 1 :].sum())
        return largest < rule.c * tail * (1 - DOUBT)

    def _distance(self, name: str, shares: Floats) -> float:
        """The earth mover's distance from the whole table (docs/privacy.md)."""
        column, tables = self._columns[name], self._tables[name]
        difference = shares - shares_in(tables, 0)
        if column.distance == "ordered":
            first = 0 if column.some_missing else 1
            places = column.size - first
            return float(np.abs(np.cumsum(difference[first:])).sum() / max(1, places - 1))
        if column.distance != "hierarchical":
            return float(np.abs(difference).sum() / 2)
        row = tables.columns[0]
        paths = tables.paths[row["paths"] : row["paths"] + column.size * row["depth"]].reshape(column.size, -1)
        nodes = int(row["node_shares"] - row["weights"])
        weights = tables.numbers[row["weights"] : row["weights"] + nodes]
        below = np.zeros(nodes)
        for depth in range(paths.shape[1]):
            reached = paths[:, depth] >= 0
            np.add.at(below, paths[reached, depth], difference[reached])
        return float((weights * np.abs(below)).sum())
