"""Privacy models: the definitions' own examples, the kernels against plain arithmetic, and what is promised of all."""

from __future__ import annotations

import datetime as dt
import itertools
import math
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

import shoal
from shoal.boxes.costs import cost_tables
from shoal.cluster import Task
from shoal.cluster.repair import mended
from shoal.partition import Partition
from shoal.privacy import Privacy, Rule, make_rules
from shoal.privacy.counts import (
    GroupCounts,
    holds,
    join,
    leave,
    may_join,
    may_leave,
    may_merge,
    may_split,
    merge,
    new_counts,
)
from shoal.privacy.tally import new_tally
from shoal.progress import SILENT
from shoal.records.encode import Records, encode
from tests.reference import privacy as plain

pytestmark = pytest.mark.versions

DISEASES = {
    "respiratory": {
        "respiratory infection": ["flu", "pneumonia", "bronchitis"],
        "vascular lung diseases": ["pulmonary edema", "pulmonary embolism"],
    },
    "digestive": {
        "stomach diseases": ["gastric ulcer", "gastritis", "stomach cancer"],
        "colon diseases": ["colitis", "colon cancer"],
    },
}


def schema(**ill: object) -> shoal.Schema:
    return shoal.Schema(
        columns={"q": {"role": "quasi-identifier", "type": "numeric"}, "ill": {"role": "sensitive", **ill}}
    )


def records(
    values: list[Any], people: list[int] | None = None, kind: pa.DataType | None = None, **ill: object
) -> Records:
    """Records that differ in nothing but their sensitive value and person."""
    columns: dict[str, dict[str, object]] = {"q": {"role": "quasi-identifier", "type": "numeric"}}
    columns["ill"] = {"role": "sensitive", **ill}
    data = {"q": [1] * len(values), "ill": pa.array(values, kind)}
    if people is not None:
        columns["who"] = {"role": "person"}
        data["who"] = people
    return encode(pa.table(data), shoal.Schema(columns=columns))


def found(made: Records, groups: list[int], **asked: Any) -> list[float]:
    """What each group reaches under the one rule that is asked."""
    rules = make_rules(["ill"], **asked)
    facts = Privacy.of(made, 2, rules).facts_of(np.array(groups, np.int32), max(groups) + 1)
    return [float(value) for value in facts.found[:, 0]]


# Machanavajjhala et al. 2007, Figure 3: a 3-diverse table of inpatients.
INPATIENTS = "heart viral cancer cancer  cancer heart viral viral  heart viral cancer cancer".split()
CLASSES = [0] * 4 + [1] * 4 + [2] * 4


def test_the_examples_of_l_diversity() -> None:
    made = records(INPATIENTS)
    assert found(made, CLASSES, l=2, diversity="distinct") == [3, 3, 3]
    assert found(made, CLASSES, l=2, diversity="entropy") == pytest.approx([2 * math.sqrt(2)] * 3)  # the paper's 2.8
    assert found(made, CLASSES, l=2) == [2, 2, 2]
    # Counts 2, 1, 1: recursive (c, 2) for c > 2 / 2, (c, 3) for c > 2 / 1.
    assert found(made, CLASSES, l=2, diversity="recursive", c=3) == [1, 1, 1]
    assert found(made, CLASSES, l=3, diversity="recursive", c=3) == [2, 2, 2]


def test_recursive_diversity_is_strict() -> None:
    made = records(["a", "a", "b", "c"])
    for c, fine in ((2.0, False), (2.01, True)):
        privacy = Privacy.of(made, 2, make_rules(["ill"], l=3, diversity="recursive", c=c))
        assert privacy.facts_of(np.zeros(4, np.int32), 1).fine.all() == fine


# Li, Li & Venkatasubramanian 2007, Tables 3 and 5: salaries in thousands, and diseases.
SALARIES = [3, 4, 5, 6, 11, 8, 7, 9, 10]
ILLNESSES = "gastric ulcer;gastritis;stomach cancer;gastritis;flu;bronchitis;bronchitis;pneumonia;stomach cancer".split(
    ";"
)
TABLE_5 = [0, 2, 0, 1, 1, 1, 2, 0, 2]


def test_the_examples_of_t_closeness() -> None:
    """D[{3, 4, 5}, Q] = 0.375 and D[{6, 8, 11}, Q] = 0.167 in the paper; diseases by hand, in its hierarchy."""
    made = records(SALARIES, type="numeric")
    assert found(made, [0, 0, 0, 1, 2, 2, 2, 2, 2], t=1)[0] == pytest.approx(0.375, abs=5e-4)
    in_thirds = found(made, TABLE_5, t=1)
    assert in_thirds[1] == pytest.approx(1 / 6)
    assert max(in_thirds) == pytest.approx(1 / 6)
    ill = records(ILLNESSES, hierarchy=DISEASES)
    # At the root 1/9, 2/9 and 1/9 change sides; below, 2/9, 1/9 and 1/9 move a third of the way, on either side.
    assert found(ill, TABLE_5, t=1) == pytest.approx([7 / 27, 8 / 27, 5 / 27])


