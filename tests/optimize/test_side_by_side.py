"""Refining side by side: the same for any number of workers, and as good as one step after the other."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal import datasets
from shoal.boxes.changes import groups_of, total_loss
from shoal.boxes.costs import cost_tables
from shoal.cluster import cluster
from shoal.optimize.refine import many_pools, refiner
from shoal.optimize.refine.many_pools import NEVER, ROUNDS, find_pools, give_rounds, new_pools
from shoal.optimize.refine.refiner import EFFORTS, Refiner
from shoal.optimize.refine.steps import DISSOLVE, LOOSEN, MOVE, POOL
from shoal.partition import Partition
from shoal.privacy import make_rules
from shoal.records.encode import Records, encode
from shoal.schema import Role
from shoal.workers import using
from tests.support.group_trees import check as check_tree
from tests.support.rules import asked_of
from tests.support.side_by_side import divided
from tests.support.tables import MadeTable, tables

K, EXCESS = 5, -1


@pytest.fixture(scope="module")
def census() -> Records:
    return encode(datasets.census(16_000, 3), datasets.census_schema())


def started(records: Records, seed: int = 1) -> Refiner:
    made = cluster(records, K, method="mondrian", seed=1)
    return Refiner.of(records.codes, made.labels.copy(), cost_tables(records.books, "il"), made.privacy, seed)


@pytest.mark.parametrize("rules", ["", "l", "t"])
@given(made=tables(min_rows=8, max_rows=40), k=st.integers(2, 4), data=st.data())
@settings(max_examples=30)
def test_every_step_keeps_what_is_asked_and_lowers_the_loss(
    rules: str, made: MadeTable, k: int, data: st.DataObject
) -> None:
    """A walk, and the same walk with another number of workers; the tree follows all the way."""
    records, privacy = asked_of(made, k, rules)
    if k > len(records) or not privacy.facts_of(np.zeros(len(records), np.int32), 1).holds(k).all():
        return
    labels = cluster(records, k, privacy.rules, method="mondrian", seed=1).labels
    costs = cost_tables(records.books, "il")
    walk = data.draw(st.lists(st.sampled_from([MOVE, DISSOLVE, POOL, LOOSEN, EXCESS]), min_size=1, max_size=5))
    ends = []
    for workers in (1, 3):
        made_refiner = Refiner.of(records.codes, labels.copy(), costs, privacy, 7)
        with divided(workers):
            for what in walk:
                before = made_refiner.loss()
                items = np.arange(len(records)) if what == MOVE else made_refiner.alive()
                terms = made_refiner.terms(1)
                gained = made_refiner.make_more() if what == EXCESS else made_refiner.try_all(what, items, terms)
                assert made_refiner.loss() == pytest.approx(before - gained, abs=1e-6)
                assert gained >= 0
                check_tree(made_refiner.grouping)
        end = Partition.from_labels(records.codes, made_refiner.labels, privacy)
        assert end.publishable
        assert total_loss(groups_of(records.codes, end.labels, costs)) == pytest.approx(made_refiner.loss())
        ends.append(end.labels.tolist())
    assert ends[0] == ends[1]


def test_side_by_side_is_as_good_as_one_after_the_other(census: Records, monkeypatch: pytest.MonkeyPatch) -> None:
    losses = []
    for many in (1_000, 10**9):
        monkeypatch.setattr(refiner, "MANY", many)
        refined = started(census)
        refined.run(EFFORTS["balanced"])
        losses.append(refined.loss())
    assert losses[0] < 1.005 * losses[1]
    assert losses[0] != losses[1]  # another way, or this would compare it with itself


def test_no_two_pools_of_a_round_share_a_group(census: Records) -> None:
    refined = started(census)
    g, memory = refined.grouping, refined.memory
    terms = refined.terms(1)
    pools = new_pools(refined.alive()[:1_000].astype(np.int32), terms)
    find_pools(g, memory, pools, terms, 0, 1_000)
    give_rounds(memory, pools, len(g.groups.sizes))
    rounds = pools.rounds
    assert np.count_nonzero((rounds != NEVER) & (rounds < ROUNDS)) > 900
    assert 1 < rounds.max() <= ROUNDS
    for turn in range(ROUNDS):
        chosen = np.flatnonzero(rounds == turn)
        groups = [[pools.centres[i], *pools.found[i, : pools.counts[i]]] for i in chosen]
        used = [group for pool in groups for group in pool]
        assert len(used) == len(set(used))


def test_what_is_over_stops_at_once_and_is_whole(census: Records, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(refiner, "MANY", 1_000)
    for most in (0, 3, 9):
        asked = iter(range(most))
        refined = started(census)
        before = refined.loss()
        refined.run(EFFORTS["balanced"], over=lambda asked=asked: next(asked, None) is None)  # type: ignore[misc]
        assert refined.loss() <= before
        assert refined.sizes[refined.alive()].min() >= K
        check_tree(refined.grouping)


def test_where_pools_share_all_their_groups_they_are_tried_one_after_the_other(
    census: Records, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rounds of one pool each are no rounds: nothing is tried twice, and nothing for ever."""
    monkeypatch.setattr(many_pools, "FEWEST", 10**6)
    refined = started(census)
    groups = refined.alive().astype(np.int32)
    gained, left = many_pools.try_many_pools(
        refined.grouping, refined.memory, groups, refined.terms(1), bool, lambda count: None
    )
    assert gained == 0
    assert np.array_equal(np.sort(left), groups)


@pytest.mark.parametrize("k", [K, 12])
def test_the_groups_are_the_same_for_any_number_of_workers(k: int, monkeypatch: pytest.MonkeyPatch) -> None:
    from shoal.cluster.shoal import starts

    monkeypatch.setattr(starts, "BLOCK", 4_000)
    records = encode(datasets.census(12_000, 5), datasets.census_schema())
    made = []
    for workers in (1, 2, 5):
        with using(workers):
            made.append(cluster(records, k, seed=11).labels)
    assert all(np.array_equal(made[0], other) for other in made[1:])


@pytest.mark.parametrize("asked", [{"l": {"diagnosis": 2}}, {"t": {"diagnosis": 0.4}}], ids=["l", "t"])
def test_the_groups_are_the_same_under_rules(asked: dict[str, Any]) -> None:
    """Who asks whether a record may join counts in a room of his own, while others ask as well."""
    schema = datasets.census_schema()
    records = encode(datasets.census(8_000, 5), schema)
    rules = make_rules(schema.names(Role.SENSITIVE), **asked)
    made = []
    for workers in (1, 2, 3, 2):
        with using(workers):
            made.append(cluster(records, K, rules, seed=11).labels)
    assert all(np.array_equal(made[0], other) for other in made[1:])
