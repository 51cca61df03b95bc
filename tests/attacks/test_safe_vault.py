"""Releases that are safe together: the attacks that find most people in others find nobody in these.

The attacker has every file; knows everybody's quasi-identifiers, who was in the table when and in which class, and who
held which place when; that who stayed and moved to another class has another value; and, where it is true, that who
came back has the same one.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import shoal
from tests.attacks.differences import determined, known_sets, too_small
from tests.attacks.files import read_counts, shown
from tests.attacks.histories import History, Plan, attacked, lived
from tests.attacks.solver import given_away, possible_values
from tests.attacks.sources import adult, patients


def safely_lived(folder: Path, plan: Plan, k: int, ell: int = 2, where: str | None = None, **options: Any) -> History:
    place = str(folder / "vault") if where is None else where
    history = lived(place, folder, plan, k=k, l=ell, diversity="distinct", republication="safe", **options)
    with shoal.Vault.open(place) as vault:
        assert vault.audit().ok
        assert vault.check().ok
        assert all(entry.republication == "safe" for entry in vault.releases())
    return history


def refuse_found(history: History, k: int, ell: int = 2) -> None:
    """Nobody comes out: no value is certain, and no set that can be told is too small."""
    case = attacked(history)
    possible = possible_values(case.knowledge)
    assert all(case.truth[one] in values for one, values in possible.items())  # the attacker believes nothing false
    assert not given_away(case.knowledge, possible)
    known = known_sets(case.knowledge)
    assert not determined(known)
    assert not too_small(case.knowledge, known, k, ell)


@pytest.mark.parametrize(("seed", "k", "values"), [(0, 5, 4), (1, 3, 3), (2, 2, 5), (3, 5, 2)])
def test_nobody_is_found(tmp_path: Path, seed: int, k: int, values: int) -> None:
    """People come, go, come back, move and fall ill."""
    plan = Plan(patients(values), seed, records=80, releases=7, changes=14)
    history = safely_lived(tmp_path, plan, k)
    refuse_found(history, k)
    assert any(row.record is None for row in history.rows[-1])  # there are ghosts
    shown_now = {row.record for row in history.rows[-1]}
    assert any(key not in shown_now for key in history.records[-1])  # and somebody waits


def test_nobody_is_found_among_adults(tmp_path: Path) -> None:
    plan = Plan(adult(), seed=4, records=250, releases=5, changes=20)
    refuse_found(safely_lived(tmp_path, plan, 5), 5)


def test_people_with_several_records(tmp_path: Path) -> None:
    plan = Plan(patients(4), seed=5, records=80, releases=6, changes=12, several=0.3)
    refuse_found(safely_lived(tmp_path, plan, 4), 4)


def test_in_postgres(tmp_path: Path, postgres_url: str) -> None:
    plan = Plan(patients(4), seed=6, records=60, releases=5, changes=10)
    refuse_found(safely_lived(tmp_path, plan, 3, where=postgres_url), 3)


@pytest.mark.parametrize("vacancies", ["pairs", "off"])
def test_other_ways_with_vacancies(tmp_path: Path, vacancies: str) -> None:
    plan = Plan(patients(3), seed=7, records=80, releases=5, changes=14)
    refuse_found(safely_lived(tmp_path, plan, 3, vacancies=vacancies), 3)


def test_a_limit_of_waiting(tmp_path: Path) -> None:
    plan = Plan(patients(4), seed=8, records=80, releases=8, changes=14)
    refuse_found(safely_lived(tmp_path, plan, 3, max_hold=2), 3)


def test_vacancies_are_filled_and_counts_stay(tmp_path: Path) -> None:
    """A class keeps its rows as long as it lives, whoever comes and goes."""
    plan = Plan(patients(2), seed=9, records=120, releases=8, changes=16)
    history = safely_lived(tmp_path, plan, 4)
    holders: dict[str, set[str]] = {}
    for rows in history.rows:
        for row in rows:
            assert row.place is not None
            if row.record is not None:
                holders.setdefault(row.place, set()).add(row.record)
    assert any(len(names) > 1 for names in holders.values())  # places have changed hands
    source = plan.source
    before: dict[frozenset[str], Counter[str]] = {}
    for path, rows in zip(history.files, history.rows, strict=True):
        counts = read_counts(path, source.quasi_identifiers, [source.sensitive])
        classes: dict[tuple[str, ...], set[str]] = {}
        for row in rows:
            classes.setdefault(row.cells, set()).add(str(row.place))
        for cells, places in classes.items():
            known = before.setdefault(frozenset(places), counts[cells])
            assert known == counts[cells]


def test_what_is_shown_of_a_holder_is_what_the_holder_has(tmp_path: Path) -> None:
    plan = Plan(patients(4), seed=10, records=80, releases=6, changes=14)
    history = safely_lived(tmp_path, plan, 3)
    source = plan.source
    for path, rows, records in zip(history.files, history.rows, history.records, strict=True):
        counts = read_counts(path, source.quasi_identifiers, [source.sensitive])
        held: dict[tuple[str, ...], Counter[str]] = {}
        for row in rows:
            if row.record is not None:
                held.setdefault(row.cells, Counter())[shown(records[row.record], [source.sensitive])] += 1
        for cells, values in held.items():
            assert values <= counts[cells]


def test_the_counterexample(tmp_path: Path) -> None:
    """Cohorts {flu × 3, HIV × 2}, {diabetes × 5, asthma × 5}: one of the first with HIV and four of the second leave.

    What is left of both, as one class of ten, would give the one away.
    """
    schema = shoal.Schema(
        columns={
            "id": {"role": "key"},
            "age": {"role": "quasi-identifier", "type": "numeric"},
            "ill": {"role": "sensitive"},
        }
    )
    ills = ["flu"] * 3 + ["HIV"] * 2 + ["diabetes", "asthma"] * 5
    people = [{"id": f"p{i}", "age": (20 if i < 5 else 70) + i % 5, "ill": ill} for i, ill in enumerate(ills)]
    with shoal.Vault.create(tmp_path / "v", schema, k=5, l=2, diversity="distinct", data=people, seed=1) as vault:
        first = Counter(vault.publish().table["ill"].to_pylist())
        vault.delete(["p4", "p5", "p6", "p7", "p8"])
        with pytest.raises(shoal.AuditError) as refused:
            vault.publish()
        assert refused.value.people > 0
        second = vault.publish(republication="safe")
        assert Counter(second.table["ill"].to_pylist()) == first
        assert vault.audit().ok


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(40))
def test_nobody_is_found_in_longer_histories(tmp_path: Path, seed: int) -> None:
    k = (2, 3, 5, 10)[seed % 4]
    plan = Plan(
        patients(2 + seed % 4), 100 + seed, records=280, releases=12, changes=30, several=0.25 * (seed % 3 == 2)
    )
    options: dict[str, Any] = {"max_hold": 3} if seed % 5 == 4 else {}
    refuse_found(safely_lived(tmp_path, plan, k, **options), k)
