"""`shoal papers`: measurements that go on where they ended, and pages that are made of them alone."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations
from math import nan
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import shoal
from experiments import papers, results
from experiments.cells_of_records import CellsOfRecords
from experiments.pages import judged, pages
from experiments.release_features import distribution, drawn, expectations, shares
from experiments.rule_mining import Items, Rule, confidences, items_of, mine
from experiments.running import run
from experiments.study import Cell, Claim, Figure, Paper, Row, Study, Verdict, pick, pivot, verdict
from experiments.usefulness_setting import averages, pmi_is_ahead
from shoal.cluster import cluster
from shoal.hierarchies import IntervalLevels
from shoal.records.encode import Records, encode
from shoal.report.lines import Axis, line_charts


def _chart(rows: Sequence[Row]) -> Any:
    shown = [{**row, "series": "shoal"} for row in rows]
    return line_charts([("", shown)], Axis("k", "k"), Axis("loss", "loss"), {"shoal": "#000000"})


def _paper(measured: list[Cell], *, stop_at: int | None = None) -> Paper:
    def measure(cell: Cell) -> list[Row]:
        if cell["k"] == stop_at:
            raise KeyboardInterrupt
        measured.append(cell)
        return [{"loss": cell["k"] / 3}]

    claim = Claim("Fig. 1", "Loss grows.", lambda rows: (verdict(rows[-1]["loss"] > rows[0]["loss"]), "it does."))
    study = Study(
        "toy",
        "A toy",
        "None.",
        lambda quick: [{"k": k, "method": "shoal"} for k in ((2, 3) if quick else (2, 3, 5, 8))],
        measure,
        (Figure("toy-figure", "Figure 1.", _chart),),
        lambda rows: pivot(rows, "k", "method", "loss"),
        (claim,),
    )
    return Paper("toys", "Toys", "On nothing.", (study,))


def test_an_interrupted_run_goes_on_where_it_ended(tmp_path: Path) -> None:
    measured: list[Cell] = []
    with pytest.raises(KeyboardInterrupt):
        run([_paper(measured, stop_at=5)], tmp_path)
    assert [cell["k"] for cell in measured] == [2, 3]
    paper = _paper(measured)
    written = run([paper], tmp_path)
    assert [cell["k"] for cell in measured] == [2, 3, 5, 8]
    assert sorted(path.name for path in written) == [
        "README.md", "machine.json", "toy-figure.svg", "toy.csv", "toys.md",
    ]  # fmt: skip
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(path.name for path in written)
    assert (tmp_path / "toy-figure.svg").read_text().startswith("<svg")
    run([paper], tmp_path)
    assert len(measured) == 4


def test_pages_say_what_was_measured(tmp_path: Path) -> None:
    paper = _paper([])
    run([paper], tmp_path)
    texts = pages([paper], tmp_path)
    for name, text in texts.items():
        assert (tmp_path / name).read_text() == text
    assert "| 5 | 1.67 |" in texts["toys.md"]
    assert "**holds** | it does. |" in texts["toys.md"]
    assert "1 × holds, 0 × differs, 0 × does not hold" in texts["README.md"]
    assert [claim["verdict"] for claim in judged([paper], tmp_path)] == [Verdict.HOLDS]


def test_small_and_full_sizes_do_not_mix(tmp_path: Path) -> None:
    paper = _paper([])
    run([paper], tmp_path, quick=True)
    with pytest.raises(shoal.ShoalError, match="measurements of a --quick run; this is a full one"):
        run([paper], tmp_path)
    assert len(results.read(tmp_path, paper.studies[0])) == 2


@pytest.mark.parametrize("old", ["k,method,other\n2,shoal,1\n", "k,method,loss,other\n2,shoal,1,1\n"])
def test_measurements_of_another_version_are_not_overwritten(old: str, tmp_path: Path) -> None:
    paper = _paper([])
    results.begin(tmp_path, quick=False)
    (tmp_path / "toy.csv").write_text(old)
    with pytest.raises(shoal.ShoalError, match="another version of this study"):
        run([paper], tmp_path)
    assert (tmp_path / "toy.csv").read_text() == old


def test_pages_say_on_what_machines(tmp_path: Path) -> None:
    """And with what kernels, where a run went on elsewhere, or later."""
    with pytest.raises(KeyboardInterrupt):
        run([_paper([], stop_at=5)], tmp_path)
    about = json.loads((tmp_path / "machine.json").read_text())
    about["machines"]["toy"][0] |= {"machine": "An Abacus", "kernels": "00000000"}
    (tmp_path / "machine.json").write_text(json.dumps(about))
    run([_paper([])], tmp_path)
    texts = pages([_paper([])], tmp_path)
    assert "Measured on one core of An Abacus (" in texts["toys.md"]
    assert "kernels 00000000), " in texts["toys.md"]
    assert "; then of " in texts["toys.md"]
    assert "Not all were made with the same kernels" in texts["README.md"]
    assert "Not all were made" not in _fresh_index(tmp_path / "fresh")
    (tmp_path / "machine.json").write_text('{"date": "long ago"}')
    with pytest.raises(shoal.ShoalError, match="does not say what was measured"):
        run([_paper([])], tmp_path)


def _fresh_index(folder: Path) -> str:
    run([_paper([])], folder)
    return (folder / "README.md").read_text()


def test_goldberger_tassas_studies_run_on_small_tables(tmp_path: Path) -> None:
    (paper,) = (paper for paper in papers() if paper.name == "goldberger-tassa")
    run([paper], tmp_path, quick=True)
    rows = {study.name.removeprefix("goldberger-tassa-"): results.read(tmp_path, study) for study in paper.studies}
    for name, found in rows.items():
        assert found, name
        assert all(0 <= row["lm"] <= 1 and row["groups"] <= row["records"] / row["k"] for row in found), name
    for k in (5, 10):
        losses = {row["method"]: row["lm"] for row in pick(rows["k"], k=k)}
        assert losses["shoal"] <= losses["sequential"]
        assert losses["sequential"] < losses["hilbert"] < losses["mondrian"] < losses["mondrian, cells alone"]
    for row in rows["salary"] + rows["education"]:
        assert row["l"] - 1e-6 <= row["diversity"] <= row["most_possible"]
    pmi = pick(rows["pmi"], measure="pmi")
    assert max(row["mean"] for row in pick(pmi, w=0)) < min(row["mean"] for row in pick(pmi, w=1))
    assert len(judged([paper], tmp_path)) == sum(len(study.claims) for study in paper.studies)
    assert "| 10 | 0.298 | 0.302 | 0.03 |" in pages([paper], tmp_path)["goldberger-tassa.md"]


def test_a_missing_library_is_told_before_anything_is_measured(tmp_path: Path) -> None:
    measured: list[Cell] = []
    paper = _paper(measured)
    (study,) = paper.studies
    other = Paper("others", "Others", "", (replace(study, name="other", title="Another", needs=("no_such_library",)),))
    with pytest.raises(
        shoal.ShoalError, match=r"'Another' needs one more library \(no_such_library\).*shoal\[papers\]"
    ):
        run([paper, other], tmp_path / "here")
    assert not measured
    assert not (tmp_path / "here").exists()
    run([paper, other], tmp_path, ["toys"])
    assert len(measured) == 4
    results.write(tmp_path, other.studies[0], results.read(tmp_path, study))
    run([paper, other], tmp_path)  # nothing is left to measure


JOBS = {"Public": ["Judge", "Teacher", "Guard"], "Private": ["Baker", "Smith"]}
JOB_RANGES = {"age": (20, 60)}
JOB_LEVELS = {"age": IntervalLevels((10, 20))}


def _people(ages: Sequence[int], jobs: Sequence[str]) -> Records:
    schema = shoal.Schema(
        columns={
            "age": {"role": "quasi-identifier", "type": "numeric"},
            "job": {"role": "quasi-identifier", "hierarchy": shoal.Hierarchy.tree(JOBS)},
        }
    )
    return encode(pa.table({"age": list(ages), "job": list(jobs)}), schema)


def _cells(records: Records, labels: Sequence[int]) -> CellsOfRecords:
    partition = cluster(records, 2, seed=1)
    return CellsOfRecords.of_release(
        records, type(partition).from_labels(records.codes, np.array(labels), partition.privacy)
    )


def test_features_are_what_is_expected_of_a_cell() -> None:
    records = _people([20, 30, 50, 60], ["Judge", "Guard", "Smith", "Smith"])
    leaves = records.books[1].texts
    original = expectations(CellsOfRecords.of_originals(records), JOB_RANGES)
    assert original[:, 0].tolist() == [0, 0.25, 0.75, 1]
    assert [leaves[place] for place in original[:, 1:].argmax(axis=1)] == ["Judge", "Guard", "Smith", "Smith"]
    assert (original[:, 1:].sum(axis=1) == 1).all()
    assert (original[:, 1:].max(axis=1) == 1).all()
    release = _cells(records, [0, 0, 1, 1])
    found = expectations(release, JOB_RANGES)
    assert found[:, 0].tolist() == [0.125, 0.125, 0.875, 0.875]
    public = [1 / 3 if leaf in JOBS["Public"] else 0 for leaf in leaves]  # a teacher is not there, but may be meant
    assert np.allclose(found[0, 1:], public)
    assert np.array_equal(found[2, 1:], original[2, 1:])
    spread = shares(release, JOB_RANGES)
    assert np.allclose(spread[0, :41], [1 / 11] * 11 + [0] * 30)
    assert np.allclose(spread.sum(axis=1), 2)
    others = _people([21], ["Baker"])  # rows that were encoded apart have the same features
    assert expectations(CellsOfRecords.of_originals(others), JOB_RANGES).shape[1] == found.shape[1]


def test_a_drawn_value_lies_in_its_cell_and_follows_the_column() -> None:
    first, last = np.array([1] * 6 + [2] * 2 + [1] * 4, np.int32), np.array([1] * 6 + [2] * 2 + [3] * 4, np.int32)
    assert distribution(first, last, 3) == pytest.approx([0.75, 0.25, 0], abs=1e-4)
    assert distribution(first[-4:], last[-4:], 3) == pytest.approx([1 / 3] * 3)
    records = _people([20, 30, 50, 60] * 50, ["Judge", "Guard", "Smith", "Baker"] * 50)
    release = _cells(records, [0] * 100 + [1] * 100)
    found = drawn(release, np.random.default_rng(1))
    assert (found.first == found.last).all()
    assert ((found.first >= release.first) & (found.last <= release.last)).all()
    assert set(found.first[:, 0]) == {1, 2, 3, 4}  # nothing but `*` is known: all values are there
    exact = CellsOfRecords.of_originals(records)
    assert np.array_equal(drawn(exact, np.random.default_rng(1)).first, exact.first)


def test_a_record_has_the_items_that_its_cell_lies_in() -> None:
    records = _people([20, 30, 41, 44], ["Judge", "Guard", "Smith", "Smith"])
    assert _named(items_of(CellsOfRecords.of_originals(records), JOB_LEVELS))[2] == {
        "41", "[40..49]", "[40..59]", "Smith", "Private",
    }  # fmt: skip
    release = _named(items_of(_cells(records, [0, 0, 1, 1]), JOB_LEVELS))
    assert release[0] == release[1] == {"[20..39]", "Public"}
    assert release[2] == release[3] == {"[40..49]", "[40..59]", "Smith", "Private"}
    whole = _named(items_of(_cells(records, [0, 0, 0, 0]), JOB_LEVELS))
    assert whole == [set()] * 4  # a suppressed cell has no item


def _named(items: Items) -> list[set[str]]:
    return [{items.names[item][1] for item in np.flatnonzero(having)} for having in items.have.T]


@pytest.mark.parametrize("seed", range(5))
def test_mining_finds_what_counting_finds(seed: int) -> None:
    rng = np.random.default_rng(seed)
    columns = np.repeat(np.arange(4), 3)
    have = rng.random((12, 83)) < 0.5
    positive = have[0] ^ (rng.random(83) < 0.3)
    items = Items([("", "")] * 12, columns, have)
    expected = {}
    for size in (1, 2, 3):
        for chosen in combinations(range(12), size):
            if len({int(columns[item]) for item in chosen}) < size:
                continue
            people = [i for i in range(83) if all(have[item, i] for item in chosen)]
            for kind in (True, False):
                right = sum(bool(positive[i]) == kind for i in people)
                share = sum(bool(is_so) == kind for is_so in positive) / 83
                if right >= 0.1 * 83 and right / len(people) >= share + 0.3 * (1 - share):
                    expected[Rule(chosen, kind)] = right / len(people)
    found = mine(items, positive, support=0.1, certainty=0.3)
    assert expected
    assert found == pytest.approx(expected)
    assert list(confidences(items, positive, found)) == pytest.approx(list(found.values()))


def _scores(pmi: Sequence[float], other: float = 0.5) -> list[Row]:
    rows = []
    for k, score in zip((5, 10), pmi, strict=True):
        for seed in (1, 2):
            for measure in ("il", "lm", "mi", "pmi"):
                known = score if measure == "pmi" else other
                apart = {"seed": seed, "k": k, "method": "sequential", "measure": measure}
                rows.append({**apart, "score": known + 0.1 * (seed - 1.5)})
    return rows


def test_pmi_is_judged_by_averages() -> None:
    judge = pmi_is_ahead("score", 0.01)
    assert judge(_scores([0.6, 0.6]))[0] is Verdict.HOLDS
    assert judge(_scores([0.6, 0.3]))[0] is Verdict.DIFFERS  # at one k
    assert judge(_scores([0.505, 0.505]))[0] is Verdict.FAILS  # too little
    assert judge(_scores([0.4, 0.4]))[0] is Verdict.FAILS
    mixed = [{**row, "score": 0.1} if row["measure"] == "mi" else row for row in _scores([0.4, 0.4])]
    assert judge(mixed)[0] is Verdict.DIFFERS  # better than one of them
    lower = pmi_is_ahead("score", 0.01, lower_is_better=True)
    said, words = lower(_scores([0.4, 0.4]))
    assert said is Verdict.HOLDS
    assert "-0.100 beside il" in words
    assert lower(_scores([0.6, 0.6]))[0] is Verdict.FAILS
    unknown = [{**row, "score": nan} if row["measure"] == "pmi" else row for row in _scores([0.4, 0.4])]
    assert lower(unknown)[0] is Verdict.FAILS  # no rules, nothing to be ahead with
    assert averages(_scores([0.6, 0.3]))[3] == {"k": 5, "measure": "pmi", "score": pytest.approx(0.6)}
