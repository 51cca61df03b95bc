"""`shoal publish`, `releases`, `release` and `diff`: what has been given away, and when."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from rich import box
from rich.markup import escape
from rich.table import Table

import shoal
from shoal.cli.bars import progress
from shoal.cli.files import NeutralizeFormulas, Strict
from shoal.cli.screen import AsJson, ShowValues, command, number, plural, print_json, screen
from shoal.cli.vault.export import say_private
from shoal.cli.vault.options import (
    WAIT,
    DryRun,
    Force,
    MaxHold,
    MaybeOutput,
    Number,
    Output,
    Republication,
    Vacancies,
    VaultPlace,
    Wait,
    hold,
    moment,
    named,
    near,
    opened,
)
from shoal.cli.workers import Workers
from shoal.release.write import manifest_path
from shoal.vault.facts import Diff, Entry


@command
def publish(
    vault: VaultPlace,
    output: MaybeOutput = None,
    republication: Republication = None,
    max_hold: MaxHold = None,
    vacancies: Vacancies = None,
    accept_findings: Annotated[
        bool,
        typer.Option(
            "--accept-findings",
            help="Publish although it gives people away together with those before; history and manifest say so.",
        ),
    ] = False,
    even_if_unchanged: Annotated[
        bool, typer.Option("--even-if-unchanged", help="Make a release although nothing has changed since the last.")
    ] = False,
    strict: Strict = False,
    neutralize_formulas: NeutralizeFormulas = False,
    force: Force = False,
    wait: Wait = WAIT,
    dry_run: DryRun = False,
    workers: Workers = None,
    as_json: AsJson = False,
    show_values: ShowValues = False,
) -> None:
    """Make a release of the vault as it is now: generalize, verify, hold against those before, keep, write.

    Exit code 1 if the answer is no: what is asked for does not hold, somebody would be given away by this release and
    those before together, or nothing has changed since the last one. --republication, --max-hold and --vacancies are
    the vault's choice from this release on.
    """
    with progress(as_json=as_json) as bar, opened(vault, wait=wait) as held:
        made = held.publish(
            output,
            republication=republication,
            max_hold=hold(max_hold),
            vacancies=vacancies,
            accept_findings=accept_findings,
            even_if_unchanged=even_if_unchanged,
            strict=strict,
            neutralize_formulas=neutralize_formulas,
            force=force,
            dry_run=dry_run,
            progress=bar,
        )
    if as_json:
        print_json({**_facts(made, None if dry_run else output), "loss": made.loss, "dry_run": dry_run})
    elif dry_run:
        screen.print(f"Release {made.number} would have {_extent(made)}. Nothing has been published.")
        _show_loss(made)
    else:
        screen.print(f"[bold green]✓[/] Release {made.number}: {_extent(made)}.")
        _show_loss(made)
        _show_together(made)
        _show_place(made, output, named(vault))


@command
def releases(
    vault: VaultPlace,
    as_json: AsJson = False,
    show_values: ShowValues = False,
) -> None:
    """List every release of the vault, the oldest first."""
    with opened(vault) as held:
        history = held.releases()
    if as_json:
        print_json({"releases": [entry.facts() for entry in history]})
    elif not history:
        screen.print(
            f"No release yet. Publish with: shoal publish {named(vault)} -o FILE", soft_wrap=True, markup=False
        )
    else:
        screen.print(_history(history))
        _show_all_together(history)


@command
def release(
    vault: VaultPlace,
    n: Number,
    output: Output,
    for_holder: Annotated[
        bool,
        typer.Option(
            "--for-holder", help="What is left of it where people have been deleted since: for your eyes alone."
        ),
    ] = False,
    neutralize_formulas: NeutralizeFormulas = False,
    force: Force = False,
    as_json: AsJson = False,
    show_values: ShowValues = False,
) -> None:
    """Write a release again, as it was published.

    A release that shows people who have been deleted since cannot be written again: the vault does not keep what they
    said, and what is left would show who they were. --for-holder writes that to a file that only you can read.
    """
    if for_holder:
        with opened(vault) as held:
            rows = held.release_rows(n, output, force=force).num_rows
        if as_json:
            print_json({"number": n, "output": str(output), "manifest": None, "rows": rows})
        else:
            screen.print(f"What is left of release {n}: {plural(rows, 'row')}. It has not been verified.")
            say_private(output, "not to be published")
        return
    with opened(vault) as held:
        again = held.release(n, output, force=force, neutralize_formulas=neutralize_formulas)
    if as_json:
        print_json(_facts(again, output))
        return
    screen.print(f"[bold green]✓[/] Release {n} again: the {plural(again.table.num_rows, 'row')} that it had.")
    _show_place(again, output, named(vault))


@command
def diff(
    vault: VaultPlace,
    a: Annotated[int, typer.Argument(metavar="A", help="The number of a release.")],
    b: Annotated[int, typer.Argument(metavar="B", help="The number of a later one.")],
    as_json: AsJson = False,
    show_values: ShowValues = False,
) -> None:
    """Hold two releases side by side: who came and went, which classes changed.

    For the holder's eyes only: whoever counts who came and went learns about them.
    """
    with opened(vault) as held:
        found = held.diff(a, b)
    if as_json:
        print_json(found.facts())
    else:
        _show_diff(found)


def _facts(made: shoal.Release, output: Path | None) -> dict[str, object]:
    written = {
        "output": None if output is None else str(output),
        "manifest": None if output is None else str(manifest_path(output)),
    }
    return {"number": made.number, **written, **made.manifest}


def _extent(made: shoal.Release) -> str:
    classes = plural(int(str(made.manifest["equivalence_classes"])), "class", "classes")
    people = " people" if made.manifest["counted"] == "people" else ""
    told: dict[str, Any] = made.manifest["republication"]  # type: ignore[assignment]  # JSON
    records = plural(made.table.num_rows, "row" if told["mode"] == "safe" else "record")
    return f"{records} in {classes} of at least {made.k}{people} that look the same, verified"


def _show_loss(made: shoal.Release) -> None:
    for rule in made.rules:
        screen.print(f"  Every class has {rule}.", markup=False)
    measures = made.measures(public=True)
    screen.print(
        f"Loss: {measures['il_share']:.1%} (Total-IL {number(measures['il'])}, as the rows alone show it); "
        "0% is the original table, 100% nothing but `*`."
    )
    if made.loss is not None:
        told: dict[str, Any] = made.manifest["republication"]  # type: ignore[assignment]  # JSON
        places = "releases" if told["mode"] == "safe" else "status, releases"  # `status` is about records, not cohorts
        screen.print(
            f"On the epoch's domains: {number(made.loss)} ({made.manifest['measure']}), as in {places} and diff."
        )


def _show_together(made: shoal.Release) -> None:
    """What it says together with those before."""
    told: dict[str, Any] = made.manifest["republication"]  # type: ignore[assignment]  # JSON
    accepted = told.get("accepted_findings")
    if told["mode"] == "safe":
        screen.print(
            f"Safe together with all others: {plural(told['ghosts'], 'row')} of people who have left, "
            f"{plural(told['waiting'], 'record')} {'waits' if told['waiting'] == 1 else 'wait'} for company."
        )
    elif accepted is not None:
        screen.print(
            f"[bold red]Together with those before it gives away {plural(accepted['people'], 'person', 'people')}[/]"
            + (f"; {number(accepted['undecided'])} more are undecided." if accepted["undecided"] else ".")
        )
    elif told["mode"] == "audit" and made.number and made.number > 1:
        screen.print("Held against those before: together they say of nobody what none of them says alone.")


def _show_place(made: shoal.Release, output: Path | None, name: str) -> None:
    where = f"Written: {output} and {manifest_path(output)}" if output is not None else (
        f"Kept in the history. Write it with: shoal release {name} {made.number} -o FILE"
    )  # fmt: skip
    screen.print(where, soft_wrap=True, markup=False)


def _history(history: list[Entry]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1))  # eight columns on a terminal of eighty
    erased = any(entry.erased for entry in history)
    headings = ["#", "published (UTC)", "rows", "classes", "smallest", "k", "loss"]
    for heading in headings + (["erased"] if erased else []):
        table.add_column(heading, justify="left" if heading.startswith("published") else "right", no_wrap=True)
    table.add_column("file", overflow="fold", min_width=10)
    for entry in history:
        counts = (entry.rows, entry.classes, entry.smallest_class, entry.k, entry.loss)
        cells = [str(entry.number), moment(entry.published).removesuffix(" UTC"), *map(number, counts)]
        table.add_row(*cells, *([number(entry.erased)] if erased else []), escape(near(entry.file)))
    return table


def _show_all_together(history: list[Entry]) -> None:
    """Which of them are safe together, and what was accepted."""
    for epoch in dict.fromkeys(entry.epoch for entry in history):  # a new epoch breaks the guarantee
        safe = [entry.number for entry in history if entry.republication == "safe" and entry.epoch == epoch]
        if len(safe) > 1:
            screen.print(f"Safe together: releases {safe[0]} to {safe[-1]}.")
    for entry in history:
        if entry.accepted:
            people = plural(entry.accepted, "person", "people")
            screen.print(f"Release {entry.number}, with those before, gives away {people}, or may: that was accepted.")


def _show_diff(found: Diff) -> None:
    table = Table()
    for heading in ("", f"release {found.before}", f"release {found.after}"):
        table.add_column(heading, justify="right" if heading else "left", no_wrap=True)
    for name, before, after in (
        ("rows", found.rows_before, found.rows_after),
        ("classes", found.classes_before, found.classes_after),
        ("loss on the epoch's domains", found.loss_before, found.loss_after),
    ):
        table.add_row(name, number(before), number(after))
    screen.print(table)
    screen.print(
        f"Records: {number(found.stayed)} stayed ({number(found.moved)} of them look different), "
        f"{number(found.left)} left, {number(found.joined)} joined. An updated record leaves and joins."
    )
    screen.print(
        f"Classes: {number(found.classes_kept)} as they were, {number(found.classes_changed)} of another size, "
        f"{number(found.classes_gone)} gone, {number(found.classes_new)} new."
    )
