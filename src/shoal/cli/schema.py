"""`shoal schema infer` and `shoal schema check`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape
from rich.table import Table

import shoal
from shoal.cli.files import file_path
from shoal.cli.screen import AsJson, ShowValues, command, messages, number, print_json, screen
from shoal.files import refuse_sources, refuse_vaults, write_text
from shoal.fit import check_fit
from shoal.inference import propose

app = typer.Typer(help="Propose a schema for a table, or hold one against it.", no_args_is_help=True)


@app.command("infer")
@command
def infer(
    data: Annotated[
        Path, typer.Argument(metavar="IN", parser=file_path, help="The table: CSV, Parquet or JSON lines.")
    ],
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", metavar="FILE", parser=file_path, help="Where to write it; default: the screen."
        ),
    ] = None,
    header: Annotated[
        bool | None,
        typer.Option(
            "--header/--no-header",
            help="Whether the first line of a CSV names the columns; needed if the file leaves that open.",
            show_default=False,
        ),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite the output if it exists.")] = False,
    as_json: AsJson = False,
    show_values: ShowValues = False,
) -> None:
    """Propose a schema: roles, types and hierarchies, with the reasons as comments. Look it over before you use it."""
    proposal = propose(data, header=header)
    text = proposal.toml()
    if output is not None:
        refuse_sources(output, [data])
        refuse_vaults(output)
        write_text(text, output, force=force)
    if as_json:
        columns = {
            guess.name: {"role": str(guess.role), "type": str(guess.type) if guess.type else None, "why": guess.why}
            for guess in proposal.guesses
        }
        print_json({"columns": columns, "warnings": proposal.warnings, "output": str(output) if output else None})
        return
    if output is None:
        for line in text.removesuffix("\n").split("\n"):
            screen.print(line, markup=False, soft_wrap=True)
    else:
        screen.print(f"Written: {output}. Look it over: nobody but you knows what an attacker may know.", markup=False)
    for warning in proposal.warnings:
        messages.print(f"Warning: {warning}.", markup=False)


@app.command("check")
@command
def check(
    schema: Annotated[Path, typer.Argument(metavar="SCHEMA", parser=file_path, help="The schema (TOML).")],
    data: Annotated[Path, typer.Argument(metavar="IN", parser=file_path, help="The table that it describes.")],
    as_json: AsJson = False,
    show_values: ShowValues = False,
) -> None:
    """Hold a schema against a table, and show the levels of each hierarchy with their counts."""
    fit = check_fit(data, shoal.Schema.load(schema))
    if as_json:
        print_json(fit.facts())
        return
    table = Table(title=f"{number(fit.records)} records, {len(fit.columns)} quasi-identifiers", title_justify="left")
    for heading in ("column", "type", "missing", "levels: different labels, from the values to the root"):
        table.add_column(heading)
    for column in fit.columns:
        levels = " < ".join(number(count) for count in column.levels)
        span = f" (from {column.domain[0]} to {column.domain[1]})" if column.domain and show_values else ""
        table.add_row(escape(column.name), column.type, number(column.missing), escape(levels + span))
    screen.print(table)
    for warning in fit.warnings:
        screen.print(f"Warning: {warning}.", markup=False)
    screen.print("[bold green]✓[/] The table fits the schema.")
