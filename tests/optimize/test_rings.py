"""Rings: several records of a pool change places at once."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.boxes.costs import MEASURES, cost_tables
from shoal.optimize.refine.rings import MOST_IN_A_RING
from shoal.records.encode import encode
from tests.reference.refining import best_ring, total
from tests.support.adult import adult_records
from tests.support.costs import cell_cost
from tests.support.pools import best_ring_in, build_in, exchange_in, search_in
from tests.support.tables import MadeTable, tables


@given(
    made=tables(min_rows=6, max_rows=9),
    k=st.integers(2, 3),
    measure=st.sampled_from(MEASURES),
    seed=st.integers(0, 99),
    searched=st.booleans(),
)
@settings(max_examples=60)
def test_the_best_ring_is_found_until_there_is_none(
    made: MadeTable, k: int, measure: str, seed: int, searched: bool
) -> None:
    records = encode(made.table, made.schema)
    costs = cost_tables(records.books, measure)
    codes = [tuple(row) for row in records.codes.tolist()]

    def cost(j: int, lo: int, hi: int) -> float:
        return cell_cost(costs, j, lo, hi)

    count = len(codes) // k
    labels = (np.random.default_rng(seed).permutation(len(codes)) % count).astype(np.int64)
    if searched:
        search_in(costs, k, records.codes, labels, count, np.inf)
    wanted = best_ring(codes, labels.tolist(), cost, k, MOST_IN_A_RING)
    assert best_ring_in(costs, k, records.codes, labels, count) == pytest.approx(wanted, abs=1e-8)
    before = total(codes, labels.tolist(), cost)
    found = exchange_in(costs, k, records.codes, labels, count)
    assert found == pytest.approx(total(codes, labels.tolist(), cost))
    assert found <= before - wanted + 1e-8
    assert np.bincount(labels, minlength=count).min() >= k
    assert best_ring(codes, labels.tolist(), cost, k, MOST_IN_A_RING) == pytest.approx(0, abs=1e-6)


def test_rings_help_where_no_move_and_no_swap_does() -> None:
    """And what they leave is a table that search alone does not get to."""
    records = adult_records()
    costs, k, helped = cost_tables(records.books, "il"), 5, 0
    for first in range(0, 2_000, 40):
        codes, labels = records.codes[first : first + 40], np.empty(40, np.int64)
        count, _ = build_in(costs, k, codes, 0, labels)
        found = search_in(costs, k, codes, labels, count, np.inf)
        after = exchange_in(costs, k, codes, labels, count)
        assert after <= found + 1e-9
        assert np.bincount(labels, minlength=count).min() >= k
        helped += after < found - 1e-9
    assert helped > 10
