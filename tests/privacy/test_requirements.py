"""What is asked wrongly, or cannot be had, is refused with what could be."""

from __future__ import annotations

import math
from typing import Any

import pyarrow as pa
import pytest

import shoal
from tests.support.sensitive import found, records, schema

pytestmark = pytest.mark.versions

ADULT = shoal.datasets.adult("test").slice(0, 300)


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"l": 0.5}, "l must be a number of at least 1"),
        ({"l": "2"}, "l must be a number"),
        ({"l": True}, "l must be a number"),
        ({"l": float("inf")}, "l must be at most"),
        ({"l": 10**400}, "l must be at most"),
        ({"l": 2, "diversity": []}, "names no definition"),
        ({"l": 2, "diversity": 5}, "diversity must be one of"),
        ({"alpha": {"salary-class": {}}}, "names no value"),
        ({"l": {"salary-clas": 1.2}}, "Did you mean 'salary-class'"),
        ({"l": {"age": 2}}, "'age' has another role"),
        ({"l": {}}, "l names no column"),
        ({"t": -0.1}, "t must be a number from 0 to 1"),
        ({"t": 1.5}, "t must be a number from 0 to 1"),
        ({"t": float("nan")}, "t must be a number from 0 to 1"),
        ({"alpha": 1.5}, "alpha must be a number from 0 to 1"),
        ({"alpha": {"salary-class": {"<=50K": 2}}}, "alpha must be"),
        ({"diversity": "entropy"}, "l was not given"),
        ({"l": 2, "diversity": "entropic"}, "Did you mean 'entropy'"),
        ({"l": {"salary-class": 2}, "diversity": {"age": "entropy"}}, "'age' has another role"),
        ({"l": 1.2, "diversity": "distinct"}, "must be whole"),
        ({"l": 2, "diversity": "recursive"}, "needs c"),
        ({"l": 2, "diversity": "recursive", "c": 0}, "above 0"),
        ({"l": 2, "c": 2}, "c belongs to"),
        ({"l": 2}, r"The largest l that these records can reach is 1\.\d+\."),
        ({"l": 2, "diversity": "entropy"}, r"The largest l that these records can reach is 1\.\d+\."),
        ({"l": 3, "diversity": "distinct"}, r"The largest l that these records can reach is 2\."),
        ({"l": 3, "diversity": "recursive", "c": 4}, r"With c = 4 the largest l is 2; with l = 3 no c"),
        ({"l": 2, "diversity": "recursive", "c": 0.5}, r"With c = 0.5 no l can be reached; with l = 2 c must be above"),
        ({"alpha": 0.1}, r"The smallest alpha that these records can reach is 0\.\d+\."),
    ],
)
def test_what_cannot_be_asked(asked: dict[str, Any], message: str) -> None:
    with pytest.raises(shoal.ParameterError, match=message):
        shoal.anonymize(ADULT, shoal.datasets.adult_schema(), k=3, **asked)


def test_the_best_that_is_named_can_be_asked_for() -> None:
    """ℓ₀, to the digits that the message shows; one step more is refused."""
    sch = shoal.datasets.adult_schema()
    counts = [entry["counts"] for entry in ADULT["salary-class"].value_counts().to_pylist()]
    best = math.floor(300 / max(counts) * 1e5) / 1e5
    assert shoal.anonymize(ADULT, sch, k=3, l=best).table.num_rows == 300
    with pytest.raises(shoal.ParameterError, match=f"can reach is {best:.10g}"):
        shoal.anonymize(ADULT, sch, k=3, l=best + 1e-4)
    release = shoal.anonymize(ADULT, sch, k=3, l=300 / max(counts))
    assert shoal.verify(release.table, sch, 3, l=300 / max(counts)).ok


