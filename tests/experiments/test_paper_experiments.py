"""The papers' experiments in small: they run, are judged, and the committed pages are made of their measurements."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from experiments import NAMES, papers, results
from experiments.pages import pages
from tests.support.commands import run

COMMITTED = Path(__file__).parents[2] / "docs" / "papers"


QUICKEST = ("byun", "republication")  # studies of the others are tried on smaller tables still


@pytest.mark.parametrize(
    "name", [name if name in QUICKEST else pytest.param(name, marks=pytest.mark.slow) for name in NAMES]
)
def test_a_quick_run(name: str, tmp_path: Path) -> None:
    done = run("papers", name, "--quick", "-o", "here", "--json", cwd=tmp_path)
    here = tmp_path / "here"
    assert done.returncode == 0, done.stderr
    facts = json.loads(done.stdout)
    (paper,) = [paper for paper in papers() if paper.name == name]
    assert len(facts["claims"]) == sum(len(study.claims) for study in paper.studies)
    assert {claim["verdict"] for claim in facts["claims"]} <= {"holds", "differs", "does not hold"}
    assert sorted(facts["files"]) == sorted(path.name for path in here.iterdir())
    for study in paper.studies:
        rows = list(csv.DictReader((here / f"{study.name}.csv").read_text().splitlines()))
        assert len(rows) >= len(study.cells(True))
        assert all(float(row["seconds"]) > 0 for row in rows if "seconds" in row)
        for figure in study.figures:
            assert (here / f"{figure.name}.svg").read_text().startswith("<svg")


def test_the_committed_pages_are_made_of_the_committed_measurements() -> None:
    for name, text in pages(papers(), COMMITTED).items():
        assert (COMMITTED / name).read_text() == text
    for paper in papers():
        for study in paper.studies:
            assert not results.missing(results.read(COMMITTED, study), study.cells(False)), f"{study.name} is not whole"
