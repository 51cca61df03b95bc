"""A vault when something outside it fails: a disk that is full or read-only, a server that crashes, a damaged file.

Whatever happens, what was acknowledged is there, an error says what is wrong, and what is not as it was stored is never
served in silence.
"""

from __future__ import annotations

import gc
import os
import random
import shutil
import sqlite3
import subprocess
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sqlalchemy as sa

import shoal
from shoal.vault.store import tables
from tests.support.live_tables import Row, as_table, make_row, schema
from tests.support.postgres import Server
from tests.support.vault_answers import Failed, everything
from tests.support.vault_worker import Moment, Script, exported, plain, sizes

KIB = 1024
BESIDE = ("-wal", "-shm", "-journal", ".lock", ".head")


def holds(vault: shoal.Vault, moment: Moment) -> None:
    """The vault is what it must be after a step of the script."""
    assert exported(vault.export()) == plain(moment.records)
    groups = vault.groups()
    assert sorted(groups["key"].to_pylist()) == sorted(moment.records)
    assert min(sizes(groups)) >= moment.k
    assert (vault.status().version, len(vault.releases())) == (moment.version, len(moment.releases))
    checked = vault.check()
    assert (checked.ok, checked.problems) == (True, [])


def refused(do: Callable[[], object], *words: str) -> bool:
    """Do it. If it cannot be done, the error says why in one of these words."""
    try:
        do()
    except (shoal.VaultError, shoal.OutputError) as error:
        if not any(word in error.message for word in words):
            raise
        return True
    return False


def nothing_on_its_way(*folders: Path) -> bool:
    return not [path for folder in folders for path in folder.glob(".*") if path.suffix in (".part", ".kept")]


# A disk


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


def people(first: int, several: int) -> list[Row]:
    rng = np.random.default_rng(first)
    return [make_row(rng, f"p{number}", wild=False) for number in range(first, first + several)]


def keys(vault: shoal.Vault) -> set[str]:
    return set(vault.groups()["key"].to_pylist())


def test_batches_until_the_disk_is_full(disk: Disk) -> None:
    where, known = disk.folder / "vault", 60
    disk.resize(1024)
    with shoal.Vault.create(where, schema(), k=3, data=as_table(people(0, known))) as vault:
        while not refused(partial(vault.insert, as_table(people(known, 20))), "no room left"):
            known += 20
            assert known < 4000, "the disk is never full"
        assert keys(vault) == {f"p{number}" for number in range(known)}  # it can still be read
        assert vault.check().ok
        with shoal.Vault.open(where) as other:
            assert keys(other) == keys(vault)
            assert refused(lambda: other.insert(as_table(people(known, 20))), "no room left")
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
    shoal.Vault.create(where, schema(), k=3, data=as_table(people(0, known))).close()
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
    with shoal.Vault.create(tmp_path / "vault", schema(), k=3, data=as_table(people(0, 300))) as vault:
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


# A server


# A cursor on the server cannot be closed when the server is gone; psycopg complains when it is forgotten.
@pytest.mark.filterwarnings("ignore:.psycopg.ServerCursor:ResourceWarning")
@pytest.mark.parametrize("crashes", [4, pytest.param(60, marks=pytest.mark.slow)])
def test_postgres_crashes_and_comes_back(
    postgres_server: Server, postgres_url: str, tmp_path: Path, crashes: int
) -> None:
    """One vault, never opened again. A batch that has failed is there as a whole, or not at all."""
    script, chance, done = Script(41), random.Random(41), 0
    script.create(postgres_url).close()

    def restart() -> None:
        time.sleep(chance.uniform(0, 0.3))
        postgres_server.restart()

    with shoal.Vault.open(postgres_url, wait=30) as vault, ThreadPoolExecutor(1) as pool:
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


