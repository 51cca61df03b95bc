"""A vault in several hands: threads, callbacks, writers who have lost their turn, epochs that others begin."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import psycopg
import pyarrow as pa
import pytest

import shoal
from tests.support.patience import PATIENCE
from tests.support.plain_vaults import CATEGORY, INSENSITIVE, NUMBER, PLAIN, SENSITIVE, make, people, schema
from tests.support.vault_places import Place

pytestmark = pytest.mark.versions


def test_many_threads_share_a_vault(place: Place) -> None:
    """More of them than a pool of connections has by default."""
    with make(place()) as vault, ThreadPoolExecutor(24) as threads:
        seen = [threads.submit(vault.status if i % 2 else vault.groups) for i in range(96)]
        assert len([one.result(timeout=PATIENCE) for one in seen]) == 96


def test_a_callback_may_look_into_the_vault(place: Place) -> None:
    class Curious(shoal.Progress):
        def stage(self, name: str, total: int | None = None) -> None:
            seen.append(vault.status().records)

    seen: list[int] = []
    with make(place()) as vault:
        vault.insert(people(3, 100), progress=Curious())
        assert set(seen) == {30}


def test_a_writer_who_has_lost_his_turn_writes_nothing(postgres_url: str, tmp_path: Path) -> None:
    """The server ends the connection that holds the turn; another writes; the first must not write over it."""

    class Unlucky(shoal.Progress):
        def stage(self, name: str, total: int | None = None) -> None:
            if name in ("storing", "writing") and not self.done:
                self.done = True
                with psycopg.connect(postgres_url, autocommit=True) as server:
                    held = "SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory'"
                    server.execute(held)
                with shoal.Vault.open(postgres_url) as other:
                    other.insert(people(5, next(first)))
                    other.delete([f"p{next(gone)}"])

        done = False

    first, gone = iter(range(100, 1000, 10)), iter(range(30))
    with make(postgres_url) as vault:
        for attempt in (
            lambda: vault.rebase(k=4, progress=Unlucky()),
            lambda: vault.publish(progress=Unlucky()),
            lambda: vault.publish(tmp_path / "x.csv", progress=Unlucky()),
        ):
            with pytest.raises(shoal.VaultError):
                attempt()
        assert vault.status().records == 30 + 3 * 4
        assert vault.status().k == 3
        assert vault.releases() == []
        assert vault.check().ok
        assert not list(tmp_path.iterdir())
        vault.publish()


def test_writers_of_every_kind_take_turns(place: Place) -> None:
    """Each batch is whole, whoever comes in between: the log adds up, and what was done last is there."""
    where = place()
    make(where, data=people(60)).close()
    wider = schema(age={**NUMBER, "domain": [0, 200]}, s=SENSITIVE)

    def inserting() -> None:
        with shoal.Vault.open(where, wait=PATIENCE) as vault:
            for first in range(100, 112, 2):
                vault.insert(people(2, first))

    def replacing() -> None:
        with shoal.Vault.open(where, wait=PATIENCE) as vault:
            for age in range(4):
                vault.replace([{**row, "age": age} if row["id"] == "p1" else row for row in people(59)], max_deleted=1)

    def erasing() -> None:
        with shoal.Vault.open(where, wait=PATIENCE) as vault:
            for number in range(40, 44):
                with suppress(shoal.Unfinished):  # somebody reads
                    vault.erase([f"p{number}"], ignore_unknown=True)

    def changing() -> None:
        with shoal.Vault.open(where, wait=PATIENCE) as vault:
            for new in (wider, PLAIN, wider):
                vault.change_schema(new)

    with ThreadPoolExecutor(4) as threads:
        for work in [threads.submit(work) for work in (inserting, replacing, erasing, changing)]:
            work.result(timeout=PATIENCE)
    with shoal.Vault.open(where) as vault:
        records = 0
        for number, one in enumerate(sorted(vault.log(), key=lambda one: one.version), start=1):
            records = 60 if number == 1 else records + (one.inserted or 0) - (one.deleted or 0)
            assert (one.version, one.records) == (number, records)
        assert vault.status().records == records
        assert vault.schema.columns["age"].domain is not None
        assert vault.check().ok


def test_a_schema_that_another_has_changed_is_known(place: Place) -> None:
    wider = schema(age=NUMBER, s=SENSITIVE, ward=INSENSITIVE)
    rows = [{**row, "ward": "new" if row["id"] == "p3" else "main"} for row in people(30)]
    changes: list[Callable[[shoal.Vault], int]] = [
        lambda vault: vault.replace(rows).updated,
        lambda vault: vault.update(rows[3:4]).updated,
        lambda vault: vault.insert(rows[3:4], upsert=True).updated,
        lambda vault: vault.apply(pa.Table.from_pylist([{**rows[3], "op": "update"}])).updated,
    ]
    for change in changes:
        where = place()
        with make(where) as one, shoal.Vault.open(where) as two:
            one.change_schema(wider, defaults={"ward": "main"})
            assert change(two) == 1
            assert dict(zip(*two.export().select(["id", "ward"]).to_pydict().values(), strict=True))["p3"] == "new"


@pytest.mark.parametrize("measure", ["il", "lm", "tree", "mi"])
def test_losses_are_the_same_when_a_category_is_forgotten(place: Place, measure: str) -> None:
    where = place()
    rows = [{"id": f"p{i}", "a": "abcdefgh"[i % 8]} for i in range(60)]
    rows[0]["a"] = "zz"
    with shoal.Vault.create(
        where, schema(a=CATEGORY), republication="none", k=3, data=rows, measure=measure, seed=1
    ) as vault:
        vault.update([{"id": "p0", "a": "a"}])
        with shoal.Vault.open(where) as other, other._writing(shoal.Progress()) as state:
            assert state.live.loss() == pytest.approx(vault.status().loss)
        assert vault.check().ok


def test_an_epoch_that_begins_within_a_batch_is_followed(place: Place) -> None:
    where = place()
    rows = [{"id": f"p{i}", "a": "abc"[i % 3]} for i in range(7)]
    made = shoal.Vault.create(where, schema(a=CATEGORY), republication="none", k=8, data=rows, measure="mi")
    with made as one, shoal.Vault.open(where) as two:
        with two._writing(shoal.Progress()):
            pass
        one.insert([{"id": "q", "a": "d"}])
        with two._writing(shoal.Progress()) as state:
            assert state.live.loss() == pytest.approx(one.status().loss)
