"""Who was in the table when: a file of people, for the audit of release files.

A row for each stay: the key, the quasi-identifiers as they were, and in the columns `from` and `until` the first and
the last release that the person was in, counted from 1 in the order in which the files are given. Empty, or without the
column: from the first one, until the last.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.errors import DataError, ParameterError
from shoal.records.reading import expected_by
from shoal.schema import Role, Schema
from shoal.sources.normalize import as_numbers, as_text
from shoal.sources.opening import open_source

Longs = NDArray[np.int64]
FROM, UNTIL = "from", "until"


class Population(NamedTuple):
    """Stays: whose (a number for each key), their quasi-identifiers, and the releases from and to (counted from 0)."""

    keys: list[str]
    whose: Longs
    table: pa.Table
    first: Longs
    last: Longs
    file: str | None


def read_population(source: object, schema: Schema, releases: int) -> Population:
    names = schema.names(Role.KEY)
    if not names:
        raise ParameterError("people can be told apart by a key only.", hint="Name the key column in the schema.")
    opened = open_source(source, expected_by(schema))
    wanted = [*names, *schema.quasi_identifiers]
    for name in wanted:
        if name not in opened.columns:
            raise DataError(f"the population has no column {name!r}.", file=opened.file, column=name)
    there = [name for name in (FROM, UNTIL) if name in opened.columns and name not in schema.columns]
    table = opened.load([*wanted, *there])
    if not table.num_rows:
        raise DataError("the population has no rows.", file=opened.file)
    keys = as_text(names[0], table[names[0]], schema.missing)
    if keys.null_count:
        raise DataError("a person of the population has no key.", file=opened.file, column=names[0])
    coded = keys.dictionary_encode()
    first = _release(table, FROM, 1, releases, opened.file) if FROM in there else np.ones(table.num_rows, np.int64)
    last = np.full(table.num_rows, releases)
    if UNTIL in there:
        last = _release(table, UNTIL, releases, releases, opened.file)
    whose = coded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
    _refuse_overlaps(whose, first, last, opened.file)
    return Population(coded.dictionary.to_pylist(), whose, table, first - 1, last - 1, opened.file)


def _release(table: pa.Table, name: str, missing: int, releases: int, file: str | None) -> Longs:
    numbers = as_numbers(name, table[name], ("",))
    found = numbers.fill_null(missing).to_numpy(zero_copy_only=False)
    wrong = np.flatnonzero((found < 1) | (found != np.rint(found)) | ((found > releases) if name == FROM else False))
    if len(wrong):
        raise DataError(
            f"row {int(wrong[0]) + 1}: {name!r} must be the number of a release, from 1 to {releases}.",
            file=file,
            column=name,
        )
    return np.minimum(found.astype(np.int64), releases)


def _refuse_overlaps(whose: Longs, first: Longs, last: Longs, file: str | None) -> None:
    order = np.lexsort((first, whose))
    wrong = np.flatnonzero((np.diff(whose[order]) == 0) & (first[order][1:] <= last[order][:-1]))
    if len(wrong):
        raise DataError(
            f"row {int(order[1:][wrong[0]]) + 1}: this key is in a release twice.",
            hint="Give each stay of a person a row of its own, with the releases from and until.",
            file=file,
        )
