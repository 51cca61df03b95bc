"""Releases: every cell covers its original, every release passes the verifier, and nothing else gets out."""

from __future__ import annotations

import datetime as dt
import hashlib
import json
import pickle
import re
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from shoal.release import write as write_module
from shoal.release.shuffle import new_shuffle_key, shuffled
from tests.reference.costs import ancestor
from tests.tables import MadeTable, covers, tables

ADULT_SCHEMA = shoal.datasets.adult_schema()


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


# --- what is written ------------------------------------------------------------------------------------------------

SECRETS = pa.table(
    {
        "patient": [f"KEY-{i:04d}" for i in range(200)],
        "name": [f"Name{i}Surname" for i in range(200)],
        "born": [dt.date(1950, 1, 1) + dt.timedelta(days=97 * i) for i in range(200)],
        "income": [30_000.125 + 17.375 * i for i in range(200)],
        "zip": [f"z9{(7919 * i) % 10_000:04d}" for i in range(200)],
        "town": pa.array([f"Town{i:03d}" for i in range(200)]).dictionary_encode(),
        "ill": pa.array([["flu", "cancer", "gout"][i % 3] for i in range(200)]).dictionary_encode(),
        "note": pa.array([["blue", "green"][i % 2] for i in range(200)]),
    },
    metadata={"pandas": "KEY-0007 in the metadata"},
)
SECRETS_SCHEMA = shoal.Schema(
    columns={
        "patient": {"role": "key"},
        "name": {"role": "identifier"},
        "born": {"role": "quasi-identifier", "type": "date"},
        "income": {"role": "quasi-identifier", "type": "numeric"},
        "zip": {"role": "quasi-identifier", "type": "prefix"},
        "town": {"role": "quasi-identifier", "type": "categorical"},
        "ill": {"role": "sensitive"},
        "note": {"role": "insensitive"},
    }
)


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
@pytest.mark.parametrize("bounds", [False, True])
def test_no_key_identifier_or_original_is_in_the_written_bytes(
    suffix: str, bounds: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Compressed bytes would hide from the search what they carry.
    monkeypatch.setattr(write_module, "PARQUET_COMPRESSION", "none")
    # Dictionaries with values that no row has, as filtered frames carry them.
    data = SECRETS.slice(0, 150)
    release = shoal.anonymize(data, SECRETS_SCHEMA, k=4, bounds=bounds)
    file = release.write(tmp_path / f"release.{suffix}")
    written = file.read_bytes() + file.with_name(file.name + ".manifest.json").read_bytes()
    assert b"cancer" in written, "the search would find what is published"

    for column in ("patient", "name"):
        for value in SECRETS[column].to_pylist():
            assert value.encode() not in written
    assert b"KEY" not in written
    published = {name: set(release.table[name].to_pylist()) for name in ("born", "income", "zip", "town")}
    shown = " ".join(str(cell) for cells in published.values() for cell in cells)
    hidden = 0
    for column in ("born", "income", "zip", "town"):
        for value in SECRETS[column].to_pylist():
            if str(value) not in shown:
                hidden += 1
                assert str(value).encode() not in written, column
    assert hidden > 300


def test_numbers_are_not_hidden_in_binary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A generalized column is text, and no float64 or day of an original is in the Parquet file in binary form."""
    monkeypatch.setattr(write_module, "PARQUET_COMPRESSION", "none")
    release = shoal.anonymize(SECRETS, SECRETS_SCHEMA, k=4)
    file = release.write(tmp_path / "release.parquet")
    assert {str(release.table.schema.field(name).type) for name in ("born", "income", "zip", "town")} == {"string"}
    written = file.read_bytes()
    for income in SECRETS["income"].to_numpy():
        assert np.float64(income).tobytes() not in written


def test_nothing_but_the_columns_is_in_a_parquet_file(tmp_path: Path) -> None:
    file = shoal.anonymize(SECRETS, SECRETS_SCHEMA, k=4).write(tmp_path / "release.parquet")
    assert pq.read_metadata(file).metadata is None
    assert pq.read_table(file).column_names == ["born", "income", "zip", "town", "ill", "note"]


def test_the_manifest_says_what_the_recipient_needs_and_no_more(tmp_path: Path) -> None:
    release = shoal.anonymize(SECRETS, SECRETS_SCHEMA, k=4, seed=12345)
    file = release.write(tmp_path / "release.csv")
    manifest = json.loads(file.with_name("release.csv.manifest.json").read_text())
    assert manifest["sha256"] == hashlib.sha256(file.read_bytes()).hexdigest()
    assert manifest["file"] == "release.csv"
    assert manifest["rows"] == 200
    assert manifest["k"] == 4
    assert manifest["method"] == "mondrian"
    assert manifest["columns"]["born"] == {
        "role": "quasi-identifier",
        "type": "date",
        "domain": ["1950-01-01", str(SECRETS["born"][-1])],
    }
    assert manifest["columns"]["ill"] == {"role": "sensitive"}
    assert set(manifest["columns"]) == {"born", "income", "zip", "town", "ill", "note"}
    assert "12345" not in json.dumps(manifest)
    for value in manifest["measures"].values():
        assert value == float(f"{value:.4g}")
    assert set(manifest) == {
        "file", "sha256", "created", "made_by", "manifest_version", "rows", "k", "method", "measure", "options",
        "columns", "equivalence_classes", "smallest_class", "measures",
    }  # fmt: skip


def test_an_extreme_that_is_hidden_behind_a_star_stays_hidden() -> None:
    schema = shoal.Schema(columns={"age": {"role": "quasi-identifier", "type": "numeric"}})
    release = shoal.anonymize(pa.table({"age": [30, 31, 32, 33, None, 99]}), schema, k=6)
    assert set(release.table["age"].to_pylist()) == {"*"}
    assert "99" not in json.dumps(release.manifest)


def test_labels_and_measures_stay_with_the_holder() -> None:
    release = shoal.anonymize(SECRETS, SECRETS_SCHEMA, k=4)
    assert len(release.labels) == SECRETS.num_rows
    assert str(release.labels.tolist()) not in repr(release) + str(vars(release)["manifest"])
    travelled = pickle.loads(pickle.dumps(release))
    assert travelled.table.equals(release.table)
    assert travelled.measures() == release.measures(public=True)
    with pytest.raises(shoal.InternalError):
        travelled.labels  # noqa: B018
    with pytest.raises(shoal.InternalError):
        travelled.trace([0])


def test_measures_are_exact_for_the_holder_and_rounded_for_the_public() -> None:
    release = shoal.anonymize(shoal.datasets.adult("train", complete=True), ADULT_SCHEMA, k=10)
    exact, public = release.measures(), release.measures(public=True)
    assert exact["il"] == pytest.approx(31692.763, abs=1e-3)
    assert exact["il_share"] == exact["il"] / (8 * 30_162)
    assert public["il"] == pytest.approx(exact["il"])
    assert release.manifest["measures"]["il"] == 31690  # type: ignore[index]
    assert 0 < exact["lm"] < 1


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


# --- writing --------------------------------------------------------------------------------------------------------


def small_release() -> shoal.Release:
    return shoal.anonymize(SECRETS, SECRETS_SCHEMA, k=50)


def test_an_existing_output_is_kept_unless_forced(tmp_path: Path) -> None:
    release = small_release()
    file = tmp_path / "release.csv"
    file.write_text("precious")
    with pytest.raises(shoal.OutputError, match="exists already"):
        release.write(file)
    assert file.read_text() == "precious"
    release.write(file, force=True)
    assert shoal.verify(file, SECRETS_SCHEMA, 50).ok
    file.unlink()
    with pytest.raises(shoal.OutputError, match="exists already"):
        release.write(file)  # the manifest of the other release is still there


def test_the_source_is_never_overwritten(tmp_path: Path) -> None:
    source = tmp_path / "people.parquet"
    pq.write_table(SECRETS, source)
    release = shoal.anonymize(source, SECRETS_SCHEMA, k=50)
    with pytest.raises(shoal.OutputError, match="records come from"):
        release.write(source, force=True)
    assert pq.read_table(source).num_rows == 200


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ("release.xlsx", "written as .csv or .parquet"),
        ("nowhere/release.csv", "does not exist"),
        ("folder.csv", "folder"),
    ],
)
def test_places_that_cannot_be_written_to(target: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(shoal.OutputError, match=message):
        small_release().write(tmp_path / target)
    assert [path.name for path in tmp_path.iterdir()] == ["folder.csv"]


@pytest.mark.parametrize("failing", ["_write_table", "_sync", "now", "_place", "_sync_folder"])
@pytest.mark.parametrize("problem", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_a_failed_write_leaves_nothing_behind(
    failing: str, problem: BaseException, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    release = small_release()
    file = release.write(tmp_path / "release.parquet")
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}

    def fail(*_: object) -> None:
        raise problem

    monkeypatch.setattr(write_module, failing, fail)
    with pytest.raises((shoal.OutputError, KeyboardInterrupt)):
        release.write(file, force=True)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_what_csv_cannot_express_is_said(tmp_path: Path) -> None:
    table = SECRETS.append_column("list", pa.array([[1, 2]] * 200))
    schema = shoal.Schema(columns={**SECRETS_SCHEMA.columns, "list": {"role": "insensitive"}})
    release = shoal.anonymize(table, schema, k=50)
    with pytest.raises(shoal.OutputError, match="csv cannot express"):
        release.write(tmp_path / "release.csv")
    assert list(tmp_path.iterdir()) == []
    release.write(tmp_path / "release.parquet")


def test_what_parquet_cannot_express_is_said_without_the_value(tmp_path: Path) -> None:
    table = SECRETS.append_column("when", pa.array([2**62] * 200).cast(pa.timestamp("s")))
    schema = shoal.Schema(columns={**SECRETS_SCHEMA.columns, "when": shoal.Column(role="insensitive")})
    with pytest.raises(shoal.OutputError, match="parquet cannot express") as refused:
        shoal.anonymize(table, schema, k=50).write(tmp_path / "release.parquet")
    assert refused.value.__context__ is None
    assert list(tmp_path.iterdir()) == []


def test_what_another_process_wrote_meanwhile_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "release.csv"
    monkeypatch.setattr(write_module, "check_target", lambda *_, **__: None)
    release = small_release()
    monkeypatch.setattr("shoal.release.release.check_target", lambda *_, **__: file.write_text("theirs"))
    with pytest.raises(shoal.OutputError, match="exists already"):
        release.write(file)
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {"release.csv": "theirs"}


def test_both_files_or_none_where_links_are_not_to_be_had(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_links(*_: object) -> None:
        raise OSError(1, "Operation not permitted")

    monkeypatch.setattr(Path, "hardlink_to", no_links)
    release = small_release()
    file = release.write(tmp_path / "release.csv")
    release.write(file, force=True)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["release.csv", "release.csv.manifest.json"]
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    moves = iter([None, OSError(5, "Input/output error")])
    place = write_module._place

    def fail_second(part: Path, target: Path) -> None:
        problem = next(moves)
        if problem:
            raise problem
        place(part, target)

    monkeypatch.setattr(write_module, "_place", fail_second)
    with pytest.raises(shoal.OutputError, match="Input/output error"):
        release.write(file, force=True)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_the_source_is_safe_in_every_disguise(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = tmp_path / "out.csv.manifest.jsonl"
    source.write_text("".join(json.dumps({"q": i}) + "\n" for i in range(10)))
    (tmp_path / "link.csv").symlink_to(source)
    (tmp_path / "hard.csv").hardlink_to(source)
    (tmp_path / "a.csv.manifest.json").hardlink_to(source)
    schema = shoal.Schema(columns={"q": {"role": "quasi-identifier", "type": "numeric"}})
    monkeypatch.chdir(tmp_path)
    release = shoal.anonymize("out.csv.manifest.jsonl", schema, k=2)
    monkeypatch.chdir("/")
    for target in ("link.csv", "hard.csv", "a.csv"):
        with pytest.raises(shoal.OutputError, match="records come from"):
            release.write(tmp_path / target, force=True)
    assert len(source.read_text().splitlines()) == 10


def test_a_name_that_is_too_long_is_said(tmp_path: Path) -> None:
    with pytest.raises(shoal.OutputError, match="too long"):
        small_release().write(tmp_path / ("x" * 300 + ".csv"))
    assert list(tmp_path.iterdir()) == []


def test_rows_of_a_single_column_survive_any_reader(tmp_path: Path) -> None:
    schema = shoal.Schema(columns={"q": {"role": "quasi-identifier", "type": "numeric"}})
    release = shoal.anonymize(pa.table({"q": pa.array([1, 1, None, None, None])}), schema, k=2)
    file = release.write(tmp_path / "release.csv")
    assert shoal.verify(file, schema, 2).records == 5
    assert sorted(file.read_text().splitlines()) == ['""', '""', '""', '"1"', '"1"', "q"]


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
    release = shoal.anonymize(SECRETS, SECRETS_SCHEMA, k=50, bounds=True)
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
    columns = {**SECRETS_SCHEMA.columns, "born_lo": shoal.Column(role="insensitive")}
    table = SECRETS.append_column("born_lo", pa.array(["x"] * 200))
    with pytest.raises(shoal.SchemaError, match="born_lo"):
        shoal.anonymize(table, shoal.Schema(columns=columns), k=50, bounds=True)
