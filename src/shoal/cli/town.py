"""The second half of `shoal demo`: a made-up town that changes, and a vault that keeps up with it."""

from __future__ import annotations

import time
from pathlib import Path
from typing import NamedTuple

import shoal
from shoal.cli.screen import number, plural, screen
from shoal.progress import seconds_spent_compiling
from shoal.vault.facts import Changed, Status
from shoal.vault.vault import Vault

PEOPLE, CHANGES = 3_000, 60


class Day(NamedTuple):
    """What a day has done to the town and to its releases."""

    changed: Changed
    seconds: float
    given_away: int  # people, had the day's release been made as if there were no other
    stands: Status
    rows: int
    classes: int
    smallest: int
    ok: bool  # the verifier, of both files
    together: bool  # the audit, of both releases
    files: tuple[Path, Path]

    def facts(self) -> dict[str, object]:
        return {
            "changed": self.changed.facts(),
            "given_away": self.given_away,
            "rows": self.rows,
            "classes": self.classes,
            "waiting": self.stands.waiting,
            "ghosts": self.stands.ghosts,
            "outputs": [str(file) for file in self.files],
            "ok": self.ok,
            "safe_together": self.together,
        }


def one_day(k: int, folder: Path, bar: shoal.Progress) -> Day:
    """Publish the town, let a day pass, publish it again: first as if nobody had the first release."""
    table, schema = shoal.datasets.census(PEOPLE, 1), shoal.datasets.census_schema()
    changes = next(shoal.datasets.census_changes(table, 1, CHANGES, seed=1))
    files = folder / f"town-k{k}-day-1.csv", folder / f"town-k{k}-day-2.csv"
    with Vault.create(":memory:", schema, k=k, data=table, seed=1, progress=bar) as vault:
        vault.publish(files[0], force=True, progress=bar)
        start = time.monotonic() - seconds_spent_compiling()
        changed = vault.apply(changes, progress=bar)
        seconds = time.monotonic() - seconds_spent_compiling() - start
        given_away = 0
        try:
            release = vault.publish(files[1], force=True, progress=bar)
        except shoal.AuditError as refused:
            given_away = refused.people
            release = vault.publish(files[1], republication="safe", force=True, progress=bar)
        stands, together = vault.status(), vault.audit().ok
    verdicts = [shoal.verify(file, schema, k) for file in files]
    smallest, fine = min(verdict.k for verdict in verdicts), all(verdict.ok for verdict in verdicts)
    rows, classes = release.table.num_rows, verdicts[1].classes
    return Day(changed, seconds, given_away, stands, rows, classes, smallest, fine, together, files)


def show_day(day: Day) -> None:
    changed, stands = day.changed, day.stands
    screen.print(f"[bold]And when the data change?[/] A vault keeps up: a made-up town of {number(PEOPLE)} people.")
    screen.print(
        f"In a day {plural(changed.inserted, 'person', 'people')} came, {number(changed.deleted)} left, of "
        f"{number(changed.updated)} something changed. Following them took {day.seconds:.2f} s."
    )
    if day.given_away:
        screen.print(
            f"Publishing that was refused: whoever has yesterday's release too would learn something of "
            f"{number(day.given_away)} people. [bold]--republication safe[/] makes releases that stay safe together:"
        )
    screen.print(
        f"{number(day.rows)} rows in {number(day.classes)} classes; {plural(stands.waiting, 'record')} "
        f"{'waits' if stands.waiting == 1 else 'wait'} for company, "
        f"{plural(stands.ghosts, 'row is', 'rows are')} of people who have left."
    )
    answer = "[bold green]ok[/]" if day.ok else "[bold red]not ok[/]"
    together = "[bold green]ok[/]" if day.together else "[bold red]not ok[/]"
    screen.print(
        f"Both releases, verified from the files: {answer}, the smallest class has {day.smallest} rows; together: "
        f"{together}."
    )
    for file in day.files:
        screen.print(f"  {file}", markup=False, soft_wrap=True)
