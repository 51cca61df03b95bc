"""`shoal check`, `compact`, `rebase`, `backup` and `restore`: a vault is looked after."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.filesize import decimal
from rich.markup import escape

import shoal
from shoal.cli.bars import progress
from shoal.cli.files import file_path
from shoal.cli.privacy_options import Alpha, C, Diversity, L, T, asked
from shoal.cli.screen import AsJson, ShowValues, command, number, plural, print_json, screen
from shoal.cli.vault.next_steps import show_unpublished
from shoal.cli.vault.options import (
    WAIT,
    Copy,
    DryRun,
    Force,
    NewVault,
    Seed,
    VaultPlace,
    Wait,
    named,
    opened,
)
from shoal.cli.workers import Workers
from shoal.cluster import ALL_MEASURES, METHODS
from shoal.errors import ParameterError
from shoal.maintain import MAINTAINERS
from shoal.vault.facts import Compacted, Rebased, Status


@command
def check(
    vault: VaultPlace,
    as_json: AsJson = False,
    show_values: ShowValues = False,
) -> None:
    """Look at everything that the vault holds: does it fit together?

    Exit code 1 if something is wrong.
    """
    with progress(as_json=as_json) as bar, opened(vault) as held:
        found = held.check(progress=bar)
    if as_json:
        print_json(found.facts())
    else:
        extent = f"{plural(found.records, 'record')} and {plural(found.releases, 'release')} looked at"
        answer = "[bold green]✓[/] All is well" if found.ok else "[bold red]✗[/] Something is wrong"
        screen.print(f"{answer}: {extent}.")
        for problem in found.problems:
            screen.print(f"  - {problem.rstrip('.')}.", markup=False)
    if not found.ok:
        raise typer.Exit(1)


@command
def compact(
    vault: VaultPlace,
    wait: Wait = WAIT,
    dry_run: DryRun = False,
    as_json: AsJson = False,
    show_values: ShowValues = False,
) -> None:
    """Give back the room of what was deleted or replaced; nothing that can be read changes."""
    with opened(vault, wait=wait) as held:
        done = held.compact(dry_run=dry_run)
    if as_json:
        print_json(done.facts())
    elif dry_run:
        size = "" if done.before is None else f" of {decimal(done.before)}"
        screen.print(f"A vault{size} would be rewritten without what was deleted. Nothing has been changed.")
    else:
        screen.print(f"[bold green]✓[/] {_room(done)}")


def _room(done: Compacted) -> str:
    if done.before is None or done.after is None:
        return "Compacted."
    return f"Compacted: {decimal(done.before)} before, {decimal(done.after)} now."


@command
def rebase(
    vault: VaultPlace,
    k: Annotated[int | None, typer.Option("-k", "--k", help="Every record looks like at least k − 1 others.")] = None,
    schema: Annotated[
        Path | None, typer.Option("--schema", "-s", metavar="FILE", parser=file_path, help="A new schema (TOML).")
    ] = None,
    l: L = None,  # noqa: E741  # the interface's name
    t: T = None,
    diversity: Diversity = None,
    c: C = None,
    alpha: Alpha = None,
    no_rules: Annotated[
        bool, typer.Option("--no-rules", help="From now on ask for k alone, not for diversity or closeness.")
    ] = False,
    method: Annotated[str | None, typer.Option(help=f"How the groups are found: {', '.join(METHODS)}.")] = None,
    measure: Annotated[str | None, typer.Option(help=f"What is lost least of: {', '.join(ALL_MEASURES)}.")] = None,
    maintainer: Annotated[
        str | None, typer.Option(help=f"How groups follow changes: {', '.join(MAINTAINERS)}.")
    ] = None,
    break_guarantee: Annotated[
        bool,
        typer.Option(
            "--break-guarantee",
            help="Also where releases are safe together: those of the new epoch are not with those before.",
        ),
    ] = False,
    seed: Seed = None,
    wait: Wait = WAIT,
    dry_run: DryRun = False,
    workers: Workers = None,
    as_json: AsJson = False,
    show_values: ShowValues = False,
) -> None:
    """Group all records anew, with another k, schema or rules if they are given; a new epoch begins.

    What is not given stays as it is. -l, -t, --diversity, --c and --alpha go together: one of them replaces them all.
    """
    if no_rules and any(given is not None for given in (l, t, diversity, c, alpha)):
        raise ParameterError("--no-rules drops what -l, -t, --diversity, --c or --alpha ask for: say one or the other.")
    described = None if schema is None else shoal.Schema.load(schema)
    with progress(as_json=as_json) as bar, opened(vault, wait=wait) as held:
        protected = (described or held.schema).names(shoal.Role.SENSITIVE)
        done = held.rebase(
            k=k,
            schema=described,
            **asked(l, t, diversity, c, alpha, protected),
            clear_rules=no_rules,
            method=method,
            measure=measure,
            maintainer=maintainer,
            seed=seed,
            break_guarantee=break_guarantee,
            dry_run=dry_run,
            progress=bar,
        )
        stands = held.status()
    if as_json:
        print_json(done.facts())
    else:
        _show_rebased(done, stands, named(vault))


def _show_rebased(done: Rebased, stands: Status, name: str) -> None:
    extent = f"{plural(done.records, 'record')} in {plural(done.groups, 'group')}, loss {number(done.loss)}"
    if done.dry_run:
        screen.print(f"Epoch {done.epoch} would begin: {extent}. Nothing has been changed.")
    else:
        screen.print(f"[bold green]✓[/] Epoch {done.epoch}: {extent}.")
        show_unpublished(stands, name)


@command
def backup(
    vault: VaultPlace,
    file: Copy,
    force: Force = False,
    as_json: AsJson = False,
    show_values: ShowValues = False,
) -> None:
    """Copy the vault to a file, as it is at one moment, while others may write."""
    with progress(as_json=as_json) as bar, opened(vault) as held:
        written = held.backup(file, force=force, progress=bar)
    if as_json:
        print_json({"output": str(written)})
    else:
        screen.print(
            f"[bold green]✓[/] Written: {escape(str(written))}. It holds the originals: keep it as safe as the vault.",
            soft_wrap=True,
        )


@command
def restore(
    file: Copy,
    vault: NewVault,
    wait: Wait = WAIT,
    dry_run: DryRun = False,
    as_json: AsJson = False,
    show_values: ShowValues = False,
) -> None:
    """Make a vault of a backup, where none is yet."""
    with progress(as_json=as_json) as bar:
        made = shoal.Vault.restore(file, vault, wait=wait, progress=bar, dry_run=dry_run)
    with made:
        stands = made.status()
    if as_json:
        print_json(stands.facts())
    else:
        last = "none yet" if stands.last_release is None else str(stands.last_release)
        found = f"{plural(stands.records, 'record')} in {plural(stands.groups, 'group')}, k = {stands.k}"
        if dry_run:
            screen.print(f"The backup is sound: {found}; last release: {last}. Nothing has been restored.")
        else:
            screen.print(f"[bold green]✓[/] {found}; last release: {last}.")
