"""Releases: each passes the verifier, and nothing gets out that it does not publish."""

from __future__ import annotations

import hashlib
import json
import pickle
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from shoal.release import write as write_module
from shoal.release.manifest import Manifest
from shoal.release.shuffle import new_shuffle_key, shuffled
from tests.support.patients import PATIENTS, PATIENTS_SCHEMA
from tests.support.tables import MadeTable, tables

pytestmark = pytest.mark.versions


@given(made=tables(sets=True), k=st.integers(2, 5), bounds=st.booleans())
def test_every_release_passes_the_verifier(made: MadeTable, k: int, bounds: bool) -> None:
    k = min(k, made.rows)
    release = shoal.anonymize(made.table, made.schema, k=k, bounds=bounds)
    verdict = shoal.verify(release.table, made.schema, k)
    assert verdict.ok
    rows = [tuple(row[name] for name in made.columns) for row in release.table.to_pylist()]
    assert min(rows.count(row) for row in rows) == verdict.k >= k


@pytest.mark.parametrize("k", [2, 3, 5, 10, 25, 50, 100])
@pytest.mark.parametrize("schema", ["papers", "suppression"])
def test_releases_of_adult_pass_the_verifier(k: int, schema: str, tmp_path: Path) -> None:
    described = shoal.datasets.adult_schema(schema)
    release = shoal.anonymize(shoal.datasets.adult("test"), described, k=k)
    for suffix in ("csv", "parquet"):
        file = release.write(tmp_path / f"adult.{suffix}")
        verdict = shoal.verify(file, described, k)
        assert verdict.ok
        assert verdict.records == 16_281


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
@pytest.mark.parametrize("bounds", [False, True])
def test_no_key_identifier_or_original_is_in_the_written_bytes(
    suffix: str, bounds: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Compressed bytes would hide from the search what they carry.
    monkeypatch.setattr(write_module, "PARQUET_COMPRESSION", "none")
    # Dictionaries with values that no row has, as filtered frames carry them.
    data = PATIENTS.slice(0, 150)
    release = shoal.anonymize(data, PATIENTS_SCHEMA, k=4, bounds=bounds)
    file = release.write(tmp_path / f"release.{suffix}")
    written = file.read_bytes() + file.with_name(file.name + ".manifest.json").read_bytes()
    assert b"cancer" in written, "the search would find what is published"

    for column in ("patient", "name"):
        for value in PATIENTS[column].to_pylist():
            assert value.encode() not in written
    assert b"KEY" not in written
    published = {name: set(release.table[name].to_pylist()) for name in ("born", "income", "zip", "town")}
    shown = " ".join(str(cell) for cells in published.values() for cell in cells)
    hidden = 0
    for column in ("born", "income", "zip", "town"):
        for value in PATIENTS[column].to_pylist():
            if str(value) not in shown:
                hidden += 1
                assert str(value).encode() not in written, column
    assert hidden > 300


def test_numbers_are_not_hidden_in_binary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A generalized column is text, and no float64 or day of an original is in the Parquet file in binary form."""
    monkeypatch.setattr(write_module, "PARQUET_COMPRESSION", "none")
    release = shoal.anonymize(PATIENTS, PATIENTS_SCHEMA, k=4)
    file = release.write(tmp_path / "release.parquet")
    assert {str(release.table.schema.field(name).type) for name in ("born", "income", "zip", "town")} == {"string"}
    written = file.read_bytes()
    for income in PATIENTS["income"].to_numpy():
        assert np.float64(income).tobytes() not in written


def test_nothing_but_the_columns_is_in_a_parquet_file(tmp_path: Path) -> None:
    file = shoal.anonymize(PATIENTS, PATIENTS_SCHEMA, k=4).write(tmp_path / "release.parquet")
    assert pq.read_metadata(file).metadata is None
    assert pq.read_table(file).column_names == ["born", "income", "zip", "town", "ill", "note"]


def test_the_manifest_says_what_the_recipient_needs_and_no_more(tmp_path: Path) -> None:
    release = shoal.anonymize(PATIENTS, PATIENTS_SCHEMA, k=4, seed=12345)
    file = release.write(tmp_path / "release.csv")
    manifest = json.loads(file.with_name("release.csv.manifest.json").read_text())
    assert manifest["sha256"] == hashlib.sha256(file.read_bytes()).hexdigest()
    assert manifest["file"] == "release.csv"
    assert manifest["rows"] == 200
    assert manifest["k"] == 4
    assert manifest["method"] == "shoal"
    assert manifest["columns"]["born"] == {
        "role": "quasi-identifier",
        "type": "date",
        "domain": ["1950-01-01", str(PATIENTS["born"][-1])],
    }
    assert manifest["columns"]["ill"] == {"role": "sensitive"}
    assert set(manifest["columns"]) == {"born", "income", "zip", "town", "ill", "note"}
    assert "12345" not in json.dumps(manifest)
    for value in manifest["measures"].values():
        assert value == float(f"{value:.4g}")
    assert set(manifest) == {
        "file", "sha256", "created", "made_by", "manifest_version", "rows", "withheld", "k", "counted", "rules",
        "method", "measure", "options", "columns", "equivalence_classes", "smallest_class", "measures",
    }  # fmt: skip


def test_an_extreme_that_is_hidden_behind_a_star_stays_hidden() -> None:
    schema = shoal.Schema(columns={"age": {"role": "quasi-identifier", "type": "numeric"}})
    release = shoal.anonymize(pa.table({"age": [30, 31, 32, 33, None, 99]}), schema, k=6)
    assert set(release.table["age"].to_pylist()) == {"*"}
    assert "99" not in json.dumps(release.manifest)


def test_labels_and_measures_stay_with_the_holder() -> None:
    release = shoal.anonymize(PATIENTS, PATIENTS_SCHEMA, k=4)
    assert len(release.labels) == PATIENTS.num_rows
    assert str(release.labels.tolist()) not in repr(release) + str(vars(release)["manifest"])
    travelled = pickle.loads(pickle.dumps(release))
    assert travelled.table.equals(release.table)
    assert travelled.measures() == release.measures(public=True)
    with pytest.raises(shoal.InternalError):
        travelled.labels  # noqa: B018
    with pytest.raises(shoal.InternalError):
        travelled.trace([0])


def test_measures_are_exact_for_the_holder_and_rounded_for_the_public() -> None:
    release = shoal.anonymize(
        shoal.datasets.adult("train", complete=True), shoal.datasets.adult_schema(), k=10, method="mondrian"
    )
    exact, public = release.measures(), release.measures(public=True)
    assert exact["il"] == pytest.approx(31692.763, abs=1e-3)
    assert exact["il_share"] == exact["il"] / (8 * 30_162)
    assert public["il"] == pytest.approx(exact["il"])
    assert release.manifest["measures"]["il"] == 31690  # type: ignore[index]
    assert 0 < exact["lm"] < 1


def test_releases_pass_the_verifier_for_many_k() -> None:
    table = shoal.datasets.adult("test").slice(0, 1500)
    for k in (*range(2, 20), *range(20, 101, 7)):
        release = shoal.anonymize(table, shoal.datasets.adult_schema(), k=k)
        assert shoal.verify(release.table, shoal.datasets.adult_schema(), k).ok


# --- the order of rows ----------------------------------------------------------------------------------------------


def test_the_order_of_rows_is_fresh_even_for_the_same_seed() -> None:
    schema = shoal.Schema(columns={"q": {"role": "quasi-identifier", "type": "numeric"}, "s": {"role": "insensitive"}})
    table = pa.table({"q": [1] * 200, "s": list(range(200))})
    orders = [shoal.anonymize(table, schema, k=5, seed=1).table["s"].to_pylist() for _ in range(2)]
    assert orders[0] != orders[1]
    assert sorted(orders[0]) == sorted(orders[1]) == list(range(200))
    assert orders[0] != list(range(200))


def test_a_shuffle_key_repeats_its_order() -> None:
    key = new_shuffle_key()
    assert len(key) == 32
    assert np.array_equal(shuffled(1000, key), shuffled(1000, key))
    assert sorted(shuffled(1000, key).tolist()) == list(range(1000))
    places = np.mean([shuffled(10, new_shuffle_key())[0] for _ in range(2000)])
    assert abs(places - 4.5) < 0.5


@pytest.mark.parametrize("since", [{}, {"withheld": 3}])
def test_a_manifest_is_read_and_written_as_it_was(since: dict[str, int]) -> None:
    """Of an earlier version too, and with what a vault adds."""
    column = {"role": "quasi-identifier", "type": "numeric"}
    release = shoal.anonymize(pa.table({"age": [1, 1]}), shoal.Schema(columns={"age": column}), k=2)
    facts = {name: fact for name, fact in release.manifest.items() if name != "withheld"}
    rule = {"column": "ill", "model": "recursive", "l": 2.0, "c": 3.0}
    told = {**facts, "rules": [rule], "release": 1, "hidden": ["note"], "neutralized_formulas": True}
    told = {name: told[name] for name in ["made_by", "manifest_version", "rows"]} | since | told
    assert json.dumps(Manifest.from_json(json.loads(json.dumps(told))).to_json()) == json.dumps(told)
