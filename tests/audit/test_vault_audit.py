"""The audit of a vault, held to an attacker who has the published files and asks a solver what is still possible."""

from __future__ import annotations

import json
import stat
from pathlib import Path

import pyarrow.csv as pa_csv
import pytest

import shoal
from tests.attacks.histories import (
    DELETE,
    FALL_ILL,
    INSERT,
    KINDS,
    RETURN,
    STILL,
    History,
    Plan,
    attacked,
    lived,
)
from tests.attacks.solver import given_away, possible_values
from tests.attacks.sources import adult, patients
from tests.support.commands import run

PLANS = [
    (Plan(adult(), seed=1, records=300, releases=4, changes=8, kinds=STILL), {"k": 5, "l": 2, "diversity": "distinct"}),
    (Plan(adult(), seed=2, records=200, releases=5, changes=6), {"k": 5, "l": 2, "diversity": "distinct"}),
    (Plan(patients(2), seed=0, records=90, releases=6, changes=5), {"k": 3}),
    (Plan(patients(4), seed=3, records=120, releases=4, changes=6, several=0.3), {"k": 4}),
]


OTHERS = [  # with what is asked besides k
    (2, {"l": 2, "diversity": "distinct"}),
    (3, {}),
    (5, {"l": 2, "diversity": "distinct"}),
    (10, {"l": 2, "diversity": "distinct"}),
]


def exposed_to_a_solver(history: History) -> set[str]:
    """The keys of all who can have one value only, and not because of one release."""
    case = attacked(history)
    return {case.keys[one] for one in given_away(case.knowledge, possible_values(case.knowledge)).values()}


@pytest.mark.parametrize(("plan", "options"), PLANS)
def test_it_names_whomever_a_solver_finds(plan: Plan, options: dict[str, object], tmp_path: Path) -> None:
    history = lived(tmp_path / "vault", tmp_path, plan, **options)
    away = exposed_to_a_solver(history)
    with shoal.Vault.open(tmp_path / "vault") as vault:
        audit = vault.audit()
        still_here = away & set(vault.groups()["key"].to_pylist())
    assert not audit.ok
    assert audit.people_found is not None
    found = audit.people_found.to_pylist()
    assert len(still_here) > 5
    assert still_here <= {row["key"] for row in found}
    named = {row["key"] for row in found if row["attack"] != "undecided"}
    assert len(still_here & named) >= 0.9 * len(still_here)  # what depends on erased values is undecided


def refuse_misses(plan: Plan, folder: Path, options: dict[str, object]) -> None:
    """Whoever a solver finds, and is still in the vault, is found or in doubt; and then the audit is not ok."""
    away = exposed_to_a_solver(lived(folder / "vault", folder, plan, **options))
    with shoal.Vault.open(folder / "vault") as vault:
        audit = vault.audit()
        still_here = away & set(vault.groups()["key"].to_pylist())
    assert not (audit.ok and away)
    assert audit.people_found is not None
    assert still_here <= set(audit.people_found["key"].to_pylist())


@pytest.mark.parametrize(("k", "asked"), OTHERS)
def test_it_misses_nobody(k: int, asked: dict[str, object], tmp_path: Path) -> None:
    plan = Plan(patients(4), seed=k, records=12 * k, releases=4, changes=6, several=0.3 * (k % 2))
    refuse_misses(plan, tmp_path, {"k": k, **asked})


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(30))
def test_it_misses_nobody_in_longer_histories(seed: int, tmp_path: Path) -> None:
    k, asked = OTHERS[seed % len(OTHERS)]
    kinds = (KINDS, STILL, {FALL_ILL: 1.0}, {FALL_ILL: 1.0, INSERT: 1.0}, {DELETE: 1.0, RETURN: 1.0})[seed % 5]
    plan = Plan(
        patients(2 + seed % 5),
        seed=100 + seed,
        records=60 + 5 * seed,
        releases=3 + seed % 10,
        changes=3 + seed % 12,
        kinds=kinds,
        several=0.3 * (seed % 3 == 0),
    )
    refuse_misses(plan, tmp_path, {"k": k, **asked})


def test_releases_of_what_has_not_changed_say_no_more_than_one(tmp_path: Path) -> None:
    table, schema = shoal.datasets.census(300, seed=1), shoal.datasets.census_schema()
    with shoal.Vault.create(tmp_path / "vault", schema, republication="none", k=5, data=table) as vault:
        assert vault.audit().ok  # none yet
        vault.publish()
        assert vault.audit().ok
        vault.publish(even_if_unchanged=True)
        assert vault.audit().ok
        assert vault.audit(including_next=True).ok


def test_what_the_next_release_would_say_is_what_it_says(tmp_path: Path) -> None:
    table, schema = shoal.datasets.census(300, seed=1), shoal.datasets.census_schema()
    with shoal.Vault.create(":memory:", schema, republication="none", k=5, data=table) as vault:
        vault.publish()
        for changes in shoal.datasets.census_changes(table, batches=1, size=8, seed=2):
            vault.apply(changes)
        before = vault.audit(including_next=True)
        assert vault.audit().ok
        vault.publish()
        assert vault.audit().facts() == before.facts()
        assert not before.ok


def test_on_the_command_line(tmp_path: Path) -> None:
    source = patients(3)
    plan = Plan(source, seed=1, records=60, releases=2, changes=3)
    lived(tmp_path / "vault", tmp_path, plan, k=3)
    done = run("audit", "vault", "-o", "who.csv", cwd=tmp_path)
    assert done.returncode == 1
    assert "2 releases say together what none of them says alone" in done.stdout
    who = tmp_path / "who.csv"
    assert stat.S_IMODE(who.stat().st_mode) == 0o600
    keys = pa_csv.read_csv(who)["key"].to_pylist()
    assert keys
    assert not any(key in done.stdout + done.stderr for key in map(str, keys))
    facts = json.loads(run("audit", "vault", "--json", cwd=tmp_path).stdout)
    assert facts["ok"] is False
    assert facts["exposed"]["difference"] > 0
