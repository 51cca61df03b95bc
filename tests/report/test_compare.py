"""Comparing methods: every trial is a verified release's losses; the chart is drawn; bad input is refused at once."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import shoal
from shoal.cli.app import app
from shoal.cluster import METHODS
from shoal.report import comparison_chart, save_chart
from shoal.report.charts import PALETTE, colour_of, spread

PATIENTS = Path(__file__).parents[2] / "examples" / "patients"


@pytest.fixture(scope="module")
def comparison() -> shoal.Comparison:
    table = shoal.datasets.adult("test", complete=True).slice(0, 800)
    return shoal.compare(table, shoal.datasets.adult_schema(), k=[5, 10], seed=1)


def test_every_trial_is_what_anonymize_gives(comparison: shoal.Comparison) -> None:
    table, schema = shoal.datasets.adult("test", complete=True).slice(0, 800), shoal.datasets.adult_schema()
    assert [(trial.k, trial.method) for trial in comparison.trials] == [(k, name) for k in (5, 10) for name in METHODS]
    for trial in comparison.trials:
        release = shoal.anonymize(table, schema, k=trial.k, method=trial.method, seed=1)
        assert dict(trial.measures) == dict(release.measures())
        assert trial.groups == len(set(release.labels.tolist()))
        assert trial.largest == max(release.labels.tolist().count(group) for group in set(release.labels.tolist()))
        assert trial.seconds > 0


def test_rules_are_kept(comparison: shoal.Comparison) -> None:
    table, schema = shoal.datasets.adult("test", complete=True).slice(0, 800), shoal.datasets.adult_schema()
    diverse = shoal.compare(table, schema, k=5, methods=["hilbert"], l=1.2, seed=1).trials[0]
    plain = next(trial for trial in comparison.trials if (trial.method, trial.k) == ("hilbert", 5))
    assert diverse.measures["il"] > plain.measures["il"]


def test_charts_of_every_format_are_written(comparison: shoal.Comparison, tmp_path: Path) -> None:
    chart = comparison_chart(comparison)
    for name, begins in (("c.svg", b"<svg"), ("c.png", b"\x89PNG"), ("c.json", b"{"), ("c.html", b"<!DOCTYPE html>")):
        save_chart(chart, tmp_path / name)
        assert (tmp_path / name).read_bytes().lstrip().startswith(begins)
    drawn = (tmp_path / "c.svg").read_text()
    for method in METHODS:
        assert f">{method}<" in drawn
        assert colour_of(method).lower() in drawn.lower()
    page = (tmp_path / "c.html").read_text()
    assert "<script src=" not in page  # it opens without a network


def test_methods_have_colours_of_their_own() -> None:
    assert len(METHODS) <= len(PALETTE)


def test_labels_do_not_overlap() -> None:
    places = spread([0.5, 0.5, 0.51, 0.9], 0.1)
    assert min(b - a for a, b in zip(sorted(places), sorted(places)[1:], strict=False)) >= 0.0999
    assert places[3] == 0.9


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-k", "5;10"], "whole numbers with commas"),
        (["-k", "2", "--methods", "k-means"], "must be one of shoal, mondrian"),
        (["-k", "2", "--measure", "pmi", "--methods", "hilbert"], "cannot aim at"),
        (["-k", "2", "--chart", "chart.doc"], "a chart is written as"),
        (["-k", "2", "--chart", "nowhere/chart.svg"], "does not exist"),
        (["-k", "1"], "k must be"),
        (["-k", "2,5000"], "k must be at most"),
        (["-k", "2", "--chart", "/"], "a chart is written as"),
    ],
)
def test_bad_input_is_refused(arguments: list[str], message: str) -> None:
    command = ["compare", str(PATIENTS / "patients.csv"), "-s", str(PATIENTS / "patients.toml"), *arguments]
    done = CliRunner().invoke(app, command)
    assert done.exit_code == 2
    assert message in done.stderr.replace("\n", " ")


def test_k_and_methods_come_in_any_form() -> None:
    table, schema = shoal.datasets.adult("test", complete=True).slice(0, 60), shoal.datasets.adult_schema()
    forms: list[tuple[Any, Any]] = [
        (np.int64(3), "hilbert"),
        (iter([3]), (name for name in ["hilbert"])),
        ([3, 3], ["hilbert", "hilbert"]),
    ]
    for k, methods in forms:
        found = shoal.compare(table, schema, k=k, methods=methods, seed=1)
        assert [(trial.k, trial.method) for trial in found.trials] == [(3, "hilbert")]
    only = shoal.compare(table, schema, k=3, measure="pmi", seed=1)
    assert {trial.method for trial in only.trials} == {"sequential", "shoal"}
    bad_ones: list[dict[str, Any]] = [{"k": None}, {"k": 3.5}, {"k": []}, {"k": 3, "methods": []}]
    for bad in bad_ones:
        with pytest.raises(shoal.ParameterError):
            shoal.compare(table, schema, **bad)


def test_results_are_shown_though_the_chart_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(chart: object, path: Path) -> None:
        raise shoal.OutputError("the disk is full.", file=str(path))

    monkeypatch.setattr("shoal.cli.compare.save_chart", fails)
    command = ["compare", str(PATIENTS / "patients.csv"), "-s", str(PATIENTS / "patients.toml"), "-k", "2"]
    done = CliRunner().invoke(app, [*command, "--methods", "hilbert", "--chart", str(tmp_path / "c.svg")])
    assert done.exit_code == 2
    assert "hilbert" in done.stdout
    assert "the disk is full" in " ".join(done.stderr.split())  # long paths break lines


def test_the_command_prints_a_table_or_json(tmp_path: Path) -> None:
    command = ["compare", str(PATIENTS / "patients.csv"), "-s", str(PATIENTS / "patients.toml"), "-k", "2,3"]
    shown = CliRunner().invoke(app, [*command, "--chart", str(tmp_path / "c.svg")])
    assert shown.exit_code == 0, shown.stderr
    assert "k = 2" in shown.stdout
    assert "k = 3" in shown.stdout
    assert shown.stdout.count("no grouping has an IL below") == 2
    for method in METHODS:
        assert method in shown.stdout
    assert (tmp_path / "c.svg").exists()
    told = json.loads(CliRunner().invoke(app, [*command, "--methods", "hilbert", "--json"]).stdout)
    assert [trial["k"] for trial in told["trials"]] == [2, 3]
    assert {"il", "lm", "mi"} <= set(told["trials"][0]["measures"])
