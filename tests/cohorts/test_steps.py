"""From one release to the next: who goes out, who takes whose place, and what stays as it is."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shoal.cohorts.first import first_cohorts
from shoal.cohorts.places import GHOST, Places, Table
from shoal.cohorts.step import Policy, next_places
from shoal.cohorts.vacancies import fill_vacancies
from shoal.privacy.requirements import Requirements
from shoal.records.encode import encode

SCHEMA = shoal.Schema(
    columns={
        "age": {"role": "quasi-identifier", "type": "numeric", "domain": [0, 100]},
        "job": {"role": "insensitive"},
        "ill": {"role": "sensitive"},
    }
)


def table_of(ages: list[int], ills: list[str], k: int = 3, jobs: list[str] | None = None) -> Table:
    rows = pa.table({"age": ages, "job": jobs or ["none"] * len(ages), "ill": ills})
    records = encode(rows, SCHEMA)
    rules = Requirements(k, 2, None, "distinct").rules(SCHEMA)
    return Table.of(records, records.passthrough.slice(0, 0), k, rules, "il")


def cohorts_of(places: Places) -> dict[int, list[int]]:
    return {
        int(number): sorted(places.shows[places.cohorts == number].tolist()) for number in np.unique(places.cohorts)
    }


@given(st.integers(0, 10_000), st.integers(2, 4), st.sampled_from(["single", "pairs", "off"]))
@settings(max_examples=25, deadline=None)
def test_a_cohort_keeps_what_it_shows(seed: int, k: int, vacancies: str) -> None:
    """Whoever comes and goes: cohorts that somebody is left of have the same contents, new ones have what is asked."""
    rng = np.random.default_rng(seed)
    n = 40
    table = table_of(rng.integers(0, 100, n).tolist(), rng.choice(list("abc"), n).tolist(), k)
    first = Places.none().begun_with(np.arange(20), np.arange(20) // 5, None)
    _, fine = table.holds(first)
    first = first.only(np.isin(first.cohorts, np.flatnonzero(fine)))
    left = rng.random(len(first)) < 0.4
    places = first.filled(np.flatnonzero(left), np.full(int(left.sum()), GHOST))
    after = next_places(table, places, {}, np.full(n, np.inf), Policy(0.3, vacancies=vacancies, seed=1), 100)
    before, now = cohorts_of(places.without_dead_cohorts()), cohorts_of(after)
    large = {number for number, its in before.items() if len(its) >= 2 * k}
    assert all(now[number] == its for number, its in before.items() if number not in large)
    assert table.holds(after)[1].all() if len(after) else True
    holders = after.holders[after.held]
    assert len(np.unique(holders)) == len(holders)  # nobody is shown twice
    taken = after.held & (after.holders != after.shows)
    assert (table.values[after.holders[taken]] == table.values[after.shows[taken]]).all()


def test_a_newcomer_takes_the_nearest_place_that_says_the_same() -> None:
    table = table_of([20, 21, 22, 60, 61, 62, 61, 21], ["a", "b", "a", "a", "b", "a", "b", "c"])
    places = Places.none().begun_with(np.arange(6), np.array([0, 0, 0, 1, 1, 1]), None)
    places = places.filled(np.array([1, 4]), np.array([GHOST, GHOST]))
    filled = fill_vacancies(table, places, np.array([6, 7]), 1.0, "single")
    assert filled.holders.tolist() == [0, GHOST, 2, 3, 6, 5]
    assert fill_vacancies(table, places, np.array([6, 7]), 0.001, "single").holders[4] == GHOST  # too dear
    assert fill_vacancies(table, places, np.array([6, 7]), 1.0, "off").holders[4] == GHOST
    assert fill_vacancies(table, places, np.array([6, 7]), 1.0, "pairs").holders[4] == GHOST  # nobody comes with it
    tainted = Places(places.ids, places.cohorts, places.holders, places.shows, places.people, np.ones(6, bool))
    assert fill_vacancies(table, tainted, np.array([6]), 1.0, "single").holders[4] == GHOST


def test_a_pair_takes_two_places_at_once() -> None:
    table = table_of([20, 21, 22, 23, 21, 22], ["a", "b", "a", "b", "a", "b"])
    places = Places.none().begun_with(np.arange(4), np.zeros(4, np.int64), None)
    places = places.filled(np.array([0, 1]), np.array([GHOST, GHOST]))
    assert fill_vacancies(table, places, np.array([4, 5]), 1.0, "pairs").holders.tolist() == [4, 5, 2, 3]


def test_another_job_is_another_value() -> None:
    table = table_of([20, 21, 22, 21], ["a", "b", "a", "b"], jobs=["x", "x", "x", "y"])
    places = Places.none().begun_with(np.arange(3), np.zeros(3, np.int64), None)
    places = places.filled(np.array([1]), np.array([GHOST]))
    assert fill_vacancies(table, places, np.array([3]), 1.0, "single").holders[1] == GHOST


@pytest.mark.parametrize(("patience", "out"), [(np.inf, 0), (0.0, 3)])
def test_whoever_has_waited_long_enough_goes_out(patience: float, out: int) -> None:
    """Three who are far apart lose too much together, until they must."""
    table = table_of([20, 20, 20, 1, 50, 99], ["a", "b", "a", "a", "b", "c"])
    places = Places.none().begun_with(np.arange(3), np.zeros(3, np.int64), None)
    after = next_places(table, places, {}, np.full(6, patience), Policy(0.01, seed=1), 1)
    assert len(after) - 3 == out


def test_values_that_are_too_common_wait() -> None:
    """Eight with one value and two with others: under distinct 2 all may go; with frequency 2 only some."""
    ages, ills = [20] * 3 + [50] * 10, ["a", "b", "c"] + ["a"] * 8 + ["b", "c"]
    records = encode(pa.table({"age": ages, "job": ["x"] * 13, "ill": ills}), SCHEMA)
    rules = Requirements(3, 2.0, None, "frequency").rules(SCHEMA)
    table = Table.of(records, records.passthrough.slice(0, 0), 3, rules, "il")
    places = Places.none().begun_with(np.arange(3), np.zeros(3, np.int64), None)
    after = next_places(table, places, {}, np.full(13, np.inf), Policy(0.5, seed=1, vacancies="off"), 1)
    assert table.holds(after)[1].all()
    assert 3 < len(after) < 13


def test_atoms_that_are_too_small_are_joined_and_tainted() -> None:
    table = table_of([20, 21, 22, 23, 60, 61, 62], ["a", "b", "a", "a", "b", "a", "b"])
    atoms = Places.none().begun_with(np.arange(7), np.array([0, 0, 0, 1, 2, 2, 2]), None)
    joined = first_cohorts(table, atoms, np.zeros(7, np.int64))
    assert table.holds(joined)[1].all()
    assert joined.cohorts[3] == joined.cohorts[0]
    assert joined.tainted.tolist() == [True] * 4 + [False] * 3
