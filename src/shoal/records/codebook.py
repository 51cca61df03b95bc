"""CodeBook: the ordered codes of one column.

Code 0 is "missing". Code c ≥ 1 is the c-th value: by rank for numbers and dates, by the depth-first order of the
hierarchy for categories. Codes are unique, decode back to their value, and similar values have close codes (the three
conditions of the similar-B-tree paper). Codes live in memory only; they are never stored.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.errors import HierarchyError, ShoalWarning
from shoal.hierarchies import ROOT, DateLevels, Hierarchy, IntervalLevels, Tree
from shoal.hierarchies.computed import Axis, PrefixLevels
from shoal.schema import WINSORIZED, Column, ColumnType
from shoal.sources.normalize import EPOCH, NO_VALUE, as_days, as_numbers, as_text, day_numbers, number_text, refuse

Codes = NDArray[np.int32]
MISSING = 0
MIDDLE = 0.98  # of the records: what a winsorized domain spans
LONGEST_CODE = 40  # of a prefix column: every character is a level of its hierarchy


@dataclass(frozen=True)
class CodeBook:
    """What the codes of one column mean. Either `tree` or `axis` says what lies between two codes."""

    name: str
    column: Column
    texts: list[str]  # the published form of the single value behind each code from 1 on
    tree: Tree | None  # a hierarchy's tree over the codes from 1 on
    axis: Axis | None  # the place of each code from 1 on: numbers (whole or not), days
    domain: tuple[float, float] | None  # the smallest and largest value of the axis; frozen per epoch
    counts: NDArray[np.int64]  # how many records have each code from 0 on; frozen per epoch
    # Which codes from 1 on have come since the epoch began (`growing.py`): they count nothing in its domain.
    fresh: NDArray[np.bool_] | None = None

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
        raise HierarchyError(
            f"column {name!r}: {error.message}", hint=error.hint, column=name, line=error.line, values=error.sealed()
        ) from None


def _axis_book(name: str, column: Column, data: pa.ChunkedArray, missing: tuple[str, ...]) -> tuple[CodeBook, Codes]:
    array = axis_values(name, column, data, missing)
    present = array.is_valid().to_numpy(zero_copy_only=False)
    axis, ranks = np.unique(array.drop_null().to_numpy(), return_inverse=True)
    codes = np.zeros(len(array), np.int32)
    codes[present] = ranks + 1
    texts = axis_texts(axis, column)
    domain = axis_domain(column, axis, np.bincount(ranks, minlength=len(axis)))
    outside = int(((axis < domain[0]) | (axis > domain[1]))[ranks].sum())
    if outside and column.domain != WINSORIZED:
        note = (
            f"column {name!r}: {outside} values lie outside its domain; they are kept, and cost at most as much as *."
        )
        warnings.warn(note, ShoalWarning, stacklevel=2)
    tree = axis_tree(column, axis, texts, domain, axis)
    counts = np.bincount(codes, minlength=len(texts) + 1)
    return CodeBook(name, column, texts, tree, axis, domain, counts), codes


def axis_tree(column: Column, axis: Axis, texts: list[str], domain: tuple[float, float], measured: Axis) -> Tree | None:
    """The levels above an axis, where the column has any. `measured`: the values that the domain was made of."""
    rule = column.grower.rule if column.grower else None
    if isinstance(rule, IntervalLevels | DateLevels):
        return rule.grow(axis, texts, domain, measured).at_least(column.min_level)
    return None


def axis_values(name: str, column: Column, data: pa.ChunkedArray, missing: tuple[str, ...]) -> pa.Array:
    """Numbers, or days since 1970-01-01."""
    missing = column.texts_missing(missing)
    if column.type == ColumnType.DATE:
        return as_days(name, data, missing, column.format).cast(pa.int32()).cast(pa.int64())
    return as_numbers(name, data, missing, column.number_form)


def axis_texts(axis: Axis, column: Column) -> list[str]:
    if column.type == ColumnType.DATE:
        return [date.fromordinal(int(day) + EPOCH).isoformat() for day in axis.tolist()]
    return [str(value) if isinstance(value, int) else number_text(value) for value in axis.tolist()]


def axis_domain(column: Column, axis: Axis, counts: NDArray[np.int64]) -> tuple[float, float]:
    """What losses are measured against. `counts`: how many records have each value of the axis."""
    if column.domain == WINSORIZED:
        return middle(axis, counts)
    if column.domain is not None:
        if column.type == ColumnType.DATE:
            low, high = day_numbers(column.domain)
        else:
            low, high = (float(bound) for bound in column.domain)  # type: ignore[arg-type]  # the schema checked them
        return low, high
    return (float(axis[0]), float(axis[-1])) if len(axis) else (0.0, 0.0)


def middle(axis: Axis, counts: NDArray[np.int64]) -> tuple[float, float]:
    """Where the middle 98 % of the records begin and end."""
    if not len(axis):
        return 0.0, 0.0
    up_to = np.cumsum(counts) / max(1, int(counts.sum()))
    ends = np.minimum(np.searchsorted(up_to, [(1 - MIDDLE) / 2, (1 + MIDDLE) / 2]), len(axis) - 1)
    return float(axis[ends[0]]), float(axis[ends[1]])


def _text_book(
    name: str, column: Column, hierarchy: Hierarchy, data: pa.ChunkedArray, missing: tuple[str, ...]
) -> tuple[CodeBook, Codes]:
    coded = text_values(name, column, hierarchy, data, missing)
    found = coded.dictionary.to_pylist()
    tree = hierarchy.grow(found)
    rank_of = {leaf: rank for rank, leaf in enumerate(tree.leaves)}
    unknown = [value not in rank_of for value in found]
    if column.on_unknown == "attach":
        new = sorted(value for value, is_new in zip(found, unknown, strict=True) if is_new)
        tree = tree.attach(new)
        rank_of.update({leaf: rank for rank, leaf in enumerate(new, start=len(rank_of))})
    else:
        refuse_unknown(name, coded, unknown)
    tree = tree.at_least(column.min_level)
    codes = codes_of(coded, rank_of)
    counts = np.bincount(codes, minlength=len(tree.leaves) + 1)
    return CodeBook(name, column, tree.leaves, tree, None, None, counts), codes


def codes_of(coded: pa.DictionaryArray, rank_of: Mapping[str, int]) -> Codes:
    """The codes of texts, given the place of each among the leaves."""
    lookup = np.array([rank_of[value] + 1 for value in coded.dictionary.to_pylist()], np.int32)
    codes = np.zeros(len(coded), np.int32)
    present = coded.indices.is_valid().to_numpy(zero_copy_only=False)
    codes[present] = lookup[coded.indices.drop_null().to_numpy()]
    return codes


def refuse_unknown(name: str, coded: pa.DictionaryArray, unknown: list[bool]) -> None:
    hint = 'Add it there, or say on_unknown = "attach" to put such values under the root. ' + NO_VALUE
    refuse_texts(name, coded, unknown, "not in the hierarchy", hint)


def text_values(
    name: str, column: Column, hierarchy: Hierarchy, data: pa.ChunkedArray, missing: tuple[str, ...]
) -> pa.DictionaryArray:
    """Values as the hierarchy's leaves are written: a number by its shortest form, a date by ISO."""
    missing = column.texts_missing(missing)
    if column.type == ColumnType.DATE:
        array = as_days(name, data, missing, column.format).cast(pa.string())
    elif column.type == ColumnType.NUMERIC:
        array = as_text(name, as_numbers(name, data, missing, column.number_form), missing)
    else:
        array = as_text(name, data, missing)
    coded = array.dictionary_encode()
    _refuse_reserved(name, column, hierarchy, coded)
    return coded


