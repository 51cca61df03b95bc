"""The attacks do not cry wolf: what is published safely passes, and what spoils it is found."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.attacks.cohorts import lived_in_cohorts
from tests.attacks.differences import determined, known_sets, too_small
from tests.attacks.histories import DELETE, INSERT, MOVE, RETURN, History, Plan, attacked
from tests.attacks.knowledge import spread
from tests.attacks.solver import given_away, possible_values
from tests.attacks.sources import patients
from tests.attacks.steward import Row

K = 4


def in_cohorts(folder: Path, seed: int) -> History:
    kinds = {INSERT: 2.0, DELETE: 2.0, MOVE: 1.0, RETURN: 1.0}
    plan = Plan(patients(4), seed, records=40, releases=8, changes=8, kinds=kinds)
    return lived_in_cohorts(folder, plan, K, 2)


@pytest.mark.parametrize("seed", range(4))
def test_cohorts_that_keep_their_rows_give_nobody_away(tmp_path: Path, seed: int) -> None:
    """Even to somebody who knows who holds which place, and who has held it before."""
    history = in_cohorts(tmp_path, seed)
    taken = {(row.place, row.record) for rows in history.rows for row in rows if row.record is not None}
    assert len(taken) > len({place for place, _ in taken})  # places have changed hands
    assert any(row.record is None for row in history.rows[-1])
    case = attacked(history)
    possible = possible_values(case.knowledge)
    assert all(case.truth[one] in values for one, values in possible.items())
    assert not given_away(case.knowledge, possible)
    assert not too_small(case.knowledge, known_sets(case.knowledge), K, 2)


def test_who_does_not_know_the_places_finds_no_more(tmp_path: Path) -> None:
    """Rows of nobody who is in the table are then whoever's."""
    history = in_cohorts(tmp_path, 5)
    history.rows = [[Row(row.cells, row.record) for row in rows] for rows in history.rows]
    case = attacked(history)
    assert not given_away(case.knowledge, possible_values(case.knowledge))
    assert not determined(known_sets(case.knowledge))


def test_a_row_that_goes_with_its_holder_is_found(tmp_path: Path) -> None:
    """The same history; but the last release lacks a row, as if whoever left had taken it along."""
    history = in_cohorts(tmp_path, 6)
    (lost,) = [place for place, row in enumerate(history.rows[-1]) if row.record is None][:1]
    lines = history.files[-1].read_text().splitlines(keepends=True)
    history.files[-1].write_text("".join(lines[: lost + 1] + lines[lost + 2 :]))
    place = history.rows[-1].pop(lost).place
    case = attacked(history)
    found = spread(case.knowledge, determined(known_sets(case.knowledge)))
    assert found
    assert all(case.truth[one] == value for one, value in found.items())
    away = given_away(case.knowledge, possible_values(case.knowledge))
    held = {row.record for rows in history.rows for row in rows if row.place == place and row.record is not None}
    assert held
    assert held <= {case.keys[one] for one in found}
    assert {history.people[key] for key in held} <= away.keys()
