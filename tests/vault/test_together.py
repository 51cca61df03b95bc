"""Many at one vault: processes and threads that write take turns, and whoever reads sees one moment of it."""

from __future__ import annotations

import collections
import multiprocessing
import os
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path

import pyarrow as pa
import pytest

import shoal
from shoal.progress import Progress
from shoal.records.changes import ChangeBatch
from tests.support.patience import PATIENCE, eventually
from tests.support.vault_worker import compile_kernels, sizes

SCHEMA = shoal.Schema(
    columns={
        "id": {"role": "key"},
        "age": {"role": "quasi-identifier", "type": "numeric"},
        "town": {"role": "quasi-identifier", "type": "categorical"},
        "ill": {"role": "sensitive"},
    }
)
K = 3
BASE = 24  # records that nobody touches
COME, GO = 6, 3  # of every batch: who comes, and how many of those who came with the batch before
WRITERS = ("a", "b")
READERS = 10
STOP = "stop"

Rows = list[dict[str, object]]


def people(keys: list[str]) -> Rows:
    return [{"id": key, "age": 10 + hash_of(key) % 60, "town": f"t{hash_of(key) % 7}", "ill": "flu"} for key in keys]


def hash_of(key: str) -> int:
    return sum(place * ord(letter) for place, letter in enumerate(key, 1))


def keys_of(writer: str, batch: int) -> list[str]:
    return [f"{writer}:{batch}:{i}" for i in range(COME)]


def make(where: str | Path) -> shoal.Vault:
    """Batch −1 of each writer is there from the beginning."""
    first = [f"base:{i}:0" for i in range(BASE)] + [key for writer in WRITERS for key in keys_of(writer, -1)]
    return shoal.Vault.create(where, SCHEMA, republication="none", k=K, data=people(first), wait=PATIENCE)


# What each does. These run in processes of their own, too.


def write(vault: shoal.Vault, writer: str, batches: int) -> None:
    """Versions are the vault's: if one were lost, or given twice, there would be fewer in the end."""
    last = 0
    for number in range(batches):
        come, go = people(keys_of(writer, number)), keys_of(writer, number - 1)[:GO]
        batch = ChangeBatch.of(SCHEMA, inserts=pa.Table.from_pylist(come), deletes=go)
        changed = vault.apply(batch, source_position=f"{writer}:{number}")
        assert (changed.inserted, changed.deleted) == (COME, GO)
        assert changed.version > last
        last = changed.version
        if writer == WRITERS[0] and number % 6 == 5:
            assert vault.publish().k == K


def read(vault: shoal.Vault, begun: Callable[[], object], done: Callable[[], bool], *, thorough: bool) -> None:
    """Look at the vault until the writers are done, and once more."""
    begun()
    version, seen = 0, dict.fromkeys(WRITERS, -1)
    while True:
        last_look = done()
        groups = vault.groups()
        assert min(sizes(groups)) >= K
        now = batches_in(groups["key"].to_pylist())
        assert all(now[writer] >= seen[writer] for writer in WRITERS), "what was there is not there any more"
        seen = now
        status = vault.status()
        assert status.version >= version
        assert status.smallest is not None
        assert status.smallest >= K
        assert status.records == BASE + len(WRITERS) * COME + (COME - GO) * (status.version - 1)
        version = status.version
        batches_in(vault.export()["id"].to_pylist())
        for entry in vault.releases()[-1:]:
            assert vault.release_rows(entry.number).num_rows <= entry.rows
        if thorough:
            checked = vault.check()
            assert checked.ok, checked.problems
        if last_look:
            return


def batches_in(keys: list[str]) -> dict[str, int]:
    """The last batch of each writer; every batch is there as a whole, as of one moment."""
    assert len(keys) == len(set(keys))
    found: dict[tuple[str, int], set[str]] = collections.defaultdict(set)
    for key in keys:
        writer, batch, _ = key.split(":")
        found[writer, int(batch)].add(key)
    assert sum(writer == "base" for writer, _ in found) == BASE
    last = {writer: max(batch for name, batch in found if name == writer) for writer in WRITERS}
    for writer in WRITERS:
        for number in range(-1, last[writer] + 1):
            left = keys_of(writer, number)[GO if number < last[writer] else 0 :]
            assert found[writer, number] == set(left), f"batch {number} of {writer} is not as it should be"
    return last


def write_in_a_process(where: str, writer: str, batches: int) -> None:
    with shoal.Vault.open(where, wait=PATIENCE) as vault:
        write(vault, writer, batches)


def read_in_a_process(where: str, threads: int, signs: Path) -> None:
    """Each thread has a vault of its own, but for the last two, who share one."""
    vaults = [shoal.Vault.open(where) for _ in range(threads - 1)]
    with ThreadPoolExecutor(threads) as pool:
        reading = [
            pool.submit(
                read, vault, (signs / f"{os.getpid()}-{number}").touch, (signs / STOP).exists, thorough=number == 0
            )
            for number, vault in enumerate([*vaults, vaults[-1]])
        ]
    for vault in vaults:
        vault.close()
    for one in reading:
        one.result()


# Tests


@pytest.fixture(scope="module", autouse=True)
def _compiled() -> None:
    compile_kernels()


