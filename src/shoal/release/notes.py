"""What the holder should know of a release, and what to do about it. No value is in it; it is not published.

Columns that were dropped, classes that give a sensitive value away, and which of many columns cost most.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.measures import Report
from shoal.privacy import Rule
from shoal.schema import Role, Schema
from shoal.sources.normalize import plain
from shoal.views import counted

MANY_COLUMNS = 20
NAMED = 3


def notes_on(
    schema: Schema, passthrough: pa.Table, groups: NDArray[np.int32], rules: Sequence[Rule], report: Report
) -> list[str]:
    """`groups`: of each published record; `passthrough`: their columns that are published as they are."""
    return [
        *_dropped(schema),
        *(note for name in schema.names(Role.SENSITIVE) for note in _given_away(name, passthrough, groups, rules)),
        *_costly(schema, report),
    ]


def _dropped(schema: Schema) -> list[str]:
    gone = [f"{name} ({schema.columns[name].role})" for name in schema.names(Role.IDENTIFIER, Role.KEY, Role.PERSON)]
    return [f"not published: {', '.join(gone)}"] if gone else []


def _given_away(name: str, passthrough: pa.Table, groups: NDArray[np.int32], rules: Sequence[Rule]) -> list[str]:
    """Classes in which everybody has the same value: whoever finds somebody there knows it."""
    column = passthrough[name]
    if pa.types.is_nested(column.type) or not len(groups):
        return []
    coded = plain(name, column).dictionary_encode(null_encoding="encode")
    codes = coded.indices.to_numpy(zero_copy_only=False)
    pairs = np.unique(groups.astype(np.int64) * len(coded.dictionary) + codes)  # one number each: rows sort slowly
    values = np.bincount(pairs // len(coded.dictionary), minlength=int(groups.max()) + 1)
    sizes = np.bincount(groups, minlength=len(values))
    same = int(((values == 1) & (sizes > 0)).sum())
    if not same:
        return []
    asked = any(rule.column == name for rule in rules)
    advice = "" if asked else f"; ask for ℓ-diversity, as in l=2 (-l {name}=2), if that must not be"
    share = float(sizes[values == 1].sum() / sizes.sum())
    classes = counted(int((sizes > 0).sum()), "class", "classes")
    return [
        f"in {same} of {classes} all rows share one value of {name} ({share:.1%} of the rows): k hides whose row it "
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
