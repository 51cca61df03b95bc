"""CodeBook: the ordered codes of one column.

Code 0 is "missing". Code c ≥ 1 is the c-th value: by rank for numbers and dates, by the depth-first order of the
hierarchy for categories. Codes are unique, decode back to their value, and similar values have close codes (the three
conditions of the similar-B-tree paper). Codes live in memory only; they are never stored.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from shoal.errors import DataError, HierarchyError, row_list
from shoal.hierarchies import ROOT, DateLevels, Hierarchy, IntervalLevels, Tree
from shoal.hierarchies.computed import PrefixLevels
from shoal.records.normalize import EPOCH, as_days, as_numbers, as_text, day_numbers
from shoal.schema import Column, ColumnType

Codes = NDArray[np.int32]
MISSING = 0


@dataclass(frozen=True)
class CodeBook:
    """What the codes of one column mean. Either `tree` or `axis` says what lies between two codes."""

    name: str
    column: Column
    texts: list[str]  # the published form of the single value behind each code from 1 on
    tree: Tree | None  # a hierarchy's tree over the codes from 1 on
    axis: NDArray[np.float64] | None  # the place of each code from 1 on: numbers, days
    domain: tuple[float, float] | None  # the smallest and largest value of the axis; frozen per epoch
    counts: NDArray[np.int64]  # how many records have each code from 0 on; frozen per epoch

    @property
    def size(self) -> int:
        """How many codes there are, missing included."""
        return len(self.texts) + 1

    def decode(self, codes: Codes) -> list[str | None]:
        return [None if code == MISSING else self.texts[code - 1] for code in codes]


def make_codebook(name: str, column: Column, data: pa.ChunkedArray, missing: tuple[str, ...]) -> tuple[CodeBook, Codes]:
    """The code book of a column's values, and their codes."""
    try:
        rule = column.grower.rule if column.grower else None
        if rule is None or isinstance(rule, IntervalLevels | DateLevels):
            return _axis_book(name, column, data, missing)
        assert column.grower is not None
        return _text_book(name, column, column.grower, data, missing)
    except HierarchyError as error:
        raise HierarchyError(f"column {name!r}: {error.message}", hint=error.hint, column=name) from None


def _axis_book(name: str, column: Column, data: pa.ChunkedArray, missing: tuple[str, ...]) -> tuple[CodeBook, Codes]:
    if column.type == ColumnType.DATE:
        array = as_days(name, data, missing, column.format).cast(pa.int32()).cast(pa.int64())
    else:
        array = as_numbers(name, data, missing)
    present = array.is_valid().to_numpy(zero_copy_only=False)
    values, ranks = np.unique(array.drop_null().to_numpy(), return_inverse=True)
    codes = np.zeros(len(array), np.int32)
    codes[present] = ranks + 1
    axis = values.astype(np.float64)
    texts = _axis_texts(values, column)
    domain = _domain(column, axis)
    tree = None
    rule = column.grower.rule if column.grower else None
    if isinstance(rule, IntervalLevels | DateLevels):
        tree = rule.grow(values, texts, domain).at_least(column.min_level)
    counts = np.bincount(codes, minlength=len(texts) + 1)
    return CodeBook(name, column, texts, tree, axis, domain, counts), codes


def _axis_texts(values: NDArray[np.generic], column: Column) -> list[str]:
    if column.type == ColumnType.DATE:
        return [date.fromordinal(int(day) + EPOCH).isoformat() for day in values.tolist()]
    return [repr(value) for value in values.tolist()]


def _domain(column: Column, axis: NDArray[np.float64]) -> tuple[float, float]:
    if column.domain is not None:
        if column.type == ColumnType.DATE:
            low, high = day_numbers(column.domain)
        else:
            low, high = (float(bound) for bound in column.domain)  # type: ignore[arg-type]  # the schema checked them
        return low, high
    return (float(axis[0]), float(axis[-1])) if len(axis) else (0.0, 0.0)


def _text_book(
    name: str, column: Column, hierarchy: Hierarchy, data: pa.ChunkedArray, missing: tuple[str, ...]
) -> tuple[CodeBook, Codes]:
    coded = _texts(name, column, data, missing).dictionary_encode()
    found = coded.dictionary.to_pylist()
    prefixed = isinstance(hierarchy.rule, PrefixLevels)
    reserved = [ROOT in value if prefixed else value == ROOT for value in found]
    if any(reserved):
        _refuse(name, coded, reserved, f"holds {ROOT!r}, which stands for generalized values", "Rename it.")
    tree = hierarchy.grow(found)
    places = {leaf: place for place, leaf in enumerate(tree.leaves)}
    unknown = [value not in places for value in found]
    if any(unknown):
        if column.on_unknown == "error":
            _refuse(
                name,
                coded,
                unknown,
                "not in the hierarchy",
                'Add it there, or say on_unknown = "attach" to put such values under the root.',
            )
        new = sorted(value for value, is_new in zip(found, unknown, strict=True) if is_new)
        tree = tree.attach(new)
        places.update({leaf: place for place, leaf in enumerate(new, start=len(places))})
    tree = tree.at_least(column.min_level)
    lookup = np.array([places[value] + 1 for value in found], np.int32)
    codes = np.zeros(len(coded), np.int32)
    present = coded.indices.is_valid().to_numpy(zero_copy_only=False)
    codes[present] = lookup[coded.indices.drop_null().to_numpy()]
    counts = np.bincount(codes, minlength=len(tree.leaves) + 1)
    return CodeBook(name, column, tree.leaves, tree, None, None, counts), codes


def _texts(name: str, column: Column, data: pa.ChunkedArray, missing: tuple[str, ...]) -> pa.Array:
    """Values as the hierarchy's leaves are written: a number by its shortest form, a date by ISO."""
    if column.type == ColumnType.DATE:
        return as_days(name, data, missing, column.format).cast(pa.string())
    if column.type == ColumnType.NUMERIC:
        return as_text(name, as_numbers(name, data, missing), missing)
    return as_text(name, data, missing)


def _refuse(name: str, coded: pa.DictionaryArray, bad: list[bool], fault: str, hint: str) -> None:
    flags = pc.fill_null(pa.array(bad, pa.bool_()).take(coded.indices), False)
    rows = np.flatnonzero(flags.to_numpy(zero_copy_only=False)) + 1
    values = [value for value, is_bad in zip(coded.dictionary.to_pylist(), bad, strict=True) if is_bad]
    raise DataError(
        f"column {name!r}, {row_list(rows.tolist())}: {fault}.",
        hint=hint,
        column=name,
        rows=rows[:20].tolist(),
        values=values,
    )
