"""Recoding: every cell covers its originals, and says no less than it can."""

from __future__ import annotations

import re

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from tests.reference.costs import ancestor
from tests.support.patients import PATIENTS, PATIENTS_SCHEMA
from tests.support.tables import MadeTable, covers, tables


@given(made=tables(sets=True), k=st.integers(2, 5))
def test_every_cell_covers_its_original_and_no_more_than_its_group_needs(made: MadeTable, k: int) -> None:
    release = shoal.anonymize(made.table, made.schema, k=min(k, made.rows))
    published = release.trace(range(made.rows))
    for name, column in made.columns.items():
        cells = published[name].to_pylist()
        for row, (cell, value) in enumerate(zip(cells, column.values, strict=True)):
            group = [column.values[i] for i in np.flatnonzero(release.labels == release.labels[row])]
            assert covers(cell, column, value), (cell, value)
            assert cell == expected_cell(made, name, group)
    assert published["ill"].to_pylist() == made.table["ill"].to_pylist()


def expected_cell(made: MadeTable, name: str, group: list[object]) -> str | None:
    column = made.columns[name]
    present = [value for value in group if value is not None]
    if not present:
        return None
    if len(present) < len(group):
        return "*"
    if column.plain.path is None:
        low, high = min(present), max(present)  # type: ignore[type-var]
        return str(low) if low == high else f"[{low}..{high}]"
    if made.schema.columns[name].generalize == "set" and len(set(present)) > 1:
        members = sorted({str(value) for value in present})
        quoted = {member: '"' + member.replace('"', '""') + '"' for member in members if re.search('[,{}"]', member)}
        paths = {path[-1]: place for place, path in enumerate(column.plain.paths)}
        in_order = sorted(members, key=lambda member: paths[member])
        return "{" + ",".join(quoted.get(member, member) for member in in_order) + "}"
    return ancestor(column.plain, present)[-1]


@pytest.mark.parametrize(
    ("column", "values"),
    [
        ({"levels": [1], "min_level": 1}, [999999999.9995, 0.5]),
        ({"levels": [0.1], "min_level": 1}, [0.3 - 1e-14, 0.5]),
        ({"levels": [0.1, 0.3], "min_level": 1}, [0.3, 0.6, 0.9, 1.2, -0.1, -0.3]),
        ({"levels": [0.7, 2.1], "origin": 0.05, "min_level": 1}, [0.75, 1.45, -0.65, 1e6 + 0.1]),
        ({"levels": [10], "min_level": 1}, [2**52 + 1, 2**52 + 3, -(2**52)]),
        ({}, [2**60 + 1, 2**60 + 3, -(2**63), 2**63 - 1]),
        ({}, [1e299, -1e299, 1.5]),
    ],
)
def test_cells_cover_awkward_numbers(column: dict[str, object], values: list[float]) -> None:
    schema = shoal.Schema(columns={"q": {"role": "quasi-identifier", "type": "numeric", **column}})
    for k in (2, len(values)):
        release = shoal.anonymize(pa.table({"q": values + values}), schema, k=k, bounds=True)
        for row, value in zip(release.trace(range(len(values))).to_pylist(), values, strict=True):
            assert covers_number(row["q"], value), (row, value)
            assert row["q_lo"] is None or row["q_lo"] <= value <= row["q_hi"]
        assert 0 <= release.measures()["il_share"] <= 1


def covers_number(cell: str, value: float) -> bool:
    if ".." not in cell:
        return cell == "*" or float(cell) == value or int(cell) == value
    low, high = (int(bound) if bound.lstrip("-").isdigit() else float(bound) for bound in cell.strip("[])").split(".."))
    return low <= value < high if cell.endswith(")") else low <= value <= high


