"""`shoal insert`, `update`, `delete`, `apply` and `optimize`: the groups follow the table. None of them publishes."""

from __future__ import annotations

from typing import Annotated

import typer

from shoal.cli.bars import progress
from shoal.cli.screen import AsJson, ShowValues, command, number, plural, print_json, screen
from shoal.cli.vault.next_steps import show_unpublished
from shoal.cli.vault.options import (
    WAIT,
    Changes,
    DryRun,
    Keys,
    Rows,
    SecretFile,
    VaultPlace,
    Wait,
    key_secret,
    named,
    opened,
)
from shoal.optimize import DEFAULT_OPTIMIZER, OPTIMIZERS
from shoal.vault.facts import Changed, Optimized, Status


@command
def insert(
    vault: VaultPlace,
    file: Rows,
    key_secret_file: SecretFile = None,
    wait: Wait = WAIT,
    dry_run: DryRun = False,
    as_json: AsJson = False,
    show_values: ShowValues = False,
) -> None:
    """Take in new records: all of them, or none if one is at fault."""
    with progress(as_json=as_json) as bar, opened(vault, wait=wait, secret=key_secret(key_secret_file)) as held:
        changed, stands = held.insert(file, dry_run=dry_run, progress=bar), held.status()
    _tell(changed, stands, named(vault), as_json=as_json)


@command
def update(
    vault: VaultPlace,
    file: Rows,
    key_secret_file: SecretFile = None,
    wait: Wait = WAIT,
    dry_run: DryRun = False,
    as_json: AsJson = False,
    show_values: ShowValues = False,
) -> None:
    """Replace records by what they are now: by their keys, with every column; all or none."""
    with progress(as_json=as_json) as bar, opened(vault, wait=wait, secret=key_secret(key_secret_file)) as held:
        changed, stands = held.update(file, dry_run=dry_run, progress=bar), held.status()
    _tell(changed, stands, named(vault), as_json=as_json)


@command
def delete(
    vault: VaultPlace,
    file: Keys,
    key_secret_file: SecretFile = None,
    wait: Wait = WAIT,
    dry_run: DryRun = False,
    as_json: AsJson = False,
    show_values: ShowValues = False,
) -> None:
    """Take records out, by their keys, and erase what they ever were; all or none.

    The vault forgets what they said, in its old releases too. What has been published of them is with its recipients.
    """
    with progress(as_json=as_json) as bar, opened(vault, wait=wait, secret=key_secret(key_secret_file)) as held:
        changed, stands = held.delete(file, dry_run=dry_run, progress=bar), held.status()
    _tell(changed, stands, named(vault), as_json=as_json)


@command
def apply(
    vault: VaultPlace,
    file: Changes,
    key_secret_file: SecretFile = None,
    wait: Wait = WAIT,
    dry_run: DryRun = False,
    as_json: AsJson = False,
    show_values: ShowValues = False,
) -> None:
    """Insert, update and delete in one batch; all or none."""
    with progress(as_json=as_json) as bar, opened(vault, wait=wait, secret=key_secret(key_secret_file)) as held:
        changed, stands = held.apply(file, dry_run=dry_run, progress=bar), held.status()
    _tell(changed, stands, named(vault), as_json=as_json)


@command
def optimize(
    vault: VaultPlace,
    how: Annotated[str, typer.Option(help=f"By which moves: {', '.join(OPTIMIZERS)}.")] = DEFAULT_OPTIMIZER,
    wait: Wait = WAIT,
    dry_run: DryRun = False,
    as_json: AsJson = False,
    show_values: ShowValues = False,
) -> None:
    """Lower the loss of the groups as they are, and keep what is asked for."""
    with progress(as_json=as_json) as bar, opened(vault, wait=wait) as held:
        optimized, stands = held.optimize(how, dry_run=dry_run, progress=bar), held.status()
    if as_json:
        print_json(optimized.facts())
    else:
        _show_optimized(optimized, stands, named(vault))


def _tell(changed: Changed, stands: Status, name: str, *, as_json: bool) -> None:
    if as_json:
        print_json(changed.facts())
        return
    counts = ((changed.inserted, "inserted"), (changed.updated, "updated"), (changed.deleted, "deleted"))
    done = [(count, verb) for count, verb in counts if count]
    if not done:
        screen.print("The file has no records: none has changed.")
        return
    first, *rest = done
    would = "would be " if changed.dry_run else ""
    listed = ", ".join(
        [f"{plural(first[0], 'record')} {would}{first[1]}", *(f"{number(n)} {verb}" for n, verb in rest)]
    )
    groups = plural(changed.groups, "group")
    if changed.dry_run:
        screen.print(f"{listed}; {groups} would change, come or go. Nothing has been changed.")
    else:
        changes = "has" if changed.groups == 1 else "have"
        screen.print(f"[bold green]✓[/] {listed}; {groups} {changes} changed, come or gone.")
        show_unpublished(stands, name)


def _show_optimized(optimized: Optimized, stands: Status, name: str) -> None:
    before, after = number(optimized.before), number(optimized.after)
    if optimized.after >= optimized.before:
        screen.print(f"Nothing to gain: the loss stays at {before}.")
        return
    gained = f"{1 - optimized.after / optimized.before:.1%} less"
    if optimized.dry_run:
        screen.print(f"The loss would go from {before} to {after}, {gained}. Nothing has been changed.")
    else:
        screen.print(f"[bold green]✓[/] The loss went from {before} to {after}, {gained}.")
        show_unpublished(stands, name)
