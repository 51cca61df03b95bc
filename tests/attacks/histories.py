"""Random histories of a vault: people come, go, come back and change, and after each batch a release is made.

The test plays the steward. It keeps what is true, and hands the attacker the files and what an attacker knows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import shoal
from tests.attacks.files import read_counts, shown
from tests.attacks.knowledge import Knowledge, Pair, Person, Seen, Unknown, Value
from tests.attacks.sources import KEY, PERSON, Record, Source
from tests.attacks.steward import Row, classes_of

INSERT, DELETE, RETURN, MOVE, FALL_ILL, OTHER_JOB = "insert", "delete", "return", "move", "fall ill", "other job"
KINDS = {INSERT: 3.0, DELETE: 3.0, RETURN: 1.0, MOVE: 1.0, FALL_ILL: 1.0, OTHER_JOB: 1.0}
STILL = {INSERT: 1.0, DELETE: 1.0}  # people come and go, and nobody changes


@dataclass(frozen=True)
class Plan:
    """What happens: `changes` records change before each release but the first, of these `kinds` as often as said."""

    source: Source
    seed: int
    records: int = 60
    releases: int = 5
    changes: int = 5
    kinds: Mapping[str, float] = field(default_factory=lambda: KINDS)
    several: float = 0.0  # how many of those who come are one more record of somebody who is there
    suffix: str = ".csv"  # of the published files

    @property
    def schema(self) -> shoal.Schema:
        return self.source.schema(people=self.several > 0)


@dataclass
class History:
    """What has happened, as the steward knows it: of every release its file, its rows, and the records of then."""

    plan: Plan
    files: list[Path] = field(default_factory=list)
    rows: list[list[Row]] = field(default_factory=list)
    records: list[dict[str, Record]] = field(default_factory=list)
    people: dict[str, str] = field(default_factory=dict)  # whose each record is, by its key

    def came_or_left(self) -> tuple[set[str], set[str]]:
        """The keys of those who were not in every release: who came after the first, and who left before the last."""
        came, left = set[str](), set[str]()
        for before, after in zip(self.records, self.records[1:], strict=False):
            came |= after.keys() - before.keys()
            left |= before.keys() - after.keys()
        return came, left


def lived(where: str | Path, folder: Path, plan: Plan, **options: Any) -> History:
    """Make a vault, change it and publish it as planned. `options` are those of `shoal.Vault.create`: k, l, …"""
    living = Living(plan)
    history = History(plan, people=living.people)
    options = {"seed": plan.seed, "republication": "none", **options}
    with shoal.Vault.create(where, plan.schema, data=living.first(), **options) as vault:
        for number in range(1, plan.releases + 1):
            if number > 1:
                vault.apply(living.changes())
            history.files.append(folder / f"{number}{plan.suffix}")
            vault.publish(history.files[-1])
            history.rows.append(classes_of(vault))
            history.records.append(dict(living.here))
    return history


@dataclass(frozen=True)
class Case:
    """What an attacker has of a history, and what is true."""

    knowledge: Knowledge
    truth: dict[Unknown, Value]
    keys: dict[Unknown, str]  # of the records whose unknowns they are


def attacked(
    history: History,
    columns: Sequence[str] | None = None,
    *,
    changes_known: bool = True,
    returned_unchanged: bool = True,
    releases: Sequence[int] | None = None,
) -> Case:
    """A history in the hands of an attacker.

    A record keeps its unknown as long as it has one value; a row with a place shows the unknown of the place, which is
    equal to those of all records that have held it. `columns`: what is to be found out; several as tuples (one that
    changes ends the spell of all, so this finds more only where the others stay).
    `changes_known`: the attacker knows of whoever stayed and has another value now that it is another one.
    `returned_unchanged`: who was away and has the same value as before is known to have the same; without, nothing is
    known of whoever returns. `releases`: the attacker has these alone, counted from nought.
    """
    source = history.plan.source
    columns = [source.sensitive] if columns is None else columns
    spells = _spells(history, columns, changes_known, returned_unchanged)
    seen, equal = [], list[Pair]()
    truth = {
        unknown: shown(history.records[number][unknown[0]], columns)
        for number, now in enumerate(spells.unknowns)
        for unknown in now.values()
    }
    keys = {unknown: unknown[0] for unknown in truth}
    for number in range(len(history.files)) if releases is None else releases:
        holders: dict[Any, list[Unknown]] = {}
        for row in history.rows[number]:
            own = None if row.record is None else spells.unknowns[number][row.record]
            held = own if row.place is None else ("place", row.place)
            if own is not None and row.place is not None:
                equal.append((held, own))
                truth[held], keys[held] = truth[own], keys[own]
            if held is not None:
                holders.setdefault(row.cells, []).append(held)
        seen.append(Seen(read_counts(history.files[number], source.quasi_identifiers, columns), holders))
    people: dict[Unknown, Person] = {unknown: history.people.get(key, key) for unknown, key in keys.items()}
    return Case(Knowledge(seen, people, equal, spells.different), truth, keys)


@dataclass
class _Spells:
    unknowns: list[dict[str, Unknown]]  # of each release: of each record that is there
    different: list[Pair]


def _spells(history: History, columns: Sequence[str], changes_known: bool, returned_unchanged: bool) -> _Spells:
    """An unknown for each time that a record has one value: its key, and which time it is."""
    found = _Spells([], [])
    last: dict[str, tuple[Unknown, Value]] = {}
    before: Mapping[str, Unknown] = {}
    for records in history.records:
        now: dict[str, Unknown] = {}
        for key, record in records.items():
            value = shown(record, columns)
            unknown, old = last.get(key, ((key, 0), value))
            stayed = key in before or key not in last
            if value != old or not (stayed or returned_unchanged):
                new = (key, unknown[1] + 1)
                if stayed and changes_known:
                    found.different.append((unknown, new))
                unknown = new
            now[key], last[key] = unknown, (unknown, value)
        found.unknowns.append(now)
        before = now
    return found


class Living:
    """The table as it changes."""

    def __init__(self, plan: Plan) -> None:
        self._plan, self._rng = plan, np.random.default_rng(plan.seed)
        self.here: dict[str, Record] = {}
        self._away: dict[str, Record] = {}
        self.people: dict[str, str] = {}

    def first(self) -> pa.Table:
        keys = [self._new() for _ in range(self._plan.records)]
        return self._table([(None, key, self.here[key]) for key in keys])

    def changes(self) -> pa.Table:
        """A batch, which has been made already in what is `here`. Each record changes once at most."""
        rows: list[tuple[str | None, str, Record]] = []
        touched: set[str] = set()
        names, weights = list(self._plan.kinds), np.array(list(self._plan.kinds.values()))
        while len(rows) < self._plan.changes:
            kind = str(self._rng.choice(names, p=weights / weights.sum()))
            done = self._change(kind, touched)
            if done is not None:
                touched.add(done[1])
                rows.append(done)
        return self._table(rows)

    def _change(self, kind: str, touched: set[str]) -> tuple[str, str, Record] | None:
        if kind == INSERT:
            key = self._new()
            return "insert", key, self.here[key]
        found = self._one(self._away if kind == RETURN else self.here, touched)
        if found is None:
            return None
        key = found
        if kind == DELETE:
            self._away[key] = self.here.pop(key)
            return "delete", key, self._away[key]
        if kind == RETURN:
            record = self._away.pop(key)
            if self._rng.random() < 0.3:
                record = self._changed(record, [self._plan.source.sensitive])
            self.here[key] = record
            return "insert", key, record
        source = self._plan.source
        columns = {MOVE: source.quasi_identifiers, FALL_ILL: [source.sensitive], OTHER_JOB: [source.insensitive]}
        self.here[key] = self._changed(self.here[key], columns[kind])
        return "update", key, self.here[key]

    def _new(self) -> str:
        key = f"key-{len(self.people)}"
        record, person = self._plan.source.draw(self._rng), f"person-{len(self.people)}"
        other = self._one(self.here, set()) if self._rng.random() < self._plan.several else None
        if other is not None:  # the same person once more, with another illness perhaps
            person = self.people[other]
            record.update({name: self.here[other][name] for name in self._plan.source.quasi_identifiers})
        self.people[key] = person
        self.here[key] = record
        return key

    def _one(self, among: Mapping[str, Record], touched: set[str]) -> str | None:
        able = [key for key in among if key not in touched]
        return able[int(self._rng.integers(len(able)))] if able else None

    def _changed(self, record: Record, columns: list[str]) -> Record:
        """Other values in these columns, in at least one."""
        new = record
        while new == record:
            drawn = self._plan.source.draw(self._rng)
            new = {**record, **{name: drawn[name] for name in columns}}
        return new

    def _table(self, rows: list[tuple[str | None, str, Record]]) -> pa.Table:
        lines = []
        for op, key, record in rows:
            line = {} if op is None else {"op": op}
            line |= {KEY: key, **({PERSON: self.people[key]} if self._plan.several else {}), **record}
            lines.append(line)
        return pa.Table.from_pylist(lines)