def test_closeness_of_categories_is_half_the_difference() -> None:
    made = records(["a", "b", "c", "d"])
    assert found(made, [0, 0, 1, 1], t=1) == pytest.approx([0.5, 0.5])


def test_alpha_bounds_all_values_or_one() -> None:
    """Wong et al. 2006: (0.5, 2)-anonymity with respect to one value leaves the others alone."""
    made = records(["HIV", "flu", "flu", "flu", "HIV", "HIV"])
    groups = [0, 0, 0, 0, 1, 1]
    assert found(made, groups, alpha=0.5) == [0.75, 1.0]
    assert found(made, groups, alpha={"ill": {"HIV": 0.5}}) == [0.25, 1.0]
    assert found(made, groups, alpha={"ill": {"flu": 0.5}}) == [0.75, 0.0]


def test_numbers_in_bins_are_one_value() -> None:
    values = [100, 101, 102, 5000, 99_000]
    assert found(records(values, type="numeric"), [0] * 5, l=2, diversity="distinct") == [5]
    assert found(records(values, type="numeric", bins=[1000, 10_000]), [0] * 5, l=2, diversity="distinct") == [3]
    days = [f"2024-0{month}-01" for month in range(1, 6)]
    assert found(records(days, type="date", bins=["2024-03-01"]), [0] * 5, l=2, diversity="distinct") == [2]


def test_missing_is_a_value_of_its_own_and_said_so() -> None:
    with pytest.warns(shoal.ShoalWarning, match="2 sensitive values are missing"):
        assert found(records(["a", None, None, "b"]), [0] * 4, l=2) == [2]


# -- people ------------------------------------------------------------------------------------------------------------


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


# -- against plain arithmetic ------------------------------------------------------------------------------------------

NESTED = {"x": ["a", "b"], "y": {"z": ["c", "d"], "w": ["e"]}}
LEAVES = ["a", "b", "c", "d", "e"]


def tree_distance(one: object, other: object) -> float:
    """The height of the lowest common ancestor over the tree's, by hand for NESTED; missing hangs at the root."""
    if one == other:
        return 0.0
    if one is None or other is None:
        return 1.0
    if {one, other} <= {"a", "b"} or {one, other} <= {"c", "d"}:
        return 1 / 3
    return 2 / 3 if {one, other} <= {"c", "d", "e"} else 1.0


@st.composite
def groupings(draw: st.DrawFn) -> tuple[list[Any], list[int] | None, list[int]]:
    """Values, perhaps people, and groups without a gap."""
    rows = draw(st.integers(2, 24))
    values = draw(st.lists(st.sampled_from([*LEAVES, None]), min_size=rows, max_size=rows))
    people = draw(st.none() | st.lists(st.integers(0, 8), min_size=rows, max_size=rows))
    labels = draw(st.lists(st.integers(0, 3), min_size=rows, max_size=rows))
    _, numbered = np.unique(labels, return_inverse=True)
    return values, people, numbered.tolist()


def members(values: list[Any], people: list[int] | None, labels: list[int], group: int) -> plain.Group:
    who = people or list(range(len(values)))
    return [(who[i], values[i]) for i in range(len(values)) if labels[i] == group]


ASKED: list[dict[str, Any]] = [
    {"l": 2},
    {"l": 2, "diversity": "distinct"},
    {"l": 1.5, "diversity": "entropy"},
    {"l": 2, "diversity": "recursive", "c": 1.5},
    {"l": 3, "diversity": "recursive", "c": 2},
    {"alpha": 0.5},
    {"alpha": {"ill": {"c": 0.4}}},
    {"t": 0.3},
]


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


# -- counts that follow ------------------------------------------------------------------------------------------------

GROUPS = 5
DEMANDS: dict[str, Any] = {"l": 1.5, "t": 0.6, "diversity": ["frequency", "entropy"], "alpha": {"ill": {"c": 0.8}}}


def lists(counts: GroupCounts, group: int) -> list[list[tuple[int, int]]]:
    bags = []
    for head in counts.heads[group]:
        bag = []
        while head != -1:
            bag.append((int(counts.keys[head]), int(counts.counts[head])))
            head = counts.nexts[head]
        bags.append(bag)
    return bags


