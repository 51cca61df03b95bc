"""The papers' experiments in small: they run, and write their data and figures."""

from __future__ import annotations

import csv
from pathlib import Path

from shoal.experiments.papers import maintenance


def test_the_experiments_on_maintenance(tmp_path: Path) -> None:
    paths = maintenance.run(tmp_path, quick=True)
    assert {path.suffix for path in paths} == {".csv", ".svg"}
    for path in paths:
        if path.suffix == ".svg":
            assert path.read_text().startswith("<svg")
            continue
        rows = list(csv.DictReader(path.read_text().splitlines()))
        assert {row["method"] for row in rows} >= {"static", "I3M"}
        assert all(float(row["loss"]) > 0 and float(row["seconds"]) > 0 for row in rows)
        assert all(float(row["loss_optimized"]) <= float(row["loss"]) for row in rows if "loss_optimized" in row)
    committed = Path(__file__).parent.parent / "docs" / "papers" / "maintenance"
    assert {path.name for path in paths} == {path.name for path in committed.iterdir()}
