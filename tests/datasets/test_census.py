"""The made-up census: what its documentation says of it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import shoal
from shoal.datasets.census.people import MISSING
from shoal.measures import unique_records
from shoal.records.encode import encode
from shoal.schema import Role

PEOPLE = shoal.datasets.census(20_000, 3)
SCHEMA = shoal.datasets.census_schema()


def shares(table: pa.Table, name: str) -> dict[object, float]:
    counts = table[name].value_counts().to_pylist()
    return {entry["values"]: entry["counts"] / table.num_rows for entry in counts}


def where(name: str, value: str) -> pa.Table:
    return PEOPLE.filter(pa.compute.equal(PEOPLE[name], value))


def test_the_same_seed_makes_the_same_people() -> None:
    assert PEOPLE.equals(shoal.datasets.census(20_000, 3))
    assert not PEOPLE.equals(shoal.datasets.census(20_000, 4))
    assert PEOPLE.column_names == list(SCHEMA.columns)


@pytest.mark.parametrize("n", [10, 11, 1000])
def test_any_size_fits_the_schema(n: int) -> None:
    table = shoal.datasets.census(n, 1)
    assert table.num_rows == n
    assert len(encode(table.drop_columns(SCHEMA.names(Role.IDENTIFIER)), SCHEMA)) == n


@pytest.mark.parametrize("n", [9, 10_000_001, -1, 10.5, "100"])
def test_sizes_that_are_not_made(n: Any) -> None:
    with pytest.raises(shoal.ParameterError, match="n must be"):
        shoal.datasets.census(n)


def test_keys_are_unique_and_missing_values_as_documented() -> None:
    assert len(PEOPLE["person_id"].unique()) == PEOPLE.num_rows
    for name in PEOPLE.column_names:
        missing = PEOPLE[name].null_count / PEOPLE.num_rows
        assert missing == pytest.approx(MISSING.get(name, 0), abs=0.005)


def test_marginals() -> None:
    assert shares(PEOPLE, "sex")["f"] == pytest.approx(0.52, abs=0.015)
    assert shares(PEOPLE, "country")["Homeland"] == pytest.approx(0.74, abs=0.02)
    codes = PEOPLE["zip"].drop_null()
    assert set(pa.compute.utf8_length(codes).to_pylist()) == {5}
    assert len(pa.compute.utf8_slice_codeunits(codes, 0, 1).unique()) == 10
    sizes = np.sort([entry["counts"] for entry in codes.value_counts().to_pylist()])[::-1]
    assert sizes[0] > 50 * np.median(sizes) / 10  # skewed
    born = PEOPLE["born"].to_numpy().astype("datetime64[Y]").astype(int) + 1970
    assert born.min() >= 1918
    assert born.max() == 2024


def test_correlations() -> None:
    def median_income(education: str) -> float:
        incomes = where("education", education)["income"].drop_null().to_numpy()
        return float(np.median(incomes))

    assert median_income("doctorate") > 1.3 * median_income("bachelor") > 1.3 * median_income("lower secondary")
    retired = where("occupation", "retired")["born"].to_numpy().astype("datetime64[Y]").astype(int) + 1970
    assert retired.max() < 1965
    widowed = where("marital_status", "widowed")
    assert shares(widowed, "sex")["f"] > 0.65
    dementia = where("diagnosis", "dementia")["born"].to_numpy().astype("datetime64[Y]").astype(int) + 1970
    assert np.median(dementia) < 1960
    assert (
        "m" not in shares(where("diagnosis", "breast cancer"), "sex")
        or shares(where("diagnosis", "breast cancer"), "sex")["f"] > 0.9
    )


def test_people_stand_out_as_real_ones_do() -> None:
    unique = dict(unique_records(PEOPLE, ["born", "zip", "sex"], most=3))
    assert unique["born", "zip", "sex"] > 0.95 * PEOPLE.num_rows
    assert unique["sex",] == 0


def test_changes_can_be_followed() -> None:
    keys = set(PEOPLE["person_id"].to_pylist())
    ever = set(keys)
    first = list(shoal.datasets.census_changes(PEOPLE, 5, 400, seed=2))
    again = list(shoal.datasets.census_changes(PEOPLE, 5, 400, seed=2))
    assert all(one.equals(other) for one, other in zip(first, again, strict=True))
    for batch in first:
        assert batch.num_rows == 400
        assert batch.column_names == ["op", *PEOPLE.column_names]
        changes = {op: batch.filter(pa.compute.equal(batch["op"], op)) for op in ("insert", "update", "delete")}
        inserted, updated, deleted = (set(changes[op]["person_id"].to_pylist()) for op in changes)
        assert len(inserted) + len(updated) + len(deleted) == 400
        assert not inserted & ever
        assert updated | deleted <= keys
        assert changes["delete"]["born"].null_count == len(deleted)
        keys = (keys | inserted) - deleted
        ever |= inserted
        kept = changes["insert"].drop_columns(["op", "name"])
        assert len(encode(kept, SCHEMA)) == len(inserted)


def test_changes_that_make_no_sense() -> None:
    for arguments in ((PEOPLE, 1, 0), (PEOPLE, -1, 5), (PEOPLE.slice(0, 0), 1, 5), (PEOPLE, 1, 5, -1)):
        with pytest.raises(shoal.ParameterError):
            next(shoal.datasets.census_changes(*arguments))
    with pytest.raises(shoal.ParameterError, match="seed"):
        shoal.datasets.census(10, -1)


def test_everybody_may_leave() -> None:
    few = shoal.datasets.census(10, 1)
    for batch in shoal.datasets.census_changes(few, 5, 100, seed=1):
        assert batch.num_rows > 0