class CountsFollow(RuleBasedStateMachine):
    """Any sequence of joins, leaves and merges: counts equal recounted ones, and answers equal looking afterwards."""

    @initialize(data=st.data(), by_people=st.booleans())
    def start(self, data: st.DataObject, by_people: bool) -> None:
        rows = 16
        values = data.draw(st.lists(st.sampled_from([*LEAVES, None]), min_size=rows, max_size=rows))
        people = data.draw(st.lists(st.integers(0, 6), min_size=rows, max_size=rows)) if by_people else None
        made = records(values, people, pa.string(), hierarchy=NESTED)
        self.privacy = Privacy.of(made, 2, make_rules(["ill"], **DEMANDS))
        self.tables = self.privacy.tables
        self.labels = np.full(rows, -1, np.int32)
        self.counts = new_counts(self.tables, GROUPS)

    def would_hold(self, labels: np.ndarray[Any, Any], group: int, k: int) -> bool:
        inside = np.flatnonzero(labels == group)
        if not len(inside):
            return True
        part = replace(self.privacy, k=k)
        alone = np.where(labels == group, 0, 1).astype(np.int32)
        return bool(part.facts_of(alone, 2 if len(inside) < len(labels) else 1).holds(k)[0])

    @rule(record=st.integers(0, 15), group=st.integers(0, GROUPS - 1))
    def join_or_leave(self, record: int, group: int) -> None:
        at = int(self.labels[record])
        after = self.labels.copy()
        if at < 0:
            after[record] = group
            assert may_join(self.tables, self.counts, record, group) == self.would_hold(after, group, 1)
            join(self.tables, self.counts, record, group)
        else:
            after[record] = -1
            for least in (0, 2):
                emptied = not (after == at).any()
                assert may_leave(self.tables, self.counts, record, at, least) == (
                    emptied or self.would_hold(after, at, least)
                )
            leave(self.tables, self.counts, record, at)
        self.labels = after

    @rule(one=st.integers(0, GROUPS - 1), other=st.integers(0, GROUPS - 1))
    def merge_two(self, one: int, other: int) -> None:
        if one == other or not ((self.labels == one) | (self.labels == other)).any():
            return
        after = np.where(self.labels == other, one, self.labels).astype(np.int32)
        assert may_merge(self.tables, self.counts, one, other) == self.would_hold(after, one, 2)
        merge(self.tables, self.counts, one, other)
        self.labels = after

    @precondition(lambda self: (self.labels == 0).sum() >= 2)
    @rule(data=st.data())
    def ask_for_a_split(self, data: st.DataObject) -> None:
        inside = np.flatnonzero(self.labels == 0).astype(np.int32)
        left = np.array(data.draw(st.lists(st.sampled_from(inside.tolist()), unique=True, min_size=1)), np.int32)
        parts = self.labels.copy()
        parts[left] = GROUPS
        wanted = (parts == 0).any() and self.would_hold(parts, 0, 2) and self.would_hold(parts, GROUPS, 2)
        assert may_split(self.tables, new_tally(self.tables), inside, left, 2) == wanted

    @invariant()
    def counts_are_those_of_counting_again(self) -> None:
        if not hasattr(self, "counts"):
            return
        again = new_counts(self.tables, GROUPS)
        for record in np.flatnonzero(self.labels >= 0):
            join(self.tables, again, int(record), int(self.labels[record]))
        assert self.counts.sizes.tolist() == again.sizes.tolist()
        assert self.counts.people.tolist() == again.people.tolist()
        for group in range(GROUPS):
            assert lists(self.counts, group) == lists(again, group)
            if self.counts.sizes[group]:
                assert holds(self.tables, self.counts, group) == self.would_hold(self.labels, group, 2)


TestCountsFollow = CountsFollow.TestCase
TestCountsFollow.settings = settings(max_examples=60, stateful_step_count=25)


@settings(max_examples=200)
@given(made=groupings(), asked=st.sampled_from(ASKED), distance=st.sampled_from(["equal", "ordered", "hierarchical"]))
def test_merging_never_breaks_a_rule(
    made: tuple[list[Any], list[int] | None, list[int]], asked: dict[str, Any], distance: str
) -> None:
    """Monotone: what two groups satisfy, both together do. (With people in both groups nobody claims it.)"""
    values, _, labels = made
    encoded = records(values, None, pa.string(), hierarchy=NESTED, distance=distance)
    privacy = Privacy.of(encoded, 2, make_rules(["ill"], **asked))
    several = max(labels) + 1
    alone = privacy.facts_of(np.array(labels, np.int32), several).fine[:, 0]
    for one, other in itertools.combinations(range(several), 2):
        if alone[one] and alone[other]:
            together = np.array([one if label == other else label for label in labels])
            numbered = np.unique(together, return_inverse=True)[1].astype(np.int32)
            group = numbered[labels.index(one)]
            assert privacy.facts_of(numbered, int(numbered.max()) + 1).fine[group, 0]


# -- mending -----------------------------------------------------------------------------------------------------------


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


# -- bad input ---------------------------------------------------------------------------------------------------------

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