@pytest.fixture
def processes() -> Iterator[ProcessPoolExecutor]:
    """New ones, not copies of this one: a copy would share its connections."""
    with ProcessPoolExecutor(4, multiprocessing.get_context("spawn")) as pool:
        yield pool


def complete(where: str | Path, batches: int) -> None:
    """In the end everything is there."""
    with shoal.Vault.open(where) as vault:
        assert batches_in(vault.groups()["key"].to_pylist()) == dict.fromkeys(WRITERS, batches - 1)
        assert vault.status().version == 1 + len(WRITERS) * batches
        assert len(vault.releases()) == batches // 6
        checked = vault.check()
        assert checked.ok, checked.problems


@pytest.mark.parametrize("batches", [10, pytest.param(400, marks=pytest.mark.slow)])
def test_two_write_and_ten_read(where: str, tmp_path: Path, processes: ProcessPoolExecutor, batches: int) -> None:
    """All are at work at once: writers begin when every reader has, and readers look until the writers are done."""
    make(where).close()
    signs = tmp_path / "signs"
    signs.mkdir()
    readers = [processes.submit(read_in_a_process, where, READERS // 2, signs) for _ in range(2)]
    try:
        eventually(lambda: len(list(signs.iterdir())) == READERS or any(one.done() for one in readers), "all read")
        writers = [processes.submit(write_in_a_process, where, writer, batches) for writer in WRITERS]
        for writing in writers:
            writing.result()
    finally:
        (signs / STOP).touch()
    for reading in readers:
        reading.result()
    complete(where, batches)


@pytest.mark.parametrize("batches", [10, pytest.param(400, marks=pytest.mark.slow)])
def test_threads_share_one_vault(where: str, processes: ProcessPoolExecutor, batches: int) -> None:
    processes.submit(share, where, batches).result()
    complete(where, batches)


def test_threads_share_one_vault_in_memory(processes: ProcessPoolExecutor) -> None:
    processes.submit(share, ":memory:", 12).result()


def share(where: str, batches: int) -> None:
    """More threads than a pool of connections usually has. In a process of its own, which may crash."""
    done = threading.Event()
    with make(where) as vault, ThreadPoolExecutor(READERS + len(WRITERS)) as pool:
        begun = [threading.Event() for _ in range(READERS)]
        readers = [
            pool.submit(read, vault, one.set, done.is_set, thorough=number == 0) for number, one in enumerate(begun)
        ]
        try:
            eventually(lambda: all(one.is_set() for one in begun), "all read")
            writers: list[Future[None]] = [pool.submit(write, vault, writer, batches) for writer in WRITERS]
            for writing in writers:
                writing.result()
        finally:
            done.set()
        for reading in readers:
            reading.result()
        assert batches_in(vault.groups()["key"].to_pylist()) == dict.fromkeys(WRITERS, batches - 1)
        assert vault.check().ok


class Dawdling(Progress):
    """A writer who has the turn, and takes his time."""

    def __init__(self) -> None:
        self.at_work, self.go_on = threading.Event(), threading.Event()

    def stage(self, name: str, total: int | None = None) -> None:
        self.at_work.set()
        assert self.go_on.wait(PATIENCE)


def test_who_waits_too_long_is_told_so(where: str) -> None:
    slow, other = make(where), shoal.Vault.open(where, wait=0.2)
    dawdling = Dawdling()
    with slow, other, ThreadPoolExecutor(1) as pool:
        publishing = pool.submit(slow.publish, progress=dawdling)
        try:
            assert dawdling.at_work.wait(PATIENCE)
            began = time.monotonic()
            with pytest.raises(shoal.VaultBusy, match=r"waited 0\.2 s"):
                other.insert(people(["x:0:0"]))
            assert time.monotonic() - began >= 0.2
            assert other.status().version == 1  # nobody waits to read
            assert other.groups().num_rows == BASE + len(WRITERS) * COME
        finally:
            dawdling.go_on.set()
        assert publishing.result().number == 1
        assert other.insert(people(["x:0:0"])).version == 2
        assert slow.insert(people(["x:0:1"])).version == 3  # and has seen the other's


def test_a_second_vault_in_the_process_takes_nothing_from_the_first(where: str, processes: ProcessPoolExecutor) -> None:
    """On a file: whoever opens and closes it a second time must not let go of the locks of the first."""
    with make(where) as vault:
        write(vault, "a", 1)
        shoal.Vault.open(where).close()
        processes.submit(write_in_a_process, where, "b", 3).result()
        assert batches_in(vault.groups()["key"].to_pylist()) == {"a": 0, "b": 2}
        assert vault.insert(people(["base:100:0"])).version == 6
        processes.submit(insert_in_a_process, where, "base:101:0").result()
        assert vault.insert(people(["base:102:0"])).version == 8
    with shoal.Vault.open(where) as vault:
        assert {f"base:{i}:0" for i in (100, 101, 102)} <= set(vault.groups()["key"].to_pylist())
        assert vault.check().ok


def insert_in_a_process(where: str, key: str) -> None:
    with shoal.Vault.open(where, wait=PATIENCE) as vault:
        vault.insert(people([key]))
