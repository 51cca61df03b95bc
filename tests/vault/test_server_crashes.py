"""A vault whose server crashes and comes back: a batch is there as a whole, or not at all."""

from __future__ import annotations

import gc
import random
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import pytest

import shoal
from tests.support.patience import PATIENCE
from tests.support.postgres import Server
from tests.support.vault_faults import holds, refused
from tests.support.vault_worker import Script


# A cursor on the server cannot be closed when the server is gone; psycopg complains when it is forgotten.
@pytest.mark.filterwarnings("ignore:.psycopg.ServerCursor:ResourceWarning")
@pytest.mark.parametrize("crashes", [1, pytest.param(60, marks=pytest.mark.slow)])
def test_postgres_crashes_and_comes_back(
    postgres_server: Server, postgres_url: str, tmp_path: Path, crashes: int
) -> None:
    """One vault, never opened again. A batch that has failed is there as a whole, or not at all."""
    script, chance, done = Script(41), random.Random(41), 0
    script.create(postgres_url).close()

    def restart() -> None:
        time.sleep(chance.uniform(0, 0.3))
        postgres_server.restart()

    with shoal.Vault.open(postgres_url, wait=PATIENCE) as vault, ThreadPoolExecutor(1) as pool:
        for _ in range(crashes):
            restarting = pool.submit(restart)
            failed = False
            while not restarting.done():
                if failed:
                    time.sleep(0.01)
                    continue
                failed = refused(partial(script.step(done + 1).do, vault, tmp_path), "cannot be reached", "was lost")
                done += not failed
            restarting.result()
            now = script.place(vault.status().version, len(vault.releases()))
            assert now in ((done, done + 1) if failed else (done,))
            script.step(now + 1).do(vault, tmp_path)
            done = now + 1
            holds(vault, script.moment(done))
            files = {file for _, _, file in script.moment(done).releases if file is not None}
            assert {path.name.removesuffix(".manifest.json") for path in tmp_path.iterdir()} == files
        postgres_server.restart()  # while nobody is at work: nobody notices
        script.step(done + 1).do(vault, tmp_path)
        holds(vault, script.moment(done + 1))
    gc.collect()
