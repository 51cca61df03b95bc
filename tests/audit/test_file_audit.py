"""Release files audited alone, and with who was in when."""

from __future__ import annotations

import json
import stat
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest

import shoal
from tests.support.commands import run

SCHEMA = shoal.Schema(
    {
        "id": {"role": "key"},
        "age": {"role": "quasi-identifier", "type": "numeric"},
        "town": {"role": "quasi-identifier", "type": "categorical"},
        "job": {"role": "insensitive"},
        "ill": {"role": "sensitive"},
    }
)
TOML = """
[columns]
id = { role = "key" }
age = { role = "quasi-identifier", type = "numeric" }
town = { role = "quasi-identifier", type = "categorical" }
job = { role = "insensitive" }
ill = { role = "sensitive" }
"""
Row = tuple[str, str, str, str]


def rows(age: str, town: str, ills: str, job: str = "cook") -> list[Row]:
    """A class: a row for each letter."""
    return [(age, town, job, ill) for ill in ills]


def table(lines: list[Row]) -> pa.Table:
    return pa.table(dict(zip(("age", "town", "job", "ill"), map(list, zip(*lines, strict=True)), strict=True)))


FIRST = table(rows("[30..39]", "York", "abab") + rows("[40..49]", "York", "aabc"))


def audited(*tables: pa.Table, **options: Any) -> shoal.FileAudit:
    return shoal.audit(list(tables), SCHEMA, options.pop("k", 3), **options)


def test_the_same_twice_says_nothing() -> None:
    found = audited(FIRST, FIRST)
    assert found.ok
    assert found.reasons == []
    assert found.facts()["people"] is None


def test_a_class_that_loses_one_row_gives_it_away() -> None:
    then = table(rows("[30..39]", "York", "aba") + rows("[40..49]", "York", "aabc"))
    found = audited(FIRST, then)
    assert found.changed_rows == 1
    assert "fewer than 3 rows, 1 times; at worst by 1 row, between release 1 and release 2" in found.reasons[0]
    assert audited(FIRST, table(rows("[30..39]", "York", "ababab") + rows("[40..49]", "York", "aabc")), k=2).ok
    one_each = table(rows("[30..39]", "York", "abac") + rows("[40..49]", "York", "aabc"))
    assert audited(FIRST, one_each).changed_rows == 2  # one has left, and one has come


def test_classes_that_have_been_merged_are_held_against_what_they_were() -> None:
    merged = table(rows("[30..49]", "York", "ababaab"))
    found = audited(FIRST, merged)
    assert found.changed_rows == 1  # c has gone
    assert audited(FIRST, table(rows("[30..49]", "York", "ababaabc"))).changed_rows == 0


def test_each_file_is_verified() -> None:
    small = table(rows("[30..39]", "York", "abab") + rows("[40..49]", "York", "aa"))
    found = audited(FIRST, small)
    assert [verdict.ok for verdict in found.verdicts] == [True, False]
    assert any(reason.startswith("release 2 by itself: ") for reason in found.reasons)


PEOPLE = pa.table(
    {
        "id": [f"k{i}" for i in range(8)],
        "age": [30, 32, 35, 39, 40, 42, 45, 49],
        "town": ["York"] * 8,
        "until": pa.array([None, None, None, 1, None, None, None, None], pa.int64()),
    }
)


def test_a_population_names_who_has_left() -> None:
    then = table(rows("[30..39]", "York", "aba") + rows("[40..49]", "York", "aabc"))
    found = audited(FIRST, then, population=PEOPLE)
    assert found.people is not None
    assert found.people.exposed["difference"] == 1
    assert found.people_found is not None
    assert found.people_found.to_pylist() == [{"key": "k3", "attack": "difference"}]
    assert "k3" not in json.dumps(found.facts())


def test_a_population_that_fits_is_ok() -> None:
    found = audited(FIRST, FIRST, population=PEOPLE.drop_columns(["until"]))
    assert found.ok
    assert found.people is not None
    assert found.people.atoms == 2


def test_whoever_fits_two_classes_or_none_is_undecided() -> None:
    overlapping = table(rows("[30..39]", "York", "abab") + rows("[39..49]", "York", "aabc"))
    people = PEOPLE.drop_columns(["until"])
    found = audited(overlapping, overlapping, population=people)
    # k3 fits both; but the second class is full with those who fit no other
    assert found.ok
    more = pa.concat_tables([people, pa.table({"id": ["k8"], "age": [39], "town": ["York"]})])
    larger = table(rows("[30..39]", "York", "ababa") + rows("[39..49]", "York", "aabcb"))
    found = audited(larger, larger, population=more)
    assert not found.ok
    assert found.people_found is not None
    assert {"key": "k8", "attack": "undecided"} in found.people_found.to_pylist()
    assert any("2 people of the population fit several classes of release 1" in reason for reason in found.reasons)
    stranger = pa.concat_tables([people, pa.table({"id": ["k9"], "age": [70], "town": ["York"]})])
    found = audited(FIRST, FIRST, population=stranger)
    assert any("1 person of the population fits no class of release 1" in reason for reason in found.reasons)


