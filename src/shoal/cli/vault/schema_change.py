"""`shoal schema-change`: another schema for the same records, groups and history."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape
from rich.table import Table

import shoal
from shoal.cli.bars import progress
from shoal.cli.files import file_path, table_place
from shoal.cli.screen import AsJson, ShowValues, command, number, plural, print_json, screen
from shoal.cli.vault.next_steps import show_unpublished
from shoal.cli.vault.options import WAIT, DryRun, SecretFile, VaultPlace, Wait, key_secret, named, opened
from shoal.errors import ParameterError
from shoal.vault.facts import SchemaChanged


@command
def schema_change(
    vault: VaultPlace,
    schema: Annotated[
        Path,
        typer.Option(
            "--schema", "-s", metavar="FILE", parser=file_path, help="The new schema (TOML); see `shoal schema VAULT`."
        ),
    ],
    data: Annotated[
        str | None,
        typer.Option(
            "--data", metavar="FILE", parser=table_place, help="Values of new columns: a table with the key and these."
        ),
    ] = None,
    default: Annotated[
        list[str] | None,
        typer.Option("--default", metavar="NAME=VALUE", help="The value of a new column where the file has none."),
    ] = None,
    rename: Annotated[
        list[str] | None, typer.Option("--rename", metavar="OLD=NEW", help="A column that gets another name.")
    ] = None,
    key_secret_file: SecretFile = None,
    wait: Wait = WAIT,
    dry_run: DryRun = False,
    as_json: AsJson = False,
    show_values: ShowValues = False,
) -> None:
    """Give the vault another schema: columns come, go and get other names, hierarchies grow, domains widen.

    It says what each change needs, and does it: nothing; re-measuring, where the groups stay; or a new epoch.
    """
    described = shoal.Schema.load(schema)
    with progress(as_json=as_json) as bar, opened(vault, wait=wait, secret=key_secret(key_secret_file)) as held:
        done = held.change_schema(
            described,
            data=data,
            defaults=_pairs("--default", default),
            renamed=_pairs("--rename", rename),
            dry_run=dry_run,
            progress=bar,
        )
        stands = held.status()
    if as_json:
        print_json(done.facts())
        return
    _show(done)
    if done.steps and not dry_run:
        show_unpublished(stands, named(vault))


def _pairs(option: str, given: list[str] | None) -> dict[str, str]:
    """NAME=VALUE, any number of times."""
    pairs = {}
    for one in given or ():
        name, sign, value = one.partition("=")
        if not sign or not name:
            raise ParameterError(f"{option} has the form NAME=VALUE.")
        pairs[name] = value
    return pairs


def _show(done: SchemaChanged) -> None:
    if not done.steps:
        screen.print("The vault has this schema already: nothing has changed.")
        return
    table = Table()
    for heading in ("column", "change", "needs"):
        table.add_column(heading)
    for step in done.steps:
        table.add_row(escape(step.column), escape(step.change), step.needs)
    screen.print(table)
    loss = f"loss {number(done.loss_before)} before, {number(done.loss)} measured now"
    moved = "no record changes its group" if not done.moved else f"{plural(done.moved, 'record')} in other groups"
    if done.dry_run:
        screen.print(f"{moved[0].upper()}{moved[1:]}; {loss}. Nothing has been changed.")
    else:
        screen.print(f"[bold green]✓[/] Epoch {number(done.epoch)}: {moved}; {loss}.")