def test_sets_respect_min_level() -> None:
    hierarchy = {"America": ["USA", "Canada"], "Asia": ["Iran", "India"]}
    schema = shoal.Schema(
        columns={"q": {"role": "quasi-identifier", "hierarchy": hierarchy, "generalize": "set", "min_level": 1}}
    )
    for countries, cell in ((["USA", "Canada"], "America"), (["Canada", "Iran"], "{America,Asia}")):
        assert shoal.anonymize(pa.table({"q": countries}), schema, k=2).table["q"].to_pylist() == [cell] * 2


def test_values_attached_to_a_list_of_values_are_not_taken_for_it() -> None:
    schema = shoal.Schema(
        columns={"q": {"role": "quasi-identifier", "hierarchy": shoal.Hierarchy.tree([["a"]]), "on_unknown": "attach"}}
    )
    assert shoal.anonymize(pa.table({"q": ["a", "b"]}), schema, k=2).table["q"].to_pylist() == ["*", "*"]


def test_values_outside_the_domain_cost_in_full() -> None:
    for column in ({"domain": [0, 50], "levels": [10]}, {"domain": [5, 5]}, {"domain": [0, 1]}):
        schema = shoal.Schema(columns={"q": {"role": "quasi-identifier", "type": "numeric", **column}})
        with pytest.warns(shoal.ShoalWarning, match="4 values lie outside"):
            release = shoal.anonymize(pa.table({"q": [101, 105, 203, 209]}), schema, k=4)
        assert release.measures()["il_share"] == 1
        assert release.measures()["lm"] == 1


def test_bounds_are_numbers_and_dates() -> None:
    release = shoal.anonymize(PATIENTS, PATIENTS_SCHEMA, k=50, bounds=True)
    table = release.table
    assert table.column_names[:6] == ["born", "born_lo", "born_hi", "income", "income_lo", "income_hi"]
    assert table.schema.field("born_lo").type == pa.date32()
    for row in table.to_pylist():
        assert row["born"] == f"[{row['born_lo']}..{row['born_hi']}]"
        low, high = row["income"].strip("[]").split("..")
        assert (row["income_lo"], row["income_hi"]) == (float(low), float(high))


def test_bounds_of_fixed_intervals_and_of_missing_values() -> None:
    schema = shoal.Schema(
        columns={"age": {"role": "quasi-identifier", "type": "numeric", "levels": [10], "min_level": 1}}
    )
    cells = []
    for ages in ([31, 38], [None, None], [31, 45], [31, None]):
        release = shoal.anonymize(pa.table({"age": pa.array(ages, pa.int64())}), schema, k=2, bounds=True)
        cells.append(tuple(release.table.to_pylist()[0].values()))
    assert cells == [("[30..39]", 30, 39), (None, None, None), ("*", None, None), ("*", None, None)]


def test_bounds_never_take_the_name_of_another_column() -> None:
    columns = {**PATIENTS_SCHEMA.columns, "born_lo": shoal.Column(role="insensitive")}
    table = PATIENTS.append_column("born_lo", pa.array(["x"] * 200))
    with pytest.raises(shoal.SchemaError, match="born_lo"):
        shoal.anonymize(table, shoal.Schema(columns=columns), k=50, bounds=True)


def test_sets_without_end_are_refused_before_they_are_written_out() -> None:
    """Every row of a group repeats all of its values: 2 000 rows of 2 000 long names are 1.6 GB of text."""
    schema = shoal.Schema(columns={"q": {"role": "quasi-identifier", "type": "categorical", "generalize": "set"}})
    table = pa.table({"q": [f"{i:0400d}" for i in range(2000)]})
    pool, usual = pa.proxy_memory_pool(pa.default_memory_pool()), pa.default_memory_pool()
    pa.set_memory_pool(pool)
    try:
        with pytest.raises(shoal.SchemaError, match=r"'q' would be published as 1\.5 GiB.*smaller k") as refused:
            shoal.anonymize(table, schema, k=2000, method="mondrian")
    finally:
        pa.set_memory_pool(usual)
    assert "0001999" not in str(refused.value)
    assert pool.max_memory() < 50_000_000
    assert shoal.anonymize(table, schema, k=200, method="mondrian").table.num_rows == 2000
