"""`shoal insert`, `update`, `delete`, `apply` and `optimize`: the groups follow the table. None of them publishes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from shoal.cli.bars import progress
from shoal.cli.files import table_place
from shoal.cli.screen import AsJson, ShowValues, command, number, plural, print_json, screen
from shoal.cli.vault.next_steps import show_unpublished
from shoal.cli.vault.options import (
    WAIT,
    Again,
    BatchId,
    DryRun,
    IgnoreUnknown,
    Keys,
    Rows,
    SecretFile,
    VaultPlace,
    Wait,
    key_secret,
    named,
    opened,
)
from shoal.cli.workers import Workers
from shoal.errors import ParameterError
from shoal.optimize import DEFAULT_OPTIMIZER, OPTIMIZERS
from shoal.progress import Progress
from shoal.records.extracts import MAX_DELETED
from shoal.vault.facts import Changed, Optimized, Replaced, Status

if TYPE_CHECKING:
    from shoal.vault.vault import Vault


@command
def insert(
    vault: VaultPlace,
    file: Rows,
    upsert: Annotated[bool, typer.Option("--upsert", help="Update those whose key is there already.")] = False,
    batch_id: BatchId = None,
    again: Again = False,
    key_secret_file: SecretFile = None,
    wait: Wait = WAIT,
    dry_run: DryRun = False,
    workers: Workers = None,
    as_json: AsJson = False,
    show_values: ShowValues = False,
) -> None:
    """Take in new records: all of them, or none if one is at fault."""
    with progress(as_json=as_json) as bar, opened(vault, wait=wait, secret=key_secret(key_secret_file)) as held:
        changed = held.insert(file, upsert=upsert, batch_id=batch_id, again=again, dry_run=dry_run, progress=bar)
        stands = held.status()
    _tell(changed, stands, named(vault), as_json=as_json)


@command
def update(
    vault: VaultPlace,
    file: Rows,
    batch_id: BatchId = None,
    again: Again = False,
    key_secret_file: SecretFile = None,
    wait: Wait = WAIT,
    dry_run: DryRun = False,
    workers: Workers = None,
    as_json: AsJson = False,
    show_values: ShowValues = False,
) -> None:
    """Replace records by what they are now, by their keys; all or none. Columns that the file lacks stay as is."""
    with progress(as_json=as_json) as bar, opened(vault, wait=wait, secret=key_secret(key_secret_file)) as held:
        changed = held.update(file, batch_id=batch_id, again=again, dry_run=dry_run, progress=bar)
        stands = held.status()
    _tell(changed, stands, named(vault), as_json=as_json)


@command
def delete(
    vault: VaultPlace,
    file: Keys,
    ignore_unknown: IgnoreUnknown = False,
    batch_id: BatchId = None,
    again: Again = False,
    key_secret_file: SecretFile = None,
    wait: Wait = WAIT,
    dry_run: DryRun = False,
    workers: Workers = None,
    as_json: AsJson = False,
    show_values: ShowValues = False,
) -> None:
    """Take records out, by their keys, and erase what they ever were; all or none.

    The vault forgets what they said, in its old releases too. What has been published of them is with its recipients.
    """
    with progress(as_json=as_json) as bar, opened(vault, wait=wait, secret=key_secret(key_secret_file)) as held:
        changed = held.delete(
            file, ignore_unknown=ignore_unknown, batch_id=batch_id, again=again, dry_run=dry_run, progress=bar
        )
        stands = held.status()
    _tell(changed, stands, named(vault), as_json=as_json)


@command
def apply(
    vault: VaultPlace,
    file: Annotated[
        str | None,
        typer.Argument(
            metavar="[FILE]", parser=table_place, help="Records with a column op: insert, update, upsert or delete."
        ),
    ] = None,
    snapshot: Annotated[
        str | None,
        typer.Option(
            "--snapshot",
            metavar="FILE",
            parser=table_place,
            help="Instead: a full extract, which the records shall be.",
        ),
    ] = None,
    max_deleted: Annotated[
        float, typer.Option(help="Refuse a snapshot that would delete a larger share of the records.", min=0, max=1)
    ] = MAX_DELETED,
    spare: Annotated[
        float | None,
        typer.Option(metavar="SECONDS", help="Then lower the loss, in the time that there is for it.", min=0),
    ] = None,
    ignore_unknown: IgnoreUnknown = False,
    batch_id: BatchId = None,
    again: Again = False,
    key_secret_file: SecretFile = None,
    wait: Wait = WAIT,
    dry_run: DryRun = False,
    workers: Workers = None,
    as_json: AsJson = False,
    show_values: ShowValues = False,
) -> None:
    """Insert, update and delete in one batch; all or none.

    With --snapshot, what has to be inserted, updated and deleted is found by comparing with a full extract.
    Exit code 1 if the batch looks like a mistake: applied already, or a snapshot that would delete too many.
    """
    if (file is None) == (snapshot is None):
        raise ParameterError("give a file of changes, or a full extract with --snapshot: one of them.")
    if snapshot is not None and ignore_unknown:
        raise ParameterError("--ignore-unknown is for files of changes: a snapshot names nobody to delete.")
    with progress(as_json=as_json) as bar, opened(vault, wait=wait, secret=key_secret(key_secret_file)) as held:
        if snapshot is not None:
            replaced = held.replace(
                snapshot, max_deleted=max_deleted, batch_id=batch_id, again=again, dry_run=dry_run, progress=bar
            )
            optimized = _in_spare_time(held, spare, replaced, bar)
            stands = held.status()
            _tell_replaced(replaced, stands, named(vault), max_deleted, as_json=as_json, optimized=optimized)
            return
        changed = held.apply(
            file, ignore_unknown=ignore_unknown, batch_id=batch_id, again=again, dry_run=dry_run, progress=bar
        )
        optimized = _in_spare_time(held, spare, changed, bar)
        stands = held.status()
    _tell(changed, stands, named(vault), as_json=as_json, optimized=optimized)


@command
def optimize(
    vault: VaultPlace,
    how: Annotated[str, typer.Option(help=f"By which moves: {', '.join(OPTIMIZERS)}.")] = DEFAULT_OPTIMIZER,
    max_seconds: Annotated[
        float | None, typer.Option(help="The time that there is for it. Default: as long as it takes.", min=0)
    ] = None,
    wait: Wait = WAIT,
    dry_run: DryRun = False,
    workers: Workers = None,
    as_json: AsJson = False,
    show_values: ShowValues = False,
) -> None:
    """Lower the loss of the groups, and keep what is asked for."""
    with progress(as_json=as_json) as bar, opened(vault, wait=wait) as held:
        optimized = held.optimize(how, max_seconds=max_seconds, dry_run=dry_run, progress=bar)
        stands = held.status()
    if as_json:
        print_json(optimized.facts())
    else:
        _show_optimized(optimized, stands, named(vault))


def _in_spare_time(held: Vault, spare: float | None, changed: Changed, bar: Progress) -> Optimized | None:
    """When the batch lasts: what comes after it cannot undo it."""
    if spare is None or changed.dry_run:
        return None
    return held.optimize(max_seconds=spare, progress=bar)


def _tell(changed: Changed, stands: Status, name: str, *, as_json: bool, optimized: Optimized | None = None) -> None:
    if as_json:
        print_json(changed.facts() | ({} if optimized is None else {"optimized": optimized.facts()}))
        return
    counts = ((changed.inserted, "inserted"), (changed.updated, "updated"), (changed.deleted, "deleted"))
    done = [(count, verb) for count, verb in counts if count]
    if changed.ignored:
        screen.print(f"{plural(changed.ignored, 'key')} that no record has, passed over.")
    if not done:
        screen.print("The file has no records: none has changed.")
        _tell_spare(optimized)
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
        _tell_spare(optimized)
        show_unpublished(stands, name)


def _tell_spare(optimized: Optimized | None) -> None:
    if optimized is not None:
        screen.print(_lowered(optimized))


def _tell_replaced(
    replaced: Replaced, stands: Status, name: str, most: float, *, as_json: bool, optimized: Optimized | None
) -> None:
    if not as_json:
        same = f"{number(replaced.unchanged)} of them as they are here"
        screen.print(f"The snapshot has {plural(replaced.rows, 'record')}, {same}.")
    if not as_json and not (replaced.inserted or replaced.updated or replaced.deleted):
        screen.print("Nothing has to change.")
        _tell_spare(optimized)
    else:
        _tell(replaced, stands, name, as_json=as_json, optimized=optimized)
    if replaced.too_many_deleted and not as_json:
        screen.print(
            f"[bold red]✗[/] It would be refused: more than {most:.1%} of the records are lacking (--max-deleted)."
        )
    if replaced.too_many_deleted:
        raise typer.Exit(1)


def _show_optimized(optimized: Optimized, stands: Status, name: str) -> None:
    screen.print(_lowered(optimized))
    if optimized.after < optimized.before and not optimized.dry_run:
        show_unpublished(stands, name)


def _lowered(optimized: Optimized) -> str:
    before, after = number(optimized.before), number(optimized.after)
    if optimized.after >= optimized.before:
        return f"Nothing to gain: the loss stays at {before}."
    gained = f"{1 - optimized.after / optimized.before:.1%} less"
    if optimized.dry_run:
        return f"The loss would go from {before} to {after}, {gained}. Nothing has been changed."
    return f"[bold green]✓[/] The loss went from {before} to {after}, {gained}."
