"""`shoal papers`: measurements that go on where they ended, and pages that are made of them alone."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import shoal
from shoal.experiments.papers import papers, results
from shoal.experiments.papers.pages import judged, pages
from shoal.experiments.papers.running import run
from shoal.experiments.papers.study import Cell, Claim, Figure, Paper, Row, Study, Verdict, pick, pivot, verdict
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


def test_measurements_of_another_version_are_not_overwritten(tmp_path: Path) -> None:
    paper = _paper([])
    results.begin(tmp_path, quick=False)
    (tmp_path / "toy.csv").write_text("k,method,other\n2,shoal,1\n")
    with pytest.raises(shoal.ShoalError, match="another version of this study"):
        run([paper], tmp_path)
    assert (tmp_path / "toy.csv").read_text() == "k,method,other\n2,shoal,1\n"


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
