"""A vault on a disk that is full or read-only: what was acknowledged is there, and an error says what is wrong."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import numpy as np
import pytest

import shoal
from tests.support.live_tables import Row, as_table, make_row, schema
from tests.support.vault_answers import everything
from tests.support.vault_faults import holds, refused
from tests.support.vault_worker import Script

KIB = 1024


def nothing_on_its_way(*folders: Path) -> bool:
    return not [path for folder in folders for path in folder.glob(".*") if path.suffix in (".part", ".kept")]


class Disk:
    """A small disk of our own, in memory."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._filler = folder / "filler"

    def resize(self, kib: int) -> None:
        self._remount(f"size={kib}k")

    def read_only(self) -> None:
        self._remount("ro")

    def writable(self) -> None:
        self._remount("rw")

    def fill(self, left: int) -> None:
        """Leave so many KiB of room."""
        room = os.statvfs(self.folder)
        with self._filler.open("wb") as file:
            file.write(bytes(max(0, room.f_bavail * room.f_frsize - left * KIB)))

    def empty(self) -> None:
        self._filler.unlink()

    def _remount(self, how: str) -> None:
        subprocess.run(["mount", "-o", f"remount,{how}", self.folder], check=True, capture_output=True)


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Disk]:
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = shutil.which("mount") or "mount"
    command = [mount, "-t", "tmpfs", "-o", "size=8192k,mode=700", "shoal-test", str(folder)]
    try:
        subprocess.run(command, check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        if os.environ.get("CI"):
            pytest.fail("a disk cannot be mounted, and CI must not skip the tests of full and read-only ones: be root")
        pytest.skip("NOT ROOT, OR MOUNTING IS NOT ALLOWED: FULL AND READ-ONLY DISKS WERE NOT TESTED")
    try:
        yield Disk(folder)
    finally:
        subprocess.run(["umount", "--lazy", folder], check=True)  # lazy: a test that has failed may hold files open


def people(first: int, count: int) -> list[Row]:
    rng = np.random.default_rng(first)
    return [make_row(rng, f"p{number}", wild=False) for number in range(first, first + count)]


def keys(vault: shoal.Vault) -> set[str]:
    return set(vault.groups()["key"].to_pylist())


def test_batches_until_the_disk_is_full(disk: Disk) -> None:
    where, known = disk.folder / "vault", 60
    disk.resize(1024)
    with shoal.Vault.create(where, schema(), republication="none", k=3, data=as_table(people(0, known))) as vault:
        while not refused(partial(vault.insert, as_table(people(known, 20))), "no room left"):
            known += 20
            assert known < 4000, "the disk is never full"
        assert keys(vault) == {f"p{number}" for number in range(known)}  # it can still be read
        assert vault.check().ok
        with shoal.Vault.open(where) as other:
            assert keys(other) == keys(vault)
            more = as_table(people(known, 200))  # as few as before may find room: by chance fewer groups change
            assert refused(lambda: other.insert(more), "no room left")
        disk.resize(4096)
        assert vault.insert(as_table(people(known, 20))).inserted == 20  # the same vault goes on
    with shoal.Vault.open(where) as vault:
        assert keys(vault) == {f"p{number}" for number in range(known + 20)}
        assert vault.check().ok


@pytest.mark.parametrize("left", [0, 4, 16, 32, 40, 48, 64, 96, 128])
def test_a_disk_with_little_room(disk: Disk, tmp_path: Path, left: int) -> None:
    """Wherever it is that the room ends: in the log, in a file that SQLite puts beside the vault, in a release."""
    where, elsewhere, known = disk.folder / "vault", tmp_path / "elsewhere", 600
    elsewhere.mkdir()
    shoal.Vault.create(where, schema(), republication="none", k=3, data=as_table(people(0, known))).close()
    done: list[str] = []

    def work() -> None:
        with shoal.Vault.open(where) as vault:
            todo: dict[str, Callable[[], object]] = {
                "insert": lambda: vault.insert(as_table(people(known, 40))),
                "here": lambda: vault.publish(disk.folder / "here.csv", even_if_unchanged=True),
                "elsewhere": lambda: vault.publish(elsewhere / "elsewhere.parquet", even_if_unchanged=True),
            }
            for what, do in todo.items():
                if not refused(do, "no room left", "No space left"):
                    done.append(what)
                assert nothing_on_its_way(disk.folder, elsewhere), f"{what} leaves something behind"

    disk.fill(left)
    refused(work, "no room left")  # it may not even be opened
    disk.empty()
    with shoal.Vault.open(where) as vault:
        assert keys(vault) == {f"p{number}" for number in range(known + 40 * ("insert" in done))}
        assert vault.check().ok
        published = [what for what in ("here", "elsewhere") if what in done]
        assert [Path(str(entry.file)).stem for entry in vault.releases()] == published
        assert {path.stem for path in [*disk.folder.glob("*.csv"), *elsewhere.glob("*.parquet")]} == set(published)
        assert vault.insert(as_table(people(2000, 5))).inserted == 5
        vault.publish(disk.folder / "after.csv")


@pytest.mark.parametrize("ending", [".csv", ".parquet"])
def test_a_release_for_a_full_disk(disk: Disk, tmp_path: Path, ending: str) -> None:
    """The vault is elsewhere: it has room, and nothing of the release."""
    failed = 0
    with shoal.Vault.create(
        tmp_path / "vault", schema(), republication="none", k=3, data=as_table(people(0, 300))
    ) as vault:
        for left in range(0, 40, 4):
            disk.fill(left)
            path, before = disk.folder / f"release-{left}{ending}", len(vault.releases())
            full = refused(partial(vault.publish, path, even_if_unchanged=True), "No space left")
            assert len(vault.releases()) == before + (not full)
            assert len(list(disk.folder.glob(f"release-{left}.*"))) == (0 if full else 2)
            assert nothing_on_its_way(disk.folder)
            failed += full
            disk.empty()
        assert 2 <= failed < 10
        assert vault.check().ok


def test_a_read_only_disk(disk: Disk, tmp_path: Path) -> None:
    where, script = disk.folder / "vault", Script(31)
    script.create(where).close()
    with shoal.Vault.open(where) as vault:
        for number in range(1, 7):
            script.step(number).do(vault, tmp_path)
    before, files = everything(where), [*disk.folder.iterdir(), *tmp_path.iterdir()]
    disk.read_only()
    assert everything(where) == before
    with shoal.Vault.open(where) as vault:
        changes: list[Callable[[], object]] = [
            lambda: script.step(7).do(vault, tmp_path),
            lambda: vault.delete(["p1"]),
            lambda: vault.publish(tmp_path / "new.csv", even_if_unchanged=True),
            lambda: vault.publish(even_if_unchanged=True),
            lambda: vault.rebase(k=4),
            vault.compact,
        ]
        for change in changes:
            assert refused(change, "cannot be written to")
        holds(vault, script.moment(6))
    assert [*disk.folder.iterdir(), *tmp_path.iterdir()] == files
    disk.writable()
    with shoal.Vault.open(where) as vault:
        holds(vault, script.moment(6))
        script.step(7).do(vault, tmp_path)
        holds(vault, script.moment(7))


def test_a_read_only_disk_with_a_log_that_waits(disk: Disk, tmp_path: Path) -> None:
    """As after a crash: what was acknowledged is in the log alone. It is read, or it is said why not."""
    script = Script(32)
    script.create(tmp_path / "vault").close()
    with shoal.Vault.open(tmp_path / "vault") as vault:
        script.step(1).do(vault, tmp_path)
        for ending in ("", "-wal"):
            subprocess.run(["cp", tmp_path / f"vault{ending}", disk.folder], check=True)

    def look() -> None:
        with shoal.Vault.open(disk.folder / "vault") as vault:
            holds(vault, script.moment(1))

    disk.read_only()
    refused(look, "cannot be")
    disk.writable()
    look()
