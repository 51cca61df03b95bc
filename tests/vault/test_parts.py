"""Parts of the vault by themselves: checksums, schemas as JSON, hashes of keys, forgotten names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from shoal.vault.keys import KeyHash
from shoal.vault.state.erased_values import without
from shoal.vault.state.schema_json import schema_facts, schema_from
from shoal.vault.store.checksums import adjusted, checksum, checksum_of_rows
from tests.support import live_tables
from tests.support.patients import PATIENTS_SCHEMA

WORDS = st.one_of(st.none(), st.text(max_size=8))
ROWS = st.lists(
    st.tuples(st.integers(0, 2**40), WORDS, st.binary(max_size=8), st.integers(-5, 5)),
    max_size=12,
    unique_by=lambda r: r[0],
)


@given(ROWS, ROWS)
def test_a_checksum_follows_its_rows(first: list[Any], second: list[Any]) -> None:
    """In any order, all at once or one after the other, come and gone."""
    second = [row for row in second if row[0] not in {old[0] for old in first}]
    both = checksum_of_rows([*second, *first])
    assert both == adjusted(checksum_of_rows(first), added=checksum_of_rows(second))
    assert adjusted(both, removed=checksum_of_rows(second)) == checksum_of_rows(first)
    assert both == adjusted(0, added=sum(checksum_of_rows([row]) for row in [*first, *second]))


@given(ROWS.filter(len), st.data())
def test_a_checksum_sees_every_change(rows: list[Any], data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(rows) - 1))
    column = data.draw(st.integers(0, 3))
    values: list[st.SearchStrategy[Any]] = [st.integers(2**41, 2**42), WORDS, st.binary(max_size=8), st.integers(6, 9)]
    changed = list(rows[at])
    changed[column] = data.draw(values[column].filter(lambda value: value != rows[at][column]))
    assert checksum_of_rows([*rows[:at], tuple(changed), *rows[at + 1 :]]) != checksum_of_rows(rows)
    assert checksum_of_rows([*rows[:at], *rows[at + 1 :]]) != checksum_of_rows(rows)


def test_values_that_change_places_are_seen() -> None:
    assert checksum([1, 2], ["a", "b"]) != checksum([1, 2], ["b", "a"])
    assert checksum([1], ["a"], ["b"]) != checksum([1], ["b"], ["a"])
    assert checksum(np.array([7]), np.array([3])) == checksum([7], [3])


SCHEMAS: dict[str, Callable[[], shoal.Schema]] = {
    "every kind of column": live_tables.schema,
    "people": lambda: live_tables.schema(person=True),
    "patients": lambda: PATIENTS_SCHEMA,
    "adult": shoal.datasets.adult_schema,
    "census": shoal.datasets.census_schema,
    "the rest": lambda: shoal.Schema(
        {
            "id": {"role": "key"},
            "a": {"role": "quasi-identifier", "type": "numeric", "domain": [0, 99.5], "levels": [5, 10], "origin": 2},
            "b": {"role": "quasi-identifier", "type": "date", "domain": ["1900-01-01", "2030-01-01"]},
            "c": {"role": "quasi-identifier", "type": "date", "format": "%d.%m.%Y", "levels": ["month", "year"]},
            "d": {"role": "quasi-identifier", "type": "categorical", "hierarchy": shoal.Hierarchy.flat(["x", "y"])},
            "e": {"role": "quasi-identifier", "type": "prefix", "generalize": "set", "min_level": 1, "weight": 0.25},
            "f": {"role": "quasi-identifier", "type": "numeric", "hierarchy": shoal.Hierarchy.intervals([2.5], 1)},
            "g": {"role": "sensitive", "type": "numeric", "bins": [1, 2.5, 7], "distance": "ordered"},
            "h": {"role": "sensitive", "hierarchy": {"ill": ["flu", "cold"], "well": ["fine"]}, "on_unknown": "attach"},
            "i": {"role": "sensitive", "type": "date", "bins": ["2000-01-01", "2010-01-01"]},
        },
        missing=["?", "n/a"],
        header=False,
    ),
}


@pytest.mark.parametrize("made", SCHEMAS.values(), ids=SCHEMAS)
def test_a_schema_comes_back_as_it_was(made: Callable[[], shoal.Schema]) -> None:
    schema = made()
    facts = schema_facts(schema)
    again = schema_from(facts)
    assert schema_facts(again) == facts
    assert (again.missing, again.header, list(again.columns)) == (schema.missing, schema.header, list(schema.columns))
    for name, column in schema.columns.items():
        twin = again.columns[name]
        assert (twin.grower, twin.role, twin.type) == (column.grower, column.role, column.type)
        assert (twin.weight, twin.min_level, twin.on_unknown) == (column.weight, column.min_level, column.on_unknown)
        assert (twin.domain and list(twin.domain)) == (column.domain and list(column.domain))
        assert (twin.bins, twin.distance, twin.format) == (column.bins, column.distance, column.format)


def test_hashes_of_keys_depend_on_secret_and_role() -> None:
    hashing = KeyHash("a secret of some length")
    assert hashing.of("1") == KeyHash(b"a secret of some length").of("1")
    assert hashing.of("1") != KeyHash("another secret of some length").of("1")
    assert hashing.of("1") != hashing.of("1", shoal.Role.PERSON)
    assert KeyHash("x" * 200).check() != KeyHash("x" * 201).check()


def test_forgotten_names_keep_their_share() -> None:
    known: dict[str | None, float] = {None: 0.1, "1": 0.2, "5": 0.3, "9": 0.4}
    assert without(known, ["5"], in_order=True) == {None: 0.1, "1": 0.5, "9": 0.4}
    assert without(known, ["1"], in_order=True) == {None: 0.1, "5": 0.5, "9": 0.4}
    assert without(known, ["1", "5", "9"], in_order=True) == pytest.approx({None: 1.0})
    renamed = without(known, ["5"], in_order=False)
    assert list(renamed.values()) == list(known.values())
    assert "5" not in renamed
    assert set(without(renamed, ["9"], in_order=False)) == {None, "1", "erased value 1", "erased value 2"}
