"""Values of new columns for the records that there are: from a file that has them by key, or the same for everybody."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from shoal.errors import DataError, ParameterError, row_list
from shoal.records.changes import key_of
from shoal.records.codebook import make_codebook
from shoal.records.encode import carry
from shoal.schema import Role, Schema
from shoal.sources.csv_files import Expected
from shoal.sources.frames import refuse_beyond
from shoal.sources.normalize import as_text
from shoal.sources.opening import open_source
from shoal.vault.keys import KeyHash


def values_for(
    names: Sequence[str],
    schema: Schema,
    keys: pa.Array,
    data: object,
    defaults: Mapping[str, object],
    hashing: KeyHash | None,
) -> dict[str, pa.Array]:
    """A column for each of these names, with a value for each of these keys; read as the schema says.

    Guarantee: every record has what the file says of it, or the default; whatever is wrong is said, with rows of the
    file.
    """
    unknown = sorted(set(defaults) - set(names))
    if unknown:
        raise ParameterError(f"{unknown[0]!r} is no new column: it needs no default.")
    found = {} if data is None else _from_file(names, schema, keys, data, hashing)
    for name in names:
        if name in found:
            column = found[name]
            lacking = int((~column.known).sum())
            if lacking and name not in defaults:
                raise DataError(
                    f"the file has no {name!r} for {lacking} of {len(keys)} records.",
                    hint="Give all of them, or a default for the others: --default NAME=VALUE.",
                    column=name,
                )
        elif name not in defaults:
            raise DataError(
                f"nothing says what {name!r} is of the records that there are.",
                hint="Give a file with the key and this column (--data), or a default (--default NAME=VALUE).",
                column=name,
            )
    return {name: _filled(name, schema, found.get(name), defaults, len(keys)) for name in names}


class _Found:
    """A column of a file, brought into the order of the records."""

    def __init__(self, values: pa.Array, known: np.ndarray) -> None:
        self.values, self.known = values, known


def _from_file(
    names: Sequence[str], schema: Schema, keys: pa.Array, data: object, hashing: KeyHash | None
) -> dict[str, _Found]:
    key = key_of(schema)
    wanted = {key: None, **dict.fromkeys(names)}
    opened = open_source(data, Expected(wanted, needs_header=True, encoding=schema.encoding, sheet=schema.sheet))
    if key not in opened.columns:
        raise DataError(f"the file has no column {key!r}, which names the records.", file=opened.file, column=key)
    given = [name for name in names if name in opened.columns]
    table = opened.load([key, *given])
    if hashing is not None:
        table = hashing.table(table, schema)
    texts = as_text(key, table[key], schema.missing)
    coded = texts.dictionary_encode()
    if texts.null_count or len(coded.dictionary) < len(texts):
        raise DataError("a key of the file is missing, or there twice.", file=opened.file, column=key)
    strangers = np.flatnonzero(pc.invert(pc.is_in(texts, value_set=keys)).to_numpy(zero_copy_only=False)) + 1
    if len(strangers):
        raise DataError(
            f"{row_list(strangers.tolist())}: no record has this key.",
            hint="New records come with shoal insert, when the schema has changed.",
            file=opened.file,
            column=key,
            rows=strangers[:20].tolist(),
        )
    at = pc.index_in(keys, value_set=texts)
    known = at.is_valid().to_numpy(zero_copy_only=False)
    try:
        return {name: _Found(_typed(name, schema, table[name]).take(at), known) for name in given}
    except DataError as error:
        error.file = error.file or opened.file
        raise


def _typed(name: str, schema: Schema, column: pa.ChunkedArray) -> pa.Array:
    """As the schema has it; raises DataError with the rows of the file that it cannot be."""
    described = schema.columns[name]
    if described.role == Role.QUASI_IDENTIFIER:
        make_codebook(name, described, column, schema.missing)
    return carry(name, described, column, schema.missing)


def _default(name: str, given: object) -> pa.ChunkedArray:
    try:
        array = pa.array([given])
        if not pa.types.is_nested(array.type):
            return pa.chunked_array([array])
    except (pa.ArrowException, OverflowError, TypeError, ValueError):  # the message may quote it
        pass
    refuse_beyond(name, [given])
    raise ParameterError(
        f"the default of {name!r} must be one value: a text, a number or a date. Got {type(given).__name__} instead.",
    )


def _filled(name: str, schema: Schema, found: _Found | None, defaults: Mapping[str, object], records: int) -> pa.Array:
    if name not in defaults:
        assert found is not None
        return found.values
    value = _typed(name, schema, _default(name, defaults[name]))
    same = value.take(pa.array(np.zeros(records, np.int64)))
    if found is None:
        return same
    if same.type != found.values.type:
        same = same.cast(found.values.type)
    return pc.if_else(pa.array(found.known), found.values, same)
