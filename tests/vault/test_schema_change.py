"""Another schema for the same records: groups and history stay, unless a published cell would change."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import shoal
from shoal.schema import Schema
from tests.support.vault_places import Place, by_key

COLUMNS: dict[str, dict[str, object]] = {
    "id": {"role": "key"},
    "name": {"role": "identifier"},
    "age": {"role": "quasi-identifier", "type": "numeric", "domain": [0, 60]},
    "town": {"role": "quasi-identifier", "hierarchy": {"North": ["Ulm", "Hof"], "South": ["Ems", "Alb"]}},
    "ill": {"role": "sensitive"},
    "note": {"role": "insensitive"},
}
TOWNS = ["Ulm", "Hof", "Ems", "Alb"]
ILLS = ["flu", "cold", "gout"]


def schema(drop: str = "", **changed: dict[str, object]) -> Schema:
    columns = {name: fields for name, fields in {**COLUMNS, **changed}.items() if name != drop}
    return shoal.Schema(columns=columns)


def rows(count: int = 40, first: int = 0) -> list[dict[str, Any]]:
    return [
        {
            "id": f"p{i}",
            "name": f"secret {i}",
            "age": (7 * i) % 50,
            "town": TOWNS[i * i % 4],
            "ill": ILLS[i % 3],
            "note": f"note {i}",
        }
        for i in range(first, first + count)
    ]


def made(where: str, **options: Any) -> shoal.Vault:
    return shoal.Vault.create(where, schema(), data=rows(), **{"k": 3, "seed": 1, "republication": "none", **options})


def needs(changed: Any) -> dict[str, str]:
    return {step.column: step.needs for step in changed.steps}


def check_history(vault: shoal.Vault, first: pa.Table) -> None:
    assert vault.check().ok
    assert vault.release(1).table.equals(first)
    vault.publish()
    assert vault.check().ok


def said(table: pa.Table, *names: str) -> list[tuple[Any, ...]]:
    """What rows say, whatever their order."""
    return sorted(zip(*(table[name].to_pylist() for name in names), strict=True))


def test_columns_come_and_groups_stay(place: Place) -> None:
    where = place()
    file = pa.table({"id": [f"p{i}" for i in range(40)], "height": [150 + i % 7 for i in range(40)]})
    with made(where, l=1) as vault:
        first = vault.publish().table
        groups = vault.groups()
        wider = schema(
            height={"role": "quasi-identifier", "type": "numeric"},
            cost={"role": "sensitive", "type": "numeric"},
            ward={"role": "insensitive"},
        )
        tried = vault.change_schema(wider, data=file, defaults={"cost": 5, "ward": "main"}, dry_run=True)
        assert vault.schema.columns.keys() == COLUMNS.keys()
        done = vault.change_schema(wider, data=file, defaults={"cost": 5, "ward": "main"})
        for found in (tried, done):
            assert needs(found) == {"height": "re-measuring", "cost": "re-measuring", "ward": "nothing"}
            assert (found.needs, found.moved, found.epoch) == ("re-measuring", 0, 2)
        assert vault.groups().equals(groups)
        kept = by_key(vault.export())
        assert kept["p9"] == {**kept["p9"], "height": 152, "cost": 5, "ward": "main", "ill": "flu", "note": "note 9"}
        check_history(vault, first)
    with shoal.Vault.open(where) as vault:
        assert vault.release(2).table.column_names == [*first.column_names, "height", "cost", "ward"]
        new = {"height": 190, "cost": 1, "ward": "side"}
        vault.insert([{**row, **new} for row in rows(3, first=100)])
        vault.delete(["p1"])
        assert vault.check().ok
        assert vault.log()[2].what == "schema-change"


def test_columns_go_and_get_other_names(place: Place) -> None:
    where = place()
    with made(where) as vault:
        first = vault.publish().table
        vault.insert(rows(1, first=60))  # no release shows this one
        groups = vault.groups()
        fewer = shoal.Schema(
            columns={
                "id": COLUMNS["id"],
                "years": COLUMNS["age"],
                "town": COLUMNS["town"],
                "diagnosis": COLUMNS["ill"],
            }
        )
        done = vault.change_schema(fewer, renamed={"age": "years", "ill": "diagnosis"})
        assert done.needs == "nothing"
        assert needs(done) == dict.fromkeys(["years", "diagnosis", "name", "note"], "nothing")
        assert vault.groups().equals(groups)
        assert by_key(vault.export())["p60"] == {"years": 20, "town": "Ulm", "diagnosis": "flu"}
        check_history(vault, first)
        vault.update([{"id": "p3", "diagnosis": "gout"}])
    with shoal.Vault.open(where) as vault:
        assert vault.release(1).table.equals(first)
        narrow = shoal.Schema(columns={"id": COLUMNS["id"], "years": COLUMNS["age"], "diagnosis": COLUMNS["ill"]})
        assert needs(vault.change_schema(narrow)) == {"town": "re-measuring"}
        assert vault.release(1).table.equals(first)
        assert vault.publish().table.column_names == ["years", "diagnosis"]
        assert vault.check().ok


def test_a_hierarchy_gains_a_category_and_a_domain_widens(place: Place) -> None:
    where = place()
    with made(where) as vault:
        first = vault.publish().table
        groups = vault.groups()
        stranger = {**rows(1, first=90)[0], "town": "Rom"}
        with pytest.raises(shoal.BatchError, match="shoal schema-change VAULT --schema"):
            vault.insert([stranger])
        more = {"North": ["Ulm", "Hof"], "South": ["Ems", "Rom", "Alb"]}
        new = schema(
            town={"role": "quasi-identifier", "hierarchy": more},
            age={"role": "quasi-identifier", "type": "numeric", "domain": [0, 120]},
        )
        done = vault.change_schema(new)
        assert needs(done) == {"town": "re-measuring", "age": "re-measuring"}
        assert done.loss < done.loss_before  # of twice the domain, an interval is half
        assert vault.groups().equals(groups)
        vault.insert([stranger])
        check_history(vault, first)
    with shoal.Vault.open(where) as vault:
        assert by_key(vault.export())["p90"]["town"] == "Rom"


def test_where_published_cells_would_change_an_epoch_begins(place: Place) -> None:
    north = [{**row, "age": 10, "town": TOWNS[i % 2]} for i, row in enumerate(rows(6))]
    south = [{**row, "age": 50, "town": TOWNS[2 + i % 2]} for i, row in enumerate(rows(6, first=20))]
    with shoal.Vault.create(place(), schema(), k=6, data=[*north, *south], seed=1, republication="none") as vault:
        first = vault.publish().table
        assert set(first["town"].to_pylist()) == {"North", "South"}
        other = {"West": ["Ulm", "Hof"], "East": ["Ems", "Alb"]}
        done = vault.change_schema(schema(town={"role": "quasi-identifier", "hierarchy": other}))
        assert done.needs == "a new epoch"
        assert vault.schema.columns["town"].grower != schema().columns["town"].grower
        check_history(vault, first)
        grown = schema(
            town={"role": "quasi-identifier", "hierarchy": other},
            age={"role": "quasi-identifier", "type": "numeric", "levels": [5, 10]},
            ward={"role": "insensitive"},
        )
        done = vault.change_schema(grown, defaults={"ward": "main"})
        assert needs(done) == {"age": "a new epoch", "ward": "nothing"}
        assert set(vault.export()["ward"].to_pylist()) == {"main"}
        assert vault.check().ok


def test_a_hierarchy_may_be_corrected_where_nobody_sees_it(place: Place) -> None:
    """Towns change their region, and no cell shows a region: classes are towns, or `*`."""
    here = [{**row, "town": TOWNS[i // 10]} for i, row in enumerate(rows())]
    with shoal.Vault.create(place(), schema(), k=10, data=here, seed=1, republication="none") as vault:
        first = vault.publish().table
        groups = vault.groups()
        assert set(first["town"].to_pylist()) <= {*TOWNS, "*"}
        other = {"North": ["Ulm", "Ems"], "South": ["Hof", "Alb"]}
        done = vault.change_schema(schema(town={"role": "quasi-identifier", "hierarchy": other}))
        assert needs(done) == {"town": "re-measuring"}
        assert vault.groups().equals(groups)
        check_history(vault, first)


def test_groups_that_a_new_sensitive_column_does_not_fit_are_mended(place: Place) -> None:
    with made(place(), l=2, diversity="distinct") as vault:
        before = vault.groups()["group"].to_numpy()
        seen: dict[int, int] = {}
        alike = []  # in the first group all have one cost, in the others two
        for group in before.tolist():
            seen[group] = seen.get(group, 0) + 1
            alike.append(0 if group == before[0] else seen[group] % 2)
        costs = pa.table({"id": vault.groups()["key"], "cost": alike})
        new = schema(cost={"role": "sensitive", "type": "numeric"})
        done = vault.change_schema(new, data=costs)
        status = vault.status()
        assert status.publishable
        assert len(status.rules) == 2
        assert done.moved > 0
        assert (vault.groups()["group"].to_numpy() == before).any()
        vault.publish()
        assert vault.check().ok
        with pytest.raises(shoal.ParameterError, match="cannot be promised"):
            vault.change_schema(
                schema(cost={"role": "sensitive", "type": "numeric"}, sex={"role": "sensitive"}), defaults={"sex": "x"}
            )
        assert vault.schema.names(shoal.Role.SENSITIVE) == ["ill", "cost"]


def test_a_safe_history_goes_on_under_other_names(place: Place) -> None:
    where = place()
    renamed = shoal.Schema(
        columns={
            "id": COLUMNS["id"],
            "years": COLUMNS["age"],
            "town": COLUMNS["town"],
            "diagnosis": COLUMNS["ill"],
        }
    )
    with made(where, republication="safe") as vault:
        first = vault.publish().table
        vault.delete(["p1", "p2"])  # two ghosts
        vault.update([{"id": "p3", "note": "another"}])  # the place keeps what it says
        second = vault.publish().table
        assert said(second, "ill", "note") == said(first, "ill", "note")
        vault.change_schema(renamed, renamed={"age": "years", "ill": "diagnosis"})
        assert vault.release(1).table.equals(first)
        assert vault.release(2).table.equals(second)
        assert vault.check().ok
        third = vault.publish(even_if_unchanged=True).table
        assert said(third, "diagnosis") == said(first, "ill")
        assert vault.audit().ok
        vault.delete(["p5"])
        vault.insert([{"id": "p1", "years": 7, "town": "Hof", "diagnosis": "cold"}])  # who was there before
        vault.publish()
        assert vault.check().ok
    with shoal.Vault.open(where) as vault:
        assert vault.release(1).table.equals(first)
        assert vault.audit().ok


def test_what_would_undo_a_safe_history_is_refused(place: Place) -> None:
    wider = schema(ward={"role": "insensitive"})
    levels = schema(age={"role": "quasi-identifier", "type": "numeric", "levels": [5, 10]})
    with made(place(), republication="safe") as vault:
        first = vault.publish().table
        vault.delete(["p1"])
        for new, given in ((wider, {"defaults": {"ward": "main"}}), (levels, {})):
            with pytest.raises(shoal.ParameterError, match="safe together") as refused:
                vault.change_schema(new, **given)  # type: ignore[arg-type]
            assert "shoal rebase VAULT --break-guarantee" in (refused.value.hint or "")
        assert vault.schema.columns.keys() == COLUMNS.keys()
        vault.rebase(break_guarantee=True)
        vault.change_schema(wider, defaults={"ward": "main"})
        assert set(vault.publish().table["ward"].to_pylist()) == {"main"}
        assert vault.release(1).table.equals(first)
        assert vault.check().ok


def test_places_of_an_audited_vault_follow(place: Place) -> None:
    renamed = shoal.Schema(columns={("illness" if name == "ill" else name): one for name, one in COLUMNS.items()})
    with made(place(), republication="audit") as vault:
        first = vault.publish().table
        vault.update([{"id": "p3", "ill": "gout"}])
        vault.publish(accept_findings=True)
        vault.delete(["p1"])
        vault.change_schema(renamed, renamed={"ill": "illness"})
        assert None not in vault.publish(republication="safe").table["illness"].to_pylist()
        assert vault.check().ok
    with made(place(), republication="audit") as vault:
        first = vault.publish().table
        vault.change_schema(schema(ward={"role": "insensitive"}), defaults={"ward": "main"})
        assert vault.release(1).table.equals(first)
        assert set(vault.publish(republication="safe", accept_findings=True).table["ward"].to_pylist()) == {"main"}
        assert vault.check().ok


def test_what_is_refused(place: Place) -> None:
    with made(place()) as vault:
        ward: dict[str, object] = {"role": "insensitive"}
        keys = [f"p{i}" for i in range(40)]
        cases: list[tuple[str, Schema, dict[str, Any]]] = [
            ("nothing says what 'ward' is", schema(ward=ward), {}),
            ("no 'ward' for 1 of 40 records", schema(ward=ward), {"data": {"id": keys[:39], "ward": ["x"] * 39}}),
            ("row 1: no record has this key", schema(ward=ward), {"data": {"id": ["nobody"], "ward": ["x"]}}),
            ("there twice", schema(ward=ward), {"data": {"id": ["p1", "p1"], "ward": ["x", "y"]}}),
            ("no column 'id'", schema(ward=ward), {"data": {"ward": ["x"]}}),
            ("is no new column", schema(), {"defaults": {"age": 3}}),
            ("cannot be renamed", schema(), {"renamed": {"age": "years"}}),
            ("was an identifier", schema(name={"role": "insensitive"}), {}),
            ("column of the key stays", shoal.Schema(columns={**COLUMNS, "id": ward, "nr": {"role": "key"}}), {}),
            ("not a number", schema(b={"role": "quasi-identifier", "type": "numeric"}), {"defaults": {"b": "x"}}),
        ]
        for problem, new, given in cases:
            if "data" in given:
                given = {"data": pa.table(given["data"])}
            with pytest.raises(shoal.ShoalError, match=problem):
                vault.change_schema(new, **given)
        assert not vault.change_schema(schema()).steps
        assert vault.status().version == 1
        assert vault.check().ok


def test_a_vault_with_hashed_keys(place: Place) -> None:
    secret = "0123456789abcdef"  # of a test
    where = place()
    wards = pa.table({"id": [f"p{i}" for i in range(40)], "ward": [f"ward {i}" for i in range(40)]})
    with made(where, key_secret=secret) as vault:
        vault.change_schema(schema(ward={"role": "insensitive"}), data=wards)
        found = by_key(vault.export())
        assert found[vault.hashed("p7")]["ward"] == "ward 7"
