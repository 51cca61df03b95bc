"""A vault whose file is damaged: what is not as it was stored is never served in silence."""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sqlalchemy as sa

import shoal
from shoal.vault.store import tables
from tests.support.live_tables import as_table, make_row
from tests.support.vault_answers import Failed, everything
from tests.support.vault_faults import holds
from tests.support.vault_worker import Script

BESIDE = ("-wal", "-shm", "-journal", ".lock", ".head")


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A vault with something in every table, in one file."""
    folder, script = tmp_path_factory.mktemp("whole"), Script(51)
    script.create(folder / "vault").close()
    with shoal.Vault.open(folder / "vault") as vault:
        for number in range(1, 13):
            script.step(number).do(vault, folder)
        holds(vault, script.moment(12))
        # What follows fills the tables that only such releases need.
        vault.publish(republication="safe", accept_findings=True)
        vault.delete([vault.export()["id"][0].as_py()])
        alone = {**make_row(np.random.default_rng(1), "alone", wild=False), "age": 17}
        vault.insert(as_table([alone]))
        vault.publish()
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


@pytest.mark.parametrize(("seed", "count"), FLIPPED)
def test_a_flipped_byte_is_never_served_in_silence(whole: Path, tmp_path: Path, seed: int, count: int) -> None:
    damage, rng = Damage(whole, tmp_path), np.random.default_rng(seed)
    used = np.flatnonzero(np.frombuffer(damage.bytes, np.uint8))  # most of the rest is empty room
    complaints = []
    for _ in range(count):
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
