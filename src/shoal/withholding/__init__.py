"""The suppression budget: a partition of fewer records that loses less, those withheld included.

Every record is in exactly one group of a `Partition`. So what is published where some are withheld is a partition of
the others, and a mask that says who they are.
"""

from __future__ import annotations

import math
import secrets
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.boxes.costs import CostTables, cost_tables
from shoal.cluster import Task
from shoal.errors import ParameterError
from shoal.partition import Partition
from shoal.privacy import Privacy
from shoal.progress import SILENT, Progress, announced
from shoal.records.encode import Records

ROUNDING = 1e-9


class Kept(NamedTuple):
    """The records that are published, and their groups."""

    mask: NDArray[np.bool_]  # of all records: whether it is published
    partition: Partition  # of those that are


def check_suppress(suppress: object, measure: str) -> float:
    """The share of records that may be withheld; refuse what is none."""
    number = isinstance(suppress, float | int | np.floating | np.integer) and not isinstance(suppress, bool)
    if not number or not 0 <= suppress < 1:  # type: ignore[operator]  # a number by now
        raise ParameterError(
            f"suppress must be the share of records that may be withheld, from 0 to below 1. Got {suppress!r} instead."
        )
    if suppress and measure == "pmi":
        raise ParameterError(
            "records cannot be withheld with measure 'pmi': it may fall or rise when a cell becomes `*`.",
            hint="Choose another measure, or do without suppress.",
        )
    return float(suppress)  # type: ignore[arg-type]  # a number by now


def withhold(
    records: Records,
    partition: Partition,
    suppress: float,
    *,
    measure: str = "il",
    seed: int | None = None,
    progress: Progress = SILENT,
) -> Kept:
    """Withhold at most that share of the records, where it lowers the loss; `partition` is one of all of them.

    Rules are promised to the table that is published. Closeness compares groups with the table as a whole, which has
    changed when some are withheld; and people may have lost a record. Groups that do not have what is asked any more
    are merged (`repair.py`).

    Guarantee: the partition that is returned is publishable; its loss and the full cost of those withheld are together
    not above the loss of the one given, which is returned as it is where nothing is withheld; and the same arguments
    and seed give the same.
    """
    budget = math.floor(check_suppress(suppress, measure) * len(records) + ROUNDING)
    everybody = Kept(np.ones(len(records), bool), partition)
    if budget == 0:
        return everybody
    rng = np.random.default_rng(secrets.randbits(128) if seed is None else seed)
    costs = cost_tables(records.books, measure)
    from shoal.withholding.rounds import run  # loads Numba

    with announced(progress):
        labels = run(records.codes, partition.labels, costs, partition.privacy, budget, rng, progress)
    mask = labels >= 0
    if mask.all():
        return everybody
    some = records.only(mask)
    privacy = Privacy.of(some, partition.k, partition.privacy.rules, quiet=True)
    try:
        privacy.check_feasible()
    except ParameterError:  # the others alone are too few, or too much alike
        return everybody
    kept = Partition.from_labels(some.codes, labels[mask], privacy)
    if privacy.people is not None or not kept.publishable:
        from shoal.cluster.repair import mended

        task = Task(some, measure, costs, privacy, rng, progress)
        kept = Partition.from_labels(some.codes, mended(task, kept.labels), privacy)
    withheld = np.count_nonzero(~mask) * costs.full
    if _loss(kept, costs) + withheld > _loss(partition, costs):  # mending has cost more than was saved
        return everybody
    return Kept(mask, kept)


def _loss(partition: Partition, costs: CostTables) -> float:
    from shoal.boxes.group_tree.build import weigh
    from shoal.boxes.grouping import Groups

    losses = np.zeros(len(partition))
    weigh(Groups(partition.lo, partition.hi, partition.sizes, losses), costs)
    return float(partition.sizes @ losses)
