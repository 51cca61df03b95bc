"""Goldberger & Tassa's setting: all 14 attributes of Adult, a cell is published as it is or suppressed, LM."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

import shoal
from experiments.study import Row, pick, values
from experiments.trials import Trial, trial
from shoal.measures.holder import total_loss
from shoal.partition import Partition
from shoal.privacy import Rule
from shoal.records.encode import Records, encode

ALL, QUICK_ALL = 45_222, 1_000
SALARY = "salary-class"
NUMBERS = ("age", "fnlwgt", "education-num", "capital-gain", "capital-loss", "hours-per-week")

MONDRIAN, MEDIAN, CELLS_ALONE = "mondrian", "mondrian, median cuts", "mondrian, cells alone"
HILBERT, K_MEMBER, AGGLOMERATIVE = "hilbert", "k-member", "agglomerative"
SEQUENTIAL, SHOAL = "sequential", "shoal"
MONDRIANS = (MONDRIAN, MEDIAN, CELLS_ALONE)
METHODS: dict[str, tuple[str, dict[str, object]]] = {
    MONDRIAN: ("mondrian", {}),
    MEDIAN: ("mondrian", {"cut": "median"}),
    CELLS_ALONE: ("mondrian", {}),
    HILBERT: ("hilbert", {}),
    K_MEMBER: ("k-member", {}),
    AGGLOMERATIVE: ("agglomerative", {}),
    SEQUENTIAL: ("sequential", {}),
    SHOAL: ("shoal", {}),
}
ORDERED = (MONDRIAN, MEDIAN)  # they see how far apart two numbers are


@cache
def _adult() -> pa.Table:
    return shoal.datasets.adult(complete=True)


def quasi_identifiers() -> list[str]:
    return shoal.datasets.adult_schema("suppression").quasi_identifiers


@cache
def table(rows: int, columns: tuple[str, ...] = (), sensitive: str = SALARY, *, ordered: bool = False) -> Records:
    """So many rows at random, with these quasi-identifiers (all, if none is named).

    A larger table has all rows of a smaller one. `ordered`: numbers are numbers, not names that differ.
    """
    names = columns or tuple(quasi_identifiers())
    public: dict[str, dict[str, object]] = {
        name: {"role": "quasi-identifier", "type": "numeric" if ordered and name in NUMBERS else "categorical"}
        for name in names
    }
    schema = shoal.Schema(columns={**public, sensitive: {"role": "sensitive", "type": "categorical"}})
    drawn = np.sort(np.random.default_rng(1).permutation(ALL)[:rows])
    return encode(_adult().select([*names, sensitive]).take(drawn), schema)


def grouped(
    rows: int,
    k: int,
    name: str,
    *,
    columns: tuple[str, ...] = (),
    sensitive: str = SALARY,
    rules: Sequence[Rule] = (),
    seed: int = 1,
) -> Trial:
    """What one of METHODS makes of a table, and its seconds; the boxes are those of suppression."""
    method, options = METHODS[name]
    records = table(rows, columns, sensitive)
    seen = table(rows, columns, sensitive, ordered=True) if name in ORDERED else records
    partition, seconds = trial(seen, k, method, measure="lm", rules=rules, options=options, seed=seed)
    return Trial(Partition.from_labels(records.codes, partition.labels, partition.privacy), seconds)


def lm_of(partition: Partition, records: Records) -> float:
    """The share of cells that are suppressed."""
    return total_loss(partition, records.books, "lm") / records.codes.size


def counts_of(partition: Partition, records: Records, sensitive: str) -> NDArray[np.int64]:
    """How often each sensitive value is in each group."""
    kinds = np.unique(records.passthrough[sensitive].to_pylist(), return_inverse=True)[1]
    counts = np.zeros((len(partition), kinds.max() + 1), np.int64)
    np.add.at(counts, (partition.labels, kinds), 1)
    return counts


def by_setting(rows: Sequence[Row], setting: str, field: str, method: str) -> dict[float, float]:
    """A measurement of a method, by a setting (its average, where there are several)."""
    mine = pick(rows, method=method)
    return {
        value: float(np.mean([row[field] for row in pick(mine, **{setting: value})])) for value in values(mine, setting)
    }


def power(found: dict[float, float]) -> float:
    """The exponent of the setting with which a measurement grows."""
    return float(np.polyfit(np.log(list(found)), np.log(list(found.values())), 1)[0])


def span(numbers: Sequence[float], form: str = "{:.2f}") -> str:
    """The least and the greatest."""
    return f"{form.format(min(numbers))} to {form.format(max(numbers))}"
