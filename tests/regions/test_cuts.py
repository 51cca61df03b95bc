"""Cuts: every point has one leaf, no leaf is too large, and a round's borders are not those of the one before."""

from __future__ import annotations

import numpy as np
import pytest

import shoal
from shoal.records.encode import Records, encode
from shoal.regions.cuts import Cuts, along_the_widest, at_random

MOST = 300


@pytest.fixture(scope="module")
def records() -> Records:
    return encode(shoal.datasets.census(2_000, seed=3), shoal.datasets.census_schema())


@pytest.fixture(scope="module")
def first(records: Records) -> Cuts:
    return along_the_widest(records.codes, np.ones(len(records)), records.books, "il", MOST)


def test_as_many_parts_as_needed_and_none_too_large(records: Records, first: Cuts) -> None:
    sizes = np.bincount(first.leaf_of(records.codes), minlength=first.leaves)
    assert sizes.sum() == 2_000
    assert 7 <= first.leaves <= 9  # 2 000 / 300 is 7
    assert sizes.min() > 0
    assert sizes.max() <= MOST


def test_a_leaf_is_a_box(records: Records, first: Cuts) -> None:
    """Whoever lies between two records of a leaf in every column is in it, too."""
    leaves = first.leaf_of(records.codes)
    for leaf in range(first.leaves):
        inside = records.codes[leaves == leaf]
        middle = (inside.min(axis=0) + inside.max(axis=0)) // 2
        assert first.leaf_of(middle[None].astype(np.int32))[0] == leaf


def test_the_widest_column_is_cut_first(records: Records, first: Cuts) -> None:
    plain = records.codes[:, 0]
    assert first.column[0] == 0  # all columns are as wide as they can be: the first one
    assert abs((plain <= first.code[0]).mean() - 3 / 7) < 0.01  # of seven parts three go left


def test_weights_count_as_records_do(records: Records) -> None:
    doubled = np.concatenate([records.codes, records.codes])
    one = along_the_widest(records.codes, np.full(2_000, 2.0), records.books, "il", MOST)
    other = along_the_widest(doubled, np.ones(4_000), records.books, "il", MOST)
    assert np.array_equal(one.column, other.column)
    assert np.array_equal(one.code, other.code)


def test_a_round_cuts_other_columns_than_those_before(records: Records, first: Cuts) -> None:
    weights = np.ones(len(records))
    before = [first]
    for turn in range(3):
        cuts = at_random(records.codes, weights, MOST, np.random.default_rng(turn), before)
        used = np.sum([old.used(records.codes, weights) for old in before], axis=0)
        least = [j for j in range(len(used)) if round(used[j], 1) == round(used.min(), 1)]
        assert cuts.column[0] in least
        assert np.bincount(cuts.leaf_of(records.codes)).max() <= MOST * 1.2
        before.append(cuts)


def test_the_nearest_neighbours_come_first(first: Cuts) -> None:
    for leaf, others in enumerate(first.neighbours()):
        assert sorted([leaf, *others]) == list(range(first.leaves))
    assert Cuts(*np.array([[-1], [0], [0], [0]], np.int32)).neighbours() == [[]]


def test_records_that_are_all_alike_stay_together(records: Records) -> None:
    alike = np.repeat(records.codes[:1], 1_000, axis=0)
    cuts = along_the_widest(alike, np.ones(1_000), records.books, "il", MOST)
    assert cuts.leaves == 1
    assert not cuts.leaf_of(alike).any()
