"""A process that changes and publishes a vault as a script says, and dies where it is told to.

The script follows from a seed alone. So what the vault must hold after each step is known without a look at it:
`Script` computes it in plain dicts, here and in the tests.

    python -m tests.support.vault_worker WHERE FOLDER LOG SEED STEPS

makes the vault if STEPS is 0. Else it does the steps that the vault does not have yet, up to step STEPS, and writes a
line to LOG, which is brought to disk, when it has found its place and after every step that has returned. DIE=commit:3
kills it (SIGKILL) at the third moment of the kind "commit", counted from before it opens the vault: see `POINTS`.
"""

from __future__ import annotations

import hashlib
import json
import os
import signal
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import shoal
from shoal.records.changes import ChangeBatch
from tests.support.live_tables import Row, as_table, make_row, schema
from tests.support.patience import PATIENCE

FIRST, MOST = 60, 140  # records in the beginning; how many there are before more leave than come
MANY = 220  # rows in a batch now and then: PostgreSQL gets them in another way
KEYS = 500
DIE = "DIE"


@dataclass(frozen=True)
class Moment:
    """What the vault must hold after a step."""

    step: int
    version: int
    k: int
    records: dict[str, Row]
    releases: tuple[tuple[int, int, str | None], ...] = ()  # of each: version, k, the name of its file
    position: str | None = None


@dataclass(frozen=True)
class Step:
    number: int
    kind: str  # "batch", "rebase", "publish"
    inserts: list[Row] = field(default_factory=list)
    updates: list[Row] = field(default_factory=list)
    deletes: list[str] = field(default_factory=list)
    k: int = 0
    file: str | None = None

    def do(self, vault: shoal.Vault, folder: Path) -> None:
        if self.kind == "publish":
            vault.publish(None if self.file is None else folder / self.file)
        elif self.kind == "rebase":
            vault.rebase(k=self.k)
        else:
            vault.apply(self.batch(), source_position=str(self.number))

    def batch(self) -> ChangeBatch:
        inserts, updates = (as_table(rows) if rows else None for rows in (self.inserts, self.updates))
        return ChangeBatch.of(schema(), inserts=inserts, updates=updates, deletes=self.deletes)


def compile_kernels() -> None:
    """Do a bit of everything, so that those who are killed, or waited for, find all kernels compiled."""
    script = Script(0)
    with tempfile.TemporaryDirectory() as folder, script.create(":memory:") as vault:
        for number in range(1, 12):
            script.step(number).do(vault, Path(folder))


