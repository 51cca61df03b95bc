"""The classes of release files as boxes: which values each label covers, in one numbering for all files."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.audit.released import Released
from shoal.errors import DataError, ShoalWarning
from shoal.hierarchies import ROOT, DateLevels, IntervalLevels
from shoal.hierarchies.computed import PrefixLevels
from shoal.measures.cells import read_spans
from shoal.measures.population import labels_of, ranges_of
from shoal.records.codebook import make_codebook
from shoal.schema import Column, ColumnType, Schema

Ints = NDArray[np.int32]


class Boxes(NamedTuple):
    """Of a release: the smallest and largest number of each class in each column."""

    low: Ints
    high: Ints


def boxes_of(
    releases: Sequence[Released], schema: Schema, people: pa.Table | None, file: str | None
) -> tuple[list[Boxes], Ints]:
    """The boxes of each release, and the numbers of people's own values (a row for each of `people`).

    Sets of values count as anything: no credit is given for them.
    """
    lows: list[list[Ints]] = [[] for _ in releases]
    highs: list[list[Ints]] = [[] for _ in releases]
    codes = []
    for name in schema.quasi_identifiers:
        column = schema.columns[name]
        found = [labels_of(name, one.table[name]) for one in releases]
        labels = list(dict.fromkeys(label for texts, _ in found for label in texts if label is not None))
        known = _values(name, column, [label for label in labels if label != ROOT and not _is_set(column, label)])
        n_people = 0 if people is None else people.num_rows
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ShoalWarning)  # what lies outside a domain has been said before
                own = pa.array([], pa.string()) if people is None else people[name]
                book, numbers = make_codebook(name, column, _together(own, known, column), schema.missing)
        except DataError as error:
            error.file = error.file or file
            raise
        codes.append(numbers[:n_people])
        for at, (texts, index) in enumerate(found):
            low, high = ranges_of(book, [None if text is None or _is_set(column, text) else text for text in texts])
            anything = np.array([text is not None and _is_set(column, text) for text in texts])
            low[anything], high[anything] = 0, book.size - 1
            first = index[releases[at].first]
            lows[at].append(low[first])
            highs[at].append(high[first])
    boxes = [Boxes(np.stack(low, axis=1), np.stack(high, axis=1)) for low, high in zip(lows, highs, strict=True)]
    return boxes, np.stack(codes, axis=1)


def _is_set(column: Column, label: str) -> bool:
    return column.generalize == "set" and label.startswith("{") and label.endswith("}")


def _values(name: str, column: Column, labels: Sequence[str]) -> pa.Array:
    """Values that labels stand for: enough of them that labels overlap exactly if they share one."""
    rule = column.grower.rule if column.grower else None
    if rule is None or isinstance(rule, IntervalLevels | DateLevels):
        spans = read_spans(column, list(labels))
        ends = np.array([end for low, high, _ in spans for end in (low, high)], np.float64)
        if np.isnan(ends).any():
            raise DataError(
                f"column {name!r} holds labels that are none of this column.",
                hint="Are these releases of this schema?",
                column=name,
            )
        if column.type == ColumnType.DATE:
            return pa.array(ends.astype(np.int32), pa.int32()).cast(pa.date32())
        return pa.array(ends, pa.float64())
    if isinstance(rule, PrefixLevels):
        return pa.array([label.rstrip(ROOT) for label in labels if label.rstrip(ROOT)], pa.string())
    assert column.grower is not None
    tree = column.grower.grow()
    inner = set(tree.labels) - set(tree.leaves)
    return pa.array([*tree.leaves, *(label for label in labels if label not in inner)], pa.string())


def _together(own: pa.Array | pa.ChunkedArray, known: pa.Array, column: Column) -> pa.ChunkedArray:
    """People's own values, as they are written, and then the others."""
    chunks = own.chunks if isinstance(own, pa.ChunkedArray) else [own]
    if not sum(map(len, chunks)):
        return pa.chunked_array([known])
    together = pa.chunked_array(chunks)
    if column.type == ColumnType.DATE and pa.types.is_string(together.type):
        known = _as_written(known, column)
    return pa.chunked_array([*together.cast(pa.string()).chunks, known.cast(pa.string())])


def _as_written(days: pa.Array, column: Column) -> pa.Array:
    if column.format is None:
        return days.cast(pa.string())
    return pa.array([day.strftime(column.format) for day in days.to_pylist()], pa.string())
