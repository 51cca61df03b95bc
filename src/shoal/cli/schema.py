"""`shoal schema infer`, `shoal schema check`, and `shoal schema VAULT`, which is `shoal schema show VAULT`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape
from rich.table import Table
from typer.core import TyperGroup

import shoal
from shoal.cli.asking import ask_about
from shoal.cli.files import Encoding, Sheet, TableIn, file_path, files_of
from shoal.cli.screen import AsJson, ShowValues, command, messages, number, plural, print_json, screen
from shoal.cli.vault.options import VaultPlace, opened
from shoal.files import refuse_sources, refuse_vaults, write_text
from shoal.fit import check_fit
from shoal.inference import Identifying, Proposal, identifying, propose
from shoal.schema_toml import schema_toml

LONGEST_NAME = 40  # that is not broken in two in a table of 80 characters


class SchemaCommands(TyperGroup):
    """`shoal schema VAULT` is `shoal schema show VAULT`."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        if args and args[0] not in self.commands and not args[0].startswith("-"):
            args = ["show", *args]
        return super().resolve_command(ctx, args)


app = typer.Typer(
    cls=SchemaCommands,
    help="Propose a schema for a table, hold one against it, or print that of a vault: shoal schema VAULT.",
    no_args_is_help=True,
)


@app.command("infer")
@command
def infer(
    data: TableIn,
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
    encoding: Encoding = None,
    sheet: Sheet = None,
    ask: Annotated[bool, typer.Option("--ask", help="Go through the doubtful columns, in a terminal.")] = False,
    explain: Annotated[
        bool, typer.Option("--explain", help="Show how identifying each column and pair of columns is.")
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="Overwrite the output if it exists.")] = False,
    as_json: AsJson = False,
    show_values: ShowValues = False,
) -> None:
    """Propose a schema: roles, types and hierarchies, with the reasons as comments. Look it over before you use it."""
    proposal = propose(data, header=header, encoding=encoding, sheet=sheet)
    if ask:
        ask_about(proposal.doubtful)
    found = _identifying(data, proposal, header, encoding, sheet) if explain else []
    text = proposal.toml()
    if output is not None:
        refuse_sources(output, files_of(data))
        refuse_vaults(output)
        write_text(text, output, force=force)
    if as_json:
        _print_facts(proposal, found, output)
        return
    if output is None:
        for line in text.removesuffix("\n").split("\n"):
            screen.print(line, markup=False, soft_wrap=True)
    else:
        screen.print(f"Written: {output}. Look it over: nobody but you knows what an attacker may know.", markup=False)
        if proposal.doubtful and not ask:
            names = ", ".join(guess.name for guess in proposal.doubtful)
            screen.print(f"Doubtful: {names}. `--ask` goes through them.", markup=False)
    if explain:
        _show(found)
    for warning in proposal.warnings:
        messages.print(f"Warning: {warning}{'' if warning.endswith('?') else '.'}", markup=False)


def _identifying(
    data: str, proposal: Proposal, header: bool | None, encoding: str | None, sheet: str | None
) -> list[Identifying]:
    """Of what would be published; an identifier identifies anyway."""
    roles = (shoal.Role.QUASI_IDENTIFIER, shoal.Role.SENSITIVE, shoal.Role.INSENSITIVE)
    missing = {guess.name: [*proposal.missing, *guess.missing] for guess in proposal.guesses if guess.role in roles}
    return identifying(data, missing, header=header, encoding=encoding, sheet=sheet)


def _print_facts(proposal: Proposal, found: list[Identifying], output: Path | None) -> None:
    columns = {
        guess.name: {
            "role": str(guess.role),
            "type": str(guess.type) if guess.type else None,
            "why": guess.why,
            "sure": str(guess.sure),
        }
        for guess in proposal.guesses
    }
    facts: dict[str, object] = {"columns": columns, "warnings": proposal.warnings}
    if found:
        facts["identifying"] = [one.facts() for one in found]
    print_json({**facts, "output": str(output) if output else None})


def _show(found: list[Identifying]) -> None:
    screen.print("How identifying: records that are the only ones with their values. What is missing is none.")
    table = Table()  # a title would be wrapped to the width of the table
    table.add_column("columns", overflow="fold")
    for heading in ("different", "alone", "share"):
        table.add_column(heading, justify="right", no_wrap=True)
    for one in found:
        table.add_row(escape(" × ".join(one.columns)), number(one.different), number(one.alone), f"{one.share:.1%}")
    screen.print(table)


@app.command("check")
@command
def check(
    schema: Annotated[Path, typer.Argument(metavar="SCHEMA", parser=file_path, help="The schema (TOML).")],
    data: TableIn,
    encoding: Encoding = None,
    sheet: Sheet = None,
    as_json: AsJson = False,
    show_values: ShowValues = False,
) -> None:
    """Hold a schema against a table, and show the levels of each hierarchy with their counts."""
    fit = check_fit(data, shoal.Schema.load(schema).reading(encoding=encoding, sheet=sheet))
    if as_json:
        print_json(fit.facts())
        return
    counted = f"{plural(fit.records, 'record')}, {plural(len(fit.columns), 'quasi-identifier')}"
    screen.print(f"{counted}. Levels: how many different labels, from the values to the root.", soft_wrap=True)
    table = Table()
    table.add_column("column", overflow="fold", min_width=min(LONGEST_NAME, max(len(one.name) for one in fit.columns)))
    for heading in ("type", "missing", "levels"):
        table.add_column(heading, overflow="fold")
    for column in fit.columns:
        levels = " < ".join(number(count) for count in column.levels)
        span = f" (from {column.domain[0]} to {column.domain[1]})" if column.domain and show_values else ""
        table.add_row(escape(column.name), column.type, number(column.missing), escape(levels + span))
    screen.print(table)
    for warning in fit.warnings:
        screen.print(f"Warning: {warning}.", markup=False)
    screen.print("[bold green]✓[/] The table fits the schema.")


@app.command("show")
@command
def show(
    vault: VaultPlace,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", metavar="FILE", parser=file_path, help="Where to write it; default: the screen."
        ),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite the output if it exists.")] = False,
    as_json: AsJson = False,
    show_values: ShowValues = False,
) -> None:
    """Print the schema that a vault is held to, as TOML; `show` need not be said."""
    with opened(vault) as held:
        text = schema_toml(held.schema)
        columns = {
            name: {"role": str(column.role), "type": str(column.type) if column.type else None}
            for name, column in held.schema.columns.items()
        }
    if output is not None:
        refuse_vaults(output)
        write_text(text, output, force=force)
    if as_json:
        print_json({"columns": columns, "toml": text, "output": str(output) if output else None})
    elif output is None:
        for line in text.removesuffix("\n").split("\n"):
            screen.print(line, markup=False, soft_wrap=True)
    else:
        screen.print(f"Written: {output}.", markup=False)
