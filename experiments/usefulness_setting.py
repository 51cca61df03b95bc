"""What the studies of usefulness share: people to learn from and to be tested on, releases, and who is ahead."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

import shoal
from experiments.cells_of_records import CellsOfRecords
from experiments.looks import lines
from experiments.study import Cell, Judge, Row, Verdict, pick, values, verdict
from shoal.cluster import cluster
from shoal.records.encode import Records, encode
from shoal.report.lines import Axis
from shoal.schema import Role

SALARY, MORE = "salary-class", ">50K"
IL, LM, MI, PMI = "il", "lm", "mi", "pmi"
MEASURES, OTHERS = (IL, LM, MI, PMI), (IL, LM, MI)
SEQUENTIAL, SHOAL = "sequential", "shoal"
METHODS = (SEQUENTIAL, SHOAL)
ORIGINAL = "original"
ROWS, QUICK_ROWS = 8_000, 600  # under pmi every record is compared with every group
KS, QUICK_KS = (5, 10, 25, 50, 100), (5, 20)
SEEDS, QUICK_SEEDS = (1, 2, 3), (1,)

BY_K = Axis("k", "k", log=True, format="d")


class Split(NamedTuple):
    training: Records
    test: Records  # original rows, which no release is made of


@cache
def _adult() -> pa.Table:
    """The 30 162 complete training rows, without the columns that are not published."""
    hidden = shoal.datasets.adult_schema().names(Role.IDENTIFIER)
    return shoal.datasets.adult("train", complete=True).drop_columns(hidden)


@cache
def split(rows: int, seed: int) -> Split:
    """So many rows at random, and all others. Each part is encoded anew: MI and PMI go by the counts of its own."""
    table, schema = _adult(), shoal.datasets.adult_schema()
    order = np.random.default_rng(seed).permutation(table.num_rows)
    return Split(*(encode(table.take(np.sort(part)), schema) for part in (order[:rows], order[rows:])))


@cache
def ranges() -> dict[str, tuple[int, int]]:
    """The least and the greatest value of each column of numbers, in training and test rows together."""
    numbers = [book.name for book in split(QUICK_ROWS, QUICK_SEEDS[0]).training.books if book.axis is not None]
    return {name: tuple(pc.min_max(_adult()[name]).as_py().values()) for name in numbers}


def earns_more(records: Records) -> NDArray[np.bool_]:
    """Whether each record has the salary class above 50 000 $."""
    return np.array(records.passthrough[SALARY].to_pylist()) == MORE


def releases(quick: bool) -> list[Cell]:
    """A cell for each release."""
    rows, ks, seeds = (QUICK_ROWS, QUICK_KS, QUICK_SEEDS) if quick else (ROWS, KS, SEEDS)
    return [
        {"records": rows, "seed": seed, "k": k, "method": method, "measure": measure}
        for seed in seeds
        for k in ks
        for method in METHODS
        for measure in MEASURES
    ]


@cache  # both studies ask for the same releases
def _released(rows: int, seed: int, k: int, method: str, measure: str) -> CellsOfRecords:
    training = split(rows, seed).training
    return CellsOfRecords.of_release(training, cluster(training, k, method=method, measure=measure, seed=seed))


def released(cell: Cell) -> CellsOfRecords:
    """What is published of the training rows; for measure "original", their own values."""
    if cell["measure"] == ORIGINAL:
        return CellsOfRecords.of_originals(split(cell["records"], cell["seed"]).training)
    return _released(cell["records"], cell["seed"], cell["k"], cell["method"], cell["measure"])


def mean(numbers: Sequence[float]) -> float:
    """The average of those that exist (a release without rules has no error); NaN if none does."""
    known = [float(number) for number in numbers if not math.isnan(float(number))]
    return sum(known) / len(known) if known else math.nan


def averages(rows: Sequence[Row]) -> list[Row]:
    """For each k and measure: every measurement, averaged over whatever else varies."""
    settings = {"records", "seed", "k", "method", "measure"}
    fields = [name for name in rows[0] if name not in settings and isinstance(rows[0][name], int | float)]
    found = []
    for k in values(rows, "k"):
        for measure in values(pick(rows, k=k), "measure"):
            mine = pick(rows, k=k, measure=measure)
            found.append({"k": k, "measure": measure, **{name: mean([row[name] for row in mine]) for name in fields}})
    return found


def chart(panels: Mapping[str, Sequence[Row]], y: Axis, levels: Sequence[Row] = ()) -> Any:
    """Averages against k, a line for each measure; `levels` are lines that do not depend on k."""
    shown = {}
    for title, rows in panels.items():
        found = averages(rows)
        ends = (min(row["k"] for row in found), max(row["k"] for row in found))
        drawn = [*found, *({**level, "k": k} for level in levels for k in ends)]
        shown[title] = [row for row in drawn if not math.isnan(row[y.field])]
    return lines(shown, BY_K, y, "measure")


def pmi_is_ahead(
    field: str, by: float, method: str = SEQUENTIAL, *, lower_is_better: bool = False, **settings: str
) -> Judge:
    """Holds: releases for PMI are better than those for each other measure, averaged over k, by more than `by`.

    In part: better by that much than one other measure or two on average, or than all three at some k.
    """
    sign = -1.0 if lower_is_better else 1.0

    def judge(rows: Sequence[Row]) -> tuple[Verdict, str]:
        found = {
            (row["k"], row["measure"]): sign * row[field] for row in averages(pick(rows, method=method, **settings))
        }
        ks = list(dict.fromkeys(k for k, _ in found))
        leads = {other: [found[k, PMI] - found[k, other] for k in ks] for other in OTHERS}
        # NaN, where nothing was found at some k, is not ahead.
        average = {other: sum(lead) / len(lead) for other, lead in leads.items()}
        everywhere = [k for i, k in enumerate(ks) if all(lead[i] > by for lead in leads.values())]
        ahead = [lead > by for lead in average.values()]
        words = ", ".join(f"{sign * lead:+.3f} beside {other}" for other, lead in average.items())
        return verdict(all(ahead), in_part=any(ahead) or bool(everywhere)), (
            f"PMI's average is {words}; better by more than {by:g} than all three at {len(everywhere)} of {len(ks)} k."
        )

    return judge