def test_values_in_common_are_too_few() -> None:
    """Ages 30 to 39 are in a class with a and b; then half of them are in one with a and c, and half with b and c."""
    people = pa.table(
        {
            "id": [f"k{i}" for i in range(8)],
            "age": [30, 31, 35, 36, 34, 33, 45, 49],
            "town": ["York"] * 4 + ["Leeds"] * 2 + ["York"] * 2,
        }
    )
    first = table(rows("[30..36]", "York", "aabb") + rows("[33..49]", "*", "cccc"))
    then = table(rows("[30..34]", "*", "aacc") + rows("[35..49]", "York", "bbcc"))
    found = audited(first, then, population=people, k=2)
    assert found.people_found is not None
    assert {"k0", "k1"} <= {row["key"] for row in found.people_found.to_pylist() if row["attack"] == "intersection"}


def test_rows_that_only_one_has_are_recognized() -> None:
    first = table(
        rows("[30..39]", "York", "aba") + rows("[30..39]", "York", "b", job="clown") + rows("[40..49]", "York", "aabc")
    )
    then = table(
        rows("[30..34]", "York", "aba") + rows("[35..49]", "York", "b", job="clown") + rows("[35..49]", "York", "aabc")
    )
    alone = audited(first, then)
    assert alone.linked_rows >= 1
    assert any(reason.startswith("undecided: ") and "recognized" in reason for reason in alone.reasons)
    people = pa.table(
        {"id": [f"k{i}" for i in range(8)], "age": [30, 32, 34, 36, 40, 42, 45, 49], "town": ["York"] * 8}
    )
    found = audited(first, then, population=people)
    assert found.people_found is not None
    assert {"key": "k3", "attack": "linking"} in found.people_found.to_pylist()
    assert not audited(first, first).linked_rows  # in the same class: nothing is learned


def test_what_a_population_must_have() -> None:
    with pytest.raises(shoal.DataError, match="no column 'town'"):
        audited(FIRST, FIRST, population=PEOPLE.drop_columns(["town"]))
    with pytest.raises(shoal.DataError, match="from 1 to 2"):
        audited(FIRST, FIRST, population=PEOPLE.append_column("from", pa.array([3] * 8)))
    with pytest.raises(shoal.DataError, match="row 9: this key is in a release twice"):
        audited(FIRST, FIRST, population=pa.concat_tables([PEOPLE, PEOPLE.slice(0, 1)]))
    with pytest.raises(shoal.ParameterError, match="two or more"):
        shoal.audit([FIRST], SCHEMA)


def test_of_what_a_vault_publishes_it_says_what_the_vault_says(tmp_path: Path) -> None:
    census, schema = shoal.datasets.census(120, seed=3), shoal.datasets.census_schema()
    files = [tmp_path / "1.csv", tmp_path / "2.csv"]
    with shoal.Vault.create(":memory:", schema, k=4, data=census, republication="none") as vault:
        vault.publish(files[0])
        vault.delete(census.slice(0, 1).select(schema.names(shoal.Role.KEY)))
        vault.publish(files[1])
        of_vault = vault.audit()
    people = census.append_column("until", pa.array([1] + [None] * 119, pa.int64()))
    found = shoal.audit(files, schema, 4, population=people)
    assert found.people is not None
    assert not found.ok
    assert not of_vault.ok
    assert not [trace for trace in found.traces if trace.kind in ("order", "labels", "metadata")]


def test_on_the_command_line(tmp_path: Path) -> None:
    (tmp_path / "schema.toml").write_text(TOML)
    pa_csv.write_csv(FIRST, tmp_path / "1.csv")
    then = table(rows("[30..39]", "York", "aba") + rows("[40..49]", "York", "aabc"))
    pq.write_table(then, tmp_path / "2.parquet")
    pa_csv.write_csv(PEOPLE, tmp_path / "people.csv")
    files = ("1.csv", "2.parquet")
    done = run("audit", *files, "--schema", "schema.toml", "-k", "3", cwd=tmp_path)
    assert done.returncode == 1, done.stderr
    assert "between release 1 (1.csv) and release 2 (2.parquet)" in done.stdout
    more = ("--population", "people.csv", "-o", "who.csv", "--json")
    done = run("audit", *files, "--schema", "schema.toml", "-k", "3", *more, cwd=tmp_path)
    assert done.returncode == 1, done.stderr
    assert json.loads(done.stdout)["people"]["exposed"]["difference"] == 1
    assert stat.S_IMODE((tmp_path / "who.csv").stat().st_mode) == 0o600
    assert pa_csv.read_csv(tmp_path / "who.csv")["key"].to_pylist() == ["k3"]
    assert run("audit", "1.csv", "1.csv", "--schema", "schema.toml", "-k", "3", cwd=tmp_path).returncode == 0
    for wrong in (("audit", *files), ("audit", *files, "--schema", "schema.toml", "-o", "who2.csv")):
        assert run(*wrong, cwd=tmp_path).returncode == 2
