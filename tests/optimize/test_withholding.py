"""The suppression budget: never more than it allows, and never more loss."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

import shoal
from shoal.boxes.costs import MEASURES, cost_tables
from shoal.boxes.grouping import Grouping
from shoal.cli.app import app
from shoal.cluster import METHODS, cluster
from shoal.compiling import entered, kernel
from shoal.optimize.refine.refiner import Refiner
from shoal.partition import Partition
from shoal.privacy import Privacy, counts, make_rules
from shoal.privacy.counts import count_all
from shoal.privacy.rules import rules_of
from shoal.records.encode import encode
from shoal.withholding import withhold
from shoal.withholding.kernels import LOOK, READMIT, TAKE, peel
from shoal.withholding.rounds import Withholder
from tests.reference.clustering import loss as box_loss
from tests.reference.refining import total
from tests.reference.withholding import best_gain, best_gain_of_one, gain_alone
from tests.support.adult import adult_records
from tests.support.costs import cell_cost
from tests.support.group_trees import check as check_tree
from tests.support.outliers import outlier_schema, outlier_table
from tests.support.rules import asked_of
from tests.support.tables import MadeTable, tables

group_holds = entered(counts.holds)


@kernel
def peel_of(g: Grouping, group: int, full: float, budget: int) -> Any:
    return peel(g, group, full, budget)


# --- the kernels ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rules", ["", "l", "t"])
@given(made=tables(min_rows=8, max_rows=40), k=st.integers(2, 4), measure=st.sampled_from(MEASURES), data=st.data())
@settings(max_examples=40)
def test_every_step_keeps_what_is_asked_and_never_raises_the_loss(
    rules: str, made: MadeTable, k: int, measure: str, data: st.DataObject
) -> None:
    """What is gained is what was looked at; the tree and the counts follow all the way."""
    records, privacy = asked_of(made, k, rules)
    assume(k <= len(records) and privacy.facts_of(np.zeros(len(records), np.int32), 1).holds(k).all())
    costs = cost_tables(records.books, measure)
    labels = cluster(records, k, privacy.rules, method="mondrian", measure=measure).labels
    refiner = Refiner.of(records.codes, labels, costs, privacy, 1)
    withholder = Withholder(refiner, data.draw(st.integers(0, len(records))), np.random.default_rng(1))
    withholder.full *= data.draw(st.sampled_from([1.0, 0.3, 0.0]))  # where it is cheap, more is withheld
    codes = [tuple(row) for row in records.codes.tolist()]
    g = refiner.grouping

    def cost(j: int, lo: int, hi: int) -> float:
        return cell_cost(costs, j, lo, hi)

    for _ in range(6):
        group = data.draw(st.sampled_from(refiner.alive().tolist()))
        budget = withholder.left()
        goers, alone = peel_of(g, group, withholder.full, budget)
        members = np.flatnonzero(g.members.labels == group)
        rows, places = [codes[i] for i in members], np.searchsorted(members, goers).tolist()
        assert len(set(places)) == len(goers) <= min(budget, len(members) - 1)
        assert np.isin(goers, members).all()
        assert alone == pytest.approx(gain_alone(rows, places, cost, withholder.full), abs=1e-6)
        if withholder.full > 0:  # where it costs nothing, as many as there are
            assert alone <= best_gain(rows, cost, withholder.full, min(budget, 4)) + 1e-6 or len(goers) > 4
        if budget > 0:
            assert alone >= best_gain_of_one(rows, cost, withholder.full) - 1e-6
        before, labels = withholder.loss(), g.members.labels.copy()
        one = np.array([group])
        withholder.each(LOOK, one)
        assert withholder.loss() == pytest.approx(before)
        assert np.array_equal(labels, g.members.labels)
        (gain,), (count,) = withholder.each(TAKE, one)
        assert count <= budget
        assert withholder.left() == budget - (count if gain > 1e-9 else 0)
        assert before - withholder.loss() == pytest.approx(gain if gain > 1e-9 else 0.0, abs=1e-6)
        before = withholder.loss()
        gains, _ = withholder.each(READMIT, withholder.withheld())
        assert before - withholder.loss() == pytest.approx(gains[gains > 0].sum(), abs=1e-6)
        there = g.members.labels >= 0
        wanted = total([codes[i] for i in np.flatnonzero(there)], g.members.labels[there].tolist(), cost)
        assert refiner.loss() == pytest.approx(wanted)
        alive = refiner.alive()
        numbers = np.searchsorted(alive, g.members.labels[there]).astype(np.int32)
        assert np.array_equal(np.bincount(numbers, minlength=len(alive)), g.groups.sizes[alive])
        check_tree(g)
        if privacy.asks_more:
            fresh = rules_of(privacy.tables, len(g.groups.sizes))
            count_all(fresh, g.members.labels)
            assert np.array_equal(fresh.counts.people, g.rules.counts.people)
            assert np.array_equal(fresh.counts.sizes, g.rules.counts.sizes)
            assert all(group_holds(g.rules, group) for group in alive)
        assert g.groups.sizes[alive].min() >= k


# --- what is promised -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("asked", [{}, {"l": {"ill": 1.3}}, {"t": 0.7}], ids=["k", "l", "t"])
@given(
    made=tables(min_rows=8, max_rows=40),
    k=st.integers(2, 5),
    measure=st.sampled_from(MEASURES),
    method=st.sampled_from(list(METHODS)),
    share=st.sampled_from([0.05, 0.3, 0.9]),
)
@settings(max_examples=40)
def test_the_budget_is_kept_and_the_loss_does_not_rise(
    asked: dict[str, Any], made: MadeTable, k: int, measure: str, method: str, share: float
) -> None:
    records = encode(made.table, made.schema)
    k = min(k, len(records))
    rules = make_rules(["ill", "pay"], **asked)
    try:
        partition = cluster(records, k, rules, method=method, measure=measure, seed=1)
    except shoal.ParameterError:
        return  # no partition has it
    mask, kept = withhold(records, partition, share, measure=measure, seed=1)
    assert np.count_nonzero(~mask) <= math.floor(share * len(records) + 1e-9)
    assert np.array_equal(kept.codes, records.codes[mask])
    assert kept.publishable
    kept.check()
    costs = cost_tables(records.books, measure)

    def loss(of: Partition) -> float:
        weighed = (
            box_loss([tuple(lo), tuple(hi)], lambda j, a, b: cell_cost(costs, j, a, b))
            for lo, hi in zip(of.lo, of.hi, strict=True)
        )
        return float(sum(size * one for size, one in zip(of.sizes, weighed, strict=True)))

    assert loss(kept) + np.count_nonzero(~mask) * costs.full <= loss(partition) + 1e-6
    if mask.all():
        assert np.array_equal(kept.labels, partition.labels)
    again = withhold(records, partition, share, measure=measure, seed=1)
    assert np.array_equal(again.mask, mask)
    assert np.array_equal(again.partition.labels, kept.labels)


@pytest.mark.parametrize("asked", [{}, {"l": 1.5}, {"t": 0.6}, {"person": True}], ids=["k", "l", "t", "people"])
@pytest.mark.parametrize("method", ["shoal", "mondrian", "k-member"])
def test_an_outlier_is_withheld(method: str, asked: dict[str, Any]) -> None:
    schema = outlier_schema(who={"role": "person" if asked.get("person") else "identifier"})
    rules = {name: value for name, value in asked.items() if name != "person"}
    plain_release = shoal.anonymize(outlier_table(), schema, k=10, seed=1, method=method, **rules)
    release = shoal.anonymize(outlier_table(), schema, k=10, seed=1, method=method, suppress=0.02, **rules)
    assert release.labels[0] == -1
    assert 1 <= np.count_nonzero(release.labels < 0) <= 4
    assert release.measures()["il"] < 0.8 * plain_release.measures()["il"]
    assert release.table.num_rows == 200 - np.count_nonzero(release.labels < 0)
    assert "9" not in {str(cell)[1] for cell in release.table["place"].to_pylist()}
    with pytest.raises(shoal.ParameterError, match="published"):
        release.trace([0])
    others = np.flatnonzero(release.labels >= 0)
    assert release.trace(others).num_rows == len(others)
    assert len(release.groups_of_rows()) == release.table.num_rows


def test_outliers_that_share_a_group_are_withheld_together_or_not_at_all() -> None:
    """One of three saves nothing: the others hold the box up."""
    table = outlier_table(far=3)
    few, enough = (shoal.anonymize(table, outlier_schema(), k=10, seed=1, suppress=s) for s in (0.005, 0.02))
    assert len(set(few.labels[:3])) == 1
    assert (few.labels >= 0).all()
    assert (enough.labels[:3] == -1).all()
    assert np.count_nonzero(enough.labels < 0) <= 4
    assert enough.measures()["il"] < 0.8 * few.measures()["il"]


def test_the_same_seed_withholds_the_same() -> None:
    records = adult_records(2_000)
    costs_little = Partition.from_labels(records.codes, np.arange(len(records)) // 50, Privacy.only_k(20, len(records)))
    first, again = (withhold(records, costs_little, 0.01, seed=4) for _ in range(2))
    assert np.count_nonzero(~first.mask) > 0
    assert np.array_equal(first.mask, again.mask)
    assert np.array_equal(first.partition.labels, again.partition.labels)


def test_nothing_changes_without_a_budget() -> None:
    plain_release, none, little = (
        shoal.anonymize(outlier_table(), outlier_schema(), k=10, seed=1, **options)
        for options in ({}, {"suppress": 0}, {"suppress": 0.004})  # less than one of 200
    )
    assert np.array_equal(plain_release.labels, none.labels)
    assert np.array_equal(plain_release.labels, little.labels)
    first, second = dict(plain_release.manifest), dict(none.manifest)
    # Rows are added up in the order of the release, which is by chance: the last of four digits may differ.
    assert first.pop("measures") == pytest.approx(second.pop("measures"), rel=1e-3)
    assert first == second
    assert none.manifest["withheld"] == 0
    assert "withheld" not in none.measures()


@pytest.mark.parametrize("share", [-0.1, 1, 1.5, float("nan"), "0.1", True, None])
def test_what_is_no_share_is_refused(share: object) -> None:
    with pytest.raises(shoal.ParameterError, match="suppress must be the share"):
        shoal.anonymize(outlier_table(), outlier_schema(), k=10, suppress=share)  # type: ignore[arg-type]


def test_pmi_is_refused() -> None:
    with pytest.raises(shoal.ParameterError, match="pmi"):
        shoal.anonymize(outlier_table(), outlier_schema(), k=10, suppress=0.1, measure="pmi")


# --- files and the command line -------------------------------------------------------------------------------------


def test_nothing_of_a_withheld_record_is_published(tmp_path: Path) -> None:
    table = outlier_table().set_column(0, "age", pa.array([777, *outlier_table()["age"].to_pylist()[1:]]))
    schema = outlier_schema(
        age={"role": "quasi-identifier", "type": "numeric"}, place={"role": "quasi-identifier", "type": "numeric"}
    )
    release = shoal.anonymize(table, schema, k=10, seed=1, suppress=0.01)
    assert release.labels[0] == -1
    release.write(tmp_path / "release.csv")
    for file in tmp_path.iterdir():
        assert "777" not in file.read_text().replace(str(release.manifest["measures"]), "")
    assert "777" not in json.dumps(release.manifest["columns"])


def test_the_command_line(tmp_path: Path) -> None:
    (tmp_path / "schema.toml").write_text(
        "\n".join(
            f'[columns.{name}]\nrole = "quasi-identifier"\ntype = "numeric"\ndomain = [0, 1000]'
            for name in ("age", "place")
        )
        + '\n[columns.ill]\nrole = "sensitive"\n[columns.who]\nrole = "identifier"\n'
    )
    source, output, schema = tmp_path / "in.csv", tmp_path / "out.csv", str(tmp_path / "schema.toml")
    pa.csv.write_csv(outlier_table(), source)
    runner = CliRunner()
    common = ["anonymize", str(source), "--schema", schema, "-k", "10", "--seed", "1", "-o", str(output)]
    shown = runner.invoke(app, [*common, "--suppress", "0.01"])
    assert shown.exit_code == 0, shown.output
    assert "withheld" in shown.output
    facts = json.loads((tmp_path / "out.csv.manifest.json").read_text())
    measured = json.loads(runner.invoke(app, ["measure", str(output), "--schema", schema, "--json"]).output)
    assert measured["withheld"] == facts["withheld"] > 0
    for name, value in facts["measures"].items():
        assert measured["measures"][name] == pytest.approx(value, rel=1e-3)
    without = runner.invoke(app, ["measure", str(output), "--schema", schema, "--withheld", "0", "--json"])
    assert json.loads(without.output)["measures"]["il"] < measured["measures"]["il"]
    assert runner.invoke(app, [*common, "--force", "--suppress", "1.5"]).exit_code == 2
    quiet = runner.invoke(app, [*common, "--force", "--suppress", "0.001"])
    assert "No record was withheld" in quiet.output
