"""Public measures on Spark: `shoal.measure` for released rows that no machine holds.

Equivalence classes are counted by Spark, and their cells are read where they lie, by the same reading as
`shoal.measure`. What a cell costs depends on the whole column: on its smallest and largest bound, its longest code. So
executors look for the few labels that decide it first, and every one reads its cells beside those (`telling`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from shoal.errors import DataError, ParameterError
from shoal.hierarchies.computed import DateLevels, IntervalLevels, PrefixLevels
from shoal.hierarchies.declared import DeclaredTree
from shoal.measures import Report
from shoal.measures.cells import Cells, read_cells, read_spans
from shoal.measures.risk import THRESHOLD, check_threshold
from shoal.schema import WINSORIZED, Column, Role, Schema
from shoal.spark.arrow import as_tables, quoted, spark_schema
from shoal.spark.sessions import check_frame, no_word_of_pandas

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

CLASSES_AT_ONCE = 100_000
COUNT, MOST = "__count", "__most"
PARTS = ("il", "lm", "tree", "root")


def measure(
    df: DataFrame,
    schema: Schema | str | Path | Mapping[str, object],
    *,
    threshold: float = THRESHOLD,
) -> Report:
    """All public measures of released rows, and what a prosecutor and a marketer gain, as `shoal.measure` has them."""
    check_threshold(threshold)
    df = check_frame(df)
    schema = schema if isinstance(schema, Schema) else Schema.load(schema)
    names = schema.quasi_identifiers
    if not names:
        raise ParameterError("the schema has no quasi-identifier: there is nothing to measure.")
    first = schema.names(Role.SENSITIVE)[:1]
    for name in [*names, *first]:
        if name not in df.columns:
            raise DataError(f"the table has no column {name!r}: it is no release of this schema.", column=name)
    classes = _classes(df, names, first).persist()
    try:
        context = _telling(classes, names, schema)
        return _report(classes, names, schema, context, threshold, sensitive=bool(first))
    finally:
        classes.unpersist()


def class_sizes(df: DataFrame, schema: Schema | str | Path | Mapping[str, object]) -> dict[int, int]:
    """How many equivalence classes there are of each size, the smallest first."""
    from pyspark.sql import functions as F

    df = check_frame(df)
    schema = schema if isinstance(schema, Schema) else Schema.load(schema)
    classes = _classes(df, schema.quasi_identifiers, [])
    found = classes.groupBy(COUNT).agg(F.count("*").alias("n")).collect()
    return dict(sorted((int(row[0]), int(row[1])) for row in found))


def _classes(df: DataFrame, names: list[str], sensitive: list[str]) -> DataFrame:
    """Each class, its rows, and how many of them have its most common sensitive value."""
    from pyspark.sql import functions as F

    keys = [f"k{j}" for j in range(len(names))]
    columns = [F.col(quoted(name)).cast("string").alias(key) for key, name in zip(keys, names, strict=True)]
    values = [F.col(quoted(name)).alias("__value") for name in sensitive]
    pairs = df.select(*columns, *values).groupBy(*keys, *["__value" for _ in values]).agg(F.count("*").alias(COUNT))
    return pairs.groupBy(*keys).agg(F.max(COUNT).alias(MOST), F.sum(COUNT).alias(COUNT))


def _telling(classes: DataFrame, names: list[str], schema: Schema) -> dict[str, list[str]]:
    """The labels of each column that decide what all of them cost."""
    found = pa.schema([("column", pa.int32()), ("label", pa.string())])

    def look(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for table in as_tables(batches, CLASSES_AT_ONCE):
            for j, name in enumerate(names):
                labels = telling(schema.columns[name], table[f"k{j}"].unique().drop_null().to_pylist())
                number = pa.array(np.full(len(labels), j, np.int32))
                yield from pa.table([number, pa.array(labels, pa.string())], schema=found).to_batches()

    with no_word_of_pandas():
        table = classes.mapInArrow(look, spark_schema(found)).distinct().toArrow()
    numbers, labels = table["column"].to_numpy(), table["label"].to_pylist()
    by_column = {
        name: sorted(label for at, label in zip(numbers, labels, strict=True) if at == j)
        for j, name in enumerate(names)
    }
    return {name: telling(schema.columns[name], mine) for name, mine in by_column.items()}


def telling(column: Column, labels: list[str]) -> list[str]:
    """Those of these labels that must be known to tell what any label of the column costs.

    Of a winsorized domain they are all: its ends are quantiles of the different labels.
    """
    labels = [label for label in labels if label not in ("", "*")]
    rule = column.grower.rule if column.grower else None
    if not labels:
        return []
    if rule is None or isinstance(rule, IntervalLevels | DateLevels):
        if column.domain == WINSORIZED:
            return labels
        spans = np.array([(low, high) for low, high, _ in read_spans(column, list(labels))])
        if np.isnan(spans).any():
            return labels[:1] if np.isnan(spans[0]).any() else [labels[int(np.flatnonzero(np.isnan(spans[:, 0]))[0])]]
        chosen = {int(np.argmin(spans[:, 0])), int(np.argmax(spans[:, 1]))}
        broken = np.flatnonzero((spans != np.rint(spans)).any(axis=1))
        open_ended = [i for i, label in enumerate(labels) if label.endswith(")")]
        chosen.update([*broken[:1].tolist(), *open_ended[:1]])
        return [labels[i] for i in sorted(chosen)]
    if isinstance(rule, PrefixLevels):
        return labels if column.generalize == "set" else [max(labels, key=len)]
    if isinstance(rule, DeclaredTree) and column.on_unknown == "attach":
        known = set(column.grower.grow().labels) if column.grower else set()
        return [label for label in labels if label not in known]
    return []


def _report(
    classes: DataFrame,
    names: list[str],
    schema: Schema,
    context: Mapping[str, list[str]],
    threshold: float,
    *,
    sensitive: bool,
) -> Report:
    sums = [f"{part}{j}" for j in range(len(names)) for part in PARTS]
    whole = ["rows", "classes", "smallest", "volumes", "volume", "discernible", "nothing", "right", "risky"]
    out = pa.schema([(name, pa.float64()) for name in [*whole, *sums]])

    def look(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for table in as_tables(batches, CLASSES_AT_ONCE):
            facts = _sums(table, names, schema, context, threshold)
            yield from pa.table([pa.array([facts[name]], pa.float64()) for name in out.names], schema=out).to_batches()

    with no_word_of_pandas():
        table = classes.mapInArrow(look, spark_schema(out)).toArrow()
    if not table.num_rows:
        raise DataError("the table has no rows.")
    total = {name: float(np.sum(np.sort(table[name].to_numpy()))) for name in out.names}
    smallest, volume = int(table["smallest"].to_numpy().min()), float(table["volume"].to_numpy()[0])
    n, n_classes = int(total["rows"]), int(total["classes"])
    report = Report(n, n_classes, smallest)
    _add_cells(report, names, total, volume)
    discernible = total["discernible"] + total["nothing"] * n
    report.totals |= {"dm": discernible, "average_class_size": n / n_classes}
    report.shares |= {"dm": discernible / n**2, "average_class_size": 1 / n_classes}
    if sensitive:
        wrong = n - total["nothing"] - total["right"]
        report.totals["cm"] = report.shares["cm"] = (wrong + total["nothing"]) / n
    else:
        report.omitted["cm"] = "the schema has no sensitive column"
    report.risks["prosecutor"] = {
        "maximum": 1 / smallest,
        "average": n_classes / n,
        "share_above_threshold": total["risky"] / n,
        "threshold": threshold,
    }
    report.risks["marketer"] = {"average": n_classes / n}
    return report


def _add_cells(report: Report, names: list[str], total: Mapping[str, float], volume: float) -> None:
    cells = report.records * len(names)
    for part in ("il", "lm", "tree"):
        by_column = {name: total[f"{part}{j}"] for j, name in enumerate(names)}
        unknown = [name for name, value in by_column.items() if np.isnan(value)]
        if unknown:
            report.omitted[part] = f"the schema does not say how many values {', '.join(unknown)} can have"
            continue
        lost = sum(by_column.values())
        report.totals[part] = lost if part == "il" else lost / cells
        report.shares[part] = lost / cells
        if part == "il":
            report.totals["il_share"] = report.shares["il"]
        report.columns[part] = {name: value / report.records for name, value in by_column.items()}
    if np.isnan(total["volumes"]) or np.isnan(volume):
        report.omitted["am"] = "the schema does not say how many values every column can have"
    else:
        report.totals["am"] = total["volumes"] / report.records
        report.shares["am"] = min(1.0, report.totals["am"] / volume)
    starred = {name: total[f"root{j}"] for j, name in enumerate(names)}
    report.totals["suppressed_cells"] = sum(starred.values())
    report.shares["suppressed_cells"] = sum(starred.values()) / cells
    report.columns["suppressed_cells"] = {name: value / report.records for name, value in starred.items()}


def _sums(
    table: pa.Table, names: list[str], schema: Schema, context: Mapping[str, list[str]], threshold: float
) -> dict[str, float]:
    """On an executor: what some classes add to each measure."""
    rows = table[COUNT].to_numpy().astype(np.float64)
    suppressed, volumes, volume = np.ones(len(rows), bool), np.ones(len(rows)), 1.0
    facts: dict[str, Any] = {}
    for j, name in enumerate(names):
        beside = pa.chunked_array([*table[f"k{j}"].chunks, pa.array(context[name], pa.string())], pa.string())
        cells = _read(name, schema.columns[name], beside)
        index = cells.index[: len(rows)]
        facts |= {f"{part}{j}": float((getattr(cells, part)[index] * rows).sum()) for part in PARTS}
        suppressed &= cells.root[index]
        volumes *= cells.size[index]
        volume *= cells.all_values
    shown = ~suppressed
    facts |= {
        "rows": rows.sum(),
        "classes": len(rows),
        "smallest": rows.min(),
        "volumes": (volumes * rows).sum(),
        "volume": volume,
        "discernible": (rows[shown] ** 2).sum(),
        "nothing": rows[suppressed].sum(),
        "right": table[MOST].to_numpy()[shown].sum(),
        "risky": rows[1 / rows > threshold].sum(),
    }
    return {name: float(value) for name, value in facts.items()}


def _read(name: str, column: Column, labels: pa.ChunkedArray) -> Cells:
    try:
        return read_cells(name, column, labels)
    except DataError as error:  # its rows are those of some classes
        raise DataError(f"column {name!r}: some rows have no label of this column.", hint=error.hint) from None
