"""What an attack has found once: people who change their values, come back, or are of earlier times."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

import shoal
from shoal.errors import ShoalWarning
from tests.attacks.histories import DELETE, FALL_ILL, INSERT, Plan, attacked, lived
from tests.attacks.solver import given_away, possible_values
from tests.attacks.sources import patients

SCHEMA = shoal.Schema(
    columns={
        "id": {"role": "key"},
        "age": {"role": "quasi-identifier", "type": "numeric"},
        "ill": {"role": "sensitive"},
    }
)
ASKED: dict[str, Any] = {"k": 3, "l": 2, "diversity": "distinct", "seed": 1}


def person(key: str, age: int, ill: str) -> dict[str, Any]:
    return {"id": key, "age": age, "ill": ill}


OTHERS = [person(f"w{i}", 70 + i, ill) for i, ill in enumerate("efg")]


def test_who_moves_takes_no_place_in_the_own_cohort() -> None:
    """x, who has changed from a to b, in the place of y, who had b: then z would have a."""
    people = [person("x", 20, "a"), person("y", 21, "b"), person("z", 22, "a"), *OTHERS]
    with shoal.Vault.create(":memory:", SCHEMA, data=people, republication="safe", **ASKED) as vault:
        vault.publish()
        vault.delete(["y"])
        vault.update([person("x", 20, "b")])
        vault.publish()
        status = vault.status()
        assert (status.waiting, status.ghosts) == (1, 2)


@pytest.mark.parametrize("seed", range(6))
def test_many_who_fall_ill_give_nobody_away(tmp_path: Path, seed: int) -> None:
    plan = Plan(patients(3), seed, records=40, releases=6, changes=9, kinds={FALL_ILL: 4.0, INSERT: 3.0, DELETE: 1.0})
    history = lived(tmp_path / "v", tmp_path, plan, k=3, l=2, diversity="distinct", republication="safe")
    for columns in (None, ["job", "ill"]):
        case = attacked(history, columns)
        possible = possible_values(case.knowledge)
        assert not given_away(case.knowledge, possible, **({} if columns is None else {"part": 1}))


def test_the_audit_sees_who_is_deleted_and_comes_back() -> None:
    """{a, b} and {a, d} leave a alone for x, whether x was touched or not."""
    people = [person("x", 20, "a"), person("y", 21, "b"), person("z", 22, "b"), *OTHERS]
    with shoal.Vault.create(":memory:", SCHEMA, data=people, **ASKED) as vault:
        vault.publish()
        vault.delete(["x", "y", "z"])
        vault.insert([person("x", 20, "a"), person("n1", 21, "d"), person("n2", 22, "d")])
        with pytest.raises(shoal.AuditError):
            vault.publish()


def test_what_was_accepted_is_not_asked_about_again() -> None:
    people = [person("x", 20, "a"), person("y", 21, "b"), person("z", 22, "b"), person("u", 23, "a"), *OTHERS]
    with shoal.Vault.create(":memory:", SCHEMA, data=people, **ASKED) as vault:
        vault.publish()
        vault.delete(["u"])
        with pytest.raises(shoal.AuditError):
            vault.publish()
        vault.publish(accept_findings=True)
        assert [entry.accepted > 0 for entry in vault.releases()] == [False, True]
        vault.publish(even_if_unchanged=True)
        assert vault.releases()[-1].accepted == 0


@pytest.mark.parametrize("how", ["from none", "rebased"])
def test_releases_of_another_kind_leave_doubt(how: str) -> None:
    people = [person("x", 20, "a"), person("y", 21, "b"), person("z", 22, "b"), person("u", 23, "b"), *OTHERS]
    mode = "none" if how == "from none" else "safe"
    with shoal.Vault.create(":memory:", SCHEMA, data=people, republication=mode, **ASKED) as vault:
        vault.publish()
        vault.delete(["u"])
        if how == "rebased":
            vault.publish()
            assert vault.audit().ok
            vault.rebase(break_guarantee=True)
        else:
            with pytest.warns(ShoalWarning, match="releases from before"), pytest.raises(shoal.AuditError) as refused:
                vault.publish(republication="safe")
            assert "--republication safe --accept-findings" in str(refused.value)
        with pytest.warns(ShoalWarning, match="releases from before"):
            vault.publish(republication="safe", accept_findings=True)
        found = vault.audit()
        assert not found.ok
        assert "cohorts that began after other releases" in found.reasons[0]
        assert vault.check().ok


@pytest.mark.parametrize("mode", ["audit", "safe"])
def test_tables_of_quasi_identifiers_alone(mode: str) -> None:
    schema = shoal.Schema(columns={"id": {"role": "key"}, "age": {"role": "quasi-identifier", "type": "numeric"}})
    people = [{"id": f"p{i}", "age": 20 + i} for i in range(12)]
    with shoal.Vault.create(":memory:", schema, k=3, data=people, seed=1, republication=mode) as vault:
        vault.publish()
        vault.delete(["p3"])
        vault.update([{"id": "p4", "age": 90}])
        release = vault.publish(republication="safe")
        assert release.table.num_rows == 12
        assert vault.check().ok
        assert vault.release(2).table.equals(release.table)


def test_numbers_of_places_tell_no_order() -> None:
    people = [person(f"p{i:02}", 20 + i, "abc"[i % 3]) for i in range(30)]
    with shoal.Vault.create(":memory:", SCHEMA, data=people, republication="safe", **ASKED) as vault:
        vault.publish()
        with vault._reading() as connection:
            held = connection.exec_driver_sql(
                "SELECT r.key FROM places p JOIN records r ON r.id = p.holder ORDER BY p.id"
            ).all()
    assert sorted(held) != held


def test_people_are_counted_across_atoms_that_are_joined() -> None:
    columns = {**SCHEMA.columns, "who": shoal.Column(role="person")}
    rows = [{**person(f"p{i}", 20 + i, "abc"[i % 3]), "who": f"w{i // 2}"} for i in range(24)]
    with shoal.Vault.create(":memory:", shoal.Schema(columns), k=3, data=rows, seed=1) as vault:
        vault.publish()
        vault.delete(["p1", "p8", "p15"])
        vault.publish(accept_findings=True)
        vault.delete(["p2"])
        vault.publish(republication="safe")
        groups: dict[int, set[str]] = {}
        whose = {row["id"]: row["who"] for row in rows}
        with vault._reading() as connection:
            held = connection.exec_driver_sql(
                "SELECT p.cohort, r.key FROM places p LEFT JOIN records r ON r.id = p.holder WHERE p.until IS NULL"
            ).all()
        for i, (cohort, key) in enumerate(held):
            groups.setdefault(cohort, set()).add(f"ghost {i}" if key is None else whose[key])
        assert min(map(len, groups.values())) >= 3


@pytest.mark.parametrize(("before", "others"), [([1, 2] * 4, [0.5]), ([None] * 8, [3]), ([10**15, 3] * 4, [2.5])])
def test_types_tell_nothing_of_who_waits(tmp_path: Path, before: list[object], others: list[object]) -> None:
    """The first fraction, or the first value of all, comes with somebody whom no release shows yet."""
    columns = {
        "id": {"role": "key"},
        "age": {"role": "quasi-identifier", "type": "numeric"},
        "weight": {"role": "insensitive"},
        "ill": {"role": "sensitive"},
    }
    people = [{"id": str(i), "age": 20 + i, "weight": one, "ill": "ab"[i % 2]} for i, one in enumerate(before)]
    new = [{"id": f"n{i}", "age": 90, "weight": one, "ill": "a"} for i, one in enumerate(others)]
    with shoal.Vault.create(
        tmp_path / "vault", shoal.Schema(columns=columns), data=people, k=2, seed=1, republication="safe"
    ) as vault:
        vault.publish(tmp_path / "1.parquet")
        vault.insert(new)
        vault.publish(tmp_path / "2.parquet")
        assert vault.status().waiting == 1
        shown = [pq.read_table(tmp_path / f"{number}.parquet") for number in (1, 2)]
        assert shown[0].schema.equals(shown[1].schema)
        assert sorted(map(str, shown[0]["weight"].to_pylist())) == sorted(map(str, shown[1]["weight"].to_pylist()))
        vault.release(2, tmp_path / "again.parquet")
        assert (tmp_path / "again.parquet").read_bytes() == (tmp_path / "2.parquet").read_bytes()
        assert vault.check().ok


WITH_JOBS = shoal.Schema(
    columns={
        "id": {"role": "key"},
        "age": {"role": "quasi-identifier", "type": "numeric", "domain": [0, 100]},
        "ill": {"role": "sensitive"},
        "job": {"role": "insensitive"},
    }
)


def worker(key: str, age: int, ill: str, job: str) -> dict[str, Any]:
    return {**person(key, age, ill), "job": job}


ELSEWHERE = [worker(f"w{i}", 80 + i, "abcd"[i % 4], "xy"[i % 2]) for i in range(8)]
# k and ℓ, the first cohort of p, what p has done before the second release, who leaves before the third, and the
# company in which p would be given away. In all of them it is the job that does it, not the illness.
FOLLOWED: dict[str, tuple[int, int, list[tuple[str, str]], list[Any], list[str], list[Any]]] = {
    "the last of a cohort leaves when one of it finds company": (
        2, 2, [("a", "x"), ("b", "y")],
        [worker("p", 10, "c", "x")], ["e1"],
        [worker("q1", 10, "a", "x"), worker("q2", 10, "c", "x")],
    ),
    "back, with another job, when the last of the cohort leaves": (
        2, 2, [("a", "x"), ("b", "y")],
        [], ["e1"],
        [worker("p", 10, "a", "z"), worker("q1", 10, "a", "z"), worker("q2", 10, "c", "z")],
    ),
    "back, with another job": (
        2, 2, [("a", "x"), ("b", "x")],
        [], [],
        [worker("p", 10, "a", "y"), worker("q1", 10, "a", "x"), worker("q2", 10, "b", "x")],
    ),
    "another job first, as a stale place tells, then another illness": (
        4, 2, [("a", "x"), ("b", "x"), ("a", "x"), ("b", "x")],
        [worker("p", 10, "a", "y"), worker("p", 10, "c", "y")], [],
        [worker(f"q{i}", 10, ill, "x") for i, ill in enumerate("aacc")],
    ),
    "two values of three with the job that was kept": (
        5, 3, [("a", "x"), ("b", "x"), ("c", "x"), ("d", "x"), ("a", "x")],
        [worker("p", 10, "b", "x")], [],
        [*(worker(f"q{i}", 10, ill, "x") for i, ill in enumerate("bbcc")), worker("q4", 10, "d", "y")],
    ),
}  # fmt: skip


@pytest.mark.parametrize("how", FOLLOWED)
def test_nobody_is_followed_by_what_rows_say_besides(how: str) -> None:
    """Who has another row than before enters no cohort in which that row could be told from the others."""
    k, ell, first, changes, leaving, company = FOLLOWED[how]
    cohort = [worker("p" if not i else f"e{i}", 10 + min(i, 1), ill, job) for i, (ill, job) in enumerate(first)]
    options: dict[str, Any] = {"l": ell, "diversity": "distinct", "max_hold": 1, "vacancies": "off", "seed": 1}
    everybody = [*cohort, *ELSEWHERE]
    with shoal.Vault.create(":memory:", WITH_JOBS, k=k, data=everybody, republication="safe", **options) as vault:
        vault.publish()
        for change in changes:
            vault.update([change])
            vault.publish()
        if not changes:
            vault.delete(["p"])
            vault.publish()
        if leaving:
            vault.delete(leaving)
        vault.insert(company)
        vault.publish()
        assert vault.status().waiting == 1


def test_who_has_moved_enters_where_rows_say_nothing_else() -> None:
    """The same, where all have the job: the rule is not that nobody enters."""
    cohort = [worker("p" if not i else f"e{i}", 10 + i, ill, "x") for i, ill in enumerate("ab")]
    others = [{**one, "job": "x"} for one in ELSEWHERE]
    options: dict[str, Any] = {"k": 2, "l": 2, "diversity": "distinct", "max_hold": 1, "vacancies": "off", "seed": 1}
    with shoal.Vault.create(":memory:", WITH_JOBS, data=[*cohort, *others], republication="safe", **options) as vault:
        vault.publish()
        vault.update([worker("p", 10, "c", "x")])
        vault.publish()
        assert vault.status().waiting == 1
        vault.insert([worker("q1", 10, "a", "x"), worker("q2", 10, "c", "x")])
        vault.publish()
        assert vault.status().waiting == 0
