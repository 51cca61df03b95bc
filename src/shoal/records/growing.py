"""Code books that grow: values that a batch brings get codes, and the others keep their order.

A new number or day takes its rank, a new code of a prefix column its place in depth-first order: what lies above moves
up, by one monotone re-coding of the column (`Grown.moved`), so boxes and trees over codes stay valid. A category that
is attached under the root gets the next code after the last leaf, and nothing moves.

Decision: domains, leaf counts and frequencies belong to the epoch, and stay (costs of what was there do not change). A
new value counts nothing in them; an interval that it stretches costs what its width says, at most as much as `*`.
One exception: a longer code than any before makes every label of a prefix column longer, and its levels count anew.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.hierarchies import FlatValues, Hierarchy
from shoal.hierarchies.computed import PrefixLevels
from shoal.records.codebook import (
    CodeBook,
    Codes,
    axis_domain,
    axis_texts,
    axis_tree,
    axis_values,
    codes_of,
    refuse_texts,
    refuse_unknown,
    text_values,
)
from shoal.sources.normalize import EXACT, refuse


class Grown(NamedTuple):
    """A code book with room for new values."""

    book: CodeBook
    moved: Codes | None  # the new code of each old code; None: all are as they were
    codes: Codes  # of the values that came


def grow(book: CodeBook, data: pa.ChunkedArray, missing: tuple[str, ...]) -> Grown:
    """The book with the values of a batch, and their codes.

    Guarantee: `moved` is increasing, and under every measure an interval of old codes costs what it cost before (but
    for the exception above).
    """
    if book.axis is not None:
        return _grow_axis(book, data, missing)
    assert book.column.grower is not None
    return _grow_texts(book, book.column.grower, data, missing)


def restart(book: CodeBook, codes: Codes) -> CodeBook:
    """The same codes in a new epoch: its domain and frequencies are those of these records."""
    counts = np.bincount(codes, minlength=book.size)
    if book.axis is not None:
        used = book.axis[np.flatnonzero(counts[1:])]
        domain = axis_domain(book.column, used, counts[1:][counts[1:] > 0])
        tree = axis_tree(book.column, book.axis, book.texts, domain, used)
        return replace(book, domain=domain, counts=counts, tree=tree, fresh=None)
    assert book.tree is not None
    return replace(book, counts=counts, tree=book.tree.counting(np.ones(len(book.texts), bool)), fresh=None)


def _grow_axis(book: CodeBook, data: pa.ChunkedArray, missing: tuple[str, ...]) -> Grown:
    assert book.axis is not None
    assert book.domain is not None
    array = axis_values(book.name, book.column, data, missing)
    axis, values = book.axis, array.drop_null().to_numpy()
    if len(axis) and len(values) and axis.dtype != values.dtype:  # fractions beside whole numbers
        large = np.full(len(array), axis.dtype.kind == "i" and float(np.abs(axis.astype(np.float64)).max()) >= EXACT)
        if values.dtype.kind == "i":
            large = np.abs(array.fill_null(0).to_numpy().astype(np.float64)) >= EXACT
        fault = "too many digits to be kept beside fractions"
        refuse(book.name, array, large & _present(array), fault, "Round it, or read it as text.")
        axis, values = axis.astype(np.float64), values.astype(np.float64)
    new = np.unique(values)
    if len(axis):
        new = new[axis[np.minimum(np.searchsorted(axis, new), len(axis) - 1)] != new]
    codes = np.zeros(len(array), np.int32)
    if not len(new):
        codes[_present(array)] = np.searchsorted(axis, values) + 1
        return Grown(book, None, codes)
    at = np.searchsorted(axis, new)
    grown = np.insert(axis if len(axis) else new[:0], at, new)
    texts = np.insert(np.array(book.texts, object), at, axis_texts(new, book.column)).tolist()
    fresh = np.insert(_fresh(book), at, np.ones(len(new), bool))
    codes[_present(array)] = np.searchsorted(grown, values) + 1
    book = replace(
        book,
        axis=grown,
        texts=texts,
        tree=axis_tree(book.column, grown, texts, book.domain, grown[~fresh]),
        counts=np.insert(book.counts, at + 1, 0),
        fresh=fresh,
    )
    return Grown(book, _moved(np.searchsorted(grown, axis)), codes)


def _grow_texts(book: CodeBook, hierarchy: Hierarchy, data: pa.ChunkedArray, missing: tuple[str, ...]) -> Grown:
    assert book.tree is not None
    coded = text_values(book.name, book.column, hierarchy, data, missing)
    found = coded.dictionary.to_pylist()
    rank_of = {leaf: rank for rank, leaf in enumerate(book.texts)}
    unknown = [value not in rank_of for value in found]
    new = sorted(value for value, is_new in zip(found, unknown, strict=True) if is_new)
    if not new:
        return Grown(book, None, codes_of(coded, rank_of))
    rule = hierarchy.rule
    if isinstance(rule, PrefixLevels):
        tree = hierarchy.grow([*book.texts, *new]).at_least(book.column.min_level)
    else:
        if book.column.on_unknown != "attach" and not (isinstance(rule, FlatValues) and rule.values is None):
            refuse_unknown(book.name, coded, unknown)
        labels = set(book.tree.labels)
        taken = [is_new and value in labels for value, is_new in zip(found, unknown, strict=True)]
        refuse_texts(book.name, coded, taken, "has the name of a group of the hierarchy", "Rename one of them.")
        tree = book.tree.attach(new)
    rank_of = {leaf: rank for rank, leaf in enumerate(tree.leaves)}
    moved = _moved(np.array([rank_of[leaf] for leaf in book.texts], np.int64))
    fresh = np.ones(len(tree.leaves), bool)
    counts = np.zeros(len(tree.leaves) + 1, np.int64)
    whither = np.arange(book.size) if moved is None else moved
    fresh[whither[1:] - 1] = _fresh(book)
    counts[whither] = book.counts
    book = replace(book, texts=tree.leaves, tree=tree.counting(~fresh), counts=counts, fresh=fresh)
    return Grown(book, moved, codes_of(coded, rank_of))


def _present(array: pa.Array) -> NDArray[np.bool_]:
    present: NDArray[np.bool_] = array.is_valid().to_numpy(zero_copy_only=False)
    return present


def _fresh(book: CodeBook) -> NDArray[np.bool_]:
    return np.zeros(len(book.texts), bool) if book.fresh is None else book.fresh


def _moved(ranks: NDArray[np.int64]) -> Codes | None:
    """The new code of each old one, given where the old values are now; None if all are where they were."""
    moved = np.concatenate([[0], ranks + 1]).astype(np.int32)
    return None if np.array_equal(moved, np.arange(len(moved))) else moved
