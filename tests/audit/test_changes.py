"""What follows for somebody who changes, is away or leaves with a value; and when knowing that says nothing."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.audit import Audit, History, Shown, audit_history
from shoal.privacy.requirements import make_rules
from shoal.verify.models import published_values
from tests.reference.audit import Class, worlds

Releases = Sequence[Sequence[Class]]
Pairs = Sequence[tuple[int, int]]
TWO_VALUES = make_rules(["ill"], l=2, diversity="distinct")


def audited(releases: Releases, values: Sequence[int], k: int, pairs: Pairs = (), *, diverse: bool = False) -> Audit:
    people = np.arange(len(values))
    for earlier, later in pairs:
        people[later] = people[earlier]
    history = History(
        k,
        TWO_VALUES if diverse else (),
        people=people,
        values={"ill": published_values("ill", pa.chunked_array([pa.array([f"v{v}" for v in values])]), None, ("",))},
        known=np.ones(len(values), bool),
        successors=np.array(pairs, np.int64).reshape(-1, 2),
    )
    for number, release in enumerate(releases, start=1):
        history.show(Shown(number, np.array([-1 if one is None else one for one in release], np.int64)))
    return audit_history(history)


def attacks(audit: Audit) -> dict[str, set[int]]:
    """Who comes out by which attack, but for intersection."""
    found: dict[str, set[int]] = {}
    for one in audit.findings:
        if one.attack != "intersection":
            found.setdefault(one.attack, set()).update(one.units.tolist())
    return found


def test_a_value_that_changes_alone_is_an_update() -> None:
    """Unit 5 is what 4 became."""
    releases: Releases = [[0, 0, 0, 0, 0, None], [0, 0, 0, 0, None, 0]]
    audit = audited(releases, [0, 1, 0, 1, 0, 1], 3, [(4, 5)])
    assert attacks(audit) == {"update": {4, 5}}
    assert audit.exposed["update"] == 1
    assert "with another value now" in audit.reasons[0]
    assert attacks(audited(releases, [0, 1, 0, 1, 0, 1], 3)) == {"difference": {4, 5}}  # two people, for all we know


def test_somebody_who_was_away_alone_is_a_re_entry() -> None:
    releases: Releases = [[0] * 6, [0] * 5 + [None], [0] * 6]
    audit = audited(releases, [0, 1, 0, 1, 0, 1], 3)
    assert attacks(audit) == {"re-entry": {5}}
    assert "away for a while" in audit.reasons[0]
    for both in (releases[:2], releases[1:]):
        assert attacks(audited(both, [0, 1, 0, 1, 0, 1], 3)) == {"difference": {5}}


def test_who_changes_is_not_away() -> None:
    """The value of unit 4 is another one for a while (5), and then what it was."""
    releases: Releases = [[0] * 5 + [None], [0] * 4 + [None, 0], [0] * 5 + [None]]
    assert set(attacks(audited(releases, [0, 1, 0, 1, 0, 1], 3, [(4, 5)]))) == {"update"}


def test_a_value_that_leaves_with_somebody_was_theirs() -> None:
    releases: Releases = [[0] * 6, [0] * 5 + [None]]
    assert attacks(audited(releases, [0, 1, 0, 1, 0, 2], 3)) == {"critical absence": {5}}
    assert attacks(audited(releases, [0, 1, 0, 1, 0, 1], 3)) == {"difference": {5}}


def test_a_value_that_is_not_shown_any_more_is_not_theirs_who_stay() -> None:
    """Those with value 1 leave, three of them: the others are known to have 0."""
    releases: Releases = [[0] * 6, [0] * 3 + [None] * 3]
    audit = audited(releases, [0, 0, 0, 1, 1, 1], 3)
    assert attacks(audit) == {"critical absence": {3, 4, 5}}  # who stays is said to have 0 by the second release alone
    # Two classes, of which two and one leave: in the second release they are one.
    releases = [[0] * 4 + [1] * 4, [0, 0, 0, None, 0, 0, 0, None]]
    found = attacks(audited(releases, [0, 0, 0, 1, 2, 2, 2, 1], 3))
    assert {0, 1, 2, 4, 5, 6} <= found["critical absence"]


def test_a_value_before_rules_out_the_same_after() -> None:
    """One changes from 1 to 0 as another comes with 1: only who knows of the change can tell the two apart."""
    releases: Releases = [[0, 0, 0, None, None], [0, 0, None, 0, 0]]
    values = [0, 0, 1, 0, 1]
    known = audited(releases, values, 2, [(2, 3)])
    assert not known.ok
    assert {2, 3, 4} <= {unit for units in attacks(known).values() for unit in units} | set(known.in_doubt.tolist())


def test_two_who_have_changed_can_give_away_a_third() -> None:
    """0 and 1 have values 0 and 1, and after a change both are others: among 0, 0 and 1 the third has 0."""
    releases: Releases = [[0, 0, None, None, None], [None, None, 0, 0, 0]]
    values = [0, 1, 1, 0, 0]
    pairs = [(0, 2), (1, 3)]
    assert len({world[4] for world in worlds(releases, values, 2, pairs)}) == 1
    audit = audited(releases, values, 2, pairs, diverse=True)
    assert not audit.ok
    assert audit.undecided == 3
    assert "undecided" in audit.reasons[0]
    assert audited(releases, values, 2, pairs[:1], diverse=True).ok
    assert audited(releases, values, 2, diverse=True).ok


@st.composite
def cohorts(draw: st.DrawFn) -> tuple[Releases, list[int], list[tuple[int, int]]]:
    """Two or three cohorts that begin one after the other and never change, and people who are in several of them."""
    sizes = [draw(st.integers(2, 4)) for _ in range(draw(st.integers(2, 3)))]
    n_units = sum(sizes)
    cohort = np.repeat(np.arange(len(sizes)), sizes).tolist()
    values = draw(st.lists(st.integers(0, 2), min_size=n_units, max_size=n_units))
    releases = [
        [one if one <= number else None for one in cohort] for number in range(draw(st.integers(0, 1)), len(sizes))
    ]
    pairs: list[tuple[int, int]] = []
    for later in range(sizes[0], n_units):
        free = [unit for unit in range(later) if cohort[unit] < cohort[later] and unit not in {a for a, _ in pairs}]
        earlier = draw(st.one_of(st.none(), st.sampled_from(free))) if free else None
        if earlier is not None:
            pairs.append((earlier, later))
    return releases, values, pairs


@given(cohorts())
@settings(max_examples=300)
def test_what_is_ok_leaves_every_value_to_everybody(made: tuple[Releases, list[int], list[tuple[int, int]]]) -> None:
    releases, values, pairs = made
    audit = audited(releases, values, 2, pairs, diverse=True)
    if audit.ok and len(releases) > 1:
        every = worlds(releases, values, 3, pairs)
        assert all(len({world[unit] for world in every}) > 1 for unit in range(len(values)))


@given(cohorts())
def test_whoever_can_have_one_value_only_is_named(made: tuple[Releases, list[int], list[tuple[int, int]]]) -> None:
    releases, values, pairs = made
    audit = audited(releases, values, 2, pairs)
    if len(releases) < 2:
        return
    every = worlds(releases, values, 3, pairs)
    alone = worlds(releases[-1:], values, 3)
    told = {
        unit
        for unit in range(len(values))
        if len({world[unit] for world in every}) == 1 and len({world[unit] for world in alone}) > 1
    }
    assert told <= set(audit.exposed_units().tolist()) | set(audit.in_doubt.tolist())


@pytest.mark.parametrize("diverse", [False, True])
def test_one_value_where_a_class_has_several_is_found_without_diversity_as_well(diverse: bool) -> None:
    releases: Releases = [[0] * 6, [0] * 3 + [None] * 3]
    audit = audited(releases, [0, 1, 0, 1, 1, 1], 3, diverse=diverse)
    assert set(audit.exposed_units().tolist()) == {3, 4, 5}
    releases = [[0] * 6, [0] * 3 + [1] * 3]  # here the second release says so alone, and may where nothing is asked
    assert audited(releases, [0, 1, 0, 1, 1, 1], 3, diverse=diverse).ok is not diverse


def test_whoever_comes_after_somebody_was_erased_may_be_the_same() -> None:
    """A class of three leaves and is erased; three others come. Or are they the same?"""
    releases: Releases = [[0] * 3 + [1] * 3 + [None] * 3, [None] * 3 + [1] * 3 + [0] * 3]
    history = History(
        3,
        TWO_VALUES,
        people=np.arange(9),
        values={"ill": published_values("ill", pa.chunked_array([pa.array(list("abaabaaba"))]), None, ("",))},
        known=np.arange(9) >= 3,
        nameless=np.arange(9) < 3,
    )
    for number, release in enumerate(releases, start=1):
        history.show(Shown(number, np.array([-1 if one is None else one for one in release], np.int64)))
    audit = audit_history(history)
    assert not audit.findings
    assert audit.in_doubt.tolist() == [6, 7, 8]
    assert "3 people are here since others were erased" in audit.reasons[0]


@pytest.mark.parametrize("diverse", [False, True])
def test_what_depends_on_erased_values_is_undecided(diverse: bool) -> None:
    """Three of six leave and are erased: whether they all had one value, the vault cannot say, and an attacker can."""
    history = History(
        3,
        TWO_VALUES if diverse else (),
        people=np.arange(6),
        values={"ill": published_values("ill", pa.chunked_array([pa.array(list("abaaaa"))]), None, ("",))},
        known=np.arange(6) < 3,
        nameless=np.arange(6) >= 3,
    )
    history.show(Shown(1, np.zeros(6, np.int64)))
    history.show(Shown(2, np.array([0, 0, 0, -1, -1, -1])))
    audit = audit_history(history)
    assert not audit.ok
    assert audit.in_doubt.tolist() == [3, 4, 5]
    assert "erased" in audit.reasons[0]