def _refuse_reserved(name: str, column: Column, hierarchy: Hierarchy, coded: pa.DictionaryArray) -> None:
    """Values that would read as something else in a release."""
    found = coded.dictionary.to_pylist()
    if isinstance(hierarchy.rule, PrefixLevels):
        stars = [ROOT in value for value in found]
        endless = [len(value) > LONGEST_CODE or "\0" in value for value in found]
        lengths = sorted({len(value) for value in found if value.isdigit()})
        if len(lengths) > 1 and all(value.isdigit() for value in found):
            note = f"column {name!r} has codes of {' and '.join(map(str, lengths))} digits; were leading zeros lost?"
            warnings.warn(note, ShoalWarning, stacklevel=2)
        refuse_texts(
            name, coded, endless, f"not a code of up to {LONGEST_CODE} characters", "Make the column categorical."
        )
    else:
        stars = [value == ROOT for value in found]
    refuse_texts(name, coded, stars, f"holds {ROOT!r}, which stands for generalized values", "Rename it.")
    if column.generalize == "set":
        sets = [value.startswith("{") and value.endswith("}") for value in found]
        refuse_texts(name, coded, sets, "looks like a set of values", "Rename it.")


def refuse_texts(name: str, coded: pa.DictionaryArray, bad: list[bool], fault: str, hint: str) -> None:
    if any(bad):
        refuse(name, coded.dictionary.take(coded.indices), pa.array(bad, pa.bool_()).take(coded.indices), fault, hint)
