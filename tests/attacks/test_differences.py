"""Subtracting counts, on releases small enough to do it by hand."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.attacks.differences import COMPONENT, determined, known_sets, too_small
from tests.attacks.knowledge import Contradiction, Filler, Knowledge, Seen
from tests.attacks.pasts import pasts
from tests.attacks.tiny import merged_remainders, seen
from tests.attacks.worlds import worlds


def test_who_leaves_a_class_has_what_is_lacking_then() -> None:
    before = seen(A=("abcd", {"flu": 2, "HIV": 2}), B=("ef", {"flu": 2}))
    after = seen(A=("abc", {"flu": 2, "HIV": 1}), B=("ef", {"flu": 2}))
    knowledge = Knowledge([before, after])
    assert determined(known_sets(knowledge)) == {"d": "HIV"}
    assert [some.unknowns for some in too_small(knowledge, known_sets(knowledge), k=2)] == [{"d"}]
    assert not known_sets(Knowledge([before, before]))


def test_who_joins_has_what_is_new() -> None:
    before, after = seen(A=("abc", {"flu": 3})), seen(A=("abcde", {"flu": 3, "HIV": 2}))
    assert determined(known_sets(Knowledge([before, after]))) == {"d": "HIV", "e": "HIV"}


def test_a_set_with_several_values_tells_nobodys_and_may_be_too_small() -> None:
    before, after = seen(A=("abcd", {"flu": 2, "HIV": 2})), seen(A=("ab", {"flu": 1, "HIV": 1}))
    knowledge = Knowledge([before, after])
    (known,) = known_sets(knowledge)
    assert known.unknowns == {"c", "d"}
    assert dict(known.counts) == {"flu": 1, "HIV": 1}
    assert not determined([known])
    assert too_small(knowledge, [known], k=3) == too_small(knowledge, [known], k=2, ell=3) == [known]
    assert not too_small(knowledge, [known], k=2, ell=2)
    assert too_small(Knowledge(knowledge.releases, people={"c": "P", "d": "P"}), [known], k=2) == [known]


def test_a_component_tells_though_no_class_holds_another() -> None:
    """People move between two classes, and one leaves: both classes together tell what that one had."""
    before = seen(A=("abcd", {"flu": 2, "gout": 2}), B=("efgh", {"flu": 2, "gout": 2}))
    after = seen(A=("abef", {"flu": 3, "gout": 1}), B=("cdg", {"flu": 1, "gout": 2}))
    found = {some.unknowns: some for some in known_sets(Knowledge([before, after]))}
    known = found[frozenset("h")]
    assert (dict(known.counts), known.compared, known.releases) == ({"gout": 1}, COMPONENT, (0, 1))
    assert found[frozenset("efg")].values == {"flu", "gout"}  # the new classes hold the old A, and these three


def test_a_class_in_a_union_of_classes_leaves_a_rest() -> None:
    before = seen(A=("abc", {"flu": 2, "HIV": 1}), B=("def", {"flu": 3}))
    after = seen(C=("abde", {"flu": 4}), D=("xyzc", {"HIV": 1, "gout": 3}), E=("fuv", {"flu": 1, "gout": 2}))
    found = {some.unknowns: dict(some.counts) for some in known_sets(Knowledge([before, after]))}
    assert found[frozenset("cf")] == {"flu": 1, "HIV": 1}  # A and B hold C


def test_who_comes_as_another_leaves_is_found_if_their_values_differ() -> None:
    before = seen(A=("abc", {"flu": 2, "HIV": 1}))
    swapped = Knowledge([before, seen(A=("abd", {"flu": 3}))])
    assert determined(known_sets(swapped)) == {"c": "HIV", "d": "flu"}
    alike = Knowledge([before, seen(A=("abd", {"flu": 2, "HIV": 1}))])
    assert not known_sets(alike)  # c and d have the same value, whichever


def test_an_update_alone_tells_the_old_value_and_the_new() -> None:
    """A person with two spells: the one ends as the other begins."""
    first = Seen({"A": seen(A=("", {"flu": 2, "HIV": 1})).counts["A"]}, {"A": ["a", "b", ("c", 1)]})
    then = Seen({"A": seen(A=("", {"flu": 3})).counts["A"]}, {"A": ["a", "b", ("c", 2)]})
    knowledge = Knowledge([first, then], people={("c", 1): "c", ("c", 2): "c"}, different=[(("c", 1), ("c", 2))])
    assert determined(known_sets(knowledge)) == {("c", 1): "HIV", ("c", 2): "flu"}


def test_merged_remainders_tell_who_had_the_rare_disease() -> None:
    """Two classes lose five of their people and are published as one, which is large and diverse, as the five are. But
    of what the first class had, one HIV is lacking, and one of its people: nothing else can have become of either.
    """
    knowledge, values = merged_remainders()
    found = {some.unknowns: dict(some.counts) for some in known_sets(knowledge)}
    assert found[frozenset("efgkl")] == {"HIV": 1, "diabetes": 2, "asthma": 2}
    assert determined(known_sets(knowledge)) == {"e": "HIV"} == {"e": values["e"]}


def test_rows_of_nobody_hide_whoever_leaves() -> None:
    """A class keeps the rows of those who left: their places are held by nobody that the attacker knows."""
    before, after = seen(A=("abcd", {"flu": 2, "HIV": 2})), seen(A=("abc", {"flu": 2, "HIV": 2}))
    assert not known_sets(Knowledge([before, after]))
    more = Knowledge([before, seen(A=("abc", {"flu": 3, "HIV": 2}))])
    assert not determined(known_sets(more))
    (some,) = known_sets(Knowledge([before, seen(A=("abcd", {"flu": 3, "HIV": 2}))]))
    assert all(isinstance(one, Filler) for one in some.unknowns)


def test_counts_that_cannot_be_are_refused() -> None:
    with pytest.raises(Contradiction):
        known_sets(Knowledge([seen(A=("abc", {"flu": 3})), seen(A=("abc", {"HIV": 3}))]))
    with pytest.raises(Contradiction, match="2 rows in a class where 3"):
        known_sets(Knowledge([seen(A=("abc", {"flu": 2}))]))


@given(st.data())
def test_what_is_said_holds_in_every_world(data: st.DataObject) -> None:
    knowledge = data.draw(pasts()).knowledge
    known = known_sets(knowledge)
    for world in worlds(knowledge):
        for some in known:
            values = [world[one] for one in some.unknowns]
            assert {value: values.count(value) for value in set(values)} == dict(some.counts)
