"""A vault in several hands: threads, callbacks, writers who have lost their turn, epochs that others begin."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psycopg
import pytest

import shoal
from tests.support.patience import PATIENCE
from tests.support.plain_vaults import CATEGORY, make, people, schema
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
