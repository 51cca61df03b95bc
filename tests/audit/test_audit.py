"""What several releases say together, held to fractions and to every world."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.audit import Audit, History, Shown, audit_history
from shoal.privacy.requirements import Rule, make_rules
from shoal.verify.models import published_values
from tests.reference.audit import Class, atoms_of, revealed, worlds

Releases = Sequence[Sequence[Class]]
TWO_VALUES = make_rules(["ill"], l=2, diversity="distinct")


def history_of(releases: Releases, values: Sequence[int], k: int, rules: Sequence[Rule] = ()) -> History:
    column = pa.chunked_array([pa.array([f"v{value}" for value in values])])
    history = History(
        k,
        rules,
        people=np.arange(len(values)),
        values={"ill": published_values("ill", column, None, ("",))},
        known=np.ones(len(values), bool),
    )
    for number, release in enumerate(releases, start=1):
        history.show(Shown(number, np.array([-1 if one is None else one for one in release], np.int64)))
    return history


def found_sets(audit: Audit) -> list[frozenset[int]]:
    """What counts give away, whatever has happened to those concerned; not what only the values that are left do."""
    return [frozenset(one.units.tolist()) for one in audit.findings if one.attack not in ("intersection", "linking")]


@st.composite
def histories(draw: st.DrawFn, units: int = 8, releases: int = 4) -> tuple[Releases, list[int], int]:
    n_units, n_values = draw(st.integers(2, units)), draw(st.integers(2, 3))
    classes = st.one_of(st.none(), st.integers(0, 2))
    shown = [draw(st.lists(classes, min_size=n_units, max_size=n_units)) for _ in range(draw(st.integers(1, releases)))]
    values = draw(st.lists(st.integers(0, n_values - 1), min_size=n_units, max_size=n_units))
    return shown, values, draw(st.integers(2, 4))


def lacks(units: frozenset[int], values: Sequence[int], k: int, rules: Sequence[Rule]) -> bool:
    return len(units) < k or (bool(rules) and len({values[unit] for unit in units}) < 2)


@given(histories(units=6), st.sampled_from([(), TWO_VALUES]))
def test_what_is_found_is_the_same_in_every_world(made: tuple[Releases, list[int], int], rules: Sequence[Rule]) -> None:
    releases, values, k = made
    audit = audit_history(history_of(releases, values, k, rules))
    every = worlds(releases, values, max(values) + 1)
    for finding in audit.findings:
        units = frozenset(finding.units.tolist())
        follows = len({tuple(sorted(world[unit] for unit in units)) for world in every}) == 1
        few = all(len({world[unit] for world in every}) < 2 for unit in units)
        assert (finding.attack != "intersection" and follows and lacks(units, values, k, rules)) or few


@given(histories(), st.sampled_from([(), TWO_VALUES]))
def test_what_follows_is_found_or_in_doubt(made: tuple[Releases, list[int], int], rules: Sequence[Rule]) -> None:
    releases, values, k = made
    audit = audit_history(history_of(releases, values, k, rules))
    if len(releases) == 1:
        assert audit.ok
        return
    truly = {units for units in revealed(releases) if lacks(units, values, k, rules)}
    assert audit.ok <= (not truly)
    found = found_sets(audit)
    alone = {atom for atom in atoms_of(releases) if atom in truly}
    assert {unit for atom in alone for unit in atom} <= {unit for units in found for unit in units}
    if not audit.undecided:
        assert all(any(one & units for one in found) for units in truly)


@given(histories(units=6, releases=3))
def test_whoever_can_have_one_value_only_is_found_or_in_doubt(made: tuple[Releases, list[int], int]) -> None:
    releases, values, k = made
    if len(releases) == 1:
        return
    audit = audit_history(history_of(releases, values, k, TWO_VALUES))
    every = worlds(releases, values, max(values) + 1)
    seen = {unit for release in releases for unit, one in enumerate(release) if one is not None}
    certain = {unit for unit in seen if len({world[unit] for world in every}) == 1}
    if audit.ok:
        assert not certain
    if not audit.undecided:
        assert certain <= set(audit.exposed_units().tolist())


@given(histories(), st.permutations(range(3)))
def test_it_does_not_matter_how_classes_are_numbered(
    made: tuple[Releases, list[int], int], renamed: Sequence[int]
) -> None:
    releases, values, k = made
    others = [[None if one is None else renamed[one] for one in release] for release in releases]
    audits = [audit_history(history_of(some, values, k, TWO_VALUES)) for some in (releases, others)]
    assert audits[0].facts() == audits[1].facts()


def test_one_who_leaves_alone_comes_out() -> None:
    releases: Releases = [[0] * 6, [0] * 5 + [None]]
    audit = audit_history(history_of(releases, [0, 1, 0, 1, 0, 1], 3))
    assert not audit.ok
    assert found_sets(audit) == [frozenset({5})]
    assert audit.exposed["difference"] == 1
    assert audit.worst is not None
    assert audit.worst.people == 1
    assert "releases 1 and 2" in audit.reasons[0]


def test_those_who_leave_together_do_not() -> None:
    releases: Releases = [[0] * 6, [0] * 3 + [None] * 3]
    assert audit_history(history_of(releases, [0, 1, 0, 1, 0, 1], 3, TWO_VALUES)).ok
    alike = audit_history(history_of(releases, [0, 1, 0, 1, 1, 1], 3, TWO_VALUES))
    assert found_sets(alike) == [frozenset({3, 4, 5})]  # enough people, all with one value


def test_a_merged_remainder_gives_away_the_one_who_left() -> None:
    """Classes of {flu × 3, HIV × 2} and {diabetes × 5, asthma × 5}; one with HIV and four of the others leave."""
    before: Sequence[Class] = [0] * 5 + [1] * 10
    gone = {4, 5, 6, 10, 11}
    after: Sequence[Class] = [None if unit in gone else 0 for unit in range(15)]
    values = [0, 0, 0, 1, 1] + [2] * 5 + [3] * 5
    audit = audit_history(history_of([before, after], values, 5, TWO_VALUES))
    assert 4 in {unit for one in audit.findings for unit in one.units.tolist()}  # HIV is in no other class


def test_three_releases_say_what_no_two_of_them_say() -> None:
    """Unit 0 is in two classes that share nobody else; the third release shows the others together."""
    releases: Releases = [[0, 0, 0, None, None], [0, None, None, 0, 0], [None, 0, 0, 0, 0]]
    audit = audit_history(history_of(releases, [0, 1, 0, 1, 0], 3))
    assert frozenset({0}) in found_sets(audit)


def test_an_intersection_leaves_one_value() -> None:
    releases: Releases = [[0, 0, 0, 1, 1, 1], [0, 1, 1, 0, 0, 1]]
    audit = audit_history(history_of(releases, [0, 1, 1, 0, 2, 2], 3))
    assert audit.exposed["intersection"] >= 1


def test_rows_are_linked_by_what_only_one_shows() -> None:
    releases: Releases = [[0] * 4 + [1] * 4, [0] * 2 + [1] * 2 + [0] * 2 + [1] * 2]
    values = [0, 1] * 4
    history = history_of(releases, values, 4)
    rare = np.array([7, 0, 1, 0, 1, 0, 1, 0])
    audit = audit_history(history, rare)
    assert audit.exposed["linking"] == 1
    assert audit_history(history, np.array([0, 1] * 4)).exposed["linking"] == 0


@pytest.mark.parametrize("n_units", [3_000])
def test_many_releases_of_many_people(n_units: int) -> None:
    """A class for every six; between releases one of some classes leaves: exactly those come out."""
    rng = np.random.default_rng(1)
    classes = np.arange(n_units) // 6
    releases, gone = [classes], np.zeros(n_units, bool)
    for _ in range(5):
        gone = gone.copy()
        gone[rng.choice(np.flatnonzero(~gone & (np.arange(n_units) % 6 == 0)), 5, replace=False)] = True
        releases.append(np.where(gone, -1, classes))
    history = History(
        3,
        (),
        people=np.arange(n_units),
        values={"ill": published_values("ill", pa.chunked_array([pa.array(["a", "b"] * (n_units // 2))]), None, ("",))},
        known=np.ones(n_units, bool),
    )
    for number, shown in enumerate(releases, start=1):
        history.show(Shown(number, shown))
    audit = audit_history(history)
    assert {unit for units in found_sets(audit) for unit in units} == set(np.flatnonzero(gone).tolist())
    assert not audit.undecided
