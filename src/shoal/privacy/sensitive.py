"""Sensitive values as codes: which values are the same, and how far apart others are.

Code 0 is "missing", a value of its own: that nothing was recorded may be what an attacker must not learn. The others
follow from 1 on, by rank for numbers and dates (or by bin, where the schema declares `bins`), by the order of the
hierarchy where there is one, by text otherwise. Texts that differ in their spelling alone are one value
(`records/spelling.py`). Codes live in memory only.
"""

from __future__ import annotations

import warnings
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.errors import DataError, ShoalWarning
from shoal.hierarchies import Hierarchy, Tree
from shoal.records.encode import Records
from shoal.records.spelling import one_spelling, spelled_missing
from shoal.schema import Column, ColumnType
from shoal.sources.normalize import EPOCH, as_text, day_numbers, looks_like_a_number, number_text, refuse

Ints = NDArray[np.int32]
Floats = NDArray[np.float64]
Distribution = Mapping[str | None, float]  # share of each value, by its text; None: missing


@dataclass(frozen=True)
class SensitiveColumn:
    """The sensitive values of the records as codes."""

    name: str
    codes: Ints  # of each record
    texts: list[str]  # of each code from 1 on: the first value of a bin, the one spelling of a text
    distance: str  # equal, ordered or hierarchical
    tree: Tree | None  # over the codes from 1 on, where the distance is hierarchical
    spellings: Mapping[str, int] | None  # the code of each spelling; None where values are numbers or dates
    by_number: bool  # nothing says that values are texts: 5 and 5.0 are one
    some_missing: bool  # whether missing is a value that occurs, here or among those known before

    @property
    def size(self) -> int:
        """How many codes there are, missing included."""
        return len(self.texts) + 1

    def code_of(self, text: str) -> int | None:
        """The code of a value that somebody wrote down; None if no record has it."""
        if self.spellings is not None:
            return self.spellings.get(one_spelling(text, numbers=self.by_number))
        if text == "":
            return 0
        if text in self.texts:
            return self.texts.index(text) + 1
        if not looks_like_a_number(text):
            return None
        number = number_text(float(text))  # 5.0 for 5
        return self.texts.index(number) + 1 if number in self.texts else None

    @property
    def values(self) -> list[str | None]:
        """The values that there are codes for, missing first where it occurs."""
        return [None, *self.texts] if self.some_missing else [*self.texts]

    def shares_in(self, distribution: Distribution) -> Floats:
        """The share of each code in a distribution; each of its values must have one."""
        whose = {text: code for code, text in enumerate(self.texts, start=1)}
        shares = np.zeros(self.size)
        for text, share in distribution.items():
            code = 0
            if text:
                spellings = self.spellings
                code = whose[text] if spellings is None else spellings[one_spelling(text, numbers=self.by_number)]
            shares[code] += share
        return shares


def sensitive_column(
    name: str, records: Records, known: Collection[str | None] = (), *, quiet: bool = False
) -> SensitiveColumn:
    """The codes of one sensitive column. `known`: values that get codes as well, whether records have them or not."""
    column = records.schema.columns[name]
    array = records.passthrough[name].combine_chunks()
    tree, spellings = None, None
    if on_axis(column):
        texts, codes = _by_axis(column, array, known)
    else:
        if array.type != pa.string():  # texts are as they should be already: see `encode`
            array = as_text(name, array, records.schema.missing)
        texts, codes, tree, spellings = _by_text(name, column, array, known, records.schema.missing)
    n_missing = int((codes == 0).sum())
    if n_missing and not quiet:
        note = f"column {name!r}: {n_missing} sensitive values are missing; missing counts as a value of its own."
        warnings.warn(note, ShoalWarning, stacklevel=2)
    some_missing = n_missing > 0 or None in known
    return SensitiveColumn(name, codes, texts, distance_of(column), tree, spellings, by_number(column), some_missing)


def without_values(known: SensitiveColumn, column: Column, lost: Ints, missing: Sequence[str]) -> SensitiveColumn:
    """The same column where nobody has the values with these codes any more; `codes` stay as they were.

    Values that the hierarchy lists are places whether anybody has them or not, and stay.
    """
    gone = set(lost.tolist())
    texts = [text for code, text in enumerate(known.texts, start=1) if code not in gone]
    some_missing = known.some_missing and 0 not in gone
    if known.spellings is None:
        return replace(known, texts=texts, some_missing=some_missing)
    named = sorted(one_spelling(text, numbers=known.by_number) for text in texts)
    texts, tree, spellings = _places(known.name, column, named, missing)
    return replace(known, texts=texts, tree=tree, spellings=spellings, some_missing=some_missing)


