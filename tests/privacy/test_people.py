"""People with several records are counted once."""

from __future__ import annotations

import math

import numpy as np
import pyarrow as pa
import pytest

import shoal
from shoal.privacy import Privacy, make_rules
from tests.support.sensitive import found, records, schema

pytestmark = pytest.mark.versions


def test_people_are_counted_once() -> None:
    made = records(["flu"] * 4 + ["gout"], people=[7, 7, 7, 7, 8])
    facts = Privacy.of(made, 2, make_rules(["ill"], l=2)).facts_of(np.zeros(5, np.int32), 1)
    assert facts.people.tolist() == [2]
    assert facts.found.tolist() == [[2.0]]


def test_what_everybody_has_is_given_away() -> None:
    """Both have HIV, each with diseases of their own besides: the shares of pairs look diverse, and are not."""
    made = records(["HIV", "a", "b", "HIV", "c", "d"], people=[1, 1, 1, 2, 2, 2])
    for asked in ({}, {"diversity": "entropy"}, {"diversity": "distinct"}):
        assert found(made, [0] * 6, l=2, **asked) == [1.0]
    assert found(made, [0] * 6, l=2, diversity="recursive", c=3) == [math.inf]


def test_a_release_of_visits_counts_people() -> None:
    rng = np.random.default_rng(1)
    visits = pa.table(
        {
            "who": np.repeat(np.arange(40), 5),
            "age": np.repeat(rng.integers(18, 90, 40), 5),
            "zip": np.repeat(rng.integers(10_000, 99_999, 40), 5).astype(str),
            "ill": ["flu", "gout", "flu", "cold", "flu"] * 40,
        }
    )
    spec: dict[str, dict[str, object]] = {
        "who": {"role": "person"},
        "age": {"role": "quasi-identifier", "type": "numeric"},
        "zip": {"role": "quasi-identifier", "type": "prefix"},
        "ill": {"role": "sensitive"},
    }
    release = shoal.anonymize(visits, shoal.Schema(columns=spec), k=4)
    assert min(len({row // 5 for row in np.flatnonzero(release.labels == g)}) for g in set(release.labels)) >= 4
    assert release.manifest["counted"] == "people"
    assert "who" not in release.table.column_names
    without = shoal.Schema(columns={**spec, "who": {"role": "identifier"}})
    with pytest.warns(shoal.ShoalWarning, match='role "person"'):
        rows_alone = shoal.anonymize(visits, without, k=4)
    assert min(len({row // 5 for row in np.flatnonzero(rows_alone.labels == g)}) for g in set(rows_alone.labels)) == 1


def test_a_person_must_be_known() -> None:
    with pytest.raises(shoal.DataError, match="the person is missing"):
        records(["a", "b"], people=[1, None])  # type: ignore[list-item]


@pytest.mark.parametrize("name", ["papers", "suppression"])
def test_adult_and_the_census_are_not_taken_for_visits(name: str, recwarn: pytest.WarningsRecorder) -> None:
    table = shoal.datasets.adult().slice(0, 5000)
    shoal.anonymize(table, shoal.datasets.adult_schema(name), k=5)
    shoal.anonymize(shoal.datasets.census(3000, 1), shoal.datasets.census_schema(), k=5)
    assert not [note for note in recwarn if "several records" in str(note.message)]


def test_people_cannot_be_counted_from_a_release() -> None:
    sch = shoal.Schema(columns={**schema().columns, "who": {"role": "person"}})
    table = pa.table({"q": ["1"] * 4, "ill": ["a", "a", "b", "b"]})
    with pytest.warns(shoal.ShoalWarning, match="rows are counted"):
        assert shoal.verify(table, sch, 2).counted == "rows"
    with pytest.raises(shoal.ParameterError, match="Only the holder can check"):
        shoal.verify(table, sch, 2, l=2)
    assert shoal.verify(table, sch, 2, l=2, people=[1, 2, 3, 4]).counted == "people"
