"""Tables, schemas and hierarchies for hypothesis to make, each with its plain reference."""

from __future__ import annotations

import datetime as dt
import math
import re
from dataclasses import dataclass

import pyarrow as pa
from hypothesis import strategies as st

import shoal
from tests.reference.costs import Path, Plain

EPOCH = dt.date(1970, 1, 1)


@dataclass
class MadeColumn:
    spec: dict[str, object]
    values: list[object]
    plain: Plain
    kind: pa.DataType


@dataclass
class MadeTable:
    schema: shoal.Schema
    table: pa.Table
    columns: dict[str, MadeColumn]

    @property
    def rows(self) -> int:
        return self.table.num_rows


def maybe_missing(values: st.SearchStrategy[object], missing: bool) -> st.SearchStrategy[object]:
    return st.one_of(st.none(), values, values, values) if missing else values


@st.composite
def numbers(draw: st.DrawFn, rows: int) -> MadeColumn:
    """Whole or fractional numbers, as tight intervals, with or without a declared domain."""
    whole = draw(st.booleans())
    one: st.SearchStrategy[object] = (
        st.integers(-50, 50) if whole else st.integers(-40, 40).map(lambda number: number / 8 + 0.0625)
    )
    values = draw(st.lists(maybe_missing(one, draw(st.booleans())), min_size=rows, max_size=rows))
    present = [float(value) for value in values if value is not None]  # type: ignore[arg-type]
    spec: dict[str, object] = {"role": "quasi-identifier", "type": "numeric"}
    domain = (min(present), max(present)) if present else (0.0, 0.0)
    if draw(st.booleans()):
        domain = (-30.0, 45.0)
        spec["domain"] = list(domain)
    return MadeColumn(spec, values, Plain(number=float, domain=domain), pa.int64() if whole else pa.float64())  # type: ignore[arg-type]


@st.composite
def fixed_intervals(draw: st.DrawFn, rows: int) -> MadeColumn:
    """Whole numbers in intervals of fixed widths."""
    widths = draw(st.sampled_from([[5], [5, 10], [3, 6, 24]]))
    values = draw(st.lists(maybe_missing(st.integers(-20, 60), draw(st.booleans())), min_size=rows, max_size=rows))
    present = [int(value) for value in values if value is not None]  # type: ignore[call-overload]
    low, high = (min(present), max(present)) if present else (0, 0)
    min_level = draw(st.integers(0, 1))

    def path(value: object) -> Path:
        number = int(value)  # type: ignore[call-overload]
        starts = [(math.floor(number / width) * width, width) for width in reversed(widths)]
        return ("*", *(f"[{start}..{start + width - 1}]" for start, width in starts), str(number))

    def counted(node: Path) -> float:
        if len(node) == 1:
            return 1.0 if high > low else 0.0
        inside = [number for number in range(low, high + 1) if path(number)[: len(node)] == node]
        return (len(inside) - 1) / max(1, high - low)

    spec = {"role": "quasi-identifier", "type": "numeric", "levels": widths, "min_level": min_level}
    plain = Plain(path=path, counted=counted, min_level=min_level, paths=sorted({path(value) for value in present}))
    return MadeColumn(spec, values, plain, pa.int64())


@st.composite
def dates(draw: st.DrawFn, rows: int) -> MadeColumn:
    """Days, as tight intervals or in months and years."""
    levels = draw(st.sampled_from([None, ["month", "year"], ["quarter", "decade"]]))
    days = st.integers(-400, 400).map(lambda day: EPOCH + dt.timedelta(days=day))
    values = draw(st.lists(maybe_missing(days, draw(st.booleans())), min_size=rows, max_size=rows))
    present = [value for value in values if isinstance(value, dt.date)]

    def number(value: object) -> float:
        assert isinstance(value, dt.date)
        return float((value - EPOCH).days)

    low, high = (min(present), max(present)) if present else (EPOCH, EPOCH)
    spec: dict[str, object] = {"role": "quasi-identifier", "type": "date"}
    if levels is None:
        return MadeColumn(spec, values, Plain(number=number, domain=(number(low), number(high))), pa.date32())

    def path(value: object) -> Path:
        assert isinstance(value, dt.date)
        labels = {
            "month": f"{value:%Y-%m}",
            "quarter": f"{value.year}-Q{(value.month + 2) // 3}",
            "year": str(value.year),
            "decade": f"{value.year // 10 * 10}s",
        }
        return ("*", *(labels[level] for level in reversed(levels)), value.isoformat())

    def counted(node: Path) -> float:
        if len(node) == 1:
            return 1.0 if high > low else 0.0
        span = [low + dt.timedelta(days=day) for day in range((high - low).days + 1)]
        inside = [day for day in span if path(day)[: len(node)] == node]
        return (len(inside) - 1) / max(1, (high - low).days)

    spec["levels"] = levels
    plain = Plain(path=path, counted=counted, paths=sorted({path(value) for value in present}))
    return MadeColumn(spec, values, plain, pa.date32())


