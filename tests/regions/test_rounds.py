"""Rounds: what the borders of regions cost is gained back, and the groups have what is asked all the way."""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

import shoal
from shoal.boxes.costs import cost_tables
from shoal.cluster import cluster
from shoal.partition import Partition
from shoal.privacy.requirements import Requirements
from shoal.records.encode import Records, encode
from shoal.regions.rounds import check_rounds, enough, in_regions
from shoal.regions.work import Asked, grouped, in_order, lost, middles, refined

K = 5


def of_census(rows: int) -> Records:
    return encode(shoal.datasets.census(rows, seed=1), shoal.datasets.census_schema())


@pytest.fixture(scope="module")
def records() -> Records:
    return of_census(8_000)


def test_rounds_gain_back_most_of_what_borders_cost(records: Records) -> None:
    costs = cost_tables(records.books, "il")
    whole = lost(records.codes, cluster(records, K, seed=1).labels, costs)
    losses: list[float] = []
    labels = in_regions(records, Asked(K, seed=1), 1_100, 5, lambda what, loss, sizes: losses.append(loss))
    assert losses[0] > 1.1 * whole
    assert losses == sorted(losses, reverse=True)
    assert losses[-1] < 1.04 * whole
    assert losses[-1] == pytest.approx(lost(records.codes, labels, costs))
    assert np.bincount(labels).min() >= K


def test_no_part_is_larger_than_a_region(records: Records) -> None:
    sizes: list[int] = []
    in_regions(records, Asked(K, seed=2), 1_000, 3, lambda what, loss, parts: sizes.append(int(parts.max())))
    assert len(sizes) == 4
    assert max(sizes) <= 1_000


def test_a_part_that_came_out_too_large_is_worked_on_in_pieces(records: Records) -> None:
    costs, asked = cost_tables(records.books, "il"), Asked(K, seed=1)
    labels = grouped(records, asked, 0, to_the_end=False)
    order = np.argsort(labels, kind="stable")
    some, before = in_order(records, order), labels[order].astype(np.int64)
    for most in (len(records), 3_000):
        after = refined(some, before, costs, asked, (1, 0), most)
        assert np.bincount(after).min() >= K
        assert lost(some.codes, after, costs) < lost(some.codes, before.astype(np.int32), costs)
    pieces = [set(before[np.isin(after, group)].tolist()) for group in after]
    assert all(max(groups) - min(groups) < 3_000 // K for groups in pieces)


def test_rules_hold_in_every_group_of_every_round(records: Records) -> None:
    rules = Requirements(K, 1.8, None, None, None, None).rules(records.schema)
    asked = Asked(K, rules, seed=1)
    privacy = asked.privacy_of(records)
    reference = privacy.distributions()
    for rounds in (0, 2):
        labels = in_regions(records, replace(asked, reference=reference), 2_500, rounds)
        assert Partition.from_labels(records.codes, labels, privacy).obstacles() == []


def test_the_order_of_the_records_does_not_matter_to_a_part_that_is_sorted(records: Records) -> None:
    """The same seed gives the same groups; another one other groups."""
    asked = Asked(K, seed=1)
    labels = in_regions(records, asked, 2_500, 1)
    assert np.array_equal(labels, in_regions(records, asked, 2_500, 1))
    assert not np.array_equal(labels, in_regions(records, replace(asked, seed=2), 2_500, 1))


def test_the_place_of_a_group_is_among_its_records(records: Records) -> None:
    labels = np.arange(len(records), dtype=np.int32) // 7
    places = middles(records.codes, labels)
    for group in (0, 17, int(labels.max())):
        inside = np.sort(records.codes[labels == group], axis=0)
        assert np.array_equal(places[group], inside[len(inside) // 2])


def test_when_it_is_enough() -> None:
    assert not enough([100.0], None, "balanced")
    assert not enough([100.0, 98.9], None, "balanced")
    assert enough([100.0, 98.9], None, "fast")
    assert enough([100.0, 99.1], None, "balanced")
    assert not enough([100.0, 99.9], 2, "balanced")
    assert enough([100.0], 0, "balanced")
    assert enough([0.0, 0.0], None, "balanced")  # nothing is lost, and nothing to gain
    assert check_rounds(None, "mondrian", "il") == 0
    assert check_rounds(None, "shoal", "il") is None
    with pytest.raises(shoal.ParameterError, match="rounds must be a whole number"):
        check_rounds(-1, "shoal", "il")
    with pytest.raises(shoal.ParameterError, match="pmi"):
        check_rounds(None, "shoal", "pmi")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("rows", "region", "k"), [(200_000, 26_000, 5), (200_000, 26_000, 10), (1_000_000, 65_000, 10)]
)
def test_eight_and_sixteen_regions_beside_one(rows: int, region: int, k: int) -> None:
    """Loss within 3 %, at no more than 2.5 times the processor time."""
    records = replace(of_census(rows), passthrough=pa.table({}))
    costs = cost_tables(records.books, "il")
    cluster(records.only(np.arange(rows) < 20_000), k, seed=1)  # loads the kernels
    start = time.process_time()
    whole = lost(records.codes, cluster(records, k, seed=1).labels, costs)
    middle = time.process_time()
    labels = in_regions(records, Asked(k, seed=1), region)
    assert lost(records.codes, labels, costs) < 1.03 * whole
    assert time.process_time() - middle < 2.5 * (middle - start)