def on_axis(column: Column) -> bool:
    """Whether values are numbers or dates, and not the names that a hierarchy has for them."""
    return column.type in (ColumnType.NUMERIC, ColumnType.DATE) and column.grower is None


def by_number(column: Column) -> bool:
    """Whether texts that are the same number are the same value: nothing says that they are texts."""
    return column.type not in (ColumnType.CATEGORICAL, ColumnType.PREFIX)


def distance_of(column: Column) -> str:
    """What the schema says; unsaid, numbers and dates are ordered, and a hierarchy is followed."""
    if column.distance is not None:
        return column.distance
    if on_axis(column):
        return "ordered"
    return "hierarchical" if column.grower is not None else "equal"


def _by_axis(column: Column, array: pa.Array, known: Collection[str | None]) -> tuple[list[str], Ints]:
    """Numbers and days by rank, or by bin."""
    if column.type == ColumnType.DATE:
        array = array.cast(pa.int32())
    valid = array.is_valid().to_numpy(zero_copy_only=False)
    values = array.drop_null().to_numpy()
    if column.bins is not None:
        edges = np.array(day_numbers(column.bins) if column.type == ColumnType.DATE else column.bins, np.float64)
        values = np.searchsorted(edges, values, side="right")
    days = column.type == ColumnType.DATE and column.bins is None
    axis = values
    others = [text for text in known if text]
    if others:
        numbers = day_numbers(map(date.fromisoformat, others)) if days else [_number(text) for text in others]
        axis = np.concatenate([values, np.array(numbers, values.dtype if _all_whole(values, numbers) else np.float64)])
    axis = np.unique(axis)
    codes = np.zeros(len(array), np.int32)
    codes[valid] = np.searchsorted(axis, values) + 1
    if days:
        return [date.fromordinal(int(day) + EPOCH).isoformat() for day in axis], codes
    return [str(value) if isinstance(value, int) else number_text(value) for value in axis.tolist()], codes


def _number(text: str) -> int | float:
    return int(text) if text.lstrip("-").isdigit() else float(text)


def _all_whole(values: NDArray[np.generic], numbers: Sequence[int | float]) -> bool:
    """Whether whole numbers stay whole: beyond 2^53 a float does not tell them apart."""
    return values.dtype.kind == "i" and all(isinstance(number, int) for number in numbers)


def _by_text(
    name: str, column: Column, array: pa.Array, known: Collection[str | None], missing: Sequence[str]
) -> tuple[list[str], Ints, Tree | None, dict[str, int]]:
    """Texts in the order of the hierarchy, or of the alphabet, each in one spelling; and the code of each spelling."""
    numbers = by_number(column)
    coded = array.dictionary_encode()
    found = coded.dictionary.to_pylist()
    spelled = [one_spelling(text, numbers=numbers) for text in found]
    no_value = spelled_missing(missing, numbers=numbers)
    named = sorted({*spelled, *(one_spelling(text, numbers=numbers) for text in known if text)} - no_value)
    if column.grower is not None and column.on_unknown == "error":
        _refuse_unknown(name, column.grower, array, coded)
    texts, tree, spellings = _places(name, column, named, missing)
    lookup = np.array([0, *(spellings[text] for text in spelled)], np.int32)
    indices = coded.indices.fill_null(-1).to_numpy()
    return texts, lookup[indices + 1], tree, spellings


def _places(
    name: str, column: Column, named: Sequence[str], missing: Sequence[str]
) -> tuple[list[str], Tree | None, dict[str, int]]:
    """The texts of each code from 1 on, their tree where there is one, and the code of each spelling.

    `named`: the values, each in its one spelling and in order.
    """
    numbers = by_number(column)
    tree = None
    texts = list(named)
    if column.grower is not None:
        tree = column.grower.grow(texts)
        known = {one_spelling(leaf, numbers=numbers) for leaf in tree.leaves}
        unknown = [text for text in texts if text not in known]
        if unknown and column.on_unknown == "error":
            raise DataError(f"column {name!r}: there are values that the hierarchy lacks.")
        tree = tree.attach(unknown) if unknown else tree
        texts = tree.leaves
    spellings = dict.fromkeys(spelled_missing(missing, numbers=numbers), 0)
    for code, text in enumerate(texts, start=1):
        spellings.setdefault(one_spelling(text, numbers=numbers), code)
    return texts, tree, spellings


def _refuse_unknown(name: str, hierarchy: Hierarchy, array: pa.Array, coded: pa.DictionaryArray) -> None:
    """Values must stand in the hierarchy as they are written there."""
    found = coded.dictionary.to_pylist()
    leaves = set(hierarchy.grow(found).leaves)
    bad = pa.array([text not in leaves for text in found], pa.bool_()).take(coded.indices)
    refuse(name, array, bad, "not in the hierarchy", 'Add it there, or say on_unknown = "attach".')
