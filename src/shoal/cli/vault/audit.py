"""`shoal audit`: what several releases say together; of a vault, or of release files whoever made them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

import shoal
from shoal.audit import Audit, FileAudit
from shoal.cli.bars import progress
from shoal.cli.files import file_path
from shoal.cli.privacy_options import Alpha, C, Diversity, L, T, asked
from shoal.cli.screen import AsJson, ShowValues, command, number, plural, print_json, screen
from shoal.cli.vault.export import say_private
from shoal.cli.vault.options import Force, MaybeOutput, named, opened
from shoal.errors import ParameterError

DEFAULT_K = 2


@command
def audit(
    places: Annotated[
        list[str],
        typer.Argument(
            metavar="VAULT | RELEASE...",
            help="The vault; or with --schema two or more release files, in the order of their publication.",
        ),
    ],
    including_next: Annotated[
        bool, typer.Option("--next", help="And with one more release, of the vault as it is now. Nothing is published.")
    ] = False,
    schema: Annotated[
        Path | None,
        typer.Option("--schema", "-s", metavar="FILE", parser=file_path, help="Of release files: their schema (TOML)."),
    ] = None,
    k: Annotated[
        int | None, typer.Option("-k", "--k", help=f"Of release files: the k that is asked for. Default: {DEFAULT_K}.")
    ] = None,
    l: L = None,  # noqa: E741  # the interface's name
    t: T = None,
    diversity: Diversity = None,
    c: C = None,
    alpha: Alpha = None,
    population: Annotated[
        Path | None,
        typer.Option(
            "--population",
            metavar="FILE",
            parser=file_path,
            help="Of release files: who was in when. Key, quasi-identifiers, and releases `from` and `until`.",
        ),
    ] = None,
    output: MaybeOutput = None,
    force: Force = False,
    as_json: AsJson = False,
    show_values: ShowValues = False,
) -> None:
    """Tell what several releases say together, and none of them alone; with -o, write of whom.

    Whoever has two releases, and knows who joined or left between them, can subtract one from the other. Exit code 1 if
    somebody comes out, or if it cannot be ruled out. The file is the holder's alone.
    """
    if schema is None:
        given = (k, l, t, diversity, c, alpha, population)
        if len(places) > 1 or any(one is not None for one in given):
            raise ParameterError(
                "an audit of release files needs their schema.", hint="Give it: shoal audit RELEASE... --schema FILE."
            )
        _of_vault(places[0], including_next, output, force=force, as_json=as_json)
        return
    if including_next:
        raise ParameterError("--next is about a vault, and these are release files.")
    described = shoal.Schema.load(schema)
    options = asked(l, t, diversity, c, alpha, described.names(shoal.Role.SENSITIVE))
    files = [file_path(place) for place in places]
    _of_files(
        files, described, DEFAULT_K if k is None else k, options, population, output, force=force, as_json=as_json
    )


def _of_vault(vault: str, including_next: bool, output: Path | None, *, force: bool, as_json: bool) -> None:
    if vault == ":memory:":
        raise ParameterError("a vault in memory would be gone when the command ends. Name a file.")
    with progress(as_json=as_json) as bar, opened(vault) as held:
        found = held.audit(output, including_next=including_next, force=force, progress=bar)
    if as_json:
        print_json({**found.facts(), "output": None if output is None else str(output)})
    else:
        _show(found)
        if output is not None:
            say_private(output, "who comes out, by key")
        elif not found.ok:
            again = f"shoal audit {named(vault)}{' --next' if including_next else ''} -o FILE"
            screen.print(f"Who they are: {again} (for the holder alone)", soft_wrap=True, markup=False)
    if not found.ok:
        raise typer.Exit(1)


def _of_files(
    files: list[Path],
    schema: shoal.Schema,
    k: int,
    options: dict[str, Any],
    population: Path | None,
    output: Path | None,
    *,
    force: bool,
    as_json: bool,
) -> None:
    from shoal.vault.private_files import check_private, write_private  # loads SQLAlchemy

    if output is not None:
        if population is None:
            raise ParameterError("who comes out can be told of a population only.", hint="Give it: --population FILE.")
        sources = [str(file) for file in [*files, population]]
        check_private(output, force=force, sources=sources, own=None)
    with progress(as_json=as_json) as bar:
        found = shoal.audit(files, schema, k, **options, population=population, progress=bar)
    if output is not None:
        write_private(None, found.people_found, output, force=force)
    if as_json:
        print_json({**found.facts(), "output": None if output is None else str(output)})
    else:
        _show_files(found)
        if output is not None:
            say_private(output, "who comes out, by key")
    if not found.ok:
        raise typer.Exit(1)


def _show_files(found: FileAudit) -> None:
    releases = plural(found.releases, "release")
    if not found.ok:
        screen.print(f"[bold red]✗[/] {releases} should not be in the same hands:")
        for reason in found.reasons:
            screen.print(f"  - {reason}.", markup=False, soft_wrap=True)
    elif found.people is None:
        screen.print(
            f"[bold green]✓[/] {releases}: nothing was found in the files. Who was in when, they do not say: "
            "--population would."
        )
    else:
        _show(found.people)


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
