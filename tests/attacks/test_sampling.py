"""What second cohorts do to probabilities: worlds at random, against the formula for one tie and real vaults."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from tests.attacks.histories import DELETE, FALL_ILL, INSERT, RETURN, Case, Plan, attacked, lived
from tests.attacks.knowledge import Knowledge, Seen
from tests.attacks.sampling import atoms, likely, ties
from tests.attacks.sources import bare_patients

KINDS = {FALL_ILL: 3.0, RETURN: 3.0, DELETE: 3.0, INSERT: 6.0}
ERROR = 0.06  # of a share that was sampled


def two_cohorts(first: str, second: str, *, moved: bool) -> Case:
    """One person holds the first place of both."""
    truth = {("place", f"A{i}"): value for i, value in enumerate(first)}
    truth |= {("place", f"B{i}"): value for i, value in enumerate(second)}
    holders = {name: [place for place in truth if place[1][0] == name] for name in "AB"}
    seen = Seen({"A": Counter(first), "B": Counter(second)}, holders)
    places = ("place", "A0"), ("place", "B0")
    spells = [("x", 0), ("x", int(moved))]
    knowledge = Knowledge(
        [seen], equal=list(zip(places, spells, strict=True)), different=[(spells[0], spells[1])] if moved else []
    )
    return Case(knowledge, truth, {})


@pytest.mark.parametrize(("first", "second"), [("aab", "bab"), ("abc", "bca"), ("aabbc", "bbbac")])
@pytest.mark.parametrize("moved", [True, False])
def test_one_tie(first: str, second: str, moved: bool) -> None:
    """As docs/safe.md has it: f(v) (1 - g(v)) of a mover, f(v) g(v) of a returner, as shares of their sum."""
    second = second if moved else first[0] + second.replace(first[0], "", 1)
    f, g = Counter(first), Counter(second)
    weights = {v: f[v] * (len(second) - g[v] if moved else g[v]) for v in f}
    found = likely(two_cohorts(first, second, moved=moved), 60_000, 1)[("place", "A0")]
    for value, weight in weights.items():
        assert abs(found[value] / found.total() - weight / sum(weights.values())) < ERROR


def shifts(folder: Path, seed: int) -> tuple[list[float], list[float]]:
    """By how much the likeliest value of a place exceeds the share of its atom's commonest: near ties, and else."""
    plan = Plan(bare_patients(5), seed, records=100, releases=7, changes=16, kinds=KINDS)
    history = lived(folder / "v", folder, plan, k=4, l=3, diversity="frequency", republication="safe")
    case = attacked(history)
    tied = ties(case.knowledge).tied()
    found = likely(case, 120_000, seed)
    near, free = list[float](), list[float]()
    for atom in atoms(case.knowledge):
        commonest = max(Counter(case.truth[place] for place in atom).values()) / len(atom)
        for place in atom:
            likeliest = max(found[place].values()) / found[place].total()
            (near if tied & set(atom) else free).append(likeliest - commonest)
    return near, free


def refuse_shifts(found: tuple[list[float], list[float]]) -> None:
    """Little where somebody has a past (docs/safe.md says how much); nothing elsewhere."""
    near, free = found
    assert max(near, default=0.0) < 0.17 + ERROR
    assert max(free) < ERROR


def test_ties_are_few_and_shift_little(tmp_path: Path) -> None:
    several = []
    for seed in (2, 9, 14):  # which places are filled first is drawn anew each time
        (tmp_path / str(seed)).mkdir()
        several.append(shifts(tmp_path / str(seed), seed))
    assert any(near for near, _ in several)  # somebody has entered a second cohort
    for found in several:
        refuse_shifts(found)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(20))
def test_ties_in_more_histories(tmp_path: Path, seed: int) -> None:
    refuse_shifts(shifts(tmp_path, seed))
