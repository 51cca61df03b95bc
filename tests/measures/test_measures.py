"""Measures against their definitions and the paper's numbers; a file says what was computed before it was written."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shoal.measures import MEANINGS, RISKS, column_numbers, holder_report, public_report
from shoal.partition import Partition
from shoal.privacy import Privacy
from shoal.records.encode import encode
from tests.reference import measures as plain
from tests.support.tables import MadeTable, tables


def groups_of(release: shoal.Release) -> list[list[int]]:
    return [np.flatnonzero(release.labels == group).tolist() for group in np.unique(release.labels)]


@settings(max_examples=80)
@given(made=tables(max_rows=25), k=st.integers(2, 5))
def test_the_holders_measures_equal_their_definitions(made: MadeTable, k: int) -> None:
    release = shoal.anonymize(made.table, made.schema, k=min(k, made.rows))
    groups = groups_of(release)
    columns = [column.plain for column in made.columns.values()]
    table = [column.values for column in made.columns.values()]
    private = made.table["ill"].to_pylist()
    found, cells = release.measures(), made.rows * len(columns)
    assert found["il"] == pytest.approx(plain.losses(columns, table, groups, "il"))
    assert found["lm"] == pytest.approx(plain.losses(columns, table, groups, "lm") / cells)
    assert found["tree"] == pytest.approx(
        sum(
            plain.losses([column], [values], groups, "tree" if column.path else "lm")
            for column, values in zip(columns, table, strict=True)
        )
        / cells
    )
    assert found["mi"] == pytest.approx(plain.information(columns, table, groups), abs=1e-9)
    by_column = plain.private_information(columns, table, groups, private)
    unlimited = [replace(column, min_level=0) for column in columns]  # the original table has no smallest level
    original = plain.private_information(unlimited, table, [[i] for i in range(made.rows)], private)
    assert found["pmi"] == pytest.approx(np.mean(by_column), abs=1e-9)
    assert found["pmi_relative"] == pytest.approx(np.mean(by_column) - np.mean(original), abs=1e-9)
    entropy = -np.mean([math.log2(private.count(value) / made.rows) for value in private])
    utilities = entropy - np.array(by_column)
    assert found["pmi_l2"] == pytest.approx(np.sqrt((utilities**2).sum()) / len(columns), abs=1e-9)
    assert found["pmi_max"] == pytest.approx(utilities.max(), abs=1e-9)
    assert found["kl"] == pytest.approx(plain.divergence(columns, table, groups), abs=1e-9)
    assert found["diameter"] == pytest.approx(plain.diameter(columns, table, groups))
    assert found["diameter"] <= found["il"] + 1e-9
    assert found["kl"] >= -1e-9
    assert set(found) <= set(MEANINGS)
    for share in release.measures(by="share").values():
        assert -1e-9 <= share <= 1 + 1e-9


@settings(max_examples=80)
@given(made=tables(max_rows=25, sets=True), k=st.integers(2, 5))
def test_public_measures_equal_their_definitions(made: MadeTable, k: int) -> None:
    release = shoal.anonymize(made.table, made.schema, k=min(k, made.rows))
    public, exact = release.measures(public=True), release.measures()
    rows = [tuple(row[name] for name in made.columns) for row in release.table.to_pylist()]
    assert public["dm"] == plain.discernibility(rows)
    assert public["cm"] == pytest.approx(plain.classification(rows, release.table["ill"].to_pylist()))
    assert public["average_class_size"] == len(rows) / len(set(rows))
    stars = sum(cell == "*" for row in rows for cell in row)
    assert public["suppressed_cells"] >= stars
    whole = {
        name
        for name in made.columns
        if "domain" in made.columns[name].spec or not _hides_an_extreme(made, release, name)
    }
    if whole == set(made.columns):  # otherwise a reader cannot know the domain, and measures on what is shown
        assert public["il"] == pytest.approx(exact["il"])
    for name, why in release.report(public=True).omitted.items():
        assert name in MEANINGS
        assert why


def _hides_an_extreme(made: MadeTable, release: shoal.Release, name: str) -> bool:
    column = made.columns[name]
    if column.plain.number is None:
        return False
    numbers = [None if value is None else column.plain.number(value) for value in column.values]
    cells = release.trace(range(made.rows))[name].to_pylist()
    shown = [number for number, cell in zip(numbers, cells, strict=True) if number is not None and cell != "*"]
    present = [number for number in numbers if number is not None]
    return bool(present) and (not shown or min(shown) > min(present) or max(shown) < max(present))


@given(made=tables(max_rows=25, sets=True), k=st.integers(2, 5))
@settings(max_examples=40)
def test_what_was_written_measures_the_same(made: MadeTable, k: int, tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("release")
    release = shoal.anonymize(made.table, made.schema, k=min(k, made.rows))
    for suffix in ("csv", "parquet"):
        file = release.write(folder / f"release.{suffix}")
        again = shoal.measure(file, made.schema)
        assert again.totals == pytest.approx(release.measures(public=True))
        assert again.columns.keys() == release.measures(public=True, by="column").keys()


# Goldberger & Tassa, Section 5.1.
PUBLIC = ["a", "a", "a", "a", "b", "b", "b", "b", "c"]
PRIVATE = [0, 0, 0, 1, 0, 1, 1, 1, 1]
G1 = ["a", "a", "a", "*", "*", "b", "b", "b", "*"]
G2 = ["a", "a", "*", "a", "*", "b", "b", "b", "*"]


def pmi(labels: list[str]) -> dict[str, float]:
    schema = shoal.Schema(
        columns={"x": {"role": "quasi-identifier", "type": "categorical"}, "y": {"role": "sensitive"}}
    )
    records = encode(pa.table({"x": PUBLIC, "y": PRIVATE}), schema)
    numbers = np.unique(labels, return_inverse=True)[1]
    partition = Partition.from_labels(records.codes, numbers, Privacy.only_k(2, len(records)))
    public, _ = public_report(pa.table({"x": labels, "y": PRIVATE}), schema)
    return holder_report(records, partition, public, column_numbers("y", records.passthrough["y"])).totals


def test_pmi_is_not_monotone_under_local_recoding() -> None:
    """The paper's counterexample: g1 is coarser than D and predicts better."""
    assert pmi(G1)["pmi_relative"] == pytest.approx(-0.12601, abs=5e-6)
    assert pmi(G2)["pmi_relative"] == pytest.approx(0.08587, abs=5e-6)
    assert pmi(PUBLIC)["pmi_relative"] == pytest.approx(0)
    assert pmi(PUBLIC)["pmi"] == pytest.approx(0.7211, abs=5e-5)
    assert pmi(G1)["pmi"] == pytest.approx(0.5951, abs=5e-5)
    assert pmi(G2)["pmi"] == pytest.approx(0.8070, abs=5e-5)


