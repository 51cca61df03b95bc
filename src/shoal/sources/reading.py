"""Reading a table without a schema: what its columns are is told by how their cells are written."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from shoal.sources.csv_files import CsvFile, Expected
from shoal.sources.encodings import checked_encoding
from shoal.sources.opening import Source, open_source

# Numbers as people write them; `007`, `+5` and whole numbers that a float cannot hold stay text.
WHOLE = r"^-?(0|[1-9][0-9]{0,17})$"
DECIMAL = r"^-?(0|[1-9][0-9]{0,14})(\.[0-9]+)?([eE][+-]?[0-9]+)?$"


def read(
    source: object, *, header: bool | None = None, encoding: str | None = None, sheet: str | None = None
) -> pa.Table:
    """A table from a file, a folder of Parquet files, a table of a database, or any frame that exports Arrow.

    docs/schema.md lists what can be read. `encoding` of a text file is found if it is not said; `sheet` is needed where
    a workbook has several.

    Columns of a CSV become numbers where every cell is written like one (`10.10` becomes 10.1, `007` stays text). With
    a schema nothing is guessed: `anonymize` reads by the types that it says. `header`: whether the first line of a CSV
    names the columns; if it is not said, it does if all of it are different texts.
    """
    encoding = None if encoding is None else checked_encoding(encoding)
    return typed(open_source(source, Expected(header=header, encoding=encoding, sheet=sheet)))


def typed(opened: Source) -> pa.Table:
    """All of a source; columns of a CSV become numbers where every cell is written like one."""
    table = opened.load(opened.columns)
    if isinstance(opened, CsvFile):
        for j, name in enumerate(table.column_names):
            table = table.set_column(j, name, _typed(pc.utf8_trim_whitespace(table[name])))
    return table


def _typed(column: pa.ChunkedArray) -> pa.ChunkedArray:
    if column.null_count == len(column):
        return column
    for pattern, kind in ((WHOLE, pa.int64()), (DECIMAL, pa.float64())):
        if pc.all(pc.match_substring_regex(column, pattern)).as_py():
            return column.cast(kind)
    return column
