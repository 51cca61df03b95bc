"""People who enter a second cohort: the rule leaves every place as many values as one cohort would.

Small histories are written out as worlds: every way to give the values of each cohort to its places such that movers
have another sensitive value than before, and returners the same value.
"""

from __future__ import annotations

from itertools import permutations, product

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import shoal
from shoal.cohorts.places import Longs, Past, Places, Table
from shoal.cohorts.second import join_again
from shoal.privacy.requirements import Requirements
from shoal.records.encode import encode

SCHEMA = shoal.Schema(columns={"age": {"role": "quasi-identifier", "type": "numeric"}, "ill": {"role": "sensitive"}})
FREE = np.inf


def table_of(values: list[str], k: int) -> Table:
    records = encode(pa.table({"age": [40] * len(values), "ill": values}), SCHEMA)
    rules = Requirements(k, 2, None, "distinct").rules(SCHEMA)
    return Table.of(records, records.passthrough.slice(0, 0), k, rules, "il")


def worlds(
    cohorts: list[list[str]], links: list[tuple[tuple[int, int], tuple[int, int], bool]]
) -> set[tuple[object, ...]]:
    """All ways to give values to places; `links`: of two places, and whether the values differ (else are the same)."""
    ways = [set(permutations(values)) for values in cohorts]
    return {
        world
        for world in product(*ways)
        if all((world[a[0]][a[1]] != world[b[0]][b[1]]) == differ for a, b, differ in links)
    }


values_of = st.lists(st.sampled_from("abcd"), min_size=2, max_size=4)


@given(values_of, values_of, st.lists(st.tuples(st.integers(0, 3), st.booleans(), st.sampled_from("abcd")), max_size=2))
@settings(max_examples=150, deadline=None)
def test_whoever_is_let_in_takes_nobodys_values_away(
    before: list[str], fresh: list[str], coming: list[tuple[int, bool, str]]
) -> None:
    k = min(len(before), len(fresh))
    assume(len(set(before)) >= 2 and len(set(fresh)) >= 2)
    assume(len({place for place, _, _ in coming}) == len(coming) and all(place < len(before) for place, _, _ in coming))
    assume(all((before[place] != value) == moved for place, moved, value in coming))
    n, m = len(before), len(fresh)
    table = table_of([*before, *fresh, *(value for _, _, value in coming)], k)
    places = Places.none().begun_with(np.arange(n), np.zeros(n, np.int64), None)
    ghosts = np.array([place for place, _, _ in coming], np.int64)
    places = places.filled(ghosts, np.full(len(ghosts), -1))
    waiting: Longs = np.arange(n, n + m + len(coming))
    labels = np.array([0] * m + [-1] * len(coming), np.int64)
    pasts = {n + m + i: Past([0], [], moved, changed=moved, known=True) for i, (_, moved, _) in enumerate(coming)}
    limits = np.full(len(waiting), FREE)
    let_in = join_again(table, places, waiting, labels, pasts, limits)
    second = [*fresh, *(coming[record - n - m][2] for record in let_in)]
    links = [((0, coming[record - n - m][0]), (1, m + i), coming[record - n - m][1]) for i, record in enumerate(let_in)]
    possible = worlds([before, second], links)
    returned = {(1, m + i) for i, record in enumerate(let_in) if not coming[record - n - m][1]}
    for c, values in enumerate((before, second)):
        for place in range(len(values)):
            seen = {world[c][place] for world in possible}  # type: ignore[index]  # a tuple of tuples
            assert seen == (set(before) if (c, place) in returned else set(values))


def test_one_who_moved_and_one_who_returned_are_let_in() -> None:
    """The rule is not that nobody enters."""
    table = table_of([*"aab", *"abab", "b"], 3)
    places = Places.none().begun_with(np.arange(3), np.zeros(3, np.int64), None)
    waiting, labels = np.arange(3, 8), np.array([0, 0, 0, 0, -1])
    for moved in (True, False):
        assert join_again(
            table, places, waiting, labels, {7: Past([0], [], moved, changed=moved, known=True)}, np.full(5, FREE)
        ) == {7: 0}
    assert not join_again(
        table, places, waiting, labels, {7: Past([0], [], False, changed=False, known=False)}, np.full(5, FREE)
    )
    assert not join_again(
        table, places, waiting, labels, {7: Past([0], [], True, changed=True, known=True)}, np.full(5, -1.0)
    )


@pytest.mark.parametrize("moved", [True, False])
def test_two_who_can_only_be_one_of_two_do_not_pin_a_third(moved: bool) -> None:
    """In {a, b, c} two who can only be a or b make the third c."""
    table = table_of([*"ab", *"ab", *"cc", "a", "b"], 2)
    places = Places.none().begun_with(np.arange(4), np.array([0, 0, 1, 1]), None)
    waiting, labels = np.arange(4, 8), np.array([0, 0, -1, -1])
    pasts = {6: Past([0], [], moved, changed=moved, known=True), 7: Past([1], [], moved, changed=moved, known=True)}
    assert len(join_again(table, places, waiting, labels, pasts, np.full(4, FREE))) < 2
