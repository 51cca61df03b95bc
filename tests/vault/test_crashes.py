"""A vault whose process is killed (SIGKILL), anywhere: what was acknowledged is there, and what was not is there as a
whole or not at all; and so is every file that was published.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import psycopg
import pytest

import shoal
from tests.support.live_tables import schema
from tests.support.patience import PATIENCE, eventually
from tests.support.vault_worker import DIE, Moment, Script, compile_kernels, digest, exported, plain, sizes

ROOT = Path(__file__).parents[2]
STEPS_OF_A_LIFE = 12  # at most
# Where to die, and how many such moments there are in a few steps.
AIMS = {"commit": 25, "statement": 100, "publish": 8, "file": 24}
MAKING = {"connect": 2, "statement": 40, "commit": 4}
# Six deaths, within transactions and between them, between the steps of a publish and within them, and anywhere.
SHORT = ["statement", "publish", "statement", "file", "commit", "moment"]


class Lives:
    """A vault and those who work on it, one after the other: each goes on where the last one was killed."""

    def __init__(self, where: str, folder: Path, seed: int) -> None:
        self.where, self.script = where, Script(seed)
        self.folder, self.log = folder / "published", folder / "log"
        self.folder.mkdir()
        self.log.touch()
        self.chance = random.Random(seed)
        self.kills = 0
        self.verified: set[str] = set()  # files, by their hash

    # Dying

    def live(self, kind: str, *, make: bool = False) -> None:
        """A worker begins, and dies at a moment of this kind, if there is one in its life."""
        count = (MAKING if make else AIMS).get(kind)
        die = f"{kind}:{self.chance.randint(1, count)}" if count else ""
        lines = self.acknowledged()
        steps = 0 if make else (lines[-1]["step"] if lines else 0) + STEPS_OF_A_LIFE
        with self.worker(steps, die) as process:
            try:
                if kind == "moment":
                    self.kill_somewhen(process)
                code = process.wait(PATIENCE)
            finally:
                if process.poll() is None:
                    os.kill(process.pid, signal.SIGKILL)
        assert code in (0, -signal.SIGKILL), f"the worker ended with {code} ({kind=}, {die=})"
        self.kills += code == -signal.SIGKILL
        self.wait_for_the_server()

    def kill_somewhen(self, process: subprocess.Popen[bytes]) -> None:
        """After its first line: it is at work then."""
        lines = len(self.acknowledged())
        eventually(lambda: len(self.acknowledged()) > lines or process.poll() is not None, "the worker is at work")
        time.sleep(self.chance.uniform(0, 1))
        with suppress(ProcessLookupError):
            os.kill(process.pid, signal.SIGKILL)

    def worker(self, steps: int, die: str) -> subprocess.Popen[bytes]:
        words = [self.where, self.folder, self.log, self.script.seed, steps]
        command = [sys.executable, "-W", "ignore", "-m", "tests.support.vault_worker", *map(str, words)]
        return subprocess.Popen(command, cwd=ROOT, env=os.environ | {DIE: die})

    def wait_for_the_server(self) -> None:
        """PostgreSQL may still be at what it was told last: what is in flight has landed when it has noticed."""
        if not self.where.startswith("postgresql"):
            return
        others = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
        with psycopg.connect(self.where.partition("?")[0], autocommit=True) as connection:
            eventually(lambda: connection.execute(others).fetchone() == (0,), "the server lets go of the dead")

    def acknowledged(self) -> list[dict[str, Any]]:
        """What was written to the log; the end of a line that is on its way does not count."""
        return [json.loads(line) for line in self.log.read_text().splitlines(keepends=True) if line.endswith("\n")]

    # Looking

    def look(self) -> int:
        """The vault is as after the last step that was acknowledged, or as after the one in flight: which?"""
        lines = self.acknowledged()
        last = lines[-1] if lines else {"step": 0}
        with shoal.Vault.open(self.where) as vault:
            status, groups, releases = vault.status(), vault.groups(), vault.releases()
            step = self.script.place(status.version, len(releases))
            assert step in (last["step"], last["step"] + 1)
            if step == last["step"] and "digest" in last:
                assert digest(vault) == last["digest"]
            moment = self.script.moment(step)
            assert exported(vault.export()) == plain(moment.records)
            assert sorted(groups["key"].to_pylist()) == sorted(moment.records)
            assert min(sizes(groups)) >= moment.k == vault.k == status.k
            assert (status.records, status.source_position) == (len(moment.records), moment.position)
            checked = vault.check()
            assert (checked.ok, checked.problems) == (True, [])
        self.look_at_files(moment, releases)
        return step

    def look_at_files(self, moment: Moment, releases: list[Any]) -> None:
        """Every release is where it was published to, is what it should be, and nothing else is there."""
        found = [(entry.version, entry.k, entry.file and Path(entry.file).name) for entry in releases]
        assert found == list(moment.releases)
        assert [entry.number for entry in releases] == list(range(1, len(releases) + 1))
        expected = set()
        for entry in releases:
            if entry.file is None:
                continue
            path = Path(entry.file)
            manifest = path.with_name(path.name + ".manifest.json")
            expected |= {path, manifest}
            assert hashlib.sha256(path.read_bytes()).hexdigest() == entry.sha256
            told = json.loads(manifest.read_text())
            assert (told["sha256"], told["release"], told["file"]) == (entry.sha256, entry.number, path.name)
            if entry.sha256 not in self.verified:
                assert shoal.verify(path, schema(), entry.k).ok
                self.verified.add(entry.sha256)
        assert set(self.folder.iterdir()) == expected


def killed_again_and_again(lives: Lives, kinds: Callable[[], str], kills: int) -> None:
    """Sometimes nobody looks between two deaths: then it is a worker's own start that cleans up, or dies of it."""
    lives.script.create(lives.where).close()
    while lives.kills < kills:
        lives.live(kinds())
        if lives.chance.random() < 0.7:
            lives.look()
    done = lives.look()
    with lives.worker(done + STEPS_OF_A_LIFE, "") as process:  # and then one lives on
        assert process.wait(PATIENCE) == 0
    assert lives.look() == done + STEPS_OF_A_LIFE


@pytest.fixture(scope="module", autouse=True)
def _compiled() -> None:
    compile_kernels()


def test_nothing_is_lost_or_half_done_when_killed(where: str, tmp_path: Path) -> None:
    kinds = iter(SHORT * 3)
    killed_again_and_again(Lives(where, tmp_path, 1), lambda: next(kinds), len(SHORT))


@pytest.mark.slow
@pytest.mark.parametrize("seed", [11, 12])
def test_nothing_is_lost_or_half_done_when_killed_often(where: str, tmp_path: Path, seed: int) -> None:
    lives = Lives(where, tmp_path, seed)
    killed_again_and_again(lives, lambda: lives.chance.choice([*AIMS, "moment"]), 80)


@pytest.mark.parametrize("deaths", [3, pytest.param(50, marks=pytest.mark.slow)])
def test_a_vault_whose_maker_is_killed_is_there_or_can_be_made(where: str, tmp_path: Path, deaths: int) -> None:
    for number in range(deaths):
        folder = tmp_path / str(number)
        folder.mkdir()
        lives = Lives(f"{where}{f'?schema=v{number}' if '://' in where else number}", folder, number)
        lives.live(list(MAKING)[number % 3], make=True)
        try:
            lives.look()
        except shoal.VaultError:
            assert lives.kills == 1
            lives.script.create(lives.where).close()
        assert lives.look() == 0
