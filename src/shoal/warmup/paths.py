"""Every path that a user can take, in small: whoever walks them all has called every kernel.

What a kernel is compiled for are the types of its arguments, and those are the same for any table; so tables of a few
hundred people are enough. A test sees to it that no kernel is left out.

There are two paths, for two processes. The first is what nearly everybody needs: the default method. The second begins
with what the first does not need, and finds compiled already what both do.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace
from functools import cache

import numpy as np
import pyarrow as pa

from shoal import datasets
from shoal.anonymize import anonymize
from shoal.cohorts.places import GHOST, Places, Table
from shoal.cohorts.vacancies import fill_vacancies
from shoal.compare import compare
from shoal.errors import ShoalWarning
from shoal.maintain.live import LivePartition, Settings
from shoal.measures import measure
from shoal.privacy.requirements import Requirements
from shoal.records.changes import ChangeBatch
from shoal.records.encode import encode
from shoal.schema import Column, Role, Schema

PEOPLE, MORE_PEOPLE, K = 400, 3_000, 5  # among more, the default method asks first whether trees are of use


@cache
def people(count: int = PEOPLE) -> tuple[pa.Table, Schema]:
    """A table, and its schema: numbers, days, texts and hierarchies."""
    known = datasets.census_schema()
    names = [name for name, column in known.columns.items() if column.role is not Role.IDENTIFIER]
    return datasets.census(count, 1).select(names), Schema(columns={name: known.columns[name] for name in names})


def the_default_method() -> None:
    """shoal, on a table that it has one start for, and on a small one."""
    table, schema = people(MORE_PEOPLE)
    anonymize(table, schema, k=K, effort="fast", seed=1)
    table, schema = people()
    anonymize(table, schema, k=K, l=1.5, t=0.9, seed=1)
    maintained("shoal")


def all_others() -> None:
    """What is withheld and measured, the other maintainers and methods, and people with several records."""
    table, schema = people()
    release = anonymize(table, schema, k=K, method="mondrian", optimize="breaking", suppress=0.05, seed=1)
    measure(release.table, schema, population=table)
    maintained("similar-b-tree")
    maintained("i3m")
    for method, aims in (("hilbert", ["il"]), ("sequential", ["pmi", "il"]), ("agglomerative", ["il"])):
        for aim in aims:
            anonymize(table, schema, k=K, method=method, measure=aim, seed=1)
            anonymize(table, schema, k=K, l=1.5, method=method, measure=aim, seed=1)
    whose = pa.array(np.arange(PEOPLE) // 2).cast(pa.string())
    of_people = Schema(columns={**schema.columns, "whose": Column(role="person")})
    anonymize(table.append_column("whose", whose), of_people, k=K, l=1.2, method="k-member", measure="mi", seed=1)
    compare(table, schema, k=[K], methods=["mondrian"], seed=1)
    republished()


def republished() -> None:
    """A newcomer takes the place of somebody who has left."""
    table, schema = people()
    records = encode(table, schema)
    now = Table.of(records, records.passthrough.slice(0, 0), K, (), "il")
    everybody = np.arange(PEOPLE)
    places = Places.none().begun_with(everybody, everybody // 10, None)
    fill_vacancies(now, places.filled(everybody[:5], np.full(5, GHOST)), everybody[:5], np.inf, "single")


def maintained(maintainer: str) -> None:
    """A vault's life: records come, go and change, and bring new values."""
    table, schema = people()
    settings = Settings(k=K, maintainer=maintainer, method="mondrian", seed=1)
    if maintainer != "similar-b-tree":
        settings = replace(settings, rules=Requirements(K, 1.5, None, None, None, None).rules(schema))
    live = LivePartition.start(table.slice(0, PEOPLE // 2), schema, settings)
    live.apply(ChangeBatch.of(schema, inserts=table.slice(PEOPLE // 2)))
    live.apply(ChangeBatch.of(schema, deletes=table["person_id"].slice(0, 100)))


PATHS: tuple[Callable[[], None], ...] = (the_default_method, all_others)


def walk(number: int) -> None:
    """One of the paths."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ShoalWarning)
        PATHS[number]()