def test_the_verifier_can_be_given_what_to_compare_with() -> None:
    table = pa.table({"q": ["1"] * 4, "ill": ["a", "a", "b", "b"]})
    verdict = shoal.verify(table, schema(), 2, t=0.1, reference={"ill": {"a": 0.25, "b": 0.25, "c": 0.5}})
    assert verdict.rules[0].found == pytest.approx(0.5)
    table = pa.table({"q": ["1"] * 4, "ill": [1, 1, 2, 2]})
    given: dict[str, Any] = {"ill": {"1": 0.5, "2": 0.25, "9": 0.25}}
    verdict = shoal.verify(table, schema(type="numeric"), 2, t=0.1, reference=given)
    assert verdict.rules[0].found == pytest.approx(0.25 / 2)


def test_no_sensitive_column_nothing_to_protect() -> None:
    sch = shoal.Schema(columns={"age": {"role": "quasi-identifier", "type": "numeric"}})
    for asked in ({"l": 2}, {"t": 0.1}, {"alpha": 0.5}):
        with pytest.raises(shoal.ParameterError, match="there is none"):
            shoal.anonymize(pa.table({"age": [1, 2]}), sch, k=2, **asked)


def test_a_value_that_nobody_has_may_be_a_slip() -> None:
    with pytest.warns(shoal.ShoalWarning, match="spelled"):
        found(records(["a", "b"]), [0, 0], alpha={"ill": {"aa": 0.5}})
    with pytest.raises(shoal.ParameterError, match="bins"):
        found(records([1, 2], type="numeric", bins=[2]), [0, 0], alpha={"ill": {"1": 0.5}})
    assert found(records([1, 2], type="numeric"), [0, 0], alpha={"ill": {"1.0": 0.5}}) == [0.5]


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"bins": [1, 2]}, "bins is for numeric and date"),
        ({"type": "numeric", "bins": [2, 1]}, "ascending"),
        ({"type": "numeric", "bins": []}, "ascending"),
        ({"type": "numeric", "bins": ["a"]}, "ascending"),
        ({"distance": "far"}, "distance must be one of"),
        ({"distance": "hierarchical"}, "needs a hierarchy"),
        ({"distance": "ordered"}, "needs an order"),
        ({"role": "insensitive", "distance": "equal"}, "for sensitive columns"),
        ({"type": "numeric", "levels": [5]}, "levels are for quasi-identifiers"),
        ({"type": "date", "hierarchy": shoal.Hierarchy.dates()}, "levels are for quasi-identifiers"),
    ],
)
def test_fields_of_sensitive_columns(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(shoal.SchemaError, match=message):
        shoal.Column(**{"role": "sensitive", **fields})


def test_what_the_verifier_is_given_is_checked_and_not_quoted() -> None:
    table = pa.table({"q": ["1"] * 4, "ill": ["a", "a", "b", "b"]})
    for people in ([1, 2, 3, "Smith"], ["Smith", 1, 2, 3], [[1], [2], [3], [4]], 5, [1, 2], [1.0, 2.0, math.nan, 3.0]):
        with pytest.raises(shoal.ParameterError, match="people must be") as caught:
            shoal.verify(table, schema(), 2, people=people)
        assert "Smith" not in str(caught.value)
    reference: Any
    for reference in ({"ill": {"a": 0.5}}, {"ill": {}}, {"q": {"1": 1.0}}, {"ill": [1]}, {"ill": {1: 1.0}}, [1]):
        with pytest.raises(shoal.ParameterError, match="reference"):
            shoal.verify(table, schema(), 2, t=0.5, reference=reference)
    given: dict[str, Any] = {"ill": {"1.0": 0.25, "2.0": 0.25, None: 0.5}}
    numbers = pa.table({"q": ["1"] * 4, "ill": [1, 1, 2, 2]})
    assert shoal.verify(numbers, schema(type="numeric"), 2, t=1, reference=given).ok
    with pytest.warns(shoal.ShoalWarning, match="spelled"):
        shoal.verify(table, schema(), 2, alpha={"ill": {"aa": 0.0}})
