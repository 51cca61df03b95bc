"""Risk: what an attacker who meets a release can tell of whom."""

from __future__ import annotations

import itertools
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shoal.measures.population import population_sizes
from tests.support.tables import MadeTable, covers, tables

AGES = shoal.Schema(columns={"age": {"role": "quasi-identifier", "type": "numeric"}})
RELEASE = pa.table({"age": ["[20..29]"] * 2 + ["[30..39]"] * 8})


def test_prosecutor_and_marketer() -> None:
    risks = shoal.measure(RELEASE, AGES, threshold=0.2).risks
    assert risks["prosecutor"]["maximum"] == 0.5
    assert risks["prosecutor"]["average"] == pytest.approx(2 / 10)
    assert risks["prosecutor"]["share_above_threshold"] == pytest.approx(0.2)
    assert risks["marketer"]["average"] == pytest.approx(2 / 10)
    assert "journalist" not in risks


def test_the_journalist_reckons_with_everybody() -> None:
    people = pa.table({"age": [20, 25, 29, 29, 35] + [38] * 4})
    risks = shoal.measure(RELEASE, AGES, population=people).risks
    assert risks["journalist"]["maximum"] == pytest.approx(1 / 4)
    assert risks["journalist"]["average"] == pytest.approx((2 / 4 + 8 / 8) / 10)  # never below the rows themselves
    assert risks["marketer"]["average"] == pytest.approx((2 / 4 + 8 / 8) / 10)
    sampled = shoal.measure(RELEASE, AGES, sampling_fraction=0.1).risks
    assert sampled["journalist"]["maximum"] == pytest.approx(0.05)


@given(made=tables(max_rows=25), k=st.integers(2, 5))
@settings(max_examples=60)
def test_a_population_of_the_records_themselves_gives_what_the_cells_cover(made: MadeTable, k: int) -> None:
    """Counted by the tree, and by asking every record whether every cell covers it."""
    release = shoal.anonymize(made.table, made.schema, k=min(k, made.rows))
    sizes = population_sizes(release.trace(range(made.rows)), made.schema, made.table)
    published = release.trace(range(made.rows)).to_pylist()
    for row, size in zip(published, sizes, strict=True):
        fitting = sum(
            all(covers(row[name], column, column.values[i]) for name, column in made.columns.items())
            for i in range(made.rows)
        )
        assert size == fitting


def test_a_population_is_read_as_the_originals_are(tmp_path: Path) -> None:
    schema = shoal.Schema(columns={"code": {"role": "quasi-identifier", "type": "prefix"}})
    release = pa.table({"code": ["10.1*", "10.1*", "10.10", "10.10"]})
    people = pa.table({"code": ["10.10"] * 8 + ["10.20"] * 2})
    (tmp_path / "people.csv").write_text("code\n" + "\n".join(people["code"].to_pylist()) + "\n")
    for population in (people, tmp_path / "people.csv"):
        assert shoal.measure(release, schema, population=population).risks["journalist"]["maximum"] == 1 / 8
    blank = pa.table({"code": ["", "", ""]})
    missing = pa.table({"code": pa.array([None] * 9, pa.string())})
    assert shoal.measure(blank, schema, population=missing).risks["journalist"]["maximum"] == pytest.approx(1 / 9)


def test_risks_that_cannot_be_told() -> None:
    for arguments, message in (
        ({"sampling_fraction": 0}, "sampling_fraction must be"),
        ({"sampling_fraction": 1.5}, "sampling_fraction must be"),
        ({"threshold": 2}, "threshold must be"),
        ({"sampling_fraction": 0.5, "population": RELEASE}, "not both"),
        ({"population": pa.table({"size": [1]})}, "no column 'age'"),
        ({"population": pa.table({"age": pa.array([], pa.int64())})}, "no records"),
        ({"population": pa.table({"age": ["x"]})}, "in the population, column 'age', row 1: not a number"),
    ):
        with pytest.raises(shoal.InputError, match=message):
            shoal.measure(RELEASE, AGES, **arguments)


def test_unique_records_per_subset() -> None:
    table = pa.table({"a": [1, 1, 2, 2], "b": [1, 2, 1, 1], "c": [None, None, None, None]})
    found = dict(shoal.measures.unique_records(table, ["a", "b", "c"], most=2))
    assert found == {("a",): 0, ("b",): 1, ("c",): 0, ("a", "b"): 2, ("a", "c"): 0, ("b", "c"): 1}
    for subset, count in found.items():
        rows = list(zip(*(table[name].to_pylist() for name in subset), strict=True))
        assert count == sum(rows.count(row) == 1 for row in rows)
    assert len(list(itertools.combinations("abc", 2))) + 3 == len(found)