def measured(made: MadeTable, labels: np.ndarray[tuple[int], np.dtype[np.int64]]) -> dict[str, float]:
    records = encode(made.table, made.schema)
    partition = Partition.from_labels(records.codes, labels, Privacy.only_k(1, len(records)))
    public, _ = public_report(shoal.anonymize(made.table, made.schema, k=2).table, made.schema)
    return holder_report(records, partition, public, column_numbers("ill", records.passthrough["ill"])).totals


@given(made=tables(max_rows=20), data=st.data())
def test_mi_is_monotone(made: MadeTable, data: st.DataObject) -> None:
    """Merging groups never lowers MI (Proposition 3), nor il, lm, tree."""
    fine = np.array(data.draw(st.lists(st.integers(0, 5), min_size=made.rows, max_size=made.rows)))
    merged = np.where(fine == data.draw(st.integers(0, 5)), data.draw(st.integers(0, 5)), fine)
    before, after = measured(made, fine), measured(made, merged)
    for measure in ("mi", "il", "lm", "tree"):
        assert after[measure] >= before[measure] - 1e-9


@given(made=tables(max_rows=25))
def test_pmi_is_monotone_under_global_recoding(made: MadeTable) -> None:
    """Eq. (17): every value of a column generalized to the same level, from the values up to the root."""
    records = encode(made.table, made.schema)
    sensitive = column_numbers("ill", records.passthrough["ill"])
    public, _ = public_report(shoal.anonymize(made.table, made.schema, k=2).table, made.schema)
    for j, book in enumerate(records.books):
        if book.tree is None or not book.tree.leaves:
            continue
        alone = replace(records, codes=np.ascontiguousarray(records.codes[:, j : j + 1]), books=[book])
        losses = []
        for level in range(book.tree.min_level, book.tree.height + 1):
            leaves = np.maximum(records.codes[:, j] - 1, 0)
            nodes = book.tree.at_least(level).common_ancestor(leaves, leaves)
            labels = np.where(records.codes[:, j] == 0, -1, nodes)  # missing stays apart: a cluster of its own
            partition = Partition.from_labels(alone.codes, labels, Privacy.only_k(1, len(alone)))
            losses.append(holder_report(alone, partition, public, sensitive).totals["pmi"])
        assert all(fine <= coarse + 1e-9 for fine, coarse in itertools.pairwise(losses))


