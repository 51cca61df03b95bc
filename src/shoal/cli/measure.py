"""`shoal measure`: what a published table has lost, and what an attacker gains."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape
from rich.table import Table

import shoal
from shoal.cli.files import file_path
from shoal.cli.screen import AsJson, ShowValues, command, number, plural, print_json, screen
from shoal.cli.workers import Workers
from shoal.measures import MEANINGS, RISKS, Report, unique_records
from shoal.records.reading import read_text


@command
def measure(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", parser=file_path, help="The published table: CSV, Parquet or JSON lines.")
    ],
    schema: Annotated[
        Path, typer.Option("--schema", "-s", metavar="FILE", parser=file_path, help="The schema (TOML) of the release.")
    ],
    population: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", parser=file_path, help="A table of everybody, for the risk that somebody outside is meant."
        ),
    ] = None,
    sampling_fraction: Annotated[
        float | None, typer.Option(help="Instead: the share of the population that the table is a sample of.")
    ] = None,
    threshold: Annotated[
        float, typer.Option(help="Which risk is too high: the share of records above it is told.")
    ] = 0.2,
    withheld: Annotated[
        int | None, typer.Option(help="How many records were withheld; otherwise the manifest beside the file says so.")
    ] = None,
    columns: Annotated[bool, typer.Option("--columns", help="Show the losses of each column.")] = False,
    unique: Annotated[int, typer.Option(help="Also count rows that are unique in up to so many columns.")] = 0,
    workers: Workers = None,
    as_json: AsJson = False,
    show_values: ShowValues = False,
) -> None:
    """Measure a published table: losses and risks, from its rows and the schema alone."""
    described = shoal.Schema.load(schema)
    report = shoal.measure(
        file,
        described,
        population=population,
        sampling_fraction=sampling_fraction,
        threshold=threshold,
        withheld=withheld,
    )
    found = unique_records(read_text(file, described.published), described.quasi_identifiers, unique) if unique else []
    if as_json:
        print_json({**report.facts(), "unique": [{"columns": list(names), "rows": rows} for names, rows in found]})
        return
    _show_measures(report)
    if columns:
        _show_columns(report)
    _show_risks(report)
    for names, rows in found[:10]:
        unique_rows = f"{number(rows)} {'row is' if rows == 1 else 'rows are'}"
        screen.print(f"  {unique_rows} unique in {', '.join(names)}", markup=False)


def _show_measures(report: Report) -> None:
    title = f"{plural(report.records, 'row')} in {plural(report.classes, 'equivalence class', 'equivalence classes')}"
    title += f", {plural(report.withheld, 'record')} withheld" if report.withheld else ""
    table = Table(title=f"{title}; the smallest has {report.smallest_class}", title_justify="left")
    table.add_column("measure", no_wrap=True)
    table.add_column("", justify="right", no_wrap=True)
    table.add_column("of the worst", justify="right")
    table.add_column("what it means")
    for name, meaning in MEANINGS.items():
        if name in report.totals:
            share = f"{report.shares[name]:.2%}" if name in report.shares else ""
            table.add_row(meaning.title, number(report.totals[name]), share, escape(meaning.sentence))
    screen.print(table)
    for name, why in report.omitted.items():
        screen.print(f"  {MEANINGS[name].title} cannot be told: {why}.", markup=False)


def _show_columns(report: Report) -> None:
    table = Table(title="Per column, on average per row", title_justify="left")
    table.add_column("column")
    for measure in report.columns:
        table.add_column(MEANINGS[measure].title, justify="right")
    for name in next(iter(report.columns.values())):
        table.add_row(escape(name), *(f"{values[name]:.1%}" for values in report.columns.values()))
    screen.print(table)


def _show_risks(report: Report) -> None:
    table = Table(title="Risk", title_justify="left")
    threshold = f"rows above {report.risks['prosecutor']['threshold']:.0%}"
    for heading in ("attacker", "largest", "average", threshold, "what it means"):
        table.add_column(heading, justify="left" if heading in ("attacker", "what it means") else "right")
    for name, risk in report.risks.items():
        shown = [f"{risk[key]:.2%}" if key in risk else "" for key in ("maximum", "average", "share_above_threshold")]
        table.add_row(name, *shown, RISKS[name])
    screen.print(table)
