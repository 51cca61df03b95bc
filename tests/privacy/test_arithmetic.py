"""The kernels and the verifier against plain arithmetic."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shoal.privacy import Privacy, make_rules
from tests.reference import privacy as plain
from tests.support.sensitive import ASKED, LEAVES, NESTED, groupings, records, schema

pytestmark = pytest.mark.versions


def tree_distance(one: object, other: object) -> float:
    """The height of the lowest common ancestor over the tree's, by hand for NESTED; missing hangs at the root."""
    if one == other:
        return 0.0
    if one is None or other is None:
        return 1.0
    if {one, other} <= {"a", "b"} or {one, other} <= {"c", "d"}:
        return 1 / 3
    return 2 / 3 if {one, other} <= {"c", "d", "e"} else 1.0


def members(values: list[Any], people: list[int] | None, labels: list[int], group: int) -> plain.Group:
    who = people or list(range(len(values)))
    return [(who[i], values[i]) for i in range(len(values)) if labels[i] == group]


def expected(asked: dict[str, Any], group: plain.Group, table: plain.Group, distance: str) -> float:
    if "t" in asked:
        places = list(dict.fromkeys(value for _, value in table))
        if distance == "ordered":
            line: list[object] = [*([None] if None in places else []), *LEAVES]
            return plain.earth_mover(
                group, table, line, lambda a, b: abs(line.index(a) - line.index(b)) / max(1, len(line) - 1)
            )
        ways = {"equal": lambda a, b: float(a != b), "hierarchical": tree_distance}
        return plain.earth_mover(group, table, places, ways[distance])
    if "alpha" in asked:
        values = ["c"] if isinstance(asked["alpha"], dict) else {value for _, value in group}
        return max(plain.share(group, value) for value in values)
    model = asked.get("diversity", "frequency")
    by_people = len({person for person, _ in table}) < len(table) or "people" in asked
    if by_people and asked["l"] > 1 and plain.everybodys(group) and model != "frequency":
        return math.inf if model == "recursive" else 1.0
    if model == "recursive":
        return plain.recursive_needs(group, asked["l"])
    return {"frequency": plain.frequency, "distinct": plain.distinct, "entropy": plain.entropy}[model](group)


@settings(max_examples=150)
@given(made=groupings(), asked=st.sampled_from(ASKED), distance=st.sampled_from(["equal", "ordered", "hierarchical"]))
def test_kernel_and_verifier_equal_plain_arithmetic(
    made: tuple[list[Any], list[int] | None, list[int]], asked: dict[str, Any], distance: str
) -> None:
    values, people, labels = made
    spec: dict[str, object] = {"hierarchy": NESTED, "distance": distance}
    encoded = records(values, people, pa.string(), **spec)
    rules = make_rules(["ill"], **asked)
    facts = Privacy.of(encoded, 2, rules).facts_of(np.array(labels, np.int32), max(labels) + 1)
    table = members(values, people, [0] * len(values), 0)
    marked = {**asked, "people": True} if people is not None else asked
    wanted = [expected(marked, members(values, people, labels, g), table, distance) for g in range(max(labels) + 1)]
    assert facts.found[:, 0].tolist() == pytest.approx(wanted, abs=1e-9)
    assert facts.people.tolist() == [plain.people(members(values, people, labels, g)) for g in range(max(labels) + 1)]
    published = pa.table({"q": [str(label) for label in labels], "ill": pa.array(values, pa.string())})
    verdict = shoal.verify(published, schema(**spec), 2, people=people, **asked)
    worst = max if rules[0].model in ("recursive", "alpha", "t-closeness") else min
    assert verdict.rules[0].found == pytest.approx(worst(wanted), abs=1e-9)
    assert verdict.rules[0].offending == int((~facts.fine).sum())
    assert verdict.k == facts.people.min()
