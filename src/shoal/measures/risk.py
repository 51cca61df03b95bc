"""Risk: what an attacker gains.

Three attackers (El Emam; Prasser et al.). The prosecutor knows that the person is in the table; the journalist does
not, and has to reckon with everybody in the population who fits; the marketer wants to match as many as possible.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.errors import DataError, ParameterError
from shoal.measures.public import column_numbers, value_numbers

Ints = NDArray[np.int64]
THRESHOLD = 0.2


def prosecutor(class_sizes: Ints, threshold: float = THRESHOLD) -> dict[str, float]:
    """From the size of each row's equivalence class."""
    return _summary(1 / class_sizes, threshold)


def journalist(
    class_sizes: Ints, population_sizes: NDArray[np.float64], threshold: float = THRESHOLD
) -> dict[str, float]:
    """From how many people of the population each row could be. They are at least the rows themselves."""
    return _summary(1 / np.maximum(population_sizes, class_sizes), threshold)


def marketer(class_sizes: Ints, population_sizes: NDArray[np.float64] | None = None) -> dict[str, float]:
    """The share of records that a guess per record gets right, on average."""
    sizes = class_sizes if population_sizes is None else np.maximum(population_sizes, class_sizes)
    return {"average": float((1 / sizes).mean())}


def sampled_population(class_sizes: Ints, fraction: float) -> NDArray[np.float64]:
    """Classes in the population, if the table is a random sample of that share of it."""
    if not 0 < fraction <= 1:
        raise ParameterError(f"sampling_fraction must be above 0 and at most 1. Got {fraction!r} instead.")
    return class_sizes / fraction


def check_threshold(threshold: float) -> float:
    if not 0 <= threshold <= 1:
        raise ParameterError(f"threshold must be from 0 to 1. Got {threshold!r} instead.")
    return threshold


def _summary(risks: NDArray[np.float64], threshold: float) -> dict[str, float]:
    return {
        "maximum": float(risks.max()),
        "average": float(risks.mean()),
        "share_above_threshold": float((risks > threshold).mean()),
        "threshold": threshold,
    }


def unique_records(table: pa.Table, columns: Sequence[str], most: int = 2) -> list[tuple[tuple[str, ...], int]]:
    """How many rows are unique in each subset of up to `most` columns, the most telling subsets first.

    Of an original table this says which columns single people out; of a release it should be 0 throughout.
    """
    for name in columns:
        if name not in table.column_names:
            raise DataError(f"the table has no column {name!r}.", column=name)
    values = {name: column_numbers(name, table[name]) for name in columns}
    found = []
    for size in range(1, min(most, len(columns)) + 1):
        for subset in combinations(columns, size):
            classes = np.zeros(table.num_rows, np.int64)
            for name in subset:
                classes = value_numbers(pa.array(classes * (values[name].max() + 1) + values[name]))
            found.append((subset, int((np.bincount(classes) == 1).sum())))
    return sorted(found, key=lambda entry: (-entry[1], len(entry[0]), entry[0]))
