"""A vault under any sequence of changes, releases and epochs, by two handles, is what plain dicts say it is."""

from __future__ import annotations

import itertools
import shutil
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

import shoal
from shoal.vault.state.load import load
from shoal.vault.state.state import State
from tests.support import live_tables
from tests.support.live_tables import Row, as_table, make_row
from tests.support.vault_places import by_key, group_sizes

NUMBERS = itertools.count()
SEEDS = st.integers(0, 2**32 - 1)


class VaultMachine(RuleBasedStateMachine):
    """`rows`: the records by key; `shown`: what each release was, with the key of each row."""

    place: Any  # a function that makes a new place for a vault
    done: Any  # and one that takes it away
    l: dict[str, float] | None = None  # noqa: E741  # the interface's name

    def __init__(self) -> None:
        super().__init__()
        self.rows: dict[str, Row] = {}
        self.shown: list[tuple[pa.Table, list[str]]] = []
        self.erased: set[str] = set()  # versions of records that were deleted
        self.keys = itertools.count()
        self.k = 3

    @initialize(seed=SEEDS, count=st.integers(0, 40))
    def create(self, seed: int, count: int) -> None:
        self.where = type(self).place()
        self.rng = np.random.default_rng(seed)
        rows = self.new_rows(count, wild=False)
        data = as_table(rows) if rows else None
        first = shoal.Vault.create(
            self.where, live_tables.schema(), republication="none", k=self.k, data=data, l=self.l, seed=seed
        )
        self.vaults = [first, shoal.Vault.open(self.where)]
        self.version = 1
        self.published = 0  # the version of the last release

    def teardown(self) -> None:
        for vault in getattr(self, "vaults", ()):
            vault.close()
        if hasattr(self, "where"):
            type(self).done(self.where)

    def new_rows(self, count: int, *, wild: bool) -> list[Row]:
        rows = [make_row(self.rng, f"key-{next(self.keys)}", wild=wild) for _ in range(count)]
        for row in rows:
            row["note"] = f"{row['id']}#{next(NUMBERS)}"  # says which version of which record a published row is
            self.rows[row["id"]] = row
        return rows

    def some_keys(self, count: int) -> list[str]:
        keys = list(self.rows)
        return [keys[i] for i in self.rng.permutation(len(keys))[:count]]

    def pick(self) -> shoal.Vault:
        return self.vaults[int(self.rng.integers(2))]

    @rule(count=st.integers(0, 12), gone=st.integers(0, 8), changed=st.integers(0, 8), wild=st.booleans())
    def apply(self, count: int, gone: int, changed: int, wild: bool) -> None:
        leaving = self.some_keys(gone)
        updated = [key for key in self.some_keys(changed) if key not in leaving]
        inserts = self.new_rows(count, wild=wild)
        for key in leaving:
            del self.rows[key]
        updates = []
        for key in updated:
            row = {**make_row(self.rng, key, wild=wild), "note": f"{key}#{next(NUMBERS)}"}
            self.rows[key] = row
            updates.append(row)
        deletes = [{**live, "id": key} for key in leaving for live in [make_row(self.rng, key, wild=False)]]
        batch = as_table([*inserts, *updates, *deletes])
        ops = ["insert"] * len(inserts) + ["update"] * len(updates) + ["delete"] * len(deletes)
        position = str(next(NUMBERS))
        done = self.pick().apply(batch.append_column("op", pa.array(ops, pa.string())), source_position=position)
        self.version += bool(ops)
        self.erased |= set(leaving)
        assert (done.inserted, done.updated, done.deleted) == (len(inserts), len(updates), len(deletes))
        assert self.pick().source_position == position

    @rule(count=st.integers(0, 6), gone=st.integers(0, 6), changed=st.integers(0, 6))
    def replace(self, count: int, gone: int, changed: int) -> None:
        leaving = self.some_keys(gone)
        for key in leaving:
            del self.rows[key]
        updated = self.some_keys(changed)
        for key in updated:
            self.rows[key] = {**self.rows[key], "note": f"{key}#{next(NUMBERS)}"}
        self.new_rows(count, wild=True)
        done = self.pick().replace(as_table(list(self.rows.values())), max_deleted=1)
        assert (done.inserted, done.updated, done.deleted) == (count, len(updated), len(leaving))
        assert done.unchanged == len(self.rows) - count - len(updated)
        self.version += bool(count or updated or leaving)
        self.erased |= set(leaving)

    @rule(gone=st.integers(0, 4))
    def erase(self, gone: int) -> None:
        leaving = self.some_keys(gone)
        for key in leaving:
            del self.rows[key]
        done = self.pick().erase([*leaving, "nobody"], ignore_unknown=True)
        assert (done.erased, done.ignored, done.compacted) == (len(leaving), 1, True)
        self.version += bool(leaving)
        self.erased |= set(leaving)

    @rule()
    def optimize(self) -> None:
        done = self.pick().optimize()
        assert done.after <= done.before + 1e-9
        self.version = done.version

    @rule()
    def publish(self) -> None:
        vault = self.pick()
        if not vault.status().publishable:
            with pytest.raises(shoal.VerificationError):
                vault.publish()
            return
        if self.published == self.version:
            with pytest.raises(shoal.Unchanged):
                vault.publish()
        release = vault.publish(even_if_unchanged=True)
        self.published = self.version
        notes = release.table["note"].to_pylist()
        self.shown.append((release.table, [note.split("#")[0] for note in notes]))
        assert sorted(notes) == sorted(row["note"] for row in self.rows.values())
        assert shoal.verify(release.table, live_tables.schema(), k=vault.k, l=self.l).ok

    @rule(k=st.integers(2, 5))
    @precondition(lambda self: len(self.rows) >= 8)
    def rebase(self, k: int) -> None:
        done = self.pick().rebase(k=k, clear_rules=self.l is not None)
        self.k, self.l, self.version = k, None, done.version

    @rule(which=st.integers(0, 1))
    def reopen(self, which: int) -> None:
        self.vaults[which].close()
        self.vaults[which] = shoal.Vault.open(self.where)

    @rule()
    def compact(self) -> None:
        self.pick().compact()

    @invariant()
    def it_is_what_the_dicts_say(self) -> None:
        if not hasattr(self, "where"):
            return
        vault = self.vaults[0]
        wanted = {
            key: {name: value for name, value in row.items() if name not in ("id", "name")}
            for key, row in self.rows.items()
        }
        assert by_key(vault.export()) == wanted
        status = vault.status()
        assert (status.records, status.version, status.k) == (len(self.rows), self.version, self.k)
        if status.publishable:
            assert min(group_sizes(vault)) == status.smallest
            assert status.smallest is not None
            assert status.smallest >= self.k

    @invariant()
    def memory_is_what_is_stored(self) -> None:
        """Whoever has followed the vault has what somebody has who opens it."""
        if not hasattr(self, "where"):
            return
        with self.vaults[0]._store.read() as connection:
            stored = in_memory(load(connection, self.where))
        for vault in self.vaults:
            if vault._state is not None and vault._state.version == self.version:
                assert in_memory(vault._state) == stored

    @invariant()
    def every_release_is_still_there(self) -> None:
        if not self.shown:
            return
        vault = self.vaults[1]
        for number, (table, keys) in enumerate(self.shown, start=1):
            left = [i for i, key in enumerate(keys) if key not in self.erased]
            assert vault.release_rows(number).equals(table.take(pa.array(left, pa.int64())).combine_chunks())
            if len(left) == len(keys):
                assert vault.release(number).table.equals(table)
            else:
                with pytest.raises(shoal.VaultError, match="cannot be made again"):
                    vault.release(number)
        assert [entry.erased for entry in vault.releases()] == [
            sum(key in self.erased for key in keys) for _, keys in self.shown
        ]

    @invariant()
    def everything_is_as_it_was_stored(self) -> None:
        if hasattr(self, "where"):
            checked = self.vaults[1].check()
            assert checked.ok, checked.problems


