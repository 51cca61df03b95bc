"""The papers' worked examples, and numbers that were worked out by hand."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyarrow as pa
import pytest

import shoal
from shoal.boxes.costs import cost_tables
from shoal.measures import total_loss
from shoal.partition import Partition
from shoal.privacy import Privacy
from shoal.records.encode import encode
from tests.support.costs import cell_cost
from tests.support.paper_tables import TABLE_1, TABLE_1_SCHEMA


@pytest.mark.parametrize(
    ("labels", "loss"),
    [
        ([1, 1, 2, 2, 3, 3, 3], 13.2333),  # S
        ([1, 1, 2, 2, 1, 2, 1], 13.4000),  # S¹: r7 joins cl1
        ([1, 1, 2, 2, 1, 2, 2], 12.9667),  # S²: r7 joins cl2
    ],
)
def test_truta_campan_table_1(labels: list[int], loss: float) -> None:
    records = encode(TABLE_1, TABLE_1_SCHEMA)
    partition = Partition.from_labels(records.codes, np.array(labels), Privacy.only_k(2, len(records)))
    assert total_loss(partition, records.books) == pytest.approx(loss, abs=5e-5)


# Byun et al. (2007), Fig. 3 and Fig. 4.
COUNTRY = {
    "Country": {
        "America": {"North": ["USA", "Canada"], "South": ["Brazil", "Mexico"]},
        "Asia": {"West": ["Iran", "Egypt"], "East": ["India", "Japan"]},
    }
}
OCCUPATION = {"Occupation": ["Armed-Forces", "Teacher", "Doctor", "Salesman", "Tech-Support"]}


def distance(hierarchy: Mapping[str, object], one: str, other: str) -> float:
    """Byun, Definition 3, as the cost of a cell that holds both values."""
    schema = shoal.Schema(columns={"value": {"role": "quasi-identifier", "hierarchy": hierarchy}})
    records = encode(pa.table({"value": [one, other]}), schema)
    codes = np.sort(records.codes[:, 0])
    return float(cell_cost(cost_tables(records.books, "il"), 0, codes[0], codes[1]))


def test_byun_example_1() -> None:
    assert distance(COUNTRY, "India", "USA") == 1
    assert distance(COUNTRY, "India", "Iran") == pytest.approx(2 / 3)
    occupations = OCCUPATION["Occupation"]
    assert {distance(OCCUPATION, a, b) for a in occupations for b in occupations if a != b} == {1}


PATIENTS = pa.table(
    {
        "ZIP": [47918, 47906, 47918, 47916, 47907, 47906],
        "Gender": ["Male", "Male", "Male", "Female", "Male", "Female"],
        "Age": [35, 33, 36, 39, 33, 33],
        "Diagnosis": ["Cancer", "HIV+", "Flu", "Obesity", "Cancer", "Flu"],
    }
)


def patients_schema(**age: object) -> shoal.Schema:
    return shoal.Schema(
        columns={
            "ZIP": {"role": "quasi-identifier", "type": "prefix"},
            "Gender": {"role": "quasi-identifier", "hierarchy": {"Person": ["Male", "Female"]}},
            "Age": {"role": "quasi-identifier", "type": "numeric", **age},
            "Diagnosis": {"role": "sensitive"},
        }
    )


def test_byun_figures_1_and_2() -> None:
    release = shoal.anonymize(PATIENTS, patients_schema(levels=[5], min_level=1), k=3)
    first, second = ("4791*", "Person", "[35..39]"), ("4790*", "Person", "[30..34]")
    expected = [first, second, first, first, second, second]
    published = release.trace(range(6)).to_pylist()
    assert [(row["ZIP"], row["Gender"], row["Age"]) for row in published] == expected
    assert [row["Diagnosis"] for row in published] == PATIENTS["Diagnosis"].to_pylist()


def test_byun_figure_2_with_tight_intervals_says_more() -> None:
    ages = shoal.anonymize(PATIENTS, patients_schema(), k=3).trace(range(6))["Age"].to_pylist()
    assert ages == ["[35..39]", "33", "[35..39]", "[35..39]", "33", "33"]


@pytest.mark.parametrize(("column", "feasible"), [("salary-class", 1.32951), ("education", 3.0591)])
def test_most_diverse_that_adult_can_be(column: str, feasible: float) -> None:
    """Goldberger & Tassa 7: ℓ₀ is the inverse of the largest frequency, over the 45 222 complete rows."""
    values = shoal.datasets.adult(complete=True)[column]
    largest = max(entry["counts"] for entry in values.value_counts().to_pylist())
    assert len(values) / largest == pytest.approx(feasible, abs=5e-5)
