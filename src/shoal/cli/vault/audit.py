"""`shoal audit`: what several releases say together."""

from __future__ import annotations

from typing import Annotated

import typer

from shoal.audit import Audit
from shoal.cli.bars import progress
from shoal.cli.screen import AsJson, ShowValues, command, number, plural, print_json, screen
from shoal.cli.vault.export import say_private
from shoal.cli.vault.options import Force, MaybeOutput, VaultPlace, named, opened


@command
def audit(
    vault: VaultPlace,
    including_next: Annotated[
        bool, typer.Option("--next", help="And with one more release, of the vault as it is now. Nothing is published.")
    ] = False,
    output: MaybeOutput = None,
    force: Force = False,
    as_json: AsJson = False,
    show_values: ShowValues = False,
) -> None:
    """Tell what the releases of the vault say together, and none of them alone; with -o, write of whom.

    Whoever has two releases, and knows who joined or left between them, can subtract one from the other. Exit code 1 if
    somebody comes out, or if it cannot be ruled out. The file is the holder's alone.
    """
    with progress(as_json=as_json) as bar, opened(vault) as held:
        found = held.audit(output, including_next=including_next, force=force, progress=bar)
    if as_json:
        print_json({**found.facts(), "output": None if output is None else str(output)})
    else:
        _show(found)
        if output is not None:
            say_private(output, "who comes out, by key")
        elif not found.ok:
            screen.print(
                f"Who they are: shoal audit {named(vault)} -o FILE (for the holder alone)", soft_wrap=True, markup=False
            )
    if not found.ok:
        raise typer.Exit(1)


def _show(found: Audit) -> None:
    releases = plural(found.releases, "release")
    if found.ok and found.releases < 2:
        screen.print(f"[bold green]✓[/] {releases}: there is nothing yet that it could be held against.")
    elif found.ok:
        classes = plural(found.atoms, "class", "classes")
        screen.print(
            f"[bold green]✓[/] {releases} together say what one would with {classes}, the smallest of "
            f"{number(found.smallest)} people (k = {found.k})."
        )
    else:
        screen.print(f"[bold red]✗[/] {releases} say together what none of them says alone.")
        for reason in found.reasons:
            screen.print(f"  - {reason}.", markup=False)
