"""What files tell by themselves: the attacks on made-up files, and on what a vault writes."""

from __future__ import annotations

import json
import random
from itertools import pairwise
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import shoal
from tests.attacks.files import Line, read_lines
from tests.attacks.histories import DELETE, FALL_ILL, INSERT, Plan, attacked, lived
from tests.attacks.knowledge import Knowledge
from tests.attacks.linking import (
    Link,
    facts,
    leftovers,
    linked_people,
    manifest_of,
    mentioned,
    naming_columns,
    notes,
    order,
    rare_links,
    spellings,
)
from tests.attacks.sources import patients
from tests.attacks.tiny import seen

SURPRISING = 5.0  # standard deviations: once in a million random orders


def lines_of(count: int) -> list[Line]:
    return [{"age": f"[{i // 5}..{i // 5 + 4}]", "job": f"job {i % 20}", "ill": f"ill {i // 20}"} for i in range(count)]


def test_rows_in_the_order_of_the_records_are_noticed() -> None:
    lines = lines_of(200)
    links = rare_links(lines, lines[:150], ["job", "ill"])
    assert len(links) == 150
    assert order(links).correlation == pytest.approx(1)
    assert order(links).surprise > SURPRISING
    mixed = random.Random(1).sample(lines, len(lines))
    assert order(rare_links(lines, mixed, ["job", "ill"])).surprise < SURPRISING
    assert order(rare_links(lines, lines[::-1], ["job", "ill"])).surprise > SURPRISING
    assert order([Link(0, 0)]).surprise == 0


def test_what_is_rare_in_both_releases_leads_to_a_person() -> None:
    """One nurse with gout before, one after; of the people in the box of then, one is in the box of now."""
    first = [{"age": "[1..5]", "job": "nurse", "ill": "gout"}, *[{"age": "[1..5]", "job": "cook", "ill": "flu"}] * 2]
    second = [{"age": "[4..9]", "job": "nurse", "ill": "gout"}, *[{"age": "[1..3]", "job": "cook", "ill": "flu"}] * 2]
    (link,) = rare_links(first, second, ["job", "ill"])
    assert link == (0, 0)
    releases = [seen(A=("abc", {"flu": 2, "gout": 1})), seen(B=("cd", {"flu": 1, "gout": 1}), C=("ab", {"flu": 2}))]
    assert linked_people(Knowledge(releases), [("A", "B")]) == [{"c"}]


def test_a_column_that_names_rows_is_noticed() -> None:
    lines = [{**line, "row": f"r{i}"} for i, line in enumerate(lines_of(50))]
    assert naming_columns(lines, lines[10:]) == ["row"]
    assert naming_columns(lines, [{**line, "row": f"other {i}"} for i, line in enumerate(lines)]) == []


def test_ways_to_write_a_value_are_noticed() -> None:
    cells = ["1", "1.0", "2", "Flu", "flu", "[1..2]", "[1.0..2]"]
    found = spellings([{"x": cell} for cell in cells], "x")
    assert sorted(map(len, found.values())) == [2, 2, 2]
    assert not spellings([{"x": cell} for cell in ("1", "2", "2", "-1", "12")], "x")


