"""What releases give away if nobody looks at those before: the attacks on vaults as they publish today.

Every release is k-anonymous and diverse. The numbers say how much worse several are together; a vault that looks at
what it has published must bring them to nought (and then these tests say `republication="none"`).
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.attacks.differences import determined, known_sets, too_small
from tests.attacks.histories import STILL, History, Plan, attacked, lived
from tests.attacks.solver import given_away, possible_values
from tests.attacks.sources import adult, patients

DIVERSE = {"k": 5, "l": 2, "diversity": "distinct"}


@pytest.fixture(scope="module")
def adults(tmp_path_factory: pytest.TempPathFactory) -> History:
    """Adult: four releases, and ten people who come or go before each but the first."""
    folder = tmp_path_factory.mktemp("adults")
    plan = Plan(adult(), seed=3, records=400, releases=4, changes=10, kinds=STILL)
    return lived(folder / "vault", folder, plan, **DIVERSE)


def test_subtracting_tells_what_most_have_who_came_or_left(adults: History) -> None:
    case = attacked(adults)
    known = known_sets(case.knowledge)
    found = determined(known)
    assert all(case.truth[one] == value for one, value in found.items())
    came, left = adults.came_or_left()
    told = {case.keys[one] for one in found}
    assert len(came) >= 10
    assert len(left) >= 10
    assert len(told & came) > 0.8 * len(came)
    assert len(told & left) > 0.8 * len(left)
    assert len(told - came - left) > 20  # who stayed, and was in a class with them
    assert len(too_small(case.knowledge, known, k=5, ell=2)) > len(found)


def test_nobody_is_given_away_by_one_release(adults: History) -> None:
    for number in range(len(adults.files)):
        knowledge = attacked(adults, releases=[number]).knowledge
        assert not known_sets(knowledge)
        assert min(map(len, possible_values(knowledge).values())) >= 2


def test_the_solver_finds_all_that_subtracting_finds_and_more(adults: History) -> None:
    case = attacked(adults)
    possible = possible_values(case.knowledge)
    assert all(case.truth[one] in values for one, values in possible.items())
    subtracted = determined(known_sets(case.knowledge))
    assert all(possible[one] == {value} for one, value in subtracted.items())
    away = {case.keys[one] for one in given_away(case.knowledge, possible).values()}
    assert {case.keys[one] for one in subtracted} < away
    came, left = adults.came_or_left()
    assert len(away & (came | left)) > 0.9 * len(came | left)
    assert len(away - came - left) > 20  # who stayed: more than one group changes for each who comes or leaves


def test_a_sensitive_value_that_changes_is_given_away_with_the_one_before(tmp_path: Path) -> None:
    plan = Plan(adult(), seed=2, records=300, releases=4, changes=4, kinds={"fall ill": 1.0})
    case = attacked(lived(tmp_path / "vault", tmp_path, plan, **DIVERSE))
    assert len(case.knowledge.different) >= 10
    found = determined(known_sets(case.knowledge))
    told = [pair for pair in case.knowledge.different if all(one in found for one in pair)]
    assert len(told) > 0.8 * len(case.knowledge.different)


def test_what_is_published_beside_the_sensitive_value_gives_away_more(tmp_path: Path) -> None:
    """Jobs are published as they are: whoever keeps the job can be followed by it."""
    plan = Plan(patients(2), seed=3, records=120, releases=5, changes=8, kinds=STILL)
    history = lived(tmp_path / "vault", tmp_path, plan, k=4, l=1.5)
    ill, both = attacked(history), attacked(history, ["job", "ill"])
    by_ill = given_away(ill.knowledge, possible_values(ill.knowledge))
    by_both = given_away(both.knowledge, possible_values(both.knowledge), part=1)
    assert by_both.keys() > by_ill.keys()


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_few_changes_in_a_larger_table_give_away_whoever_changes(tmp_path: Path, seed: int) -> None:
    plan = Plan(adult(), seed=seed, records=3000, releases=6, changes=30)
    history = lived(tmp_path / "vault", tmp_path, plan, **DIVERSE)
    case = attacked(history)
    possible = possible_values(case.knowledge)
    away = {case.keys[one] for one in given_away(case.knowledge, possible).values()}
    came, left = history.came_or_left()
    assert len(away & (came | left)) > 0.9 * len(came | left)
    assert len(away) > 2 * len(came | left)