# A damaged file


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A vault with something in every table, in one file."""
    folder, script = tmp_path_factory.mktemp("whole"), Script(51)
    script.create(folder / "vault").close()
    with shoal.Vault.open(folder / "vault") as vault:
        for number in range(1, 13):
            script.step(number).do(vault, folder)
        holds(vault, script.moment(12))
    stored = rows(folder / "vault")
    assert isinstance(stored, dict)
    assert all(stored.values()), "a table is empty"
    assert not (folder / "vault-wal").exists()
    return folder / "vault"


def rows(where: Path) -> dict[str, Any] | None:
    """What is stored, as SQLite itself has it, whatever it means; None: it cannot say."""
    connection = sqlite3.connect(f"file:{where}?mode=ro&immutable=1", uri=True)
    connection.text_factory = bytes
    try:
        return {
            table.name: connection.execute(f"SELECT {columns(table)} FROM {table.name}").fetchall()
            for table in tables.COPIED
        }
    except (sqlite3.Error, UnicodeError):
        return None
    finally:
        connection.close()


def watched(table: sa.Table) -> list[str]:
    """All columns but those of a release on its way: whoever opens a vault looks after it, and clears them."""
    on_its_way = ("part", "host", "overwrites") if table is tables.releases else ()
    return [column.name for column in table.columns if column.name not in on_its_way]


def columns(table: sa.Table) -> str:
    return ", ".join(f'"{name}"' for name in watched(table))


class Damage:
    """Copies of a vault with other bytes, and what comes of them."""

    def __init__(self, whole: Path, folder: Path) -> None:
        self.bytes, self.where = whole.read_bytes(), folder / "vault"
        self.put(self.bytes)
        self.rows, self.told = rows(self.where), everything(self.where)
        assert self.told["check()"] is True

    def put(self, content: bytes) -> None:
        self.where.write_bytes(content)
        for ending in BESIDE:
            self.where.with_name(self.where.name + ending).unlink(missing_ok=True)

    def complaints(self, content: bytes, what: str) -> list[str]:
        """What must not be: an error of another kind, something else served, a difference that nobody notices."""
        self.put(content)
        stored, now = rows(self.where), everything(self.where)
        return [f"{what}: {fault}" for fault in self._faults(stored, now)]

    def _faults(self, stored: dict[str, Any] | None, now: dict[str, Any]) -> Iterator[str]:
        noticed = now.get("check()") is not True  # there is no check of a vault that cannot be opened
        errors = {what: found for what, found in now.items() if isinstance(found, Failed)}
        for what, found in now.items():
            if what in errors and not errors[what].ours:
                yield f"{what} fails with {found.kind}"
            elif what not in (*errors, "check()") and found != self.told[what]:
                yield f"{what} tells something else"
        if errors and not noticed:
            yield f"check() is content, but {', '.join(errors)} fails"
        if stored != self.rows and not noticed:
            yield f"check() is content, but {self._changed(stored)} is not what was stored"

    def _changed(self, stored: dict[str, Any] | None) -> str:
        if stored is None or self.rows is None:
            return "something"
        changed = {
            f"{table.name}.{name}"
            for table in tables.COPIED
            for before, now in zip(self.rows[table.name], stored[table.name], strict=False)
            for name, was, found in zip(watched(table), before, now, strict=True)
            if was != found
        }
        return ", ".join(sorted(changed)) or "the number of rows"


def listed(complaints: list[str]) -> str:
    return f"{len(complaints)} complaints, among them:\n" + "\n".join(complaints[:40])


FLIPPED = [pytest.param(1, 60), *(pytest.param(seed, 600, marks=pytest.mark.slow) for seed in (2, 3, 4, 5))]


@pytest.mark.parametrize(("seed", "several"), FLIPPED)
def test_a_flipped_byte_is_never_served_in_silence(whole: Path, tmp_path: Path, seed: int, several: int) -> None:
    damage, rng = Damage(whole, tmp_path), np.random.default_rng(seed)
    used = np.flatnonzero(np.frombuffer(damage.bytes, np.uint8))  # most of the rest is empty room
    complaints = []
    for _ in range(several):
        at = int(rng.choice(used)) if rng.random() < 0.9 else int(rng.integers(len(damage.bytes)))
        content = bytearray(damage.bytes)
        content[at] ^= int(rng.integers(1, 256))
        complaints += damage.complaints(bytes(content), f"byte {at}")
    assert not complaints, listed(complaints)


def test_a_truncated_file_is_never_served_in_silence(whole: Path, tmp_path: Path) -> None:
    damage, chance = Damage(whole, tmp_path), random.Random(1)
    long = len(damage.bytes)
    lengths = [0, 1, 99, 100, 4095, 4096, long // 2, long - 4096, long - 1, *(chance.randrange(long) for _ in range(8))]
    complaints = [said for length in lengths for said in damage.complaints(damage.bytes[:length], f"{length} bytes")]
    assert not complaints, listed(complaints)


def test_check_notices_a_change_in_every_column(whole: Path, tmp_path: Path) -> None:
    damage = Damage(whole, tmp_path)
    complaints = []
    for table in tables.COPIED:
        for name in watched(table):
            damage.put(damage.bytes)
            change(damage.where, table, name)
            complaints += damage.complaints(damage.where.read_bytes(), f"{table.name}.{name}")
    assert not complaints, listed(complaints)


def change(where: Path, table: sa.Table, name: str) -> None:
    """In the last row: the same kind of value, but another one."""
    keys = [column.name for column in table.primary_key.columns]
    connection = sqlite3.connect(where)
    with connection:
        last = connection.execute(f"SELECT {columns(table)} FROM {table.name} ORDER BY {', '.join(keys)}").fetchall()[
            -1
        ]
        row = dict(zip(watched(table), last, strict=True))
        value = row[name]
        if isinstance(value, int | float):
            value += 1
        elif isinstance(value, bytes):
            value = value[:-1] + bytes([value[-1] ^ 1])
        else:
            value = f"{value or ''}x"
        here = " AND ".join(f"{key} = ?" for key in keys)
        connection.execute(f'UPDATE {table.name} SET "{name}" = ? WHERE {here}', [value, *map(row.get, keys)])
    connection.close()


def test_swapped_pages_are_never_served_in_silence(whole: Path, tmp_path: Path) -> None:
    """Rows that are where others were have the same checksums: their order gives them away."""
    size = 4096
    content = whole.read_bytes()
    pages = [content[at : at + size] for at in range(0, len(content), size)]
    leaves = [number for number, page in enumerate(pages) if number and page[0] in (0x0D, 0x0A)]
    rng = random.Random(3)
    here = tmp_path / "here" / "vault"  # where it is said is part of what is said
    here.parent.mkdir()
    here.write_bytes(content)
    expected = everything(here)
    for _ in range(25):
        one, other = rng.sample(leaves, 2)
        swapped = list(pages)
        swapped[one], swapped[other] = pages[other], pages[one]
        for path in here.parent.iterdir():
            path.unlink()
        here.write_bytes(b"".join(swapped))
        for what, answer in everything(here).items():
            if isinstance(answer, Failed):
                assert answer.ours, f"pages {one} and {other}, {what}: {answer.kind}"
            elif what != "check()":
                assert answer == expected[what], f"pages {one} and {other}: {what} is served, and wrong"
