"""`shoal log` and `shoal erase`: what has been done, by whom; and people who are forgotten, with a receipt."""

from __future__ import annotations

from rich import box
from rich.markup import escape
from rich.table import Table

from shoal.cli.bars import progress
from shoal.cli.screen import AsJson, ShowValues, command, number, plural, print_json, screen
from shoal.cli.vault.options import (
    WAIT,
    Again,
    BatchId,
    DryRun,
    IgnoreUnknown,
    Keys,
    SecretFile,
    VaultPlace,
    Wait,
    key_secret,
    moment,
    near,
    opened,
)
from shoal.errors import Unfinished
from shoal.vault.facts import Erased, Logged


@command
def log(
    vault: VaultPlace,
    as_json: AsJson = False,
    show_values: ShowValues = False,
) -> None:
    """List what has been done to the vault, the oldest first: by whom and when, in numbers, without a value."""
    with opened(vault) as held:
        found = held.log()
    if as_json:
        print_json({"log": [one.facts() for one in found]})
        return
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1))
    for heading in ("when (UTC)", "who", "what", "version"):
        table.add_column(heading, no_wrap=True)
    table.add_column("", overflow="fold")
    for one in found:
        when = moment(one.at).removesuffix(" UTC")
        table.add_row(when, escape(one.who or "?"), one.what, number(one.version), escape(_said(one)))
    screen.print(table)


def _said(one: Logged) -> str:
    """What else there is to say of it."""
    counts = ((one.inserted, "inserted"), (one.updated, "updated"), (one.deleted, "deleted"))
    said = [", ".join(f"{number(count)} {done}" for count, done in counts if count)]
    said += [f"release {one.release}"] if one.release is not None else []
    said += [f"batch {one.batch_id}"] if one.batch_id is not None else []
    said += [near(one.file)] if one.file is not None else []
    return "; ".join(part for part in said if part)


@command
def erase(
    vault: VaultPlace,
    file: Keys,
    ignore_unknown: IgnoreUnknown = False,
    batch_id: BatchId = None,
    again: Again = False,
    key_secret_file: SecretFile = None,
    wait: Wait = WAIT,
    dry_run: DryRun = False,
    as_json: AsJson = False,
    show_values: ShowValues = False,
) -> None:
    """Forget people for good: delete their records, rewrite the vault without old copies, and say what is left where.

    What is printed is a receipt; it names nobody. --json is for your files. If the records are deleted and the vault
    cannot be rewritten, that is said, with exit code 2: do it once more, with --ignore-unknown.
    """
    with progress(as_json=as_json) as bar, opened(vault, wait=wait, secret=key_secret(key_secret_file)) as held:
        try:
            done = held.erase(
                file, ignore_unknown=ignore_unknown, batch_id=batch_id, again=again, dry_run=dry_run, progress=bar
            )
        except Unfinished as error:
            if error.receipt is not None and not as_json:
                _show_receipt(Erased(**error.receipt))  # type: ignore[arg-type]  # its own facts
            raise
    if as_json:
        print_json(done.facts())
    else:
        _show_receipt(done)


def _show_receipt(done: Erased) -> None:
    if done.ignored:
        screen.print(f"{plural(done.ignored, 'key')} that no record has, passed over.")
    records = plural(done.erased, "record")
    if done.dry_run:
        screen.print(f"{records} would be erased. Nothing has been changed.")
    else:
        by = f" by {escape(done.who)}" if done.who else ""
        left = f"{plural(done.records, 'record')} left"
        screen.print(
            f"[bold green]✓[/] {records} erased, {moment(done.at)}{by}; {left}; version {number(done.version)}."
        )
    for release in done.releases:
        file = f", {release['file']}" if release["file"] else ""
        rows = plural(release["rows"], "row")
        screen.print(f"  Release {release['release']} shows {rows} of theirs{file}.", markup=False, soft_wrap=True)
    for backup in done.backups:
        screen.print(f"  Backup of {moment(backup['at'])}: {backup['file']}.", markup=False, soft_wrap=True)
    for line in done.remains:
        screen.print(f"  {line}", markup=False, soft_wrap=True)
