"""Privacy: what is asked of every group, bound to the records that it is asked of."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from shoal.errors import ParameterError, ShoalWarning
from shoal.privacy.requirements import ALPHA, CLOSENESS, Rule
from shoal.privacy.sensitive import Distribution, SensitiveColumn, sensitive_column
from shoal.privacy.tables import Ints, Longs, PrivacyTables, privacy_tables, shares_in
from shoal.records.encode import Records


@dataclass(frozen=True)
class GroupFacts:
    """What each group is, and what it reaches under each rule."""

    people: Longs  # people; records where people are not counted
    found: NDArray[np.float64]  # (groups, rules)
    fine: NDArray[np.bool_]  # (groups, rules)

    def holds(self, k: int) -> NDArray[np.bool_]:
        """Which groups have at least k people and satisfy every rule."""
        held: NDArray[np.bool_] = (self.people >= k) & self.fine.all(axis=1)
        return held


@dataclass(frozen=True)
class Privacy:
    """k and rules over some records; kernels ask `tables`, people ask the methods."""

    k: int
    rules: tuple[Rule, ...]
    columns: tuple[SensitiveColumn, ...]
    people: Ints | None  # the person of each record, where one may have several
    records: int
    reference: Mapping[str, Distribution] | None = None  # what closeness is measured against; None: these records

    @classmethod
    def of(
        cls,
        records: Records,
        k: int,
        rules: Sequence[Rule] = (),
        *,
        reference: Mapping[str, Distribution] | None = None,
        quiet: bool = False,
    ) -> Privacy:
        """Closeness is measured against the distribution of these records, or against `reference`, by column.

        `quiet`: say nothing of missing values; it has been said before.
        """
        names = list(dict.fromkeys(rule.column for rule in rules))
        columns = [
            sensitive_column(name, records, list((reference or {}).get(name, ())), quiet=quiet) for name in names
        ]
        for rule in rules:
            if not quiet:
                _check_value(rule, columns[names.index(rule.column)], records)
        return cls(int(k), tuple(rules), tuple(columns), records.people, len(records), reference)

    @classmethod
    def only_k(cls, k: int, records: int) -> Privacy:
        return cls(k, (), (), None, records)

    @property
    def counted(self) -> str:
        """What k counts."""
        return "records" if self.people is None else "people"

    @property
    def asks_more(self) -> bool:
        """Whether more is asked than k records in every group."""
        return bool(self.rules) or self.people is not None

    @cached_property
    def tables(self) -> PrivacyTables:
        return privacy_tables(self.k, self.rules, self.columns, self.people, self.records, self.reference)

    def distributions(self) -> dict[str, Distribution]:
        """What closeness is measured against, by column: the share of every value; None is missing."""
        kept: dict[str, Distribution] = {}
        for j, column in enumerate(self.columns):
            shares = shares_in(self.tables, j).tolist()
            kept[column.name] = dict(zip(column.values, shares if column.some_missing else shares[1:], strict=True))
        return kept

    def facts_of(self, labels: Ints, groups: int) -> GroupFacts:
        """Look at every group. Without rules and people no kernel is needed."""
        sizes = np.bincount(labels, minlength=groups)
        if not self.asks_more:
            return GroupFacts(sizes, np.zeros((groups, 0)), np.ones((groups, 0), bool))
        from shoal.privacy.tally import look_at_groups  # loads Numba

        people, found, fine = look_at_groups(self.tables, labels, np.cumsum(sizes))
        return GroupFacts(people, found, fine)

    def check_feasible(self) -> None:
        """Refuse what no partition of these records can satisfy, and say what one can.

        All definitions are monotone: what the whole table does not satisfy, some group of every partition does not
        either. Where people are counted, a person may be in two groups, and two groups may satisfy what both together
        do not; it is refused all the same, because merging is all that mends a group. (Closeness the whole table always
        has, unless it is meant to another one.)
        """
        facts = self.facts_of(np.zeros(self.records, np.int32), 1)
        if facts.people[0] < self.k:
            raise ParameterError(
                f"k must be at most the number of {self.counted}, {facts.people[0]}. Got {self.k} instead.",
                hint="Choose a smaller k, or bring more records.",
            )
        for rule, found, fine in zip(self.rules, facts.found[0].tolist(), facts.fine[0].tolist(), strict=True):
            if not fine:
                better = ", and no group can do better" if self.people is None else ""
                raise ParameterError(
                    f"{rule} cannot be promised: the whole table does not have it{better}.",
                    hint=self._feasible(rule, found),
                )

    def _feasible(self, rule: Rule, found: float) -> str:
        if rule.model == CLOSENESS:
            return f"The smallest t that these records can reach is {_up(found)}."
        if rule.model == ALPHA:
            return f"The smallest alpha that these records can reach is {_up(found)}."
        if rule.model != "recursive":
            return f"The largest l that these records can reach is {_down(found)}."
        needed = "no c is large enough" if math.isinf(found) else f"c must be above {_up(found)}"
        most = self._largest_recursive(rule)
        reachable = f"the largest l is {most}" if most else "no l can be reached"
        return f"With c = {rule.c:g} {reachable}; with l = {rule.bound:g} {needed}."

    def _largest_recursive(self, rule: Rule) -> int:
        """The largest ℓ that the whole table reaches with this c; 0 if it reaches none. The larger, the harder."""
        sizes = {column.name: column.size for column in self.columns}
        low, high = 0, min(int(rule.bound) - 1, sizes[rule.column])
        while low < high:
            middle = (low + high + 1) // 2
            easier = replace(self, rules=(replace(rule, bound=float(middle)),))
            if easier.facts_of(np.zeros(self.records, np.int32), 1).fine.all():
                low = middle
            else:
                high = middle - 1
        return low


def _check_value(rule: Rule, column: SensitiveColumn, records: Records) -> None:
    """The value that alpha names should be one that occurs: a slip of the pen would protect nothing."""
    if rule.value is None:
        return
    if records.schema.columns[rule.column].bins is not None:
        raise ParameterError(f"alpha cannot name a value of {rule.column!r}: its values are taken in bins.")
    if column.code_of(rule.value) is None:
        note = f"alpha names a value of {rule.column!r} that no record has. Is it spelled as in the table?"
        warnings.warn(note, ShoalWarning, stacklevel=3)


def _down(number: float) -> str:
    """Five digits, rounded so that the number shown can be asked for."""
    return f"{math.floor(number * 1e5 * (1 + 1e-12)) / 1e5:.10g}"


def _up(number: float) -> str:
    return f"{math.ceil(number * 1e5 * (1 - 1e-12)) / 1e5:.10g}"
