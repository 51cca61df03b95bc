"""Random histories, in every store: what the attacker is handed is true, and what the attacks say is."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from tests.attacks.differences import known_sets
from tests.attacks.files import read_counts, shown
from tests.attacks.histories import KINDS, Case, History, Plan, attacked, lived
from tests.attacks.knowledge import complete
from tests.attacks.solver import determined, possible_values
from tests.attacks.sources import patients


@pytest.fixture(params=["sqlite", "postgres"])
def where(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return str(tmp_path / "vault") if request.param == "sqlite" else request.getfixturevalue("postgres_url")


def refuse_false(case: Case) -> None:
    """Every attack is right: what it says holds of what is true."""
    possible = possible_values(case.knowledge)
    assert all(case.truth[one] in values for one, values in possible.items())
    for some in known_sets(case.knowledge):
        assert Counter(case.truth[one] for one in some.unknowns) == dict(some.counts)
        if len(some.values) == 1:
            assert all(possible[one] == some.values for one in some.unknowns)


def refuse_other_rows(history: History) -> None:
    """Every row is where the steward says: classes have the members that the file shows."""
    source = history.plan.source
    for path, rows, records in zip(history.files, history.rows, history.records, strict=True):
        expected: dict[tuple[str, ...], Counter[str]] = {}
        for row in rows:
            assert row.record is not None
            value = shown(records[row.record], [source.sensitive])
            expected.setdefault(row.cells, Counter())[value] += 1
        assert read_counts(path, source.quasi_identifiers, [source.sensitive]) == expected


def test_a_history_is_what_was_published(where: str, tmp_path: Path) -> None:
    plan = Plan(patients(4), seed=11, records=60, releases=6, changes=8)
    history = lived(where, tmp_path, plan, k=3, l=2, diversity="distinct")
    refuse_other_rows(history)
    case = attacked(history)
    refuse_false(case)
    assert case.knowledge.different
    assert all(
        sum(map(len, seen.holders.values())) == len(rows)
        for seen, rows in zip(complete(case.knowledge), history.rows, strict=True)
    )


@pytest.mark.parametrize("seed", range(4))
def test_every_kind_of_change_is_told_truly(tmp_path: Path, seed: int) -> None:
    """With several records per person, two to five values, CSV and Parquet, and whatever else the attacker knows."""
    suffix = (".csv", ".parquet")[seed % 2]
    plan = Plan(patients(2 + seed), seed, records=50, releases=6, changes=8, several=0.3 * (seed % 2), suffix=suffix)
    history = lived(tmp_path / "vault", tmp_path, plan, k=3)
    refuse_other_rows(history)
    plain = possible_values(attacked(history, changes_known=False, returned_unchanged=False).knowledge)
    for changes_known in (False, True):
        for returned_unchanged in (False, True):
            refuse_false(attacked(history, changes_known=changes_known, returned_unchanged=returned_unchanged))
    refuse_false(attacked(history, ["job", "ill"]))
    refuse_false(attacked(history, releases=[0, 2, 5]))
    more = possible_values(attacked(history, returned_unchanged=False).knowledge)
    assert all(more[one] <= plain[one] for one in plain)  # who knows more excludes more


def test_a_history_can_be_had_again(tmp_path: Path) -> None:
    """Seeds tell all that happens; the order of published rows is not theirs to tell."""
    made = []
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        made.append(lived(tmp_path / name / "vault", tmp_path / name, Plan(patients(), seed=4, releases=3), k=3))
    assert made[0].records == made[1].records
    assert [sorted(rows) for rows in made[0].rows] == [sorted(rows) for rows in made[1].rows]


def test_kinds_of_changes_happen(tmp_path: Path) -> None:
    history = lived(tmp_path / "vault", tmp_path, Plan(patients(), seed=8, releases=6, changes=12), k=3)
    came, left = history.came_or_left()
    assert came & left  # some returned, or came and left again
    columns = history.plan.source.columns
    changed = {
        name
        for before, after in zip(history.records, history.records[1:], strict=False)
        for key in before.keys() & after.keys()
        for name in columns
        if before[key][name] != after[key][name]
    }
    assert changed == columns.keys()
    assert len(KINDS) == 6


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(20))
def test_longer_histories_are_told_truly(tmp_path: Path, seed: int) -> None:
    plan = Plan(patients(2 + seed % 5), seed, records=250, releases=12, changes=15, several=0.2 * (seed % 2))
    history = lived(tmp_path / "vault", tmp_path, plan, k=3 + seed % 3)
    refuse_other_rows(history)
    refuse_false(attacked(history))
    refuse_false(attacked(history, ["job", "ill"]))
    assert determined(possible_values(attacked(history).knowledge))
