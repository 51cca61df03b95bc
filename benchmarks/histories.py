"""Histories: tables of every character that change in every way, for maintainers to follow.

A history is a table in the order in which its rows come, and steps: how many come, are replaced and go in each batch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

import shoal
from shoal.privacy import Rule, make_rules
from shoal.records.changes import ChangeBatch
from shoal.schema import Role

Made = tuple[pa.Table, shoal.Schema]  # a table whose key is `id`
Numbers = np.ndarray[Any, np.dtype[np.int64]]
NUMBER = {"role": "quasi-identifier", "type": "numeric"}
CATEGORY = {"role": "quasi-identifier", "type": "categorical"}


class Step(NamedTuple):
    """How many records come, are replaced and go in one batch."""

    come: int = 0
    replaced: int = 0
    go: int = 0


class History(NamedTuple):
    """What happens to a table."""

    make: Callable[[int, int], Made]  # of so many rows, by a seed
    first: int  # rows that are there at the beginning
    steps: list[Step]
    k: int = 5
    asked: dict[str, Any] | None = None  # of sensitive columns, as `anonymize` takes it
    oldest_go: bool = False  # or whoever it hits

    @property
    def rows(self) -> int:
        return self.first + sum(step.come + step.replaced for step in self.steps)

    def rules(self, schema: shoal.Schema) -> tuple[Rule, ...]:
        return make_rules(schema.names(Role.SENSITIVE), **self.asked) if self.asked else ()


# Tables


def survey(rows: int, seed: int, *, numbers: int = 2, categories: int = 6, turning: bool = False) -> Made:
    """People of a few dozen kinds: two numbers and six categories without hierarchies, some common, most rare.

    `turning`: who is common among the first is rare among the last.
    """
    made = np.random.default_rng(11)  # the kinds are the same for every seed
    kinds, rng = 40, np.random.default_rng(seed)
    counts = made.integers(2, 25, categories)
    chances = made.dirichlet(np.full(kinds, 0.5))
    others = made.dirichlet(np.full(kinds, 0.5))
    share = np.linspace(0.0, 1.0, rows) if turning else np.zeros(rows)
    later = rng.random(rows) < share
    kind = np.where(later, rng.choice(kinds, rows, p=others), rng.choice(kinds, rows, p=chances))
    columns: dict[str, Any] = {}
    for j in range(numbers):
        middle, spread = made.normal(45, 15, kinds), made.uniform(2, 12, kinds)
        columns[f"number{j}"] = np.clip(np.rint(rng.normal(middle[kind], spread[kind])), 0, 99).astype(np.int64)
    for j in range(categories):
        usual = made.dirichlet(np.full(counts[j], 0.25), kinds).cumsum(axis=1)
        drawn = (rng.random(rows)[:, None] > usual[kind]).sum(axis=1)
        columns[f"category{j}"] = np.minimum(drawn, counts[j] - 1)
    specs = {name: NUMBER if name.startswith("number") else CATEGORY for name in columns}
    return _with_keys(pa.table(columns), specs)


def households(rows: int, seed: int) -> Made:
    """The same, with one to three records of each person, one after the other."""
    table, schema = survey(rows, seed)
    people = np.repeat(np.arange(rows), np.random.default_rng(seed).integers(1, 4, rows))[:rows]
    table = table.append_column("person", pa.array([f"h{number}" for number in people]))
    return table, shoal.Schema(columns={**schema.columns, "person": {"role": "person"}})


def independent(rows: int, seed: int) -> Made:
    """Numbers and categories that have nothing to do with each other."""
    rng = np.random.default_rng(seed)
    columns = {f"q{j}": rng.integers(0, 20, rows) for j in range(5)}
    return _with_keys(pa.table(columns), {name: CATEGORY if i % 2 else NUMBER for i, name in enumerate(columns)})


def measured(rows: int, seed: int) -> Made:
    """Four numbers that hang together, hardly one of them twice."""
    rng = np.random.default_rng(seed)
    common = rng.normal(size=(rows, 2))
    mix = np.random.default_rng(11).normal(size=(2, 4))
    drawn = np.rint(1_000 * np.exp(0.4 * (common @ mix) + 0.3 * rng.normal(size=(rows, 4)))).astype(np.int64)
    columns = {f"number{j}": drawn[:, j] for j in range(4)}
    return _with_keys(pa.table(columns), dict.fromkeys(columns, NUMBER))


def adult(rows: int, seed: int, *, flat: bool = False) -> Made:
    table, schema = shoal.datasets.adult(complete=True), shoal.datasets.adult_schema()
    table = table.drop_columns(schema.names(Role.IDENTIFIER))
    table = table.take(pa.array(np.random.default_rng(seed).permutation(table.num_rows)[:rows]))
    return _with_keys(table, _flat(schema) if flat else schema.columns)


def census(rows: int, seed: int, *, flat: bool = False) -> Made:
    table, schema = shoal.datasets.census(rows, seed), shoal.datasets.census_schema()
    table = table.drop_columns([*schema.names(Role.IDENTIFIER), *schema.names(Role.KEY)])
    return _with_keys(table, _flat(schema) if flat else schema.columns)


def _flat(schema: shoal.Schema) -> dict[str, Any]:
    """The columns without their hierarchies."""
    return {
        name: CATEGORY if column.role == Role.QUASI_IDENTIFIER and column.type not in ("numeric", "date") else column
        for name, column in schema.columns.items()
    }


def _with_keys(table: pa.Table, specs: Any) -> Made:
    keys = pa.array([f"p{row}" for row in range(table.num_rows)])
    kept = {name: spec for name, spec in dict(specs).items() if name in table.column_names}
    return table.add_column(0, "id", keys), shoal.Schema(columns={"id": {"role": "key"}, **kept})


# What happens to them


def mixed(rows: int, batches: int, share: float) -> list[Step]:
    """Two fifths come, two fifths go, one fifth is replaced."""
    size = max(5, round(rows * share))
    return [Step(2 * size // 5, size // 5, 2 * size // 5)] * batches


def growing(rows: int, batches: int, times: int) -> list[Step]:
    return [Step(come=(times - 1) * rows // batches)] * batches


def shrinking(rows: int, batches: int, part: int) -> list[Step]:
    return [Step(go=(rows - rows // part) // batches)] * batches


def one_by_one(batches: int) -> list[Step]:
    return [Step(come=1), Step(go=1), Step(replaced=1)] * (batches // 3)


numbers_only = partial(survey, numbers=4, categories=0)
categories_only = partial(survey, numbers=0, categories=6)
turning = partial(survey, turning=True)
adult_flat, census_flat = partial(adult, flat=True), partial(census, flat=True)
UP_AND_DOWN = [*[Step(come=600)] * 10, *[Step(go=300)] * 10, *mixed(12_000, 40, 0.01)]
YEAR = [Step(1_000, 0, 500)] * 20

HISTORIES: dict[str, History] = {
    "survey": History(survey, 40_000, YEAR),
    "adult": History(adult, 12_000, UP_AND_DOWN),
    "adult flat": History(adult_flat, 12_000, mixed(12_000, 40, 0.03)),
    "census": History(census, 20_000, mixed(20_000, 30, 0.03)),
    "census flat": History(census_flat, 20_000, mixed(20_000, 30, 0.03)),
    "numbers only": History(numbers_only, 12_000, mixed(12_000, 30, 0.03)),
    "measured": History(measured, 8_000, mixed(8_000, 30, 0.03)),
    "categories only": History(categories_only, 12_000, mixed(12_000, 30, 0.03)),
    "independent": History(independent, 8_000, mixed(8_000, 20, 0.05)),
    "growing, adult": History(adult, 1_000, growing(1_000, 30, 10)),
    "growing, survey": History(survey, 1_000, growing(1_000, 30, 10)),
    "shrinking, census": History(census, 20_000, shrinking(20_000, 30, 10)),
    "shrinking, survey": History(survey, 20_000, shrinking(20_000, 30, 10)),
    "turn-over": History(turning, 12_000, [Step(come=600, go=600)] * 30, oldest_go=True),
    "updates only, adult": History(adult, 12_000, [Step(replaced=300)] * 40),
    "updates only, survey": History(survey, 12_000, [Step(replaced=300)] * 40),
    "batches of 1": History(survey, 2_000, one_by_one(1_800)),
    "batches of 100": History(census, 10_000, mixed(100, 100, 1.0)),
    "batches of 10 %": History(survey, 12_000, mixed(12_000, 15, 0.1)),
    "k = 2, adult": History(adult, 12_000, mixed(12_000, 30, 0.03), k=2),
    "k = 2, survey": History(survey, 12_000, mixed(12_000, 30, 0.03), k=2),
    "k = 10, survey": History(survey, 12_000, mixed(12_000, 30, 0.03), k=10),
    "k = 10, census": History(census, 12_000, mixed(12_000, 30, 0.03), k=10),
    "k = 50, adult": History(adult, 12_000, mixed(12_000, 30, 0.03), k=50),
    "k = 50, survey": History(survey, 12_000, mixed(12_000, 30, 0.03), k=50),
    "l = 2": History(census, 8_000, mixed(8_000, 20, 0.03), asked={"l": {"diagnosis": 2}}),
    "t": History(adult, 8_000, mixed(8_000, 20, 0.03), asked={"t": {"salary-class": 0.3}}),
    "people": History(households, 8_000, mixed(8_000, 20, 0.03)),
}  # fmt: skip


@cache
def made(name: str, seed: int) -> Made:
    return HISTORIES[name].make(HISTORIES[name].rows, seed)


def beginning(name: str, seed: int) -> pa.Table:
    return made(name, seed)[0].slice(0, HISTORIES[name].first)


def batches(name: str, seed: int) -> Iterator[ChangeBatch]:
    """The batches of a history."""
    return batches_of(HISTORIES[name], *made(name, seed), seed)


def batches_of(history: History, table: pa.Table, schema: shoal.Schema, seed: int) -> Iterator[ChangeBatch]:
    """What happens to a table. No row comes twice."""
    rng, keys = np.random.default_rng(seed), table["id"].slice(0, history.first).to_pylist()
    at = history.first

    def take(count: int) -> list[str]:
        places = np.arange(count) if history.oldest_go else rng.choice(len(keys), count, replace=False)
        taken = set(places.tolist())
        found = [keys[place] for place in sorted(taken)]
        keys[:] = [key for place, key in enumerate(keys) if place not in taken]
        return found

    for step in history.steps:
        gone, replaced = take(step.go), take(step.replaced)
        inserts, updates = table.slice(at, step.come), table.slice(at + step.come, step.replaced)
        at += step.come + step.replaced
        keys += [*inserts["id"].to_pylist(), *replaced]
        updates = updates.set_column(0, "id", pa.array(replaced, pa.string()))
        given = {"inserts": inserts, "updates": updates, "deletes": gone}
        yield ChangeBatch.of(schema, **{what: rows for what, rows in given.items() if len(rows)})
