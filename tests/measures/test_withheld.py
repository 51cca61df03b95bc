"""The suppression budget: every measure, and the bound, counts what is withheld."""

from __future__ import annotations

import itertools
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shoal.boxes.costs import cost_tables
from shoal.measures import column_numbers, holder_report, least_loss, public_report
from shoal.partition import Partition
from shoal.privacy import Privacy
from shoal.records.encode import encode
from shoal.release.recode import plain_table, recode
from tests.reference import measures as plain
from tests.reference.bounds import partitions
from tests.reference.clustering import loss as box_loss
from tests.support.costs import cell_cost
from tests.support.outliers import outlier_schema, outlier_table
from tests.support.tables import MadeTable, tables


def with_rows_of_stars(table: pa.Table, schema: shoal.Schema, count: int) -> pa.Table:
    """The published rows, and so many of nothing but `*`; what is sensitive in them does not matter to any measure."""
    rows = {
        name: pa.array(
            ["*"] * count if name in schema.quasi_identifiers else table[name].to_pylist()[:1] * count,
            table[name].type,
        )
        for name in table.column_names
    }
    return pa.concat_tables([table, pa.table(rows)])


@given(made=tables(min_rows=5, max_rows=25, sets=True), k=st.integers(1, 4), data=st.data())
@settings(max_examples=80)
def test_every_measure_is_that_of_a_table_with_rows_of_stars(made: MadeTable, k: int, data: st.DataObject) -> None:
    records = encode(made.table, made.schema)
    withheld = sorted(data.draw(st.sets(st.integers(0, made.rows - 1), min_size=1, max_size=made.rows - k)))
    mask = np.ones(made.rows, bool)
    mask[withheld] = False
    some = records.only(mask)
    labels = np.arange(len(some)) // k
    partition = Partition.from_labels(some.codes, labels, Privacy.only_k(1, len(some)))
    table = plain_table(recode(some, partition, np.arange(len(some))))

    public, _ = public_report(table, made.schema, withheld=len(withheld))
    wanted, _ = public_report(with_rows_of_stars(table, made.schema, len(withheld)), made.schema)
    assert public.totals.pop("withheld") == len(withheld)
    assert public.shares.pop("withheld") == pytest.approx(len(withheld) / made.rows)
    assert public.totals == pytest.approx(wanted.totals)
    assert public.shares == pytest.approx(wanted.shares)
    assert public.omitted == wanted.omitted
    for name, columns in wanted.columns.items():
        assert public.columns[name] == pytest.approx(columns)

    sensitive = column_numbers("ill", records.passthrough["ill"])
    found = holder_report(records, partition, public, sensitive, None, mask).totals
    check_holders_measures(made, found, np.flatnonzero(mask), partition.labels, withheld)


def check_holders_measures(
    made: MadeTable,
    found: dict[str, float],
    kept: np.ndarray[Any, Any],
    labels: np.ndarray[Any, Any],
    withheld: list[int],
) -> None:
    """By definition: a withheld record is in a group whose cells are mixed with missing, which is published as `*`."""
    columns = [column.plain for column in made.columns.values()]
    table = [[*column.values] for column in made.columns.values()]
    private, n = made.table["ill"].to_pylist(), made.rows
    groups = [kept[labels == group].tolist() for group in np.unique(labels)]
    cells = n * len(columns)
    for measure in ("il", "lm"):
        wanted = plain.losses(columns, table, groups, measure) + len(withheld) * len(columns)
        assert found[measure] == pytest.approx(wanted / (1 if measure == "il" else cells))
    assert found["il_share"] == pytest.approx(found["il"] / cells)
    assert found["diameter"] == pytest.approx(plain.diameter(columns, table, groups) + len(withheld) * len(columns))
    bits, guesses = 0.0, []
    boxes = []
    for column, values in zip(columns, table, strict=True):
        here = 0.0
        for group in groups:
            cell = plain.covered(column, [values[i] for i in group], values)
            inside = [i for i in range(n) if plain.key(column, values[i]) in cell]
            bits += sum(math.log2(len(inside) / values.count(values[i])) for i in group)
            here -= sum(math.log2(sum(private[j] == private[i] for j in inside) / len(inside)) for i in group)
        bits += sum(math.log2(n / values.count(values[i])) for i in withheld)
        here -= sum(math.log2(private.count(private[i]) / n) for i in withheld)
        guesses.append(here / n)
    assert found["mi"] == pytest.approx(bits / cells, abs=1e-9)
    assert found["pmi"] == pytest.approx(np.mean(guesses), abs=1e-9)
    for group in groups:
        covered = [
            plain.covered(column, [values[i] for i in group], values)
            for column, values in zip(columns, table, strict=True)
        ]
        boxes.append((covered, len(group) / n))
    everything = [set(plain.domain(column, values)) for column, values in zip(columns, table, strict=True)]
    boxes.append((everything, len(withheld) / n))
    points = [
        tuple(plain.key(column, values[i]) for column, values in zip(columns, table, strict=True)) for i in range(n)
    ]
    divergence = 0.0
    for point in set(points):
        spread = sum(
            weight / math.prod(len(cell) for cell in covered)
            for covered, weight in boxes
            if all(x in cell for x, cell in zip(point, covered, strict=True))
        )
        share = points.count(point) / n
        divergence += share * math.log2(share / spread)
    assert found["kl"] == pytest.approx(divergence, abs=1e-9)
    assert found["am"] >= 1


