"""Measures that anybody can compute: from the published rows and the schema."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.errors import DataError, ParameterError
from shoal.measures.cells import Cells, read_cells
from shoal.measures.report import Report
from shoal.schema import Role, Schema
from shoal.sources.normalize import plain
from shoal.workers import mapped

Ints = NDArray[np.int64]
LARGEST_KEY = 2**62


def public_report(
    table: pa.Table, schema: Schema, file: str | None = None, *, withheld: int = 0
) -> tuple[Report, Ints]:
    """All public measures of a release, and the size of the equivalence class of each row.

    `withheld`: how many records were not published. Every measure is what it would be if each were a row of nothing but
    `*`.
    """
    if not schema.quasi_identifiers:
        raise ParameterError("the schema has no quasi-identifier: there is nothing to measure.")
    if table.num_rows == 0:
        raise DataError("the table has no rows.", file=file)

    def cells_of(name: str) -> Cells:
        if name not in table.column_names:
            raise DataError(
                f"the table has no column {name!r}: it is no release of this schema.", file=file, column=name
            )
        try:
            return read_cells(name, schema.columns[name], table[name])
        except DataError as error:
            error.file = error.file or file
            raise

    names = schema.quasi_identifiers
    columns = dict(zip(names, mapped(cells_of, names), strict=True))
    classes = class_numbers(list(columns.values()))
    sizes = np.bincount(classes)
    report = Report(table.num_rows, len(sizes), int(sizes.min()), withheld)
    if withheld:
        report.totals["withheld"] = float(withheld)
        report.shares["withheld"] = withheld / (table.num_rows + withheld)
    _add_cell_measures(report, columns)
    suppressed = np.logical_and.reduce([cells.root[cells.index] for cells in columns.values()])
    _add_class_measures(report, sizes, classes, suppressed, _sensitive(table, schema, file))
    return report, sizes[classes]


def class_numbers(columns: list[Cells]) -> Ints:
    """The equivalence class of each row, numbered from 0."""
    classes, n_classes = columns[0].index, len(columns[0].labels)
    for cells in columns[1:]:
        if n_classes * len(cells.labels) > LARGEST_KEY:
            classes = value_numbers(pa.array(classes))
            n_classes = int(classes.max()) + 1
        classes = classes * len(cells.labels) + cells.index  # unique as long as it fits
        n_classes *= len(cells.labels)
    return value_numbers(pa.array(classes))


def _add_cell_measures(report: Report, columns: dict[str, Cells]) -> None:
    withheld = report.withheld
    n = report.records + withheld
    cells_in_all = n * len(columns)
    volumes, volume = np.ones(report.records), 1.0
    for measure in ("il", "lm", "tree"):
        by_column = {
            name: float(getattr(cells, measure)[cells.index].sum()) + withheld for name, cells in columns.items()
        }
        unknown = [name for name, value in by_column.items() if np.isnan(value)]
        if unknown:
            report.omitted[measure] = f"the schema does not say how many values {', '.join(unknown)} can have"
            continue
        total = sum(by_column.values())
        report.totals[measure] = total if measure == "il" else total / cells_in_all
        report.shares[measure] = total / cells_in_all
        if measure == "il":
            report.totals["il_share"] = report.shares["il"]
        report.columns[measure] = {name: value / n for name, value in by_column.items()}
    for cells in columns.values():
        volumes *= cells.size[cells.index]
        volume *= cells.all_values
    if np.isnan(volumes).any() or np.isnan(volume):
        report.omitted["am"] = "the schema does not say how many values every column can have"
    else:
        report.totals["am"] = (float(volumes.sum()) + withheld * volume) / n
        report.shares["am"] = min(1.0, report.totals["am"] / volume)
    by_column = {name: float(cells.root[cells.index].sum()) + withheld for name, cells in columns.items()}
    report.totals["suppressed_cells"] = sum(by_column.values())
    report.shares["suppressed_cells"] = sum(by_column.values()) / cells_in_all
    report.columns["suppressed_cells"] = {name: value / n for name, value in by_column.items()}


def _add_class_measures(
    report: Report, sizes: Ints, classes: Ints, suppressed: NDArray[np.bool_], sensitive: Ints | None
) -> None:
    """DM and CM on equivalence classes. A row of nothing but `*` is suppressed: like every row, and wrong.

    Withheld records are a class of their own, unless published rows of nothing but `*` are one already.
    """
    n = report.records + report.withheld
    nothing = float(suppressed.sum()) + report.withheld
    discernible = float(sizes[classes][~suppressed].astype(np.float64).sum()) + nothing * n
    report.totals["dm"] = discernible
    report.shares["dm"] = discernible / n**2
    n_classes = report.classes + (report.withheld > 0 and not suppressed.any())
    report.totals["average_class_size"] = n / n_classes
    report.shares["average_class_size"] = 1 / n_classes
    if sensitive is None:
        report.omitted["cm"] = "the schema has no sensitive column"
        return
    wrong = float(np.count_nonzero(~suppressed) - majority(classes[~suppressed], sensitive[~suppressed]).sum())
    report.totals["cm"] = report.shares["cm"] = (wrong + nothing) / n


def majority(classes: Ints, values: Ints) -> Ints:
    """How many rows of each class have its most common value."""
    if not len(classes):
        return np.zeros(0, np.int64)
    n_values = int(values.max()) + 1
    pairs = np.sort(classes * n_values + values)
    starts = np.flatnonzero(np.diff(pairs, prepend=-1))
    counts = np.diff(starts, append=len(pairs))
    largest = np.zeros(int(classes.max()) + 1, np.int64)
    np.maximum.at(largest, pairs[starts] // n_values, counts)
    return largest


def _sensitive(table: pa.Table, schema: Schema, file: str | None) -> Ints | None:
    """The first sensitive column as numbers; null is a value of its own."""
    names = schema.names(Role.SENSITIVE)
    if not names:
        return None
    if names[0] not in table.column_names:
        raise DataError(f"the table has no sensitive column {names[0]!r}.", file=file, column=names[0])
    return column_numbers(names[0], table[names[0]])


def column_numbers(name: str, column: pa.ChunkedArray | pa.Array) -> Ints:
    """A number for each different value of a column."""
    array = plain(name, column)
    try:
        return value_numbers(array)
    except pa.ArrowException:
        pass
    raise DataError(f"column {name!r} holds {array.type}, not values that can be compared.", column=name)


def value_numbers(array: pa.Array) -> Ints:
    return array.dictionary_encode(null_encoding="encode").indices.to_numpy().astype(np.int64)