@given(made=tables(max_rows=20), k=st.integers(2, 4))
@settings(max_examples=40)
def test_group_costs_add_up_to_the_total(made: MadeTable, k: int) -> None:
    """Eq. (19): Π = 1/n Σ gc(C)·|C|, for LM, MI and the relative form of PMI."""
    release = shoal.anonymize(made.table, made.schema, k=min(k, made.rows))
    groups, n = groups_of(release), made.rows
    columns = [column.plain for column in made.columns.values()]
    table = [column.values for column in made.columns.values()]
    found = release.measures()
    lm = sum(plain.losses(columns, table, [group], "lm") / len(columns) for group in groups) / n
    assert found["lm"] == pytest.approx(lm)
    mi = sum(plain.information(columns, table, [group]) for group in groups)
    assert found["mi"] == pytest.approx(mi, abs=1e-9)


# --- the catalogue, the views ---------------------------------------------------------------------------------------


def test_every_measure_has_a_sentence_and_is_there() -> None:
    release = shoal.anonymize(shoal.datasets.adult("test", complete=True), shoal.datasets.adult_schema(), k=5)
    told = set(MEANINGS) - {"withheld"}  # nobody is
    assert set(release.measures()) == told
    assert set(release.measures(public=True)) == {name for name in told if MEANINGS[name].public}
    for meaning in MEANINGS.values():
        assert meaning.sentence.endswith(".")
    assert set(RISKS) == {"prosecutor", "journalist", "marketer"}
    assert set(release.measures(by="column")["il"]) == set(shoal.datasets.adult_schema().quasi_identifiers)
    for measure in ("il", "lm", "tree", "am", "dm", "cm", "suppressed_cells", "average_class_size"):
        assert release.measures(public=True)[measure] == pytest.approx(release.measures()[measure])
    with pytest.raises(shoal.ParameterError, match="by must be one of"):
        release.measures(by="row")


def test_prefixes_do_not_say_how_many_codes_they_stand_for() -> None:
    schema = shoal.Schema(columns={"zip": {"role": "quasi-identifier", "type": "prefix"}})
    release = shoal.anonymize(pa.table({"zip": ["47901", "47902", "48000", "12345"]}), schema, k=2)
    assert set(release.report(public=True).omitted) >= {"lm", "am", "cm"}
    assert "lm" not in release.measures(public=True)
    assert release.measures()["lm"] > 0


def test_a_release_shows_itself_in_a_notebook() -> None:
    release = shoal.anonymize(shoal.datasets.adult("test"), shoal.datasets.adult_schema(), k=5)
    page = release._repr_html_()
    assert "native-country" in page
    assert page.count("<svg") == 8
    schema_page = shoal.datasets.adult_schema()._repr_html_()
    assert "quasi-identifier" in schema_page
    assert "education-num" in schema_page


@pytest.mark.parametrize(
    ("column", "cells", "message"),
    [
        ({"type": "numeric"}, ["[1..2]", "x"], "row 2: not a label"),
        ({"type": "numeric"}, ["[2..1]", "1"], "row 1: not a label"),
        ({"type": "numeric", "levels": [5]}, ["[10..14]", "[10..15]"], "row 2: not a label"),
        ({"type": "date", "levels": ["month"]}, ["2024-05", "2024"], "row 2: not a label"),
        ({"type": "date"}, ["2024-05-01", "[2024-05-01..2024-13-01]"], "row 2: not a label"),
        ({"hierarchy": {"Europe": ["France"], "Asia": ["Japan"]}}, ["Europe", "Mars"], "row 2: not a label"),
        ({"hierarchy": {"E": ["F", "G"]}, "generalize": "set"}, ["{F,G}", "{F,Mars}"], "row 2: not a label"),
        ({"hierarchy": {"E": ["F", "G"]}, "generalize": "set"}, ["{F,G}", "{}"], "row 2: not a label"),
        ({"hierarchy": {"E": ["F", "G"]}, "generalize": "set"}, ["{F,G}", "{*,F}"], "row 2: not a label"),
        ({"type": "numeric", "levels": [5]}, ["[10..14]", "[3..7]"], "row 2: not a label"),
        ({"type": "numeric"}, ["1", "1_0", " 5", "inf"], "rows 2, 3 and 4: not a label"),
        ({"type": "numeric"}, ["[1..inf]", "1"], "row 1: not a label"),
        ({"type": "prefix"}, ["47*", "4*7", "*1"], "rows 2 and 3: not a label"),
    ],
)
def test_what_is_no_release_of_this_schema(column: dict[str, object], cells: list[str], message: str) -> None:
    schema = shoal.Schema(columns={"x": {"role": "quasi-identifier", **column}})
    with pytest.raises(shoal.DataError, match=message) as refused:
        shoal.measure(pa.table({"x": cells}), schema)
    assert refused.value.column == "x"
    assert "Mars" not in str(refused.value)