@given(made=tables(min_rows=4, max_rows=7), k=st.integers(2, 3), withheld=st.integers(0, 3))
@settings(max_examples=80)
def test_nothing_goes_below_the_bound(made: MadeTable, k: int, withheld: int) -> None:
    """Over all partitions of all sets of records that may be kept."""
    records = encode(made.table, made.schema)
    costs = cost_tables(records.books, "il", weighted=False)
    rows = [tuple(row) for row in records.codes.tolist()]

    def cost(j: int, lo: int, hi: int) -> float:
        return cell_cost(costs, j, lo, hi)

    bound = least_loss(records, k, withheld)
    assert bound <= least_loss(records, k)
    for count in range(withheld + 1):
        for gone in itertools.combinations(range(len(rows)), count):
            kept = [i for i in range(len(rows)) if i not in gone]
            for groups in partitions(kept, k) if len(kept) >= k else ():
                reached = sum(len(group) * box_loss([rows[i] for i in group], cost) for group in groups)
                assert bound <= reached + count * len(records.books) + 1e-9


def test_the_bound_without_withholding_is_too_high_for_it() -> None:
    """Why the proof needs its last part: a record that makes its company lose more does so only in a group."""
    number: dict[str, object] = {"role": "quasi-identifier", "type": "numeric"}
    schema = outlier_schema(age=number, place=number)
    records = encode(outlier_table(), schema)
    release = shoal.anonymize(outlier_table(), schema, k=10, seed=1, suppress=0.05)
    found, withheld = release.measures(), int(np.count_nonzero(release.labels < 0))
    assert found["il"] < least_loss(records, 10)
    assert found["il"] >= found["il_bound"]
    assert found["il_bound"] == pytest.approx(least_loss(records, 10, withheld))


def test_a_file_is_measured_as_its_manifest_says(tmp_path: Path) -> None:
    release = shoal.anonymize(outlier_table(), outlier_schema(), k=10, seed=1, suppress=0.01)
    file = release.write(tmp_path / "release.csv")
    manifest = json.loads((tmp_path / "release.csv.manifest.json").read_text())
    withheld = 200 - release.table.num_rows
    assert manifest["rows"] == release.table.num_rows
    assert manifest["withheld"] == manifest["measures"]["withheld"] == withheld > 0
    assert manifest["options"] == {"suppress": 0.01}
    assert f"{withheld} withheld" in repr(release)
    assert release.measures()["withheld"] == withheld
    assert shoal.measure(file, outlier_schema()).totals == pytest.approx(release.measures(public=True))
    assert shoal.verify(file, outlier_schema(), 10).ok
    other = release.write(tmp_path / "other.csv")
    (tmp_path / "other.csv.manifest.json").unlink()
    assert shoal.measure(other, outlier_schema()).withheld == 0
    again = shoal.measure(other, outlier_schema(), withheld=withheld)
    assert again.totals == pytest.approx(release.measures(public=True))
    with pytest.raises(shoal.ParameterError, match="withheld"):
        shoal.measure(other, outlier_schema(), withheld=-1)
    (tmp_path / "other.csv.manifest.json").write_text('{"rows": 7, "withheld": 3}')
    with pytest.warns(shoal.ShoalWarning, match="manifest"):
        assert shoal.measure(other, outlier_schema()).withheld == 0