def in_memory(state: State) -> dict[str, tuple[object, ...]]:
    """Of each record: its values, its group and its number."""
    live, alive = state.live, state.live.alive()
    place = {slot: i for i, slot in enumerate(alive.tolist())}
    columns = [book.decode(live.codes[alive, j]) for j, book in enumerate(live.books)]
    passthrough = [tuple(row.values()) for row in live.records().passthrough.to_pylist()]
    found = {}
    for key, slot in live.keys.items():
        values = [column[place[slot]] for column in columns]
        found[key] = (*values, live.labels[slot], live.ids[slot], passthrough[place[slot]])
    return found


def run(place: Any, done: Any, examples: int, steps: int, **attributes: Any) -> None:
    machine = type("Machine", (VaultMachine,), {"place": staticmethod(place), "done": staticmethod(done), **attributes})
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=examples,
            stateful_step_count=steps,
            deadline=None,
            suppress_health_check=list(HealthCheck),
            phases=[Phase.generate],  # shrinking a vault takes longer than reading what it did
        ),
    )


def in_files(examples: int, steps: int, **attributes: Any) -> None:
    def place() -> str:
        return str(Path(tempfile.mkdtemp()) / "machine.vault")

    run(place, lambda where: shutil.rmtree(Path(where).parent), examples, steps, **attributes)


def in_postgres(url: str, examples: int, steps: int) -> None:
    run(lambda: f"{url}?schema=machine_{next(NUMBERS)}", lambda where: None, examples, steps)


def test_a_vault_in_a_file() -> None:
    in_files(8, 12)


def test_a_vault_in_a_file_with_rules() -> None:
    in_files(4, 10, l={"diagnosis": 1.5})


def test_a_vault_in_postgres(postgres_url: str) -> None:
    in_postgres(postgres_url, 3, 10)


@pytest.mark.slow
def test_a_vault_in_a_file_for_long() -> None:
    in_files(100, 40)


@pytest.mark.slow
def test_a_vault_in_a_file_with_rules_for_long() -> None:
    in_files(60, 30, l={"diagnosis": 1.5})


@pytest.mark.slow
def test_a_vault_in_postgres_for_long(postgres_url: str) -> None:
    in_postgres(postgres_url, 30, 30)
