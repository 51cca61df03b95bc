"""`shoal verify`: is this published table k-anonymous?"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape
from rich.table import Table

import shoal
from shoal.cli.files import file_path
from shoal.cli.privacy_options import Alpha, C, Diversity, L, T, asked
from shoal.cli.screen import AsJson, ShowValues, command, plural, print_json, screen
from shoal.cli.workers import Workers
from shoal.errors import ParameterError

SHOWN = 10


@command
def verify(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", parser=file_path, help="The published table: CSV, Parquet or JSON lines.")
    ],
    schema: Annotated[
        Path | None,
        typer.Option("--schema", "-s", metavar="FILE", parser=file_path, help="The schema (TOML) of the release."),
    ] = None,
    quasi_identifiers: Annotated[
        str | None,
        typer.Option("--quasi-identifiers", "-q", help="Instead of a schema: their names, with commas."),
    ] = None,
    sensitive: Annotated[
        str | None, typer.Option("--sensitive", help="Without a schema: the sensitive columns, with commas.")
    ] = None,
    k: Annotated[int, typer.Option("-k", "--k", help="The k that is asked for.")] = 2,
    l: L = None,  # noqa: E741  # the interface's name
    t: T = None,
    diversity: Diversity = None,
    c: C = None,
    alpha: Alpha = None,
    workers: Workers = None,
    as_json: AsJson = False,
    show_values: ShowValues = False,
) -> None:
    """Check a published table from its rows alone, whoever made it. Exit code 1 if the answer is no."""
    if (schema is None) == (quasi_identifiers is None):
        raise ParameterError("say which columns an attacker may know: with --schema or with --quasi-identifiers.")
    described = shoal.Schema.load(schema) if schema else None
    protected = described.names(shoal.Role.SENSITIVE) if described else _list(sensitive)
    verdict = shoal.verify(
        file,
        described,
        k,
        **asked(l, t, diversity, c, alpha, protected),
        quasi_identifiers=_list(quasi_identifiers),
        sensitive=_list(sensitive),
    )
    if as_json:
        print_json(verdict.facts())
    else:
        _show(verdict, show_values=show_values)
    if not verdict.ok:
        raise typer.Exit(1)


def _list(names: str | None) -> list[str]:
    return [name.strip() for name in (names or "").split(",") if name.strip()]


def _show(verdict: shoal.Verdict, *, show_values: bool) -> None:
    answer = f"[bold green]✓ {verdict.wanted}-anonymous.[/]"
    if not verdict.ok:
        answer = f"[bold red]✗ Not fit to be published with k = {verdict.wanted}.[/]"
    classes = plural(verdict.classes, "equivalence class", "equivalence classes")
    smallest = f"{verdict.k}{' people' if verdict.counted == 'people' else ''}"
    screen.print(f"{answer} {plural(verdict.records, 'row')} in {classes}; the smallest has {smallest}.")
    for rule in verdict.rules:
        screen.print(f"  {'✓' if rule.ok else '✗'} {rule.rule}: {rule.in_words()}.", markup=False)
    for reason in verdict.reasons:
        screen.print(f"  - {reason}.", markup=False)
    if show_values and verdict.offending.num_rows and sys.stdout.isatty():
        table = Table(title="The smallest classes (values of the published rows)")
        classes = verdict.offending.sort_by("count_all").slice(0, SHOWN)
        for name in classes.column_names:
            table.add_column("rows" if name == "count_all" else escape(name))
        for row in classes.to_pylist():
            table.add_row(*("" if value is None else escape(str(value)) for value in row.values()))
        screen.print(table)
    elif verdict.offending.num_rows:
        screen.print("  The classes themselves are shown by --show-values on a terminal.")