def test_a_frozen_reference_says_the_smallest_t() -> None:
    made = records(["a", "a", "b", "b"])
    rules = make_rules(["ill"], t=0.1)
    privacy = Privacy.of(made, 2, rules, reference={"ill": {"a": 0.25, "b": 0.25, "c": 0.5}})
    with pytest.raises(shoal.ParameterError, match=r"The smallest t that these records can reach is 0\.5\."):
        privacy.check_feasible()
    table = pa.table({"q": ["1"] * 4, "ill": ["a", "a", "b", "b"]})
    verdict = shoal.verify(table, schema(), 2, t=0.1, reference={"ill": {"a": 0.25, "b": 0.25, "c": 0.5}})
    assert verdict.rules[0].found == pytest.approx(0.5)
    numbers = records([1, 1, 2, 2], type="numeric")
    frozen: dict[str, Any] = {"ill": {"1": 0.5, "2": 0.25, "9": 0.25}}
    facts = Privacy.of(numbers, 2, rules, reference=frozen).facts_of(np.zeros(4, np.int32), 1)
    assert facts.found[0, 0] == pytest.approx(0.25 / 2)
    table = pa.table({"q": ["1"] * 4, "ill": [1, 1, 2, 2]})
    verdict = shoal.verify(table, schema(type="numeric"), 2, t=0.1, reference=frozen)
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


TEXT = {"type": "categorical"}


def verified(values: pa.Array, asked: dict[str, Any], missing: tuple[str, ...] = ("",), **ill: object) -> shoal.Verdict:
    """Make a release of these values, and verify it again from memory and from a CSV: all must agree."""
    columns: dict[str, dict[str, object]] = {"q": {"role": "quasi-identifier", "type": "numeric"}}
    sch = shoal.Schema(columns={**columns, "ill": {"role": "sensitive", **ill}}, missing=missing)
    release = shoal.anonymize(pa.table({"q": range(len(values)), "ill": values}), sch, k=2, **asked)
    with tempfile.TemporaryDirectory() as folder:
        written = shoal.verify(release.write(Path(folder) / "release.csv"), sch, 2, **asked)
    verdict = shoal.verify(release.table, sch, 2, **asked)
    assert verdict.ok
    assert written.ok
    assert [rule.found for rule in written.rules] == pytest.approx([rule.found for rule in verdict.rules])
    return verdict


@pytest.mark.parametrize(
    ("values", "asked", "more"),
    [
        (pa.array([2**53, 2**53 + 1] * 4), {"l": 2}, {"type": "numeric"}),
        (pa.array([dt.date(1900, 1, 1), None] * 4 + [dt.date(2000, 1, 1)] * 4), {"l": 1.5}, {"type": "date"}),
        (pa.array(["5.0", "5.0", "5", "x", "5.0", "5.0", "w", "u"]), {"alpha": {"ill": {"5.0": 0.5}}}, TEXT),
        (pa.array(["5", "5", "5.0", "x", "y", "z", "5", "5.0"]), {"alpha": {"ill": {"5.0": 0.3}}}, TEXT),
        (pa.array([-9.0, None, 1.5, 2.5] * 3), {"t": 0.2}, {}),
        (pa.array([None] * 18 + [math.nan] * 18 + [36.5, 37.5, 38.5, 39.5]), {"t": 0.2}, {}),
        (pa.array([1e20, 0.1, 1.0, 1e16] * 3), {"alpha": {"ill": {"1e20": 0.5, "1.0": 0.5}}}, {}),
        (pa.array([True, False] * 4), {"l": 2}, {}),
    ],
)  # fmt: skip
def test_memory_and_file_agree(values: pa.Array, asked: dict[str, Any], more: dict[str, Any]) -> None:
    verified(values, asked, missing=("1900-01-01", "-9.0"), **more)


def test_minus_zero_is_zero() -> None:
    with pytest.raises(shoal.ParameterError, match=r"can reach is 1\."):
        verified(pa.array([0.0, -0.0] * 4), {"l": 2})


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


def test_people_cannot_be_counted_from_a_release() -> None:
    sch = shoal.Schema(columns={**schema().columns, "who": {"role": "person"}})
    table = pa.table({"q": ["1"] * 4, "ill": ["a", "a", "b", "b"]})
    with pytest.warns(shoal.ShoalWarning, match="rows are counted"):
        assert shoal.verify(table, sch, 2).counted == "rows"
    with pytest.raises(shoal.ParameterError, match="Only the holder can check"):
        shoal.verify(table, sch, 2, l=2)
    assert shoal.verify(table, sch, 2, l=2, people=[1, 2, 3, 4]).counted == "people"


def test_rules_survive_a_manifest() -> None:
    for asked in ASKED:
        for made in make_rules(["ill"], **asked):
            assert Rule.from_facts(made.facts()) == made