def test_what_has_nothing_to_measure() -> None:
    schema = shoal.Schema(columns={"x": {"role": "quasi-identifier", "type": "numeric"}})
    with pytest.raises(shoal.DataError, match="no rows"):
        shoal.measure(pa.table({"x": pa.array([], pa.string())}), schema)
    with pytest.raises(shoal.ParameterError, match="no quasi-identifier"):
        shoal.measure(pa.table({"x": ["1"]}), shoal.Schema(columns={"x": {"role": "sensitive"}}))
    lists = shoal.Schema(columns={"x": {"role": "quasi-identifier", "type": "numeric"}, "y": {"role": "sensitive"}})
    with pytest.raises(shoal.DataError, match="'y' holds list"):
        shoal.anonymize(pa.table({"x": [1, 2], "y": [[1], [2]]}), lists, k=2)


def test_fixed_intervals_are_measured_on_their_domain() -> None:
    column = {"role": "quasi-identifier", "type": "numeric", "levels": [10], "domain": [20, 40], "min_level": 1}
    release = shoal.anonymize(pa.table({"x": [20, 21, 40, 40]}), shoal.Schema(columns={"x": column}), k=2)
    for measure in ("lm", "am", "il"):
        assert release.measures(public=True)[measure] == pytest.approx(release.measures()[measure])


def test_fractions_are_not_counted() -> None:
    column = {"role": "quasi-identifier", "type": "numeric", "levels": [5, 10]}
    release = shoal.anonymize(pa.table({"x": [30.5, 33.25, 36.5, 38.25]}), shoal.Schema(columns={"x": column}), k=2)
    assert "am" in release.report(public=True).omitted
    nothing = shoal.Schema(columns={"x": {"role": "quasi-identifier", "type": "numeric"}})
    assert "am" in shoal.measure(pa.table({"x": ["*", "*"]}), nothing).omitted


@pytest.mark.parametrize(
    ("column", "values"),
    [
        ({"type": "numeric", "levels": [0.1, 0.2]}, [1e9 + 0.11, 1e9 + 0.12, 1e9 + 0.31, 1e9 + 0.32]),
        ({"type": "date", "levels": ["decade"]}, ["0003-01-01", "0004-01-01", "9995-01-01", "9996-01-01"]),
        ({"type": "numeric", "levels": [7], "origin": 3}, [-11, -5, 3, 9]),
    ],
)
def test_what_is_published_can_be_read_again(column: dict[str, object], values: list[object]) -> None:
    schema = shoal.Schema(columns={"x": {"role": "quasi-identifier", **column}})
    for k in (2, 4):
        release = shoal.anonymize(pa.table({"x": values}), schema, k=k)
        assert shoal.measure(release.table, schema).totals["il"] == pytest.approx(release.measures()["il"])


def test_equal_records_have_no_distance() -> None:
    column = {"role": "quasi-identifier", "type": "numeric", "levels": [5], "min_level": 1}
    release = shoal.anonymize(pa.table({"x": [31, 31, 31, 31]}), shoal.Schema(columns={"x": column}), k=4)
    assert release.measures()["diameter"] == 0


def test_dictionaries_of_other_writers() -> None:
    schema = shoal.Schema(columns={"x": {"role": "quasi-identifier", "type": "numeric"}, "y": {"role": "sensitive"}})
    twice = pa.DictionaryArray.from_arrays(pa.array([0, 1], pa.int8()), pa.array(["7", "7"]))
    assert shoal.measure(pa.table({"x": twice, "y": ["a", "b"]}), schema).risks["prosecutor"]["maximum"] == 0.5
    many = pa.DictionaryArray.from_arrays(pa.array([0, 255], pa.uint8()), pa.array([str(i) for i in range(256)]))
    assert shoal.measure(pa.table({"x": many, "y": many}), schema).classes == 2
    unused = pa.DictionaryArray.from_arrays(pa.array([0, 0], pa.int8()), pa.array(["7", "not a label"]))
    assert shoal.measure(pa.table({"x": unused, "y": ["a", "b"]}), schema).classes == 1


def test_columns_that_a_release_must_have() -> None:
    schema = shoal.Schema(columns={"x": {"role": "quasi-identifier", "type": "numeric"}, "y": {"role": "sensitive"}})
    with pytest.raises(shoal.DataError, match="no column 'x'"):
        shoal.measure(pa.table({"y": ["1"]}), schema)
    with pytest.raises(shoal.DataError, match="no sensitive column 'y'"):
        shoal.measure(pa.table({"x": ["1"]}), schema)


def test_a_file_and_its_table_agree(tmp_path: Path) -> None:
    schema = shoal.datasets.census_schema()
    release = shoal.anonymize(shoal.datasets.census(3000, 5), schema, k=4)
    file = release.write(tmp_path / "census.csv")
    assert shoal.measure(file, schema).totals == pytest.approx(release.measures(public=True))