@st.composite
def nested_trees(draw: st.DrawFn) -> tuple[dict[str, object], list[Path]]:
    """A random hierarchy, unbalanced, as a nested mapping and as paths."""
    names = iter(range(1000))
    paths: list[Path] = []

    def grow(label: str, above: Path, depth: int) -> object:
        here = (*above, label)
        if depth == 0 or (depth < 3 and draw(st.integers(0, 3)) == 0):
            paths.append(here)
            return None
        children = [f"{'abcd'[depth]}{next(names)}" for _ in range(draw(st.integers(1, 3)))]
        return {child: grow(child, here, depth - 1) for child in children}

    return {"*": grow("*", (), 3)}, paths


@st.composite
def categories(draw: st.DrawFn, rows: int) -> MadeColumn:
    """Categories in a random tree."""
    nested, paths = draw(nested_trees())
    by_leaf = {path[-1]: path for path in paths}
    leaves = sorted(by_leaf)
    one: st.SearchStrategy[object] = st.sampled_from(leaves)
    values = draw(st.lists(maybe_missing(one, draw(st.booleans())), min_size=rows, max_size=rows))
    spec: dict[str, object] = {"role": "quasi-identifier", "type": "categorical", "hierarchy": nested}
    plain = Plain(path=lambda value: by_leaf[str(value)], paths=paths)
    return MadeColumn(spec, values, plain, pa.string())


@st.composite
def flat(draw: st.DrawFn, rows: int) -> MadeColumn:
    """Categories without a hierarchy: suppression only."""
    one: st.SearchStrategy[object] = st.sampled_from(["red", "green", "blue", "a, b", 'say "x"', "é", "[1..2]", "x;y"])
    values = draw(st.lists(maybe_missing(one, draw(st.booleans())), min_size=rows, max_size=rows))
    paths: list[Path] = [("*", str(value)) for value in sorted({str(value) for value in values if value is not None})]
    plain = Plain(path=lambda value: ("*", str(value)), paths=paths)
    return MadeColumn({"role": "quasi-identifier", "type": "categorical"}, values, plain, pa.string())


@st.composite
def prefixes(draw: st.DrawFn, rows: int) -> MadeColumn:
    """Codes of equal or unequal length."""
    longest = draw(st.integers(1, 4))
    shortest = draw(st.integers(1, longest))
    one: st.SearchStrategy[object] = st.text("012", min_size=shortest, max_size=longest)
    values = draw(st.lists(maybe_missing(one, draw(st.booleans())), min_size=rows, max_size=rows))
    found = sorted({str(value) for value in values if value is not None})
    longest = max((len(value) for value in found), default=1)

    def path(value: object) -> Path:
        code = str(value)
        groups = [code[:kept].ljust(longest, "*") for kept in range(1, min(len(code), longest - 1) + 1)]
        return ("*", *groups, code)

    def stars(node: Path) -> int:
        return longest if len(node) == 1 else 0 if node[-1] in found else node[-1].count("*")

    plain = Plain(path=path, levels=stars, paths=[path(value) for value in found])
    return MadeColumn({"role": "quasi-identifier", "type": "prefix"}, values, plain, pa.string())


@st.composite
def tables(draw: st.DrawFn, min_rows: int = 2, max_rows: int = 40, sets: bool = False) -> MadeTable:
    """A small table of one to four quasi-identifiers of any kind, with weights, and a sensitive column."""
    rows = draw(st.integers(min_rows, max_rows))
    kinds = [numbers, fixed_intervals, dates, categories, flat, prefixes]
    columns: dict[str, MadeColumn] = {}
    for j in range(draw(st.integers(1, 4))):
        column = draw(draw(st.sampled_from(kinds))(rows))
        column.spec["weight"] = draw(st.sampled_from([1.0, 1.0, 0.5, 2.0]))
        if sets and column.spec["type"] in ("categorical", "prefix") and draw(st.booleans()):
            column.spec["generalize"] = "set"
        columns[f"q{j}"] = column
    data = {name: pa.array(column.values, column.kind) for name, column in columns.items()}
    data["ill"] = pa.array([draw(st.sampled_from(["flu", "cancer", None])) for _ in range(rows)], pa.string())
    specs: dict[str, dict[str, object]] = {name: column.spec for name, column in columns.items()}
    data["pay"] = pa.array([draw(st.integers(0, 5)) for _ in range(rows)], pa.int64())
    sensitive: dict[str, dict[str, object]] = {
        "ill": {"role": "sensitive"},
        "pay": {"role": "sensitive", "type": "numeric"},
    }
    schema = shoal.Schema(columns={**specs, **sensitive})
    return MadeTable(schema, pa.table(data), columns)


def covers(cell: str | None, column: MadeColumn, value: object) -> bool:
    """Whether a published cell covers one original value, read from the cell's text alone."""
    if cell is None:
        return value is None
    if cell == "*":
        return True
    if value is None:
        return False
    if cell == str(value):
        return True
    if cell.startswith("{"):
        members = re.findall(r'"((?:[^"]|"")*)"|([^,{}"]+)', cell)
        return str(value) in [quoted.replace('""', '"') or bare for quoted, bare in members]
    if column.plain.path is not None:
        return cell in column.plain.path(value)
    if ".." not in cell:
        return False
    low, high = cell.strip("[]").split("..")
    if isinstance(value, dt.date):
        return dt.date.fromisoformat(low) <= value <= dt.date.fromisoformat(high)
    return float(low) <= float(value) <= float(high)  # type: ignore[arg-type]
