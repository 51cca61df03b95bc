"""Partitions that do not hold what is asked: mended, or told why not."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shoal.boxes.costs import cost_tables
from shoal.cluster import Task
from shoal.cluster.repair import mended
from shoal.partition import Partition
from shoal.privacy import Privacy, make_rules
from shoal.progress import SILENT
from shoal.records.encode import encode
from tests.support.sensitive import ASKED, NESTED, groupings, records, schema

pytestmark = pytest.mark.versions


@settings(max_examples=100)
@given(made=groupings(), asked=st.sampled_from(ASKED), qs=st.lists(st.integers(0, 9), min_size=24, max_size=24))
def test_any_partition_can_be_mended(
    made: tuple[list[Any], list[int] | None, list[int]], asked: dict[str, Any], qs: list[int]
) -> None:
    values, people, labels = made
    encoded = records(values, people, pa.string(), hierarchy=NESTED)
    table = pa.table({"q": qs[: len(values)], "ill": pa.array(values, pa.string())})
    codes = encode(table, schema(hierarchy=NESTED))
    encoded = replace(encoded, codes=codes.codes, books=codes.books)
    privacy = Privacy.of(encoded, 2, make_rules(["ill"], **asked))
    whole = privacy.facts_of(np.zeros(len(values), np.int32), 1)
    if not whole.holds(2).all():
        with pytest.raises(shoal.ParameterError):
            privacy.check_feasible()
        return
    task = Task(encoded, "il", cost_tables(encoded.books, "il"), privacy, np.random.default_rng(0), SILENT)
    partition = Partition.from_labels(encoded.codes, mended(task, np.array(labels, np.int32)), privacy)
    partition.check()
    assert partition.publishable
    published = pa.table(
        {
            "q": [f"{partition.lo[g, 0]}..{partition.hi[g, 0]}" for g in partition.labels],
            "ill": pa.array(values, pa.string()),
        }
    )
    assert shoal.verify(published, schema(hierarchy=NESTED), 2, people=people, **asked).ok


def test_what_holds_is_left_alone() -> None:
    made = records(["a", "b"] * 4)
    privacy = Privacy.of(made, 2, make_rules(["ill"], l=2))
    task = Task(made, "il", cost_tables(made.books, "il"), privacy, np.random.default_rng(0), SILENT)
    labels = np.array([0, 0, 1, 1, 2, 2, 3, 3], np.int32)
    assert mended(task, labels).tolist() == labels.tolist()


def test_a_partition_says_why_it_cannot_be_published() -> None:
    made = records(["a", "a", "a", "b"], people=[1, 1, 2, 3])
    privacy = Privacy.of(made, 2, make_rules(["ill"], l=2, t=0.1))
    partition = Partition.from_labels(made.codes, np.array([0, 0, 1, 1]), privacy)
    assert partition.obstacles() == [
        "1 of 2 groups have fewer than k = 2 people (the smallest 1)",
        "1 of 2 groups do not have frequency 2-diversity of 'ill' (the worst reaches 1)",
        "2 of 2 groups do not have t-closeness 0.1 of 'ill' (the worst reaches 0.3333)",
    ]
