"""What `publish` lets through gives nobody away: it is held against the releases before without looking at all of them.

Most changes to a small table are refused. What is told here is of those that are not: neither the whole audit nor an
attack on the files finds anybody in the releases that came out.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import shoal
from tests.attacks.differences import determined, known_sets, too_small
from tests.attacks.histories import DELETE, FALL_ILL, INSERT, KINDS, MOVE, OTHER_JOB, History, Living, Plan, attacked
from tests.attacks.solver import given_away, possible_values
from tests.attacks.sources import patients
from tests.attacks.steward import classes_of

SCHEMA = shoal.Schema(
    columns={
        "id": {"role": "key"},
        "age": {"role": "quasi-identifier", "type": "numeric", "domain": [0, 100]},
        "ill": {"role": "sensitive"},
    }
)


def let_through(folder: Path, plan: Plan, k: int, ell: int) -> tuple[History, int]:
    """The releases that came out, and how many did not."""
    living = Living(plan)
    history, refused = History(plan, people=living.people), 0
    options: dict[str, Any] = {"k": k, "l": ell, "diversity": "distinct", "seed": plan.seed, "republication": "audit"}
    with shoal.Vault.create(folder / "vault", plan.schema, data=living.first(), **options) as vault:
        for number in range(1, plan.releases + 1):
            if number > 1:
                vault.apply(living.changes())
            path = folder / f"{number}.csv"
            try:
                vault.publish(path)
            except shoal.AuditError:
                refused += 1
                continue
            history.files.append(path)
            history.rows.append(classes_of(vault))
            history.records.append(dict(living.here))
        assert vault.audit().ok
    return history, refused


def refuse_found(history: History, k: int, ell: int) -> None:
    """Nobody comes out, nor by what else has changed: a job."""
    case = attacked(history, ["job", "ill"])
    assert not given_away(case.knowledge, possible_values(case.knowledge), part=1)
    case = attacked(history)
    assert not given_away(case.knowledge, possible_values(case.knowledge))
    known = known_sets(case.knowledge)
    assert not determined(known)
    assert not too_small(case.knowledge, known, k, ell)


@pytest.mark.parametrize("kind", [INSERT, DELETE, FALL_ILL, OTHER_JOB, MOVE])
def test_one_change_alone(tmp_path: Path, kind: str) -> None:
    plan = Plan(patients(3), seed=3, records=40, releases=4, changes=1, kinds={kind: 1.0})
    history, refused = let_through(tmp_path, plan, 3, 2)
    refuse_found(history, 3, 2)
    assert refused == 3 or kind == MOVE


def test_who_come_together_and_keep_to_themselves_are_let_through() -> None:
    """And whoever joins one of the classes that were there is not, though all others stay as they were."""
    people = [{"id": str(i), "age": 20 + i // 4, "ill": ill} for i, ill in enumerate("abab" * 4)]
    newcomers = [{"id": f"n{i}", "age": 80, "ill": ill} for i, ill in enumerate("ab")]
    with shoal.Vault.create(":memory:", SCHEMA, data=people, k=2, seed=1) as vault:
        vault.publish()
        vault.insert(newcomers)
        vault.publish()
        assert vault.audit().ok
        vault.insert([{"id": "one", "age": 80, "ill": "a"}])
        with pytest.raises(shoal.AuditError):
            vault.publish()


@pytest.mark.parametrize("seed", range(4))
def test_whatever_happens(tmp_path: Path, seed: int) -> None:
    plan = Plan(patients(3), seed, records=30, releases=8, changes=1 + seed, kinds=KINDS)
    history, _ = let_through(tmp_path, plan, 2, 2)
    refuse_found(history, 2, 2)


def test_who_changes_and_changes_back_is_not_one_who_has_changed() -> None:
    """The place was taken in between: what is known of x is what is known of one who was away."""
    people = [{"id": str(i), "age": 20 + i, "ill": ill} for i, ill in enumerate("abab")]
    with shoal.Vault.create(":memory:", SCHEMA, data=people, k=2, seed=1, republication="safe") as vault:
        vault.publish()
        vault.update([{"id": "0", "age": 20, "ill": "c"}])
        vault.insert([{"id": "new", "age": 20, "ill": "a"}])
        vault.publish()
        assert (vault.status().waiting, vault.status().ghosts) == (1, 0)
        vault.update([{"id": "0", "age": 20, "ill": "a"}])
        # With whoever has changed, c and d would do; with one who was away, a and b must be among them.
        vault.insert([{"id": f"n{i}", "age": 20, "ill": ill} for i, ill in enumerate("ccdd")])
        vault.publish()
        assert vault.status().waiting == 1


def test_two_who_change_and_pin_a_third() -> None:
    """x and y exchange a and b, and z comes with a: whoever of them had which, the values of now are b and a, and a."""
    people = [{"id": name, "age": 20, "ill": ill} for name, ill in (("x", "a"), ("y", "b"))]
    people += [{"id": f"o{i}", "age": 80, "ill": ill} for i, ill in enumerate("cd")]
    with shoal.Vault.create(":memory:", SCHEMA, data=people, k=2, l=2, diversity="distinct", seed=1) as vault:
        vault.publish()
        vault.update([{"id": "x", "age": 20, "ill": "b"}, {"id": "y", "age": 20, "ill": "a"}])
        vault.insert([{"id": "z", "age": 20, "ill": "a"}])
        with pytest.raises(shoal.AuditError):
            vault.publish()
        vault.publish(accept_findings=True)
        vault.publish(even_if_unchanged=True)  # it is not asked again
        vault.insert([{"id": f"n{i}", "age": 50, "ill": ill} for i, ill in enumerate("cd")])
        vault.publish()  # who come by themselves give nobody away


def test_all_of_a_class_may_change_together() -> None:
    people = [{"id": str(i), "age": 20 + 60 * (i // 4), "ill": "abcd"[i % 4]} for i in range(8)]
    with shoal.Vault.create(":memory:", SCHEMA, data=people, k=4, seed=1) as vault:
        vault.publish()
        vault.update([{"id": str(i), "age": 20, "ill": "bcda"[i]} for i in range(4)])
        with pytest.raises(shoal.AuditError):  # it cannot be ruled out: they are in a circle
            vault.publish()


FOUR = [
    {"id": str(i), "age": age, "ill": ill} for i, (age, ill) in enumerate([(20, "a"), (20, "b"), (80, "c"), (80, "a")])
]
ASKED: dict[str, Any] = {"k": 2, "l": 2, "diversity": "distinct", "seed": 1}


def at(ages: list[int]) -> list[dict[str, Any]]:
    return [{**one, "age": age} for one, age in zip(FOUR, ages, strict=True)]


@pytest.mark.parametrize("between", ["nothing", "rebase", "new column", "none between", "none at first"])
def test_what_earlier_releases_told_apart_is_not_forgotten(between: str) -> None:
    """{0, 1}, {2, 3}; then all in one class; then {0, 2}, {1, 3}: everybody is alone by then."""
    schema, first = SCHEMA, "none" if between == "none at first" else "audit"
    with shoal.Vault.create(":memory:", schema, data=FOUR, republication=first, **ASKED) as vault:
        vault.publish()
        if between == "rebase":
            vault.rebase()
        elif between == "new column":
            more = shoal.Schema(columns={**schema.columns, "job": {"role": "insensitive"}})
            vault.change_schema(more, defaults={"job": "cook"})
        job = {"job": "cook"} if between == "new column" else {}
        vault.update([{**one, **job} for one in at([20, 20, 20, 20])])
        if between == "none between":
            vault.publish(republication="none")
        vault.publish(republication="audit", even_if_unchanged=True)
        vault.update([{**one, **job} for one in at([20, 80, 20, 80])])
        with pytest.raises(shoal.AuditError):
            vault.publish()


def test_who_is_deleted_and_comes_back_with_another_value_has_changed() -> None:
    pair = FOUR[:2]
    with shoal.Vault.create(":memory:", SCHEMA, data=FOUR, **ASKED) as vault:
        vault.publish()
        vault.delete(["0", "1"])
        vault.insert([{**pair[0], "ill": "b"}, {**pair[1], "ill": "a"}, {"id": "z", "age": 20, "ill": "a"}])
        with pytest.raises(shoal.AuditError):
            vault.publish()
    alike = [{**one, "ill": "a"} for one in pair]
    with shoal.Vault.create(":memory:", SCHEMA, data=[*alike, *FOUR[2:]], k=2, seed=1, republication="safe") as vault:
        vault.publish()
        vault.delete(["0"])
        vault.insert([{**pair[0], "ill": "b"}, *({"id": f"n{i}", "age": 20, "ill": "a"} for i in range(3))])
        vault.publish()
        assert vault.status().waiting >= 1  # with n0, n1, n2 the one who cannot have a would have b


def test_what_was_accepted_as_undecided_does_not_come_out_without_a_word() -> None:
    """Three rows of three, then columns (accepted), then diagonals: no set is smaller, and everybody is out."""
    nine = [{"id": f"{i}{j}", "ill": "abc"[(i + j) % 3]} for i in range(3) for j in range(3)]

    def by(ages: list[int]) -> list[dict[str, Any]]:
        return [{**one, "age": age} for one, age in zip(nine, ages, strict=True)]

    pairs = [(i, j) for i in range(3) for j in range(3)]
    with shoal.Vault.create(":memory:", SCHEMA, data=by([20 + 30 * i for i, _ in pairs]), k=3, seed=1) as vault:
        vault.publish()
        vault.update(by([20 + 30 * j for _, j in pairs]))
        vault.publish(accept_findings=True)
        vault.update(by([20 + 30 * ((i + j) % 3) for i, j in pairs]))
        with pytest.raises(shoal.AuditError):
            vault.publish()


def test_records_are_audited_after_cohorts() -> None:
    with shoal.Vault.create(":memory:", SCHEMA, data=FOUR, republication="safe", **ASKED) as vault:
        vault.publish()
        vault.rebase(break_guarantee=True)
        vault.delete(["0"])
        vault.insert([{"id": "n", "age": 20, "ill": "a"}])
        with pytest.raises(shoal.AuditError):
            vault.publish(republication="audit")
        vault.publish(republication="audit", accept_findings=True)
        assert not vault.audit().ok


def test_a_record_that_is_somebody_elses_now_is_a_newcomer() -> None:
    schema = shoal.Schema(columns={**SCHEMA.columns, "who": {"role": "person"}})
    people = [{**one, "who": f"p{one['id']}"} for one in FOUR]
    with shoal.Vault.create(":memory:", schema, data=people, k=2, seed=1, republication="safe") as vault:
        vault.publish()
        vault.update([{**people[1], "who": "p0"}])
        vault.publish()
        assert (vault.status().waiting, vault.status().ghosts) == (1, 1)


def test_a_history_with_parted_cohorts_is_whole(tmp_path: Path) -> None:
    people = [{"id": str(i), "age": 20, "ill": ill} for i, ill in enumerate("abab")]
    people += [{"id": f"o{i}", "age": 80, "ill": ill} for i, ill in enumerate("cd")]
    with shoal.Vault.create(tmp_path / "v", SCHEMA, data=people, **ASKED) as vault:
        vault.publish()
        vault.publish(republication="safe", even_if_unchanged=True)
        vault.update([{**people[2], "age": 50}, {**people[3], "age": 50}])
        parted = vault.publish()
        assert set(parted.table["age"].to_pylist()) == {"20", "50", "80"}
        assert vault.check().ok
        vault.backup(tmp_path / "copy")
    shoal.Vault.restore(tmp_path / "copy", tmp_path / "again").close()


@pytest.mark.parametrize("first", ["stays", "goes"])
def test_what_a_parted_cohort_looked_like_is_known_as_long_as_a_part_is_left(first: str) -> None:
    people = [{"id": f"p{i}", "age": 20, "ill": "ab"[i % 2]} for i in range(4)]
    others = [{"id": f"o{i}", "age": 80, "ill": "cd"[i % 2]} for i in range(2)]
    with shoal.Vault.create(":memory:", SCHEMA, data=[*people, *others], k=2, seed=1) as vault:
        vault.publish()
        vault.publish(republication="safe", even_if_unchanged=True)
        vault.update([{**one, "age": 50} for one in people[2:]])
        assert set(vault.publish().table["age"].to_pylist()) == {"20", "50", "80"}
        parts = [["p0", "p1"], ["p2", "p3"]]
        for part in parts if first == "stays" else parts[::-1]:
            vault.delete(part)
            vault.publish()
            assert vault.check().ok


@pytest.mark.parametrize("turn", range(6))  # where a ghost goes is not the same each time
def test_the_cohort_that_somebody_has_left_for_another_is_not_parted(turn: int) -> None:
    """x moves from {a, a, b, b} to {a, b, b}. If what x had could only be a, what x has could only be b."""
    people = [{"id": name, "age": 20, "ill": ill} for name, ill in zip("xyuw", "aabb", strict=True)]
    others = [{"id": f"o{i}", "age": age, "ill": ill} for i, (age, ill) in enumerate([(80, "c"), (95, "d")])]
    newcomers = [{"id": f"n{i}", "age": 24 + i, "ill": ill} for i, ill in enumerate("ab")]
    with shoal.Vault.create(":memory:", SCHEMA, data=[*people, *others], k=2, seed=turn) as vault:
        vault.publish()
        vault.publish(republication="safe", vacancies="off", even_if_unchanged=True)
        vault.update([{"id": "x", "age": 24, "ill": "b"}])
        vault.insert(newcomers)
        vault.publish()
        assert vault.status().waiting == 0
        vault.update([{**one, "age": 60} for one in people[2:]])
        shown = vault.publish().table.to_pylist()
        assert Counter(row["ill"] for row in shown if row["age"] == "[20..60]") == {"a": 2, "b": 2}


ALIKE = {
    "come": (3, "xyx", [{"op": "insert", "id": f"n{i}", "age": 6, "ill": "z"} for i in range(3)]),
    "leave": (3, "xyxzzz", [{"op": "delete", "id": f"a{i}", "age": 6, "ill": "z"} for i in (3, 4, 5)]),
    "leave a group of their own": (2, "xyzz", [{"op": "delete", "id": f"a{i}", "age": 6, "ill": "z"} for i in (2, 3)]),
}


@pytest.mark.parametrize("how", ALIKE)
def test_k_people_of_one_value_who(how: str) -> None:
    """Where k alone is asked, enough of them come or go; but all have one value, and their class has several."""
    k, first, changes = ALIKE[how]
    people = [{"id": f"a{i}", "age": 6, "ill": ill} for i, ill in enumerate(first)]
    people += [{"id": f"b{i}", "age": 60 + i, "ill": "xy"[i % 2]} for i in range(2 * k)]
    with shoal.Vault.create(":memory:", SCHEMA, k=k, data=people, seed=1) as vault:
        vault.publish()
        vault.apply(changes)
        assert not vault.audit(including_next=True).ok
        with pytest.raises(shoal.AuditError):
            vault.publish()


def test_k_people_of_one_value_whose_class_says_so_are_let_through() -> None:
    people = [{"id": f"a{i}", "age": 6, "ill": "z"} for i in range(3)]
    people += [{"id": f"b{i}", "age": 60 + i, "ill": "xy"[i % 2]} for i in range(6)]
    with shoal.Vault.create(":memory:", SCHEMA, k=3, data=people, seed=1) as vault:
        vault.publish()
        vault.insert([{"id": f"n{i}", "age": 6, "ill": "z"} for i in range(3)])
        vault.publish()
        assert vault.audit().ok
