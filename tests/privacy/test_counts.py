"""Counts that follow groups which change, and rules that merging never breaks."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from shoal.compiling import entered
from shoal.privacy import Privacy, counts, make_rules
from shoal.privacy.rules import GroupCounts, rules_of
from tests.support.sensitive import ASKED, LEAVES, NESTED, groupings, records

pytestmark = pytest.mark.versions

GROUPS = 5
DEMANDS: dict[str, Any] = {"l": 1.5, "t": 0.6, "diversity": ["frequency", "entropy"], "alpha": {"ill": {"c": 0.8}}}

holds, join = entered(counts.holds), entered(counts.join)
leave, merge = entered(counts.leave), entered(counts.merge)
may_join, may_leave = entered(counts.may_join), entered(counts.may_leave)
may_merge, may_split = entered(counts.may_merge), entered(counts.may_split)


def lists(counts: GroupCounts, group: int) -> list[list[tuple[int, int]]]:
    bags = []
    for head in counts.heads[group]:
        bag = []
        while head != -1:
            key, count, head = counts.entries[head].tolist()
            bag.append((key, count))
        bags.append(bag)
    return bags


class CountsFollow(RuleBasedStateMachine):
    """Any sequence of joins, leaves and merges: counts equal recounted ones, and answers equal looking afterwards."""

    @initialize(data=st.data(), by_people=st.booleans())
    def start(self, data: st.DataObject, by_people: bool) -> None:
        rows = 16
        values = data.draw(st.lists(st.sampled_from([*LEAVES, None]), min_size=rows, max_size=rows))
        people = data.draw(st.lists(st.integers(0, 6), min_size=rows, max_size=rows)) if by_people else None
        made = records(values, people, pa.string(), hierarchy=NESTED)
        self.privacy = Privacy.of(made, 2, make_rules(["ill"], **DEMANDS))

        self.labels = np.full(rows, -1, np.int32)
        self.asked = rules_of(self.privacy.tables, GROUPS)

    def would_hold(self, labels: np.ndarray[Any, Any], group: int, k: int) -> bool:
        inside = np.flatnonzero(labels == group)
        if not len(inside):
            return True
        part = replace(self.privacy, k=k)
        alone = np.where(labels == group, 0, 1).astype(np.int32)
        return bool(part.facts_of(alone, 2 if len(inside) < len(labels) else 1).holds(k)[0])

    @rule(record=st.integers(0, 15), group=st.integers(0, GROUPS - 1))
    def join_or_leave(self, record: int, group: int) -> None:
        at = int(self.labels[record])
        after = self.labels.copy()
        if at < 0:
            after[record] = group
            assert may_join(self.asked, record, group) == self.would_hold(after, group, 1)
            join(self.asked, record, group)
        else:
            after[record] = -1
            for least in (0, 2):
                emptied = not (after == at).any()
                assert may_leave(self.asked, record, at, least) == (emptied or self.would_hold(after, at, least))
            leave(self.asked, record, at)
        self.labels = after

    @rule(one=st.integers(0, GROUPS - 1), other=st.integers(0, GROUPS - 1))
    def merge_two(self, one: int, other: int) -> None:
        if one == other or not ((self.labels == one) | (self.labels == other)).any():
            return
        after = np.where(self.labels == other, one, self.labels).astype(np.int32)
        assert may_merge(self.asked, one, other) == self.would_hold(after, one, 2)
        merge(self.asked, one, other)
        self.labels = after

    @precondition(lambda self: (self.labels == 0).sum() >= 2)
    @rule(data=st.data())
    def ask_for_a_split(self, data: st.DataObject) -> None:
        inside = np.flatnonzero(self.labels == 0).astype(np.int32)
        left = np.array(data.draw(st.lists(st.sampled_from(inside.tolist()), unique=True, min_size=1)), np.int32)
        parts = self.labels.copy()
        parts[left] = GROUPS
        wanted = (parts == 0).any() and self.would_hold(parts, 0, 2) and self.would_hold(parts, GROUPS, 2)
        assert may_split(self.asked, inside, left, 2) == wanted

    @invariant()
    def counts_are_those_of_counting_again(self) -> None:
        if not hasattr(self, "asked"):
            return
        again = rules_of(self.privacy.tables, GROUPS)
        for record in np.flatnonzero(self.labels >= 0):
            join(again, int(record), int(self.labels[record]))
        counts = self.asked.counts
        assert counts.sizes.tolist() == again.counts.sizes.tolist()
        assert counts.people.tolist() == again.counts.people.tolist()
        for group in range(GROUPS):
            assert lists(counts, group) == lists(again.counts, group)
            if counts.sizes[group]:
                assert holds(self.asked, group) == self.would_hold(self.labels, group, 2)


TestCountsFollow = CountsFollow.TestCase
TestCountsFollow.settings = settings(max_examples=60, stateful_step_count=25)


@settings(max_examples=200)
@given(made=groupings(), asked=st.sampled_from(ASKED), distance=st.sampled_from(["equal", "ordered", "hierarchical"]))
def test_merging_never_breaks_a_rule(
    made: tuple[list[Any], list[int] | None, list[int]], asked: dict[str, Any], distance: str
) -> None:
    """Monotone: what two groups satisfy, both together do. (With people in both groups nobody claims it.)"""
    values, _, labels = made
    encoded = records(values, None, pa.string(), hierarchy=NESTED, distance=distance)
    privacy = Privacy.of(encoded, 2, make_rules(["ill"], **asked))
    count = max(labels) + 1
    alone = privacy.facts_of(np.array(labels, np.int32), count).fine[:, 0]
    for one, other in itertools.combinations(range(count), 2):
        if alone[one] and alone[other]:
            together = np.array([one if label == other else label for label in labels])
            numbered = np.unique(together, return_inverse=True)[1].astype(np.int32)
            group = numbered[labels.index(one)]
            assert privacy.facts_of(numbered, int(numbered.max()) + 1).fine[group, 0]