class Script:
    """What is done to a vault, step by step, and what it holds then."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        rng = np.random.default_rng(seed)
        first = {key: make_row(rng, key, wild=False) for key in (f"p{i}" for i in range(FIRST))}
        self.moments = [Moment(0, 1, 3, first)]
        self.steps: list[Step | None] = [None]

    def create(self, where: str | Path) -> shoal.Vault:
        """The vault before the first step."""
        first = self.moments[0]
        return shoal.Vault.create(
            where, schema(), k=first.k, data=as_table(list(first.records.values())), republication="none"
        )

    def moment(self, step: int) -> Moment:
        while len(self.moments) <= step:
            self._go_on()
        return self.moments[step]

    def step(self, number: int) -> Step:
        self.moment(number)
        found = self.steps[number]
        assert found is not None
        return found

    def place(self, version: int, releases: int) -> int:
        """The step after which a vault has this version and so many releases: there is one, if all is well."""
        step = 0
        while (self.moment(step).version, len(self.moment(step).releases)) != (version, releases):
            step += 1
            assert self.moment(step).version <= version + 1, f"no step leaves version {version}, {releases} releases"
        return step

    def _go_on(self) -> None:
        last = self.moments[-1]
        number = last.step + 1
        rng = np.random.default_rng([self.seed, number])
        if number % 3 == 2:
            file = [f"release-{number}.csv", f"release-{number}.parquet", None][number // 3 % 3]
            step = Step(number, "publish", file=file)
            now = replace(last, step=number, releases=(*last.releases, (last.version, last.k, file)))
        elif number % 11 == 0:
            step = Step(number, "rebase", k=7 - last.k)
            now = replace(last, step=number, version=last.version + 1, k=step.k)
        else:
            step = self._batch(number, last.records, rng)
            records = {key: row for key, row in last.records.items() if key not in set(step.deletes)}
            records |= {row["id"]: row for row in [*step.inserts, *step.updates]}
            now = replace(last, step=number, version=last.version + 1, records=records, position=str(number))
        self.steps.append(step)
        self.moments.append(now)

    def _batch(self, number: int, records: dict[str, Row], rng: np.random.Generator) -> Step:
        """Some come (back), some change, some go; all of it in one batch."""
        come = MANY if number % 10 == 3 else int(rng.integers(1, 10))
        go = max(0, len(records) - MOST) or int(rng.integers(0, 10))
        touched = [str(key) for key in rng.permutation(sorted(records))]
        absent = [key for key in (f"p{i}" for i in range(KEYS)) if key not in records]
        inserts = [str(key) for key in rng.choice(absent, come, replace=False)]
        updates = touched[go : go + int(rng.integers(0, 8))]
        made = [make_row(rng, key, wild=bool(rng.random() < 0.3)) for key in [*inserts, *updates]]
        return Step(number, "batch", made[:come], made[come:], touched[:go])


# What a vault tells of itself, in a form that can be compared


def plain(records: dict[str, Row]) -> dict[str, Row]:
    """Records as `export()` has them when it is read by `exported`: without the identifier."""
    kept = {key: {name: value for name, value in row.items() if name != "name"} for key, row in records.items()}
    return {key: {name: _plain(name, value) for name, value in row.items()} for key, row in kept.items()}


def exported(table: pa.Table) -> dict[str, Row]:
    rows = table.to_pylist()
    found = {row["id"]: {name: _plain(name, value) for name, value in row.items()} for row in rows}
    assert len(found) == len(rows), "a key is there twice"
    return found


def _plain(name: str, value: Any) -> Any:
    """Numbers are stored as texts; 12 and 12.0 are the same."""
    return value if value is None or name not in ("age", "height", "income", "cost") else float(value)


def sizes(groups: pa.Table) -> list[int]:
    """Of the groups."""
    counts: list[int] = np.unique(groups["group"].to_numpy(), return_counts=True)[1].tolist()
    return counts


def digest(vault: shoal.Vault) -> str:
    """Of who is in which group, and of the history: the same as long as nothing has changed."""
    groups = sorted(zip(*vault.groups().to_pydict().values(), strict=True))
    releases = [entry.facts() for entry in vault.releases()]
    return hashlib.sha256(json.dumps([groups, releases]).encode()).hexdigest()


# Where it dies

POINTS: dict[str, Callable[[], list[tuple[Any, str]]]] = {
    "connect": lambda: [(_of("sqlite3"), "connect"), (_of("psycopg"), "connect")],
    # Transactions, as SQLAlchemy ends them; and each statement in them that changes something, counted by an event.
    "commit": lambda: [(_of("sqlalchemy.engine.default").DefaultDialect, "do_commit")],
    "statement": lambda: [(_of("shoal.vault.store.store").Store, "insert")],
    # Publishing: between its steps, and between the calls of the system within them.
    "publish": lambda: [
        (_of("shoal.vault.releases.publish"), name)
        for name in dir(_of("shoal.vault.releases.publish"))
        if name.endswith("_parts")  # write, place, discard, …
    ],
    "file": lambda: [
        *((os, name) for name in ("fsync", "link", "replace", "unlink")),
        *((_of("shoal.release.write"), name) for name in ("_write_table", "_write_csv")),
        (Path, "write_text"),
    ],
}


class Fate:
    """Counts moments of a kind, and ends the process at one of them: as if the power had failed for it alone."""

    def __init__(self, told: str) -> None:
        self.kind, _, left = told.partition(":")
        self.left = int(left or 0)
        self.counting = True
        if self.kind:
            for owner, name in POINTS[self.kind]():
                setattr(owner, name, self._around(getattr(owner, name)))
        if self.kind == "statement":
            sa = _of("sqlalchemy")
            for moment in ("before_cursor_execute", "after_cursor_execute"):
                sa.event.listen(sa.Engine, moment, lambda _, __, statement, *___: self._executed(statement))

    def tick(self) -> None:
        if self.counting:
            self.left -= 1
            if self.left == 0:
                os.kill(os.getpid(), signal.SIGKILL)

    def _executed(self, statement: str) -> None:
        if not statement.lstrip().upper().startswith(("SELECT", "PRAGMA", "BEGIN")):
            self.tick()

    def _around(self, function: Callable[..., Any]) -> Callable[..., Any]:
        def called(*given: Any, **named: Any) -> Any:
            self.tick()
            result = function(*given, **named)
            self.tick()
            return result

        return called

    @contextmanager
    def spared(self) -> Iterator[None]:
        """For what only the test does."""
        self.counting = False
        yield
        self.counting = True


def _of(module: str) -> Any:
    return __import__(module, fromlist=["_"])


def main(where: str, folder: str, log: str, seed: str, steps: str) -> None:
    fate = Fate(os.environ.get(DIE, ""))
    script = Script(int(seed))
    if int(steps) == 0:
        script.create(where).close()
        return
    with Path(log).open("a") as lines, shoal.Vault.open(where, wait=PATIENCE) as vault:

        def acknowledge(step: int) -> None:
            with fate.spared():
                said = {"step": step, "version": vault.status().version, "digest": digest(vault)}
                lines.write(json.dumps(said) + "\n")
                lines.flush()
                os.fsync(lines.fileno())

        with fate.spared():
            done = script.place(vault.status().version, len(vault.releases()))
        acknowledge(done)
        for number in range(done + 1, int(steps) + 1):
            script.step(number).do(vault, Path(folder))
            acknowledge(number)


if __name__ == "__main__":
    main(*sys.argv[1:])
