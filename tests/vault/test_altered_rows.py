"""Rows that were altered in the store: never served, and found by a check."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext, suppress
from pathlib import Path

import pytest
import sqlalchemy as sa

import shoal
from shoal.vault.store import tables
from shoal.vault.store.damage import Damaged
from shoal.vault.store.vault_row import update_vault_row
from tests.support.plain_vaults import make, people
from tests.support.vault_places import Place

pytestmark = pytest.mark.versions

DAMAGE: dict[str, sa.Update] = {
    "class": sa.update(tables.classes).values(cells=sa.func.substr(tables.classes.c.cells, 9)),
    "groups of classes": sa.update(tables.classes).values(groups=sa.func.substr(tables.classes.c.groups, 9)),
    "past record": sa.update(tables.past_records).values(carried='{"s":"q"}'),
    "record": sa.update(tables.records).where(tables.records.c.key == "p9").values(carried='{"s":"q"}'),
    "order": sa.update(tables.releases).values(shuffle_key=b"x" * 32),
    "manifest": sa.update(tables.releases).values(manifest="{"),
    "k of a release": sa.update(tables.releases).values(k=99),
    "log": sa.update(tables.batches).values(loss=1.5),
    "touched": sa.update(tables.touches).where(tables.touches.c.version == 2).values(records=b"\1" + b"\0" * 7),
    "version": sa.update(tables.vault).values(version=7),
    "next number": sa.update(tables.vault).values(next_id=1),
    "epoch": sa.update(tables.epochs).values(version=9),
    "group": sa.update(tables.records).where(tables.records.c.key == "p9").values(group_id=0),
    "key": sa.update(tables.records).where(tables.records.c.key == "p9").values(key="p99"),
    "value": sa.update(tables.dictionary).where(tables.dictionary.c.id == 2).values(value="3"),
}


@pytest.mark.parametrize("what", DAMAGE)
def test_damage_is_never_served(place: Place, what: str) -> None:
    where = place()
    with make(where) as vault:
        vault.publish()
        vault.update([{"id": "p3", "age": 7, "s": "y"}])
        served: dict[str, Callable[[], object]] = {
            "groups": lambda: vault.groups().to_pylist(),
            "export": lambda: vault.export().to_pylist(),
            "release": lambda: (vault.release(1).table.to_pylist(), vault.release(1).manifest),
        }
        before = {name: serve() for name, serve in served.items()}
        with vault._store.write() as connection:
            connection.execute(DAMAGE[what])
        for name, serve in served.items():
            with suppress(Damaged):
                assert serve() == before[name], name
        with suppress(Damaged):
            assert not vault.check().ok, "the damage was not found"


@pytest.mark.parametrize("what", DAMAGE)
def test_a_damaged_vault_is_not_said_to_be_publishable(place: Place, what: str) -> None:
    where = place()
    with make(where) as vault:
        vault.publish()
        vault.update([{"id": "p3", "age": 7, "s": "y"}])
        with vault._store.write() as connection:
            connection.execute(DAMAGE[what])
    with pytest.raises(Damaged), shoal.Vault.open(where) as vault:
        vault.status()


EPOCHS: dict[str, sa.Executable] = {
    "changed": sa.update(tables.epochs).where(tables.epochs.c.number == 1).values(settings="{}"),
    "lost": sa.delete(tables.epochs).where(tables.epochs.c.number == 1),
    "one more": sa.insert(tables.epochs).from_select(
        [column.name for column in tables.epochs.columns],
        sa.select(sa.literal(9), *list(tables.epochs.columns)[1:]).where(tables.epochs.c.number == 1),
    ),
}


@pytest.mark.parametrize("what", EPOCHS)
def test_an_epoch_that_no_release_is_of_is_checked(place: Place, what: str) -> None:
    with make(place()) as vault:
        vault.rebase(k=4)
        vault.publish()
        assert vault.check().ok
        with vault._store.write() as connection:
            connection.execute(EPOCHS[what])
        assert vault.check().problems == ["the vault is damaged: its settings are not what was stored."]


def test_a_release_with_erased_rows_is_checked_part_by_part(place: Place) -> None:
    """Its content cannot be compared any more: where its rows come from must be what was stored."""
    with make(place()) as vault:
        vault.publish()
        vault.delete(["p3"])
        groups = vault.groups().to_pydict()
        here = dict(zip(groups["key"], groups["group"], strict=True))
        other = next(group for group in groups["group"] if group != here["p9"])
        with vault._store.write() as connection:
            records = tables.records
            connection.execute(sa.update(records).where(records.c.key == "p9").values(group_id=other))
        with pytest.raises(Damaged):
            vault.release_rows(1)


def test_a_damaged_log_does_not_lead_astray(place: Place) -> None:
    """Whoever follows the vault by a log that is not what it was reads everything, and that is checked."""
    where = place()
    with make(where) as one, shoal.Vault.open(where) as two:
        two.insert(people(1, 100))
        one.delete(["p5"])
        with one._store.write() as connection:
            last = tables.touches.c.version == one.status().version
            connection.execute(sa.update(tables.touches).where(last).values(records=b"\x63" + b"\0" * 7))
        two.insert(people(1, 101))
        assert two.publish().table.num_rows == 31


EVENTS: dict[str, sa.Executable] = {
    "changed": sa.update(tables.events).where(tables.events.c.kind == "publish").values(who="somebody else"),
    "lost": sa.delete(tables.events).where(tables.events.c.kind == "backup"),
    "one more": sa.insert(tables.events).from_select(
        [column.name for column in tables.events.columns],
        sa.select(sa.literal(9), *list(tables.events.columns)[1:]).where(tables.events.c.kind == "backup"),
    ),
    "not summed": sa.update(tables.events).where(tables.events.c.kind == "backup").values(summed=False),
}


@pytest.mark.parametrize("what", EVENTS)
@pytest.mark.parametrize("beside", [False, True])
def test_what_is_no_batch_is_checked_too(place: Place, tmp_path: Path, what: str, *, beside: bool) -> None:
    """A backup that is noted beside whoever writes is summed by the next who does."""
    with make(place()) as vault:
        vault.publish()
        with vault._store.writer(0) if beside else nullcontext():
            vault.backup(tmp_path / "copy")
        with vault._store.read() as connection:
            summed = connection.scalars(sa.select(tables.events.c.summed)).all()
        assert sorted(summed) == [not beside, True]
        noted = vault.log()
        assert vault.check().ok
        vault.update([{"id": "p3", "age": 7, "s": "y"}])
        assert vault.log()[: len(noted)] == noted
        assert vault.check().ok
        with vault._store.write() as connection:
            connection.execute(EVENTS[what])
        assert vault.check().problems == ["the vault is damaged: the log: not what was stored."]
        with pytest.raises(Damaged):
            vault.log()


def test_a_backup_that_is_noted_and_not_yet_summed_is_checked(place: Place, tmp_path: Path) -> None:
    with make(place()) as vault:
        with vault._store.writer(0):
            vault.backup(tmp_path / "copy")
        assert vault.check().ok
        with vault._store.write() as connection:
            connection.execute(sa.update(tables.events).values(who="somebody else"))
        assert vault.check().problems == ["the vault is damaged: the log: not what was stored."]


def test_where_a_vault_stands_has_a_checksum(tmp_path: Path) -> None:
    with make(str(tmp_path / "v.vault")) as vault:
        with vault._store.write() as connection:
            update_vault_row(connection, vault.where, source_position="moved")
        assert vault.source_position == "moved"
        assert vault.check().ok
