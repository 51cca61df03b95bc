"""The independent check: is this published table k-anonymous? It trusts nobody.

It looks at the published rows alone, regroups them by their published values, and shares no grouping code with what
made them. It reads what other tools wrote as well.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from shoal.errors import DataError, ParameterError, whole_number
from shoal.records.reading import read_text
from shoal.schema import PUBLISHED, Schema


@dataclass(frozen=True)
class Verdict:
    """What the verifier found. `ok` is the answer; `reasons` says why not.

    `offending` holds the published values of the classes that are too small. If the table is not anonymous these may
    be somebody's own values: they are not printed with the verdict.
    """

    k: int  # found: the size of the smallest equivalence class
    wanted: int
    records: int
    classes: int
    suppressed: int  # rows in which every quasi-identifier is `*`
    reasons: list[str]
    offending: pa.Table = field(repr=False)

    @property
    def ok(self) -> bool:
        return not self.reasons

    def __bool__(self) -> bool:
        return self.ok

    def facts(self) -> dict[str, object]:
        """The same for a program, without any cell of the table."""
        return {
            "ok": self.ok,
            "k": self.k,
            "wanted": self.wanted,
            "records": self.records,
            "classes": self.classes,
            "offending_classes": self.offending.num_rows,
            "suppressed": self.suppressed,
            "reasons": self.reasons,
        }


def verify(
    source: object,
    schema: Schema | str | Path | None = None,
    k: int = 2,
    *,
    quasi_identifiers: Sequence[str] | None = None,
) -> Verdict:
    """Check a published file or table against k.

    Which columns an attacker may know comes from `schema`, or from `quasi_identifiers` where there is none. Columns
    `x_lo` and `x_hi` count as part of the quasi-identifier `x`.

    Guarantee: if the verdict is ok, every combination of published quasi-identifier values that occurs in the table
    occurs at least k times, and no column that the schema keeps back is in it.
    """
    k = whole_number("k", k, least=2)
    if schema is not None and quasi_identifiers:
        raise ParameterError("give a schema or quasi_identifiers, not both.")
    if isinstance(quasi_identifiers, str):
        quasi_identifiers = [quasi_identifiers]
    if isinstance(schema, str | Path):
        schema = Schema.load(schema)
    names = list(schema.quasi_identifiers if schema is not None else quasi_identifiers or ())
    if not names:
        raise ParameterError("there is no quasi-identifier to verify.", hint="Give a schema, or name the columns.")
    table = read_text(source, names if schema is None else schema.published)
    file = str(source) if isinstance(source, str) or hasattr(source, "__fspath__") else None
    for name in names:
        if name not in table.column_names:
            raise DataError(f"the table has no column {name!r}: it is no release.", file=file, column=name)
    if table.num_rows == 0:
        raise DataError("the table has no rows.", file=file)

    bounds = [name for name in _bounds(names) if name in table.column_names and not (schema and name in schema.columns)]
    try:
        keys = _plain(table.select(names + bounds))
        classes = keys.group_by(keys.column_names, use_threads=False).aggregate([([], "count_all")])
    except pa.ArrowException:
        classes = None
    if classes is None:
        raise DataError("a quasi-identifier holds values that cannot be compared, such as lists.", file=file)
    small = classes.filter(pc.less(classes["count_all"], k))
    found = pc.min(classes["count_all"]).as_py()

    reasons = []
    if small.num_rows:
        rows = pc.sum(small["count_all"]).as_py()
        reasons.append(
            f"{small.num_rows} of {classes.num_rows} equivalence classes have fewer than {k} rows "
            f"({rows} rows in all; the smallest class has {found})"
        )
    suppressed = _suppressed(keys.select(names))
    if 0 < suppressed < k:
        reasons.append(f"{suppressed} rows are wholly suppressed (`*` everywhere) and too few: leave them out")
    if schema is not None:
        reasons += _foreign_columns(table.column_names, schema, bounds)
    return Verdict(found, k, table.num_rows, classes.num_rows, suppressed, reasons, small)


def _bounds(names: Sequence[str]) -> list[str]:
    return [name + suffix for name in names for suffix in ("_lo", "_hi")]


def _foreign_columns(names: Sequence[str], schema: Schema, bounds: Sequence[str]) -> list[str]:
    reasons = []
    for name in names:
        if name in schema.columns and schema.columns[name].role not in PUBLISHED:
            reasons.append(f"column {name!r} has the role {schema.columns[name].role} and must not be published")
        elif name not in schema.columns and name not in bounds:
            reasons.append(f"column {name!r} is not in the schema: nobody has said what an attacker may know of it")
    return reasons


def _plain(table: pa.Table) -> pa.Table:
    """Dictionaries decoded: grouping compares values, not the numbers that a writer gave them."""
    for j, name in enumerate(table.column_names):
        column = table[name]
        if pa.types.is_dictionary(column.type):
            chunks = [chunk.dictionary.cast(pa.string()).take(chunk.indices) for chunk in column.chunks]
            table = table.set_column(j, name, pa.chunked_array(chunks, pa.string()))
        elif pa.types.is_string_view(column.type):
            table = table.set_column(j, name, column.cast(pa.string()))
    return table


def _suppressed(keys: pa.Table) -> int:
    for name in keys.column_names:
        column = keys[name]
        if not (pa.types.is_string(column.type) or pa.types.is_large_string(column.type)):
            return 0
        keys = keys.filter(pc.equal(column, "*"))
    return keys.num_rows
