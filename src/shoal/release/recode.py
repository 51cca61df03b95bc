"""Recoding: the published table. What a cell looks like stands in `records/cells.py`.

Guarantee: a cell covers every original value of its group, and depends on nothing but its group's values in that
column. Generalized columns are plain strings: a dictionary made from the originals would carry them along.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from shoal.errors import SchemaError
from shoal.hierarchies.computed import Axis
from shoal.partition import Partition
from shoal.records.cells import cell_texts
from shoal.records.codebook import CodeBook
from shoal.records.encode import Records
from shoal.schema import ColumnType
from shoal.workers import mapped

Ints = NDArray[np.int32]
LARGEST_COLUMN = 1 << 30  # bytes of text


def recode(records: Records, partition: Partition, rows: NDArray[np.int64], *, bounds: bool = False) -> pa.Table:
    """The recoded table: record `rows[0]` first. `bounds` adds `_lo` and `_hi` columns to numbers and dates.

    Generalized columns are dictionaries of their labels, which are quick to measure; `plain_table` is what to publish.
    """
    groups = partition.labels[rows]
    at = {book.name: j for j, book in enumerate(records.books)}

    def columns_of(name: str) -> dict[str, pa.Array]:
        if name not in at:
            return {name: records.passthrough[name].combine_chunks().take(pa.array(rows))}
        j = at[name]
        book, lo, hi = records.books[j], partition.lo[:, j], partition.hi[:, j]
        cells, cell_of_group = cell_texts(book, lo, hi, partition.codes[:, j], partition.labels)
        labels = pa.array(cells, pa.string())
        _refuse_endless(name, labels, cell_of_group[groups])
        labels = labels.dictionary_encode()
        columns = {
            name: pa.DictionaryArray.from_arrays(
                labels.indices.take(pa.array(cell_of_group)).take(pa.array(groups)), labels.dictionary
            )
        }
        if bounds and book.axis is not None:
            for suffix, values in zip(("_lo", "_hi"), cell_bounds(book, lo, hi), strict=True):
                if name + suffix in records.order:
                    raise SchemaError(f"the table already has a column {name + suffix!r}.", column=name + suffix)
                columns[name + suffix] = values.take(pa.array(groups))
        return columns

    made = mapped(columns_of, records.order)
    return pa.table({name: column for columns in made for name, column in columns.items()})


def _refuse_endless(name: str, cells: pa.Array, rows: NDArray[np.int64]) -> None:
    """Sets of values are long, and every row of a group repeats its own: n rows of n values have no end."""
    lengths = pc.fill_null(pc.binary_length(cells), 0).to_numpy()
    published = int(lengths[rows].sum(dtype=np.int64))
    if published > LARGEST_COLUMN:
        raise SchemaError(
            f"column {name!r} would be published as {published / 2**30:.1f} GiB of text, up to "
            f"{int(lengths.max()):,} bytes in a cell; at most {LARGEST_COLUMN / 2**30:.0f} GiB make sense.",
            hint='Say generalize = "ancestor" (with a hierarchy, if * tells too little), raise its min_level, or ask '
            "for a smaller k.",
            column=name,
        )


def plain_table(recoded: pa.Table) -> pa.Table:
    """The published table: every value stands where it is shown, and in no dictionary."""
    columns = {}
    for name in recoded.column_names:
        column = recoded[name].combine_chunks()
        columns[name] = column.dictionary_decode() if pa.types.is_dictionary(column.type) else column
    return pa.table(columns)


def cell_bounds(book: CodeBook, lo: Ints, hi: Ints) -> tuple[pa.Array, pa.Array]:
    """The smallest and the largest value of each cell, as numbers or dates; null for `*` and for missing."""
    assert book.axis is not None
    first, last = np.zeros((2, len(lo)), book.axis.dtype)
    known = lo > 0
    if book.tree is not None and book.tree.spans is not None:
        nodes = np.zeros(len(lo), np.int32)
        nodes[known] = book.tree.common_ancestor(lo[known] - 1, hi[known] - 1)
        known &= nodes > 0  # the root spans everything
        first[known], last[known] = book.tree.spans[nodes[known]].T
    else:
        first[known], last[known] = book.axis[lo[known] - 1], book.axis[hi[known] - 1]
    return _axis_array(book, first, known), _axis_array(book, last, known)


def _axis_array(book: CodeBook, values: Axis, known: NDArray[np.bool_]) -> pa.Array:
    array = pa.array(values, mask=~known)
    return array.cast(pa.int32()).cast(pa.date32()) if book.column.type == ColumnType.DATE else array
