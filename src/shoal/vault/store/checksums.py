"""Checksums that follow their rows.

A row is hashed together with its number, and the hashes of all rows are added up (modulo 2⁶⁴). So the sum of a table of
a million rows follows a change of a hundred by what those hundred were and are, and it does not depend on the order of
reading. It finds damage, not forgery: whoever can write the vault can write its sums.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from zlib import crc32

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

Hashes = NDArray[np.uint64]
Field = Sequence[Any] | NDArray[np.generic]

WORD = (1 << 64) - 1
NOTHING = 1 << 33  # no text has this checksum


def checksum(numbers: Field, *fields: Field) -> int:
    """The sum over rows with these numbers and fields: texts, bytes, whole numbers or None."""
    hashes = _mixed(np.asarray(numbers, np.int64).astype(np.uint64))
    for field in fields:
        hashes = _mixed(hashes + _words(field))
    return int(hashes.sum(dtype=np.uint64)) & WORD


def checksum_of_rows(rows: Sequence[tuple[Any, ...]]) -> int:
    """The same for rows, each with its number first."""
    return checksum(*zip(*rows, strict=True)) if rows else 0


def content_checksum(table: pa.Table) -> int:
    """A checksum of a table: names, types, values and their order; the same however its memory is laid out."""
    found = 0
    for name in table.column_names:
        column = table[name].combine_chunks()
        found = crc32(f"{name}:{column.type}:{len(column)}".encode(), found)
        if column.null_count:
            found = crc32(np.packbits(column.is_valid().to_numpy(zero_copy_only=False)).tobytes(), found)
        texts = pa.array([], pa.string())
        if not pa.types.is_null(column.type):
            texts = column.cast(pa.string())
            texts = texts.fill_null("") if column.null_count else texts
        found = crc32(pc.binary_length(texts).to_numpy().tobytes(), found)
        found = crc32(_bytes(texts), found)
    return found


def _bytes(texts: pa.Array) -> memoryview:
    """The bytes of all texts, one after the other."""
    _, offsets, content = texts.buffers()
    if content is None or not len(texts):
        return memoryview(b"")
    ends = np.frombuffer(offsets, np.int32)[texts.offset : texts.offset + len(texts) + 1]
    return memoryview(content)[int(ends[0]) : int(ends[-1])]


def adjusted(total: int, *, added: int = 0, removed: int = 0) -> int:
    """The sum when rows have come and gone."""
    return (total + added - removed) & WORD


def _words(field: Any) -> Hashes:
    """A number for each value of a column, which is of one kind but for None."""
    if isinstance(field, np.ndarray):
        return field.astype(np.int64).astype(np.uint64)
    nothing = None in field
    if nothing and field.count(None) == len(field):
        return np.full(len(field), NOTHING, np.uint64)
    known = [value for value in field if value is not None] if nothing else field
    kind = type(known[0]) if len(known) else int
    if kind is str:
        words = np.array(list(map(crc32, map(str.encode, known))), np.uint64)
    elif kind is bytes:
        words = np.array(list(map(crc32, known)), np.uint64)
    elif kind is float:
        words = np.array(known, np.float64).view(np.uint64)
    else:
        words = np.array(known, np.int64).astype(np.uint64)
    if not nothing:
        return words
    padded = np.full(len(field), NOTHING, np.uint64)
    padded[[value is not None for value in field]] = words
    return padded


def _mixed(words: Hashes) -> Hashes:
    """The finalizer of splitmix64: every bit of the result depends on every bit of the word."""
    with np.errstate(over="ignore"):
        words = words + np.uint64(0x9E3779B97F4A7C15)
        words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return words ^ (words >> np.uint64(31))
