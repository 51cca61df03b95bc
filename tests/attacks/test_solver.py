"""What is possible, given all releases: known answers, and every world there is for a handful of people."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given

from tests.attacks import differences, worlds
from tests.attacks.knowledge import Contradiction, Knowledge, Seen, spread
from tests.attacks.pasts import Past, pasts
from tests.attacks.solver import determined, given_away, possible_values, projected
from tests.attacks.tiny import merged_remainders, seen, true_release


def test_one_release_tells_what_its_classes_tell() -> None:
    found = possible_values(Knowledge([seen(A=("abc", {"flu": 2, "HIV": 1}), B=("de", {"flu": 2}))]))
    assert found == {one: {"flu"} if one in "de" else {"flu", "HIV"} for one in "abcde"}


def test_merged_remainders_tell_who_had_the_rare_disease() -> None:
    """The class that the remainders were merged to is large and diverse, and so are those who left: as good as
    nobody hides behind that.
    """
    knowledge, _ = merged_remainders()
    found = possible_values(knowledge)
    assert determined(found) == {"e": "HIV"}
    assert given_away(knowledge, found) == {"e": "e"}
    assert found["f"] == {"diabetes", "asthma"}
    assert found["a"] == {"flu", "HIV"}


def test_three_releases_tell_what_no_two_do() -> None:
    """Classes in a ring: {a, b}, {b, c}, {c, a} have one flu each but the last, which has two."""
    ring = [seen(A=("ab", {"flu": 1, "HIV": 1})), seen(A=("bc", {"flu": 1, "HIV": 1})), seen(A=("ca", {"flu": 2}))]
    others = [seen(A=("abx", {"flu": 1, "HIV": 2})), seen(A=("bcx", {"flu": 1, "HIV": 2}))]
    assert determined(possible_values(Knowledge(ring))) == {"a": "flu", "b": "HIV", "c": "flu"}
    assert not determined(possible_values(Knowledge(ring[:2])))
    assert possible_values(Knowledge(others))["a"] == {"flu", "HIV"}


def test_a_known_change_tells_more() -> None:
    """One changes from HIV to flu as another comes with HIV. If c had flu before, a and b would have HIV and flu, and
    so c would have flu still: who knows that c has changed knows what it was.
    """
    first = true_release({"A": ["a", "b", "c1"]}, {"a": "flu", "b": "flu", "c1": "HIV"})
    then = true_release({"A": ["a", "b", "c2", "d"]}, {"a": "flu", "b": "flu", "c2": "flu", "d": "HIV"})
    assert possible_values(Knowledge([first, then]))["c1"] == {"flu", "HIV"}
    told = possible_values(Knowledge([first, then], different=[("c1", "c2")]))
    assert told == {"a": {"flu"}, "b": {"flu"}, "c1": {"HIV"}, "c2": {"flu"}, "d": {"HIV"}}
    alone = Knowledge([first, true_release({"A": ["a", "b", "c2"]}, {"a": "flu", "b": "flu", "c2": "flu"})])
    assert determined(possible_values(alone)) == {"a": "flu", "b": "flu", "c1": "HIV", "c2": "flu"}


def test_equal_unknowns_are_one() -> None:
    """Who takes a place takes its value: e, who was alone with a value later, tells what d had."""
    place = Knowledge([seen(A=("abcd", {"flu": 2, "HIV": 2})), seen(A=("abce", {"flu": 2, "HIV": 2}))])
    assert not determined(possible_values(place))
    told = Knowledge([*place.releases, seen(B=("e", {"HIV": 1}))], equal=[("d", "e")])
    assert determined(possible_values(told)) == {"d": "HIV", "e": "HIV"}
    gone = Knowledge([*place.releases, seen(A=("abc", {"flu": 2, "HIV": 1}))], equal=[("d", "e")])
    assert given_away(gone, possible_values(gone)) == {"d": "d", "e": "e"}  # the place has gone with its row
    assert spread(gone, differences.determined(differences.known_sets(gone))) == {"d": "HIV", "e": "HIV"}


def test_a_place_that_is_kept_tells_nothing_of_who_left() -> None:
    """The safe way: the row of whoever left stays, in a place that nobody holds or that another takes."""
    stays = Knowledge([seen(A=("abcd", {"flu": 2, "HIV": 2})), seen(A=("abcd", {"flu": 2, "HIV": 2}))])
    unnamed = Knowledge([seen(A=("abcd", {"flu": 2, "HIV": 2})), seen(A=("abc", {"flu": 2, "HIV": 2}))])
    for knowledge in (stays, unnamed):
        assert possible_values(knowledge) == {one: {"flu", "HIV"} for one in "abcd"}
        assert not given_away(knowledge, possible_values(knowledge))


def test_rows_of_nobody_can_be_anything() -> None:
    found = possible_values(Knowledge([seen(A=("ab", {"flu": 2, "HIV": 1})), seen(A=("a", {"flu": 1, "gout": 1}))]))
    assert found == {"a": {"flu"}, "b": {"flu", "HIV"}}


def test_what_is_allowed_narrows() -> None:
    """The attacker is in the table, and so knows one value: the other two are left."""
    release = seen(A=("abc", {"flu": 2, "HIV": 1}))
    found = possible_values(Knowledge([release], allowed={"a": frozenset({"HIV"})}))
    assert determined(found) == {"a": "HIV", "b": "flu", "c": "flu"}


def test_values_may_be_several_columns() -> None:
    """An insensitive value that stays with a person links rows, and tells with them what they have."""
    first = {"A": Counter({("cook", "flu"): 1, ("clerk", "HIV"): 1}), "B": Counter({("cook", "flu"): 2})}
    then = {"C": Counter({("clerk", "HIV"): 1, ("cook", "flu"): 1}), "D": Counter({("cook", "flu"): 2})}
    members = {"A": ["a", "b"], "B": ["c", "d"]}, {"C": ["a", "c"], "D": ["b", "d"]}
    knowledge = Knowledge([Seen(first, members[0]), Seen(then, members[1])])
    found = projected(possible_values(knowledge), 1)
    assert determined(found) == {"a": "HIV", "b": "flu", "c": "flu", "d": "flu"}


def test_what_cannot_be_is_refused() -> None:
    for releases in (
        [seen(A=("ab", {"flu": 2})), seen(A=("ab", {"flu": 1, "HIV": 1}))],
        [seen(A=("ab", {"flu": 2})), seen(A=("ac", {"HIV": 2}))],
        [seen(A=("abc", {"flu": 2, "HIV": 1})), seen(A=("abd", {"gout": 2, "HIV": 1}))],
    ):
        with pytest.raises(Contradiction):
            possible_values(Knowledge(releases))
    with pytest.raises(Contradiction):
        possible_values(Knowledge([seen(A=("ab", {"flu": 2}))], different=[("a", "b")]))
    with pytest.raises(Contradiction):
        possible_values(Knowledge([seen(A=("ab", {"flu": 2}))], equal=[("a", "b")], different=[("a", "b")]))


@given(pasts())
def test_the_solver_finds_what_all_worlds_have(past: Past) -> None:
    found = possible_values(past.knowledge)
    expected = worlds.possible_values(past.knowledge)
    assert found == {one: expected[one] for one in found}
    assert all(past.truth[one] in values for one, values in found.items())
    shown = {one for release in past.knowledge.releases for named in release.holders.values() for one in named}
    assert shown <= found.keys()


def test_three_hundred_people_and_twelve_releases_take_a_moment() -> None:
    """Everybody anew in a class of about ten in each release: the hardest that a small vault can be."""
    rng = np.random.default_rng(1)
    values: dict[Any, str] = {person: "abcd"[rng.choice(4, p=[0.5, 0.3, 0.15, 0.05])] for person in range(300)}
    releases = []
    for number in range(12):
        classes: dict[str, list[Any]] = {}
        for person in rng.permutation(300)[:285].tolist():
            moved = rng.random() < 0.1
            klass = rng.integers(30) if moved else person // 10
            classes.setdefault(f"{number}-{klass}", []).append(person)
        releases.append(true_release(classes, values))
    found = possible_values(Knowledge(releases))
    assert all(values[one] in some for one, some in found.items())
    assert all(values[one] == value for one, value in determined(found).items())
    assert len(determined(found)) > 150
