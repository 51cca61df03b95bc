"""`shoal init` and `shoal status`: a vault is made, and tells how it stands."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.filesize import decimal
from rich.markup import escape
from rich.table import Table

import shoal
from shoal.cli.bars import progress
from shoal.cli.files import Strict, file_path, table_place
from shoal.cli.privacy_options import Alpha, C, Diversity, L, T, asked
from shoal.cli.screen import AsJson, ShowValues, command, number, plural, print_json, screen
from shoal.cli.vault.next_steps import show_obstacles
from shoal.cli.vault.options import (
    WAIT,
    DryRun,
    Maintainer,
    MaxHold,
    Measure,
    Method,
    NewVault,
    Republication,
    SecretFile,
    Seed,
    Vacancies,
    VaultPlace,
    Wait,
    hold,
    key_secret,
    moment,
    named,
    opened,
)
from shoal.cli.workers import Workers
from shoal.cohorts.vacancies import VACANCIES
from shoal.maintain import DEFAULT_MAINTAINER
from shoal.vault.facts import Status
from shoal.vault.state.republication import DEFAULT_MODE


@command
def init(
    vault: NewVault,
    schema: Annotated[
        Path,
        typer.Option(
            "--schema", "-s", metavar="FILE", parser=file_path, help="The schema (TOML): what each column is."
        ),
    ],
    k: Annotated[int, typer.Option("-k", "--k", help="Every record looks like at least k − 1 others.")],
    data: Annotated[
        str | None,
        typer.Option(
            "--data",
            metavar="FILE",
            parser=table_place,
            help="The first records: a file, or a table of a database, as for `shoal anonymize`. Default: none.",
        ),
    ] = None,
    l: L = None,  # noqa: E741  # the interface's name
    t: T = None,
    diversity: Diversity = None,
    c: C = None,
    alpha: Alpha = None,
    method: Method = None,
    measure: Measure = "il",
    maintainer: Maintainer = DEFAULT_MAINTAINER,
    republication: Republication = None,
    max_hold: MaxHold = None,
    vacancies: Vacancies = None,
    seed: Seed = None,
    key_secret_file: SecretFile = None,
    strict: Strict = False,
    wait: Wait = WAIT,
    dry_run: DryRun = False,
    workers: Workers = None,
    as_json: AsJson = False,
    show_values: ShowValues = False,
) -> None:
    """Make a vault: it keeps the records, their groups, and every release of them.

    It holds the originals. Keep it where the originals may be kept.
    """
    described = shoal.Schema.load(schema)
    with progress(as_json=as_json) as bar:
        made = shoal.Vault.create(
            vault,
            described,
            k=k,
            data=data,
            **asked(l, t, diversity, c, alpha, described.names(shoal.Role.SENSITIVE)),
            method=method,
            measure=measure,
            maintainer=maintainer,
            republication=republication or DEFAULT_MODE,
            max_hold=hold(max_hold),
            vacancies=vacancies or VACANCIES[0],
            seed=seed,
            key_secret=key_secret(key_secret_file),
            strict=strict,
            wait=wait,
            progress=bar,
            dry_run=dry_run,
        )
    with made:
        stands = made.status()
    if as_json:
        print_json({**stands.facts(), "dry_run": dry_run})
    elif dry_run:
        _show_trial(stands)
    else:
        _show_made(stands, named(vault))


def _show_trial(stands: Status) -> None:
    records, groups = plural(stands.records, "record"), plural(stands.groups, "group")
    held = f"of {records} in {groups}" if stands.records else "without records"
    screen.print(f"A vault {held} would be made, k = {stands.k}. Nothing has been made.")
    _show_asked(stands)


def _show_made(stands: Status, name: str) -> None:
    if not stands.records:
        said, then = f"An empty vault, k = {stands.k}.", f" Fill it with: shoal insert {name} FILE"
    else:
        said = f"{plural(stands.records, 'record')} in {plural(stands.groups, 'group')}, k = {stands.k}."
        then = f" Publish with: shoal publish {name} -o FILE" if stands.publishable else ""
    screen.print(f"[bold green]✓[/] {said}{escape(then)}", soft_wrap=True)
    _show_asked(stands)


def _show_asked(stands: Status) -> None:
    for rule in stands.rules:
        screen.print(f"  Asked of every group: {rule}.", markup=False)
    if stands.records:
        show_obstacles(stands)


@command
def status(
    vault: VaultPlace,
    drift: Annotated[
        bool, typer.Option("--drift", help="Estimate how much more is lost than if it were started again.")
    ] = False,
    as_json: AsJson = False,
    show_values: ShowValues = False,
) -> None:
    """Tell how a vault stands.

    What it holds, what has changed since the last release, and whether it may be published as it is.
    """
    with progress(as_json=as_json) as bar, opened(vault) as held:
        stands = held.status(drift=drift, progress=bar)
    if as_json:
        print_json(stands.facts())
        return
    table = Table(title=escape(stands.vault), title_justify="left", show_header=False)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for name, fact in _rows(stands, drift=drift):
        table.add_row(name, escape(fact))
    screen.print(table)
    for note in stands.notes:
        screen.print(f"Note: {note.rstrip('.')}.", markup=False)
    if stands.publishable and stands.last_release is not None and not stands.changes_since:
        screen.print(f"[bold green]✓[/] It is as it was published in release {stands.last_release}.")
    elif stands.publishable and stands.republication == "audit" and stands.last_release is not None:
        screen.print("[bold green]✓[/] By itself it may be published as it is. Together with the releases before:")
        screen.print(f"  shoal audit {named(vault)} --next", soft_wrap=True, markup=False)
    elif stands.publishable:
        screen.print("[bold green]✓[/] It may be published as it is.")
    show_obstacles(stands)


def _drift(estimate: float | None) -> str:
    if estimate is None:
        return "cannot be told: not every group has what is asked"
    return f"about {estimate:.2f} × the loss of starting again"


def _rows(stands: Status, *, drift: bool) -> list[tuple[str, str]]:
    smallest = "" if stands.smallest is None else f"; the smallest has {number(stands.smallest)} {stands.counted}"
    rows = [
        ("records", number(stands.records)),
        ("groups", number(stands.groups) + smallest),
        ("asked for", "; ".join([f"k = {stands.k}", *stands.rules])),
        ("loss", f"{number(stands.loss)} ({stands.measure}, on the epoch's domains)"),
        *([("drift", _drift(stands.drift))] if drift else []),
        ("maintainer", stands.maintainer),
        ("last release", _last_release(stands)),
        ("since then" if stands.last_release is not None else "so far", _since(stands)),
        ("republication", _republication(stands)),
        ("version", f"{number(stands.version)}, epoch {number(stands.epoch)}"),
        ("keys", "hashed with a secret" if stands.keys_hashed else "as they are"),
    ]
    outside = {name: share for name, share in stands.outside.items() if share}
    if outside:
        shares = ", ".join(f"{name} {share:.1%}" for name, share in outside.items())
        rows.append(("outside the domain", f"{shares} of the records"))
    if stands.source_position is not None:
        rows.append(("source position", stands.source_position))
    if stands.size is not None:
        rows.append(("size", decimal(stands.size)))
    return rows


def _republication(stands: Status) -> str:
    """Which way the vault goes with releases that follow others."""
    match stands.republication:
        case "safe":
            wait = "" if stands.max_hold is None else f" ({_hold(stands.max_hold)} at most, if company can be found)"
            rows = f"{plural(stands.ghosts, 'row')} of people who have left"
            return f"safe: {plural(stands.waiting, 'record')} waiting{wait}; {rows}"
        case "audit":
            return "audit: a release that gives somebody away, together with those before, is refused"
    return "none: each release is looked at alone"


def _hold(given: int | str) -> str:
    return plural(given, "release") if isinstance(given, int) else f"{plural(int(given.removesuffix('d')), 'day')}"


def _last_release(stands: Status) -> str:
    return (
        "none"
        if stands.last_release is None or stands.last_published is None
        else f"{stands.last_release}, {moment(stands.last_published)}"
    )


def _since(stands: Status) -> str:
    if not stands.changes_since:
        return "no changes"
    counts = (
        (stands.inserted_since, "inserted"),
        (stands.updated_since, "updated"),
        (stands.deleted_since, "deleted"),
    )
    listed = ", ".join(f"{number(count)} {done}" for count, done in counts if count)
    return plural(stands.changes_since, "change") + (f": {listed}" if listed else "")
