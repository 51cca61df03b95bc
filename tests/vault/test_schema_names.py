"""Columns that go, and names that come again: what releases showed stays, and nothing else does."""

from __future__ import annotations

from typing import Any

import pytest
import sqlalchemy as sa

import shoal
from shoal.schema import Schema
from shoal.vault.store import tables
from tests.support.vault_places import Place

COLUMNS: dict[str, dict[str, object]] = {
    "id": {"role": "key"},
    "age": {"role": "quasi-identifier", "type": "numeric", "domain": [0, 100]},
    "ill": {"role": "sensitive"},
}
OTHER: dict[str, object] = {"role": "insensitive"}
MODES = ("audit", "none", "safe")


def schema(*others: str, **described: dict[str, object]) -> Schema:
    return shoal.Schema(columns={**COLUMNS, **dict.fromkeys(others, OTHER), **described})


def people(count: int = 12) -> list[dict[str, Any]]:
    return [
        {"id": str(i), "age": 20 + i // 3, "ill": "abc"[i % 3], "job": f"job {i % 2}", "work": f"work {i % 3}"}
        for i in range(count)
    ]


def made(where: str, *others: str, mode: str = "audit") -> shoal.Vault:
    data = [{name: row[name] for name in (*COLUMNS, *others)} for row in people()]
    return shoal.Vault.create(where, schema(*others), data=data, k=2, seed=1, republication=mode)


def texts(vault: shoal.Vault) -> str:
    """What is stored of passthrough columns, in every table that has them."""
    found: list[str] = []
    with vault._store.read() as connection:
        for table in (tables.records, tables.past_records, tables.places):
            found += [text for text in connection.scalars(sa.select(table.c.carried)) if text is not None]
    return " ".join(found)


@pytest.mark.parametrize("mode", MODES)
def test_a_name_that_a_release_shows_is_not_for_another_column(place: Place, mode: str) -> None:
    with made(place(), "job", "work", mode=mode) as vault:
        first = vault.publish().table
        vault.change_schema(schema("tmp", "work"), renamed={"job": "tmp"})
        with pytest.raises(shoal.SchemaError, match="'job' cannot have this name") as refused:
            vault.change_schema(schema("tmp", "job"), renamed={"work": "job"})
        assert refused.value.hint == "Choose another name."
        vault.change_schema(schema("job", "work"), renamed={"tmp": "job"})  # it is its own name
        vault.change_schema(schema("work"))
        with pytest.raises(shoal.SchemaError, match="'job' cannot have this name"):
            vault.change_schema(schema("job"), renamed={"work": "job"}, dry_run=True)
        assert vault.release(1).table.equals(first)
        assert vault.check().ok


def test_a_new_column_has_a_name_of_its_own(place: Place) -> None:
    number: dict[str, object] = {"role": "quasi-identifier", "type": "numeric"}
    with made(place(), "job") as vault:
        first = vault.publish().table
        vault.update([{"id": "1", "job": "another"}])
        vault.change_schema(schema())
        for new, default in ((schema("job"), "new"), (schema(job=number), 3)):
            with pytest.raises(shoal.SchemaError, match="'job' cannot have this name"):
                vault.change_schema(new, defaults={"job": default})
        vault.change_schema(schema("position"), defaults={"position": "new"})
        assert vault.release(1).table.equals(first)
        assert vault.check().ok


@pytest.mark.parametrize("mode", MODES)
def test_what_was_never_shown_goes_with_its_column(place: Place, mode: str) -> None:
    secret: dict[str, object] = {"role": "sensitive"}
    values = [{"id": row["id"], "secret": f"hidden {row['id']}"} for row in people()]
    with made(place(), "job", mode="none" if mode == "safe" else mode) as vault:
        first = vault.publish().table
        vault.change_schema(schema("job", secret=secret), data=values)
        vault.update([{"id": "1", "job": "another"}])  # what it was is kept for release 1
        assert "hidden 1" in texts(vault)
        vault.change_schema(schema("job"))
        assert "hidden" not in texts(vault)
        assert "secret" not in texts(vault)
        vault.change_schema(schema("job", "secret"), defaults={"secret": "a new one"})  # the name is free again
        vault.change_schema(schema("job"))
        vault.publish(republication=mode, accept_findings=mode != "none")
        vault.erase(["3"])
        assert "hidden" not in texts(vault)
        if mode == "none":
            vault.rebase()
        vault.change_schema(schema())
        assert "job 0" in texts(vault)  # releases show it
        assert vault.release_rows(1).num_rows == first.num_rows - 1
        assert vault.check().ok


def test_what_was_never_shown_goes_with_its_column_into_a_new_epoch(place: Place) -> None:
    values = [{"id": row["id"], "secret": f"hidden {row['id']}"} for row in people()]
    levels: dict[str, object] = {"role": "quasi-identifier", "type": "numeric", "levels": [5, 10]}
    with made(place(), "job") as vault:
        first = vault.publish().table
        vault.change_schema(schema("job", "secret"), data=values)
        done = vault.change_schema(schema("job", age=levels))
        assert done.needs == "a new epoch"
        assert "hidden" not in texts(vault)
        assert vault.release(1).table.equals(first)
        assert vault.check().ok


def test_what_an_epoch_measured_goes_with_it(place: Place) -> None:
    age: dict[str, object] = {"role": "quasi-identifier", "type": "numeric"}
    data = [{"id": str(i), "age": end, "ill": "ab"[i % 2]} for i, end in enumerate([20, 21, 22, 23, 70, 98765])]
    with shoal.Vault.create(place(), schema(age=age), data=data, k=2, seed=1, republication="none") as vault:
        vault.change_schema(schema(age={**age, "domain": [0, 100_000]}))
        receipt = vault.erase(["5"])
        assert not [line for line in receipt.remains if "domain" in line]
        with vault._store.read() as connection:
            frozen = connection.scalars(sa.select(tables.epochs.c.frozen)).all()
        assert len(frozen) == 2
        assert not [text for text in frozen if "98765" in text]
        assert vault.check().ok