def test_what_a_file_has_beside_its_rows_is_noticed(tmp_path: Path) -> None:
    encoded = pa.array(["flu", "flu", "HIV"]).dictionary_encode().slice(0, 2)
    pq.write_table(pa.table({"ill": encoded, "n": [1, 2]}), tmp_path / "x.parquet")
    assert leftovers(tmp_path / "x.parquet") == {"ill": {"HIV"}}
    assert notes(tmp_path / "x.parquet")  # the types as Arrow had them
    (tmp_path / "x.txt").write_text("of key-17 and key-2")
    assert mentioned([tmp_path / "x.txt"], ["key-1", "key-17", "HIV"]) == {"key-17"}
    assert facts({"a": {"b": [1, {"c": None}]}, "d": "x"}) == {"a.b.0": 1, "a.b.1.c": None, "d": "x"}


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_a_vaults_files_tell_nothing_beside_their_rows(tmp_path: Path, suffix: str) -> None:
    """Rows are in a new order each time; no key, no person, nobody who has left, no trace of who wrote what."""
    plan = Plan(
        patients(6),
        seed=5,
        records=120,
        releases=4,
        kinds={INSERT: 1, DELETE: 1, FALL_ILL: 1},
        several=0.2,
        suffix=suffix,
    )
    history = lived(tmp_path / "vault", tmp_path, plan, k=4)
    published = [read_lines(path) for path in history.files]
    expected = [name for name in plan.schema.columns if name not in ("id", "who")]
    for path, lines, rows in zip(history.files, published, history.rows, strict=True):
        assert all(list(line) == expected for line in lines)
        secrets = {*history.people, *history.people.values()}
        assert not mentioned([path, manifest_of(path)], secrets)
        assert not any(spellings(lines, name) for name in expected)
        by_file = [tuple(line[name] for name in plan.source.quasi_identifiers) for line in lines]
        assert by_file != [row.cells for row in rows]
        if suffix == ".parquet":
            assert leftovers(path) == {}
            assert notes(path) == {}
    for one, other in pairwise(published):
        assert naming_columns(one, other) == []


def test_the_order_of_a_vaults_rows_is_another_each_time(tmp_path: Path) -> None:
    """With a column that is unique, so that every row can be followed: five releases, each with each."""
    columns = {
        "id": {"role": "key"},
        "age": {"role": "quasi-identifier", "type": "numeric"},
        "n": {"role": "sensitive"},
    }
    people = [{"id": f"p{i}", "age": 20 + i % 40, "n": f"n{i}"} for i in range(300)]
    files = [tmp_path / f"{number}.csv" for number in range(5)]
    with shoal.Vault.create(
        tmp_path / "vault", shoal.Schema(columns), republication="none", k=5, data=people, seed=1
    ) as vault:
        for path in files:
            vault.publish(path, even_if_unchanged=True)
    published = [[{"n": f"n{i}"} for i in range(300)], *map(read_lines, files)]
    for i, one in enumerate(published):
        for other in published[:i]:
            found = order(rare_links(one, other, ["n"]))
            assert found.links == 300
            assert found.surprise < SURPRISING


def test_a_manifest_says_what_is_known_to_be_said(tmp_path: Path) -> None:
    """Facts about the whole table and no class or person of it; whoever adds one looks here what it tells of two
    releases together.
    """
    history = lived(tmp_path / "vault", tmp_path, Plan(patients(), seed=6, releases=2), k=3)
    manifest = json.loads(manifest_of(history.files[1]).read_text())
    assert manifest.keys() <= {
        *("file", "sha256", "created", "made_by", "manifest_version", "release", "published", "previous"),
        *("rows", "withheld", "k", "counted", "rules", "method", "measure", "options", "columns"),
        *("equivalence_classes", "smallest_class", "measures", "republication"),
    }
    assert manifest["republication"] == {"mode": "none"}  # or also how many rows are ghosts, and how many records wait
    told = {way: fact for way, fact in facts(manifest["columns"]).items() if not way.endswith((".role", ".type"))}
    assert told == {"age.domain.0": 18, "age.domain.1": 89}  # as the schema declares it


def test_rare_values_link_rows_of_todays_releases(tmp_path: Path) -> None:
    """Who has a rare job and a rare illness is followed from release to release, and found where classes differ."""
    plan = Plan(patients(6), seed=7, records=100, releases=2, changes=4, kinds={INSERT: 1, DELETE: 1})
    history = lived(tmp_path / "vault", tmp_path, plan, k=3)
    one, other = map(read_lines, history.files)
    names = plan.source.quasi_identifiers
    links = rare_links(one, other, ["job", "ill"])
    classes = [
        (tuple(one[link.first][name] for name in names), tuple(other[link.second][name] for name in names))
        for link in links
    ]
    candidates = linked_people(attacked(history).knowledge, classes)
    assert links
    assert all(candidates)  # nobody who was linked has left
