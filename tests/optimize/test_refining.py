"""Refining: every step keeps the partition valid and lowers the loss; a pool that is done has no step left."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from benchmarks.tables import TABLES
from shoal.boxes.changes import new_grouping
from shoal.boxes.costs import MEASURES, cost_tables
from shoal.boxes.geometry import without_gaps
from shoal.cluster import METHODS, cluster
from shoal.measures import total_loss
from shoal.optimize import OPTIMIZERS
from shoal.optimize.refine.excess import make_more
from shoal.optimize.refine.refiner import EFFORTS, Effort, Refiner, Sweep
from shoal.optimize.refine.regroup import Terms
from shoal.optimize.refine.steps import DISSOLVE, LOOSEN, MOVE, POOL, REFILL, SPLIT
from shoal.optimize.refine.upkeep import Upkeep
from shoal.partition import Partition
from shoal.privacy import Privacy
from shoal.privacy.counts import count_all
from shoal.privacy.rules import no_rules, rules_of
from shoal.records.encode import encode
from tests.reference.refining import best_step, total
from tests.support.adult import adult_records
from tests.support.catalogs import WISHES, catalogs
from tests.support.costs import cell_cost
from tests.support.group_trees import check as check_tree
from tests.support.pools import build_in, near_in, search_in
from tests.support.rules import asked_of
from tests.support.side_by_side import divided
from tests.support.tables import MadeTable, tables

STEPS = {"move": MOVE, "dissolve": DISSOLVE, "split": SPLIT, "pool": POOL, "loosen": LOOSEN}


@given(made=tables(min_rows=6, max_rows=14), k=st.integers(2, 3), measure=st.sampled_from(MEASURES), data=st.data())
@settings(max_examples=60)
def test_a_pool_is_searched_until_no_step_helps(made: MadeTable, k: int, measure: str, data: st.DataObject) -> None:
    records = encode(made.table, made.schema)
    costs = cost_tables(records.books, measure)
    codes = [tuple(row) for row in records.codes.tolist()]

    def cost(j: int, lo: int, hi: int) -> float:
        return cell_cost(costs, j, lo, hi)

    labels = np.empty(len(codes), np.int64)
    first = data.draw(st.integers(0, len(codes) - 1))
    count, built = build_in(costs, k, records.codes, first, labels)
    assert count == len(codes) // k
    assert np.bincount(labels, minlength=count).min() >= k
    before = total(codes, labels.tolist(), cost)
    assert built == pytest.approx(before)
    found = search_in(costs, k, records.codes, labels, count, np.inf)
    assert np.bincount(labels, minlength=count).min() >= k
    assert found == pytest.approx(total(codes, labels.tolist(), cost))
    assert found <= before + 1e-9
    assert best_step(codes, labels.tolist(), cost, k) == pytest.approx(0, abs=1e-6)


def test_groups_that_stay_far_behind_the_best_known_are_given_up() -> None:
    records = adult_records()
    codes, costs, k = records.codes[:60], cost_tables(records.books, "il"), 5
    start = np.empty(len(codes), np.int64)
    count, _ = build_in(costs, k, codes, 0, start)
    found = search_in(costs, k, codes, start.copy(), count, np.inf)
    for best, expected in ((found, found), (found / 2, np.inf)):
        labels = start.copy()
        assert search_in(costs, k, codes, labels, count, best) == expected
        assert np.bincount(labels, minlength=count).min() >= k


@given(made=tables(min_rows=6, max_rows=60), k=st.integers(1, 4), measure=st.sampled_from(MEASURES), data=st.data())
@settings(max_examples=60)
def test_near_groups_are_the_nearest(made: MadeTable, k: int, measure: str, data: st.DataObject) -> None:
    records = encode(made.table, made.schema)
    costs = cost_tables(records.books, measure)
    count = max(2, len(records) // k)
    labels = (np.arange(len(records)) % count).astype(np.int32)
    g = new_grouping(records.codes, labels, costs, no_rules(k))
    groups = g.groups
    group = data.draw(st.integers(0, count - 1))
    most = data.draw(st.integers(1, 6))

    def added(other: int) -> float:
        lo, hi = np.minimum(groups.lo[group], groups.lo[other]), np.maximum(groups.hi[group], groups.hi[other])
        both = sum(cell_cost(costs, j, lo[j], hi[j]) for j in range(len(lo)))
        sizes, losses = groups.sizes, groups.losses
        return float(sizes[group] * (both - losses[group]) + sizes[other] * (both - losses[other]))

    found, values = np.empty(most, np.int64), np.empty(most)
    many = near_in(g, group, 0.0, found, values)
    wanted = sorted(added(other) for other in range(count) if other != group)[:most]
    assert values[:many].tolist() == pytest.approx(wanted)
    assert [added(int(other)) for other in found[:many]] == pytest.approx(wanted)


@pytest.mark.parametrize("rules", ["", "l", "t"])
@given(made=tables(min_rows=8, max_rows=40), k=st.integers(2, 4), data=st.data())
@settings(max_examples=40)
def test_every_step_keeps_what_is_asked_and_lowers_the_loss(
    rules: str, made: MadeTable, k: int, data: st.DataObject
) -> None:
    """A walk from one group of all, or from what another method makes; the tree and the counts follow all the way."""
    records, privacy = asked_of(made, k, rules)
    if k > len(records) or not privacy.facts_of(np.zeros(len(records), np.int32), 1).holds(k).all():
        return
    costs = cost_tables(records.books, "il")
    labels = np.zeros(len(records), np.int32)
    if data.draw(st.booleans()):
        labels = cluster(records, k, privacy.rules, method="mondrian").labels
    with catalogs(data.draw(WISHES)):
        refiner = Refiner.of(records.codes, labels, costs, privacy, 1)
    g = refiner.grouping
    for _ in range(12):
        what = data.draw(st.sampled_from(list(STEPS.values())))
        items = np.arange(len(records)) if what == MOVE else refiner.alive()
        item = data.draw(st.sampled_from(items.tolist()))
        before = refiner.loss()
        gained = refiner.try_all(what, np.array([item]), refiner.terms(1))
        assert refiner.loss() <= before + 1e-9
        if what != SPLIT:
            assert before - refiner.loss() == pytest.approx(gained, abs=1e-6)
        partition = Partition.from_labels(records.codes, g.members.labels, privacy)
        assert partition.publishable
        alive = refiner.alive()
        assert np.array_equal(partition.lo, g.groups.lo[alive])
        assert np.array_equal(partition.sizes, g.groups.sizes[alive])
        check_tree(g)
        if privacy.asks_more:
            fresh = rules_of(privacy.tables, len(g.groups.sizes))
            count_all(fresh, g.members.labels)
            assert np.array_equal(fresh.counts.people, g.rules.counts.people)
            assert np.array_equal(fresh.counts.sizes, g.rules.counts.sizes)


@pytest.mark.parametrize("rules", ["", "l"])
@given(
    made=tables(min_rows=12, max_rows=40), k=st.integers(2, 4), tolerance=st.sampled_from([0.01, 0.2]), data=st.data()
)
@settings(max_examples=40)
def test_a_pool_loses_no_more_than_it_may(
    rules: str, made: MadeTable, k: int, tolerance: float, data: st.DataObject
) -> None:
    records, privacy = asked_of(made, k, rules)
    if k > len(records) or not privacy.facts_of(np.zeros(len(records), np.int32), 1).holds(k).all():
        return
    labels = cluster(records, k, privacy.rules, seed=1).labels  # there is little left to gain
    refiner = Refiner.of(records.codes, labels, cost_tables(records.books, "il"), privacy, 1)
    with divided(data.draw(st.sampled_from([1, 2]))) if data.draw(st.booleans()) else nullcontext():
        for _ in range(4):
            group, before = data.draw(st.sampled_from(refiner.alive().tolist())), refiner.loss()
            terms = Terms(
                refiner.neighbours, 2, tolerance, data.draw(st.booleans()), data.draw(st.sampled_from([1.0, 2.0]))
            )
            gained = refiner.try_all(POOL, np.array([group]), terms)
            assert refiner.loss() == pytest.approx(before - gained, abs=1e-6)
            assert refiner.loss() <= (1 + tolerance) * before + 1e-9
            assert Partition.from_labels(records.codes, refiner.labels, privacy).publishable
            check_tree(refiner.grouping)


def test_what_is_tolerated_is_made_up_for() -> None:
    """Groups of which no pool gains anything end better by losing a little at first. Told is the best there was."""
    records = adult_records(3_000)
    costs, privacy = cost_tables(records.books, "il"), Privacy.only_k(5, len(records))
    settled = Refiner.of(records.codes, cluster(records, 5, method="mondrian").labels, costs, privacy, 1)
    settled.run(Effort((Sweep(35, 8),) * 15))

    def ends(*sweeps: Sweep) -> tuple[float, float]:
        """What is told, and what the refiner ends with."""
        refiner = Refiner.of(records.codes, settled.labels, costs, privacy, 1)
        told = refiner.run(Effort(sweeps))
        return Refiner.of(records.codes, told, costs, privacy, 1).loss(), refiner.loss()

    told, end = ends(*[Sweep(35, 4, share) for share in (0.03, 0.02, 0.015, 0.01, 0.007, 0.005, 0.003)], Sweep(35, 4))
    assert told == pytest.approx(end)
    assert told < 0.996 * settled.loss()
    told, end = ends(Sweep(35, 1, 0.5))
    assert told == pytest.approx(settled.loss())
    assert end > told


@pytest.mark.parametrize("effort", EFFORTS)
def test_where_nothing_is_lost_it_ends(effort: str) -> None:
    records = encode(*TABLES["all equal"](300))
    partition = cluster(records, 4, method="shoal", seed=1, options={"effort": effort})
    assert total_loss(partition, records.books) == 0
    large = encode(*TABLES["all equal"](6_000))
    assert total_loss(cluster(large, 4, method="shoal", seed=1, options={"effort": effort}), large.books) == 0


@given(made=tables(min_rows=12, max_rows=40), k=st.integers(2, 3), data=st.data())
@settings(max_examples=40)
def test_to_loosen_is_to_move_every_record_and_then_to_dissolve(made: MadeTable, k: int, data: st.DataObject) -> None:
    records = encode(made.table, made.schema)
    costs, privacy = cost_tables(records.books, "il"), Privacy.only_k(k, len(records))
    labels = cluster(records, k, method="mondrian").labels
    one, other = (Refiner.of(records.codes, labels, costs, privacy, 1) for _ in range(2))
    group = data.draw(st.sampled_from(one.alive().tolist()))
    gained = one.try_all(LOOSEN, np.array([group]))
    record, members = int(other.grouping.members.heads[group]), []
    while record >= 0:
        members.append(record)
        record = int(other.grouping.members.nexts[record])
    expected = other.try_all(MOVE, np.array(members)) + other.try_all(DISSOLVE, np.array([group]))
    assert gained == pytest.approx(expected)
    assert np.array_equal(one.labels, other.labels)


@given(made=tables(min_rows=12, max_rows=40), k=st.integers(2, 4), seed=st.integers(0, 99))
@settings(max_examples=40)
def test_upkeep_lowers_the_loss_a_little_at_a_time(made: MadeTable, k: int, seed: int) -> None:
    records = encode(made.table, made.schema)
    costs, privacy = cost_tables(records.books, "il"), Privacy.only_k(k, len(records))
    start = cluster(records, k, method="mondrian").labels
    ends = []
    for _ in range(2):
        refiner, upkeep = Refiner.of(records.codes, start, costs, privacy, seed), Upkeep(np.random.default_rng(seed), k)
        for _ in range(6):
            before = refiner.loss()
            gained = upkeep.work(refiner, 100)
            assert refiner.loss() <= before - gained + 1e-9  # splits are not counted
            assert Partition.from_labels(records.codes, refiner.labels, privacy).publishable
            check_tree(refiner.grouping)
        ends.append(refiner.labels.copy())
    assert np.array_equal(ends[0], ends[1])


@given(
    made=tables(min_rows=12, max_rows=40), k=st.integers(2, 4), seed=st.integers(0, 99), slack=st.sampled_from([1, 2])
)
@settings(max_examples=40)
def test_groups_with_too_many_make_one_more(made: MadeTable, k: int, seed: int, slack: int) -> None:
    records = encode(made.table, made.schema)
    costs, privacy = cost_tables(records.books, "il"), Privacy.only_k(k, len(records))
    start = without_gaps(np.random.default_rng(seed).permutation(len(records)) // (k + 1)).astype(np.int32)
    start[start == start.max()] = 0  # it may have too few
    refiner = Refiner.of(records.codes, start, costs, privacy, seed)
    before, groups = refiner.loss(), refiner.alive()
    gained = make_more(refiner.grouping, refiner.memory, groups.astype(np.int32), float(slack))
    assert refiner.loss() == pytest.approx(before - gained)
    assert len(refiner.alive()) >= len(groups)
    assert (gained > 0) == (len(refiner.alive()) > len(groups))
    assert Partition.from_labels(records.codes, refiner.labels, privacy).publishable
    check_tree(refiner.grouping)


@given(made=tables(min_rows=12, max_rows=40), k=st.integers(2, 4), seed=st.integers(0, 99))
@settings(max_examples=40)
def test_a_group_with_too_few_is_refilled_without_losing_one(made: MadeTable, k: int, seed: int) -> None:
    records = encode(made.table, made.schema)
    partition = cluster(records, k, method="mondrian")
    rng = np.random.default_rng(seed)
    labels = partition.labels.copy()
    group = int(rng.integers(len(partition)))
    gone = np.flatnonzero(labels == group)[k - 1 :]  # some are deleted
    codes, labels = np.delete(records.codes, gone, axis=0), np.delete(labels, gone)
    refiner = Refiner.of(codes, labels, cost_tables(records.books, "il"), Privacy.only_k(k, len(codes)), seed)
    before = refiner.sizes.copy()
    refiner.try_all(REFILL, np.array([group]), refiner.terms(2))
    after = refiner.sizes
    check_tree(refiner.grouping)
    assert after.sum() == before.sum()
    if before[group] != after[group]:
        assert after[after > 0].min() >= k
        assert (after > 0).sum() >= (before > 0).sum()


@pytest.mark.parametrize(("more_in", "refilled"), [(3, True), (12, True), (20, False)])
def test_a_group_with_too_few_is_refilled_from_further_away(more_in: int, refilled: bool) -> None:
    """None of its six neighbours may have one to spare; one of the sixteen nearest is enough."""
    sizes = np.full(30, 5)
    sizes[0], sizes[more_in] = 4, 6
    labels = np.repeat(np.arange(30), sizes).astype(np.int32)
    numbers = pa.table({"number": 100 * labels + np.arange(len(labels)) % 7})
    schema = shoal.Schema(columns={"number": {"role": "quasi-identifier", "type": "numeric"}})
    records = encode(numbers, schema)
    privacy = Privacy.only_k(5, len(records))
    refiner = Refiner.of(records.codes, labels, cost_tables(records.books, "il"), privacy, 1)
    refiner.try_all(REFILL, np.array([0]), refiner.terms(3))
    assert (refiner.sizes[refiner.alive()].min() >= 5) == refilled
    assert len(refiner.alive()) == 30
    check_tree(refiner.grouping)


@pytest.mark.parametrize("k", [2, 10])
def test_a_leaf_is_halved_while_another_group_is_not_settled(k: int) -> None:
    """Two groups change in a move: what the tree does about the first must not rely on the second."""
    records = adult_records(2_000)
    for method in ("shoal", "sequential"):
        assert cluster(records, k, method=method, measure="lm", seed=1).publishable


def test_the_same_seed_gives_the_same_partition_on_adult() -> None:
    records = adult_records(3_000)
    first, again, other = (cluster(records, 5, method="shoal", seed=seed).labels for seed in (1, 1, 2))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


def test_it_can_be_stopped_at_any_time() -> None:
    """No time at all still gives groups that have what is asked; more of it never gives more loss."""
    records = adult_records(5_000)
    stopped = cluster(records, 10, method="shoal", seed=1, options={"max_seconds": 0})
    assert stopped.publishable
    losses = [total_loss(stopped, records.books)]
    for effort in EFFORTS:
        partition = cluster(records, 10, method="shoal", seed=1, options={"effort": effort})
        losses.append(total_loss(partition, records.books))
    assert losses == sorted(losses, reverse=True)


@pytest.mark.parametrize("rules", ["", "l"])
@given(made=tables(min_rows=8, max_rows=60), k=st.integers(2, 6), measure=st.sampled_from(MEASURES))
@settings(max_examples=40)
def test_a_small_table_never_loses_more_than_with_the_methods_it_starts_from(
    rules: str, made: MadeTable, k: int, measure: str
) -> None:
    """Those without chance; k-member is one of them, with another first record."""
    records, privacy = asked_of(made, k, rules)
    if k > len(records) or not privacy.facts_of(np.zeros(len(records), np.int32), 1).holds(k).all():
        return
    costs = cost_tables(records.books, measure)  # with the weights of the schema: what the methods aim at
    loss = {}
    for method in ("shoal", "agglomerative", "mondrian", "hilbert"):
        labels = cluster(records, k, privacy.rules, method=method, measure=measure).labels
        loss[method] = Refiner.of(records.codes, labels, costs, privacy, 1).loss()
    assert loss["shoal"] <= min(loss.values()) + 1e-6


@pytest.mark.parametrize("name", TABLES)
def test_no_method_loses_less_on_a_small_table_of_any_character(name: str) -> None:
    records = encode(*TABLES[name](400))
    for k in (2, 25):
        loss = {method: total_loss(cluster(records, k, method=method, seed=1), records.books) for method in METHODS}
        assert loss["shoal"] <= 1.005 * min(loss.values())


@pytest.mark.parametrize("options", [{"effort": "none"}, {"max_seconds": -1.0}, {"max_seconds": float("nan")}])
def test_bad_options_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(shoal.ParameterError):
        cluster(adult_records(50), 5, method="shoal", options=options)


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_optimizers_lower_the_loss_of_any_method(name: str) -> None:
    records = adult_records(2_000)
    for method in ("mondrian", "k-member"):
        plain = total_loss(cluster(records, 5, method=method, seed=1), records.books)
        better = total_loss(cluster(records, 5, method=method, seed=1, optimize=name), records.books)
        assert better <= plain + 1e-9


@pytest.mark.parametrize("k", [5, 10, 50, 100])
def test_the_loss_on_adult_is_the_lowest_there_is(k: int) -> None:
    """For one seed: at most 0.91 of sequential clustering's loss, and 0.65 to 0.83 of k-member's."""
    records = adult_records()
    found = {
        method: total_loss(cluster(records, k, method=method, seed=1), records.books)
        for method in ("shoal", "sequential", "k-member")
    }
    assert found["shoal"] <= 0.91 * found["sequential"]
    assert found["shoal"] <= {5: 0.83, 10: 0.77, 50: 0.65, 100: 0.65}[k] * found["k-member"]
