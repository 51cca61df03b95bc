"""What the holder should know of a release, and what to do about it. No value is in it; it is not published.

Columns that were dropped or say nothing, classes that give a sensitive value away, and which of many columns cost most.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.hierarchies.tree import ROOT
from shoal.measures import Report
from shoal.privacy import Rule
from shoal.schema import Role, Schema
from shoal.sources.normalize import plain
from shoal.views import counted

MANY_COLUMNS = 20
NAMED = 3


def notes_on(
    schema: Schema, recoded: pa.Table, groups: NDArray[np.int32], rules: Sequence[Rule], report: Report
) -> list[str]:
    """`recoded`: what is published, its generalized columns as dictionaries; `groups`: of its rows."""
    classes = classes_of(recoded.select(schema.quasi_identifiers), groups)
    return [
        *_dropped(schema),
        *_emptied(recoded.select(schema.quasi_identifiers)),
        *(note for name in schema.names(Role.SENSITIVE) for note in _given_away(name, recoded, classes, rules)),
        *_costly(schema, report),
    ]


def classes_of(generalized: pa.Table, groups: NDArray[np.int32]) -> NDArray[np.int64]:
    """The equivalence class of each row: groups that look the same are one."""
    numbers, one_row_each, group_of_row = np.unique(groups, return_index=True, return_inverse=True)
    classes = np.zeros(len(numbers), np.int64)
    for column in generalized.columns:
        codes = column.combine_chunks().indices.fill_null(-1).to_numpy(zero_copy_only=False)[one_row_each] + 1
        pairs = classes * (int(codes.max(initial=0)) + 1) + codes
        classes = np.unique(pairs, return_inverse=True)[1]
    return classes[group_of_row]


def _emptied(generalized: pa.Table) -> list[str]:
    """Quasi-identifiers of which nothing is left."""
    empty = [
        name
        for name in generalized.column_names
        if len(generalized) and generalized[name].unique().to_pylist() == [ROOT]
    ]
    if not empty:
        return []
    return [
        f"nothing but {ROOT} is left of {', '.join(empty)}: no level between the values and {ROOT} was coarse enough. "
        "Leave `levels` out (numbers and dates then become tight intervals), give a hierarchy, or leave the column out"
    ]


def _dropped(schema: Schema) -> list[str]:
    gone = [f"{name} ({schema.columns[name].role})" for name in schema.names(Role.IDENTIFIER, Role.KEY, Role.PERSON)]
    return [f"not published: {', '.join(gone)}"] if gone else []


def _given_away(name: str, published: pa.Table, classes: NDArray[np.int64], rules: Sequence[Rule]) -> list[str]:
    """Classes in which everybody has the same value: whoever finds somebody there knows it."""
    column = published[name]
    if pa.types.is_nested(column.type) or not len(classes):
        return []
    coded = plain(name, column).dictionary_encode(null_encoding="encode")
    codes = coded.indices.to_numpy(zero_copy_only=False)
    pairs = np.unique(classes * len(coded.dictionary) + codes)  # one number each: rows sort slowly
    values = np.bincount(pairs // len(coded.dictionary), minlength=int(classes.max()) + 1)
    sizes = np.bincount(classes, minlength=len(values))
    same = int(((values == 1) & (sizes > 0)).sum())
    if not same:
        return []
    asked = any(rule.column == name for rule in rules)
    advice = "" if asked else f"; ask for ℓ-diversity, as in l=2 (-l {name}=2), if that must not be"
    share = float(sizes[values == 1].sum() / sizes.sum())
    several = counted(int((sizes > 0).sum()), "class", "classes")
    return [
        f"in {same} of {several} all rows share one value of {name} ({share:.1%} of the rows): k hides whose row it "
        f"is, not the value{advice}"
    ]


def _costly(schema: Schema, report: Report) -> list[str]:
    names = schema.quasi_identifiers
    losses = report.columns.get("il", {})
    if len(names) <= MANY_COLUMNS or not losses:
        return []
    most = sorted(losses, key=lambda name: -losses[name])[:NAMED]
    listed = ", ".join(f"{name} ({losses[name]:.0%} lost)" for name in most)
    return [
        f"{len(names)} quasi-identifiers are many: hardly two records are alike in all of them. {listed} cost most; "
        "fewer or coarser ones help more than anything else"
    ]
