"""Measures: what a release has lost, and what an attacker gains.

Public measures come from the published rows and the schema; the holder's need the originals.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from pathlib import Path

from shoal.errors import ParameterError, ShoalWarning, whole_number
from shoal.measures.beside import withheld_beside
from shoal.measures.bound import least_loss
from shoal.measures.catalogue import MEANINGS, RISKS
from shoal.measures.holder import holder_report, total_loss
from shoal.measures.population import population_sizes
from shoal.measures.public import column_numbers, public_report
from shoal.measures.report import Report
from shoal.measures.risk import (
    THRESHOLD,
    check_threshold,
    journalist,
    marketer,
    prosecutor,
    sampled_population,
    unique_records,
)
from shoal.records.reading import read_coded
from shoal.schema import Role, Schema
from shoal.workers import using


def measure(
    source: object,
    schema: Schema | str | Path | Mapping[str, object],
    *,
    population: object = None,
    sampling_fraction: float | None = None,
    threshold: float = THRESHOLD,
    withheld: int | None = None,
    workers: int | None = None,
) -> Report:
    """All public measures and the risks of a published file or table.

    The journalist's risk needs to know of everybody who is not in the table: a `population` (a table of originals with
    the same columns), or the `sampling_fraction` of the population that the table is a random sample of. `threshold`:
    the share of records whose risk is above it is reported. `withheld`: how many records were not published, which
    every measure counts as a row of nothing but `*`; if it is not said, what the manifest beside the file says. Risks
    are those of published rows. `workers`: how many threads work side by side (all cores, if unsaid).
    """
    check_threshold(threshold)
    if withheld is not None:
        withheld = whole_number("withheld", withheld, least=0)
    if population is not None and sampling_fraction is not None:
        raise ParameterError("give a population or a sampling_fraction, not both.")
    schema = schema if isinstance(schema, Schema) else Schema.load(schema)
    table = read_coded(source, schema.published, coded=schema.quasi_identifiers)
    file = str(source) if isinstance(source, str | Path) else None
    withheld = withheld_beside(source, table.num_rows) if withheld is None else withheld
    with using(workers):
        report, class_sizes = public_report(table, schema, file, withheld=withheld)
    if schema.names(Role.PERSON):
        note = "one person may have several rows here, and a release does not say whose they are: risks count rows."
        warnings.warn(note, ShoalWarning, stacklevel=2)
    report.risks["prosecutor"] = prosecutor(class_sizes, threshold)
    report.risks["marketer"] = marketer(class_sizes)
    outside = None
    if population is not None:
        outside = population_sizes(table, schema, population)
    elif sampling_fraction is not None:
        outside = sampled_population(class_sizes, sampling_fraction)
    if outside is not None:
        report.risks["journalist"] = journalist(class_sizes, outside, threshold)
        report.risks["marketer"] = marketer(class_sizes, outside)
    return report


__all__ = [
    "MEANINGS",
    "RISKS",
    "Report",
    "column_numbers",
    "holder_report",
    "least_loss",
    "measure",
    "public_report",
    "total_loss",
    "unique_records",
]
