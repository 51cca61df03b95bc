"""How identifying columns are: how many records are the only ones with their value, or with their pair of values.

What is missing is no value: nobody is found by it. A pair is told if it singles out more than each of its columns does;
with a column in which nearly every record is alone, no pair says anything new.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.errors import ShoalWarning
from shoal.inference.columns import NEARLY_UNIQUE
from shoal.sources.csv_files import Expected
from shoal.sources.normalize import as_text
from shoal.sources.opening import open_source

COLUMNS = 30  # of which pairs are looked at
PAIRS = 15  # told


@dataclass(frozen=True)
class Identifying:
    """A column, or a pair: different values, and how many records are alone with theirs."""

    columns: tuple[str, ...]
    different: int
    alone: int
    share: float  # of all records

    def facts(self) -> dict[str, object]:
        return {"columns": list(self.columns), "different": self.different, "alone": self.alone, "share": self.share}


def identifying(
    source: object,
    missing: Mapping[str, Sequence[str]],
    *,
    header: bool | None = None,
    encoding: str | None = None,
    sheet: str | None = None,
) -> list[Identifying]:
    """Each of the columns, and the pairs of them that single out most; most identifying first.

    `missing`: the columns, and the texts that mean no value in each.
    """
    opened = open_source(source, Expected(header=header, encoding=encoding, sheet=sheet))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ShoalWarning)  # of the encoding, which has been said
        table = opened.load(list(missing))
    codes = {name: _codes(name, table[name], texts) for name, texts in missing.items()}
    singles = sorted((_of((name,), codes[name]) for name in missing), key=lambda one: -one.alone)
    alone = {one.columns[0]: one.alone for one in singles}
    most = [one.columns[0] for one in singles if one.share < NEARLY_UNIQUE][:COLUMNS]
    pairs = [_of(pair, _together(codes[pair[0]], codes[pair[1]])) for pair in combinations(most, 2)]
    telling = [one for one in pairs if one.alone > max(alone[name] for name in one.columns)]
    return singles + sorted(telling, key=lambda one: -one.alone)[:PAIRS]


def _codes(name: str, column: pa.ChunkedArray, missing: Sequence[str]) -> NDArray[np.int64]:
    """A number for each value; -1 where there is none."""
    coded = as_text(name, column, ("", *missing)).dictionary_encode()
    codes: NDArray[np.int64] = coded.indices.fill_null(-1).to_numpy().astype(np.int64)
    return codes


def _together(first: NDArray[np.int64], second: NDArray[np.int64]) -> NDArray[np.int64]:
    paired = first * (int(second.max(initial=0)) + 1) + second
    return np.where((first < 0) | (second < 0), -1, paired)


def _of(columns: tuple[str, ...], codes: NDArray[np.int64]) -> Identifying:
    _, counts = np.unique(codes[codes >= 0], return_counts=True)
    alone = int((counts == 1).sum())
    return Identifying(columns, len(counts), alone, alone / max(1, len(codes)))
