"""How many people of a population fit each row of a release: for the journalist's risk."""

from __future__ import annotations

import importlib

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.errors import DataError, ParameterError
from shoal.hierarchies import ROOT, DateLevels, IntervalLevels
from shoal.hierarchies.computed import PrefixLevels
from shoal.measures.cells import coded_labels, read_spans
from shoal.records.codebook import CodeBook, make_codebook
from shoal.schema import Schema

Ints = NDArray[np.int32]


def population_sizes(table: pa.Table, schema: Schema, population: pa.Table) -> NDArray[np.float64]:
    """For each published row, how many records of the population its cells cover."""
    names = schema.quasi_identifiers
    missing = [name for name in names if name not in population.column_names]
    if missing:
        raise DataError(f"the population has no column {missing[0]!r}.", column=missing[0])
    codes, lows, highs = [], [], []
    for name in names:
        column = schema.columns[name]
        if column.generalize == "set":
            raise ParameterError(f"people who fit a set of values cannot be counted (column {name!r}).")
        book, found = make_codebook(name, column, population[name], schema.missing)
        labels, index = _labels(name, table[name])
        low, high = _ranges(book, labels)
        codes.append(found)
        lows.append(low[index])
        highs.append(high[index])
    lo = np.stack(lows, axis=1)
    hi = np.stack(highs, axis=1)
    boxes, row = np.unique(np.concatenate([lo, hi], axis=1), axis=0, return_inverse=True)
    points = importlib.import_module("shoal.boxes.points")  # loads Numba
    tree = points.point_tree(np.ascontiguousarray(np.stack(codes, axis=1)))
    half = len(names)
    inside = points.weigh_boxes(
        tree, np.ones(population.num_rows), np.ascontiguousarray(boxes[:, :half]), np.ascontiguousarray(boxes[:, half:])
    )
    return inside[row]


def _labels(name: str, column: pa.ChunkedArray) -> tuple[list[str | None], NDArray[np.int64]]:
    coded = coded_labels(name, column)
    index = coded.indices.fill_null(len(coded.dictionary)).to_numpy().astype(np.int64)
    return [*coded.dictionary.to_pylist(), None], index


def _ranges(book: CodeBook, labels: list[str | None]) -> tuple[Ints, Ints]:
    """The codes of the population that each label covers; an empty range (1..0) for none."""
    low, high = np.ones(len(labels), np.int32), np.zeros(len(labels), np.int32)
    rule = book.column.grower.rule if book.column.grower else None
    spans = None
    if book.axis is not None and (rule is None or isinstance(rule, IntervalLevels | DateLevels)):
        spans = read_spans(book.column, labels)
    places = _places(book)
    for i, label in enumerate(labels):
        if label is None:
            low[i] = high[i] = 0
        elif label == ROOT:
            low[i], high[i] = 0, book.size - 1
        elif spans is not None:
            assert book.axis is not None
            first, last, closed = spans[i]
            low[i] = np.searchsorted(book.axis, first, "left") + 1
            high[i] = np.searchsorted(book.axis, last, "right" if closed else "left")
        elif isinstance(rule, PrefixLevels):
            prefix = label.rstrip(ROOT)
            low[i] = np.searchsorted(book.texts, prefix, "left") + 1
            high[i] = np.searchsorted(book.texts, prefix if prefix == label else prefix + "\U0010ffff", "right")
        elif label in places:
            low[i], high[i] = places[label]
    return low, high


def _places(book: CodeBook) -> dict[str, tuple[int, int]]:
    """The codes below each label of a tree."""
    if book.tree is None:
        return {}
    places: dict[str, tuple[int, int]] = {}
    for code, path in enumerate(book.tree.paths, start=1):
        for node in path[path >= 0]:
            label = book.tree.labels[node]
            places[label] = (places[label][0] if label in places else code, code)
    return places
