"""Values that come to a live partition: many digits, far away, of other types, where there were none."""

from __future__ import annotations

import pyarrow as pa
import pytest

from shoal.errors import BatchError, ParameterError
from shoal.maintain.live import LivePartition, Settings
from shoal.records.changes import ChangeBatch
from tests.support.live_partitions import PERSON, rows, rules, schema


def test_numbers_with_many_digits_beside_fractions_in_a_passthrough_column() -> None:
    paid = schema(c={"role": "insensitive", "type": "numeric"})
    live = LivePartition.start(rows(0, 50, c=lambda i: 2**60 + i), paid, Settings(k=3, seed=1))
    with pytest.raises(BatchError, match="too many digits"):
        live.apply(ChangeBatch.of(paid, inserts=rows(90, 91, c=lambda _: 0.5)))
    live.apply(ChangeBatch.of(paid, inserts=rows(91, 92, c=lambda _: 7)))
    assert 7 in live.records().passthrough["c"].to_pylist()


def test_large_whole_numbers_are_told_apart() -> None:
    paid = schema(s={"role": "sensitive", "type": "numeric"})
    settings = Settings(k=2, seed=1, rules=rules(["s"], l=2, diversity="distinct"))
    live = LivePartition.start(rows(0, 20, s=lambda i: 2**60 + 1 + 2 * (i % 2)), paid, settings)
    live.apply(ChangeBatch.of(paid, inserts=rows(20, 30, s=lambda i: 2**60 + 2 * i)))
    assert live.partition().publishable


def test_values_far_outside_the_domain_in_the_similar_b_tree() -> None:
    plain = schema()
    live = LivePartition.start(rows(0, 20), plain, Settings(k=3, seed=1, maintainer="similar-b-tree"))
    far = pa.table({"id": ["far", "further"], "age": [1e200, -1e250]})
    live.apply(ChangeBatch.of(plain, inserts=far))
    assert live.partition().publishable


def test_a_batch_for_another_schema() -> None:
    plain = schema()
    live = LivePartition.start(rows(0, 20), plain, Settings(k=2, seed=1))
    with pytest.raises(ParameterError, match="another schema"):
        live.apply(ChangeBatch.of(schema(who=PERSON), deletes=["1"]))


def test_views_of_texts_and_columns_that_were_empty() -> None:
    noted = schema(n={"role": "insensitive"})
    table = rows(0, 10).append_column("n", pa.nulls(10))
    live = LivePartition.start(table, noted, Settings(k=2, seed=1))
    new = pa.table({"id": pa.array(["x"], pa.string_view()), "age": [3], "n": pa.array(["hello"], pa.string_view())})
    live.apply(ChangeBatch.of(noted, inserts=new))
    assert "hello" in live.records().passthrough["n"].to_pylist()
    assert live.partition().publishable


def test_a_sensitive_value_outside_its_hierarchy_is_a_fault_of_the_batch() -> None:
    ill = schema(s={"role": "sensitive", "hierarchy": {"A": ["a1", "a2"], "B": ["b1", "b2"]}})
    settings = Settings(k=3, seed=1, rules=rules(["s"], t={"s": 0.5}))
    live = LivePartition.start(rows(0, 20, s=lambda i: ("a1", "b1")[i % 2]), ill, settings)
    batch = ChangeBatch.of(ill, updates=rows(3, 4, s=lambda _: "NEW"), inserts=rows(30, 31, s=lambda _: "a2"))
    with pytest.raises(BatchError) as caught:
        live.apply(batch)
    assert [str(offence) for offence in caught.value.offences] == ["updates, row 1, column 's': not in the hierarchy"]


def test_keys_of_other_types() -> None:
    plain = schema()
    live = LivePartition.start(rows(0, 20), plain, Settings(k=2, seed=1))
    live.apply(ChangeBatch.of(plain, deletes=[1, 2]))
    assert len(live) == 18
    with pytest.raises(BatchError, match="the key is missing"):
        live.apply(ChangeBatch.of(plain, deletes=[None]))
    with pytest.raises(ParameterError, match="a list of keys"):
        ChangeBatch.of(plain, deletes="17")
