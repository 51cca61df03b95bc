"""How many people of a population fit each row of a release: for the journalist's risk."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.errors import DataError, ParameterError
from shoal.hierarchies import ROOT, DateLevels, IntervalLevels
from shoal.hierarchies.computed import PrefixLevels
from shoal.measures.cells import coded_labels, read_spans
from shoal.records.codebook import CodeBook, make_codebook
from shoal.records.reading import read_some
from shoal.schema import Schema

Ints = NDArray[np.int32]


def population_sizes(table: pa.Table, schema: Schema, population: object) -> NDArray[np.float64]:
    """For each published row, how many records of the population its cells cover."""
    names = schema.quasi_identifiers
    people, file = read_some(schema, population, names)
    if not people.num_rows:
        raise DataError("the population has no records.", file=file)
    codes, lows, highs = [], [], []
    for name in names:
        column = schema.columns[name]
        if column.generalize == "set":
            raise ParameterError(f"people who fit a set of values cannot be counted (column {name!r}).")
        try:
            book, found = make_codebook(name, column, people[name], schema.missing)
        except DataError as error:
            error.message = f"in the population, {error.message}"
            error.file = file
            raise
        labels, index = labels_of(name, table[name])
        low, high = ranges_of(book, labels)
        codes.append(found)
        lows.append(low[index])
        highs.append(high[index])
    boxes, row = np.unique(np.stack([*lows, *highs], axis=1), axis=0, return_inverse=True)
    lo, hi = np.ascontiguousarray(boxes[:, : len(names)]), np.ascontiguousarray(boxes[:, len(names) :])
    from shoal.boxes.points import point_tree, weigh_boxes  # loads Numba

    tree = point_tree(np.ascontiguousarray(np.stack(codes, axis=1)))
    return weigh_boxes(tree, np.ones(people.num_rows), lo, hi)[row]


def labels_of(name: str, column: pa.ChunkedArray) -> tuple[list[str | None], NDArray[np.int64]]:
    """The labels of a published column (None: missing), and which of them each row has."""
    coded = coded_labels(name, column)
    index = coded.indices.cast(pa.int64()).fill_null(len(coded.dictionary)).to_numpy()
    return [*(label or None for label in coded.dictionary.to_pylist()), None], index


def ranges_of(book: CodeBook, labels: list[str | None]) -> tuple[Ints, Ints]:
    """The codes of the population that each label covers; an empty range (1..0) for none."""
    low, high = np.ones(len(labels), np.int32), np.zeros(len(labels), np.int32)
    rule = book.column.grower.rule if book.column.grower else None
    spans = None
    if book.axis is not None and (rule is None or isinstance(rule, IntervalLevels | DateLevels)):
        spans = read_spans(book.column, labels)
    ranges = _leaf_ranges(book)
    texts = np.array(book.texts)
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
            low[i] = np.searchsorted(texts, prefix, "left") + 1
            high[i] = np.searchsorted(texts, prefix if prefix == label else prefix + "\U0010ffff", "right")
        elif label in ranges:
            low[i], high[i] = ranges[label]
    return low, high


def _leaf_ranges(book: CodeBook) -> dict[str, tuple[int, int]]:
    """The codes below each label of a tree."""
    if book.tree is None:
        return {}
    ranges: dict[str, tuple[int, int]] = {}
    for code, path in enumerate(book.tree.paths, start=1):
        for node in path[path >= 0]:
            label = book.tree.labels[node]
            ranges[label] = (ranges[label][0] if label in ranges else code, code)
    return ranges
