"""The second half of `shoal demo`: a made-up town that changes, and a vault that keeps up with it."""

from __future__ import annotations

import time
from pathlib import Path
from typing import NamedTuple

import shoal
from shoal.cli.screen import number, plural, screen
from shoal.progress import seconds_spent_compiling
from shoal.vault.facts import Changed, Diff
from shoal.vault.vault import Vault

PEOPLE, CHANGES = 3_000, 60


class Day(NamedTuple):
    """What a day has done to the town and to its releases."""

    changed: Changed
    seconds: float
    diff: Diff
    classes: int
    smallest: int
    ok: bool  # the verifier, of both files
    files: tuple[Path, Path]

    def facts(self) -> dict[str, object]:
        return {
            "changed": self.changed.facts(),
            "diff": self.diff.facts(),
            "outputs": [str(file) for file in self.files],
            "ok": self.ok,
        }


def one_day(k: int, folder: Path, bar: shoal.Progress) -> Day:
    """Publish the town, let a day pass, publish it again."""
    table, schema = shoal.datasets.census(PEOPLE, 1), shoal.datasets.census_schema()
    changes = next(shoal.datasets.census_changes(table, 1, CHANGES, seed=1))
    files = folder / f"town-k{k}-day-1.csv", folder / f"town-k{k}-day-2.csv"
    with Vault.create(":memory:", schema, k=k, data=table, seed=1, progress=bar) as vault:
        vault.publish(files[0], force=True, progress=bar)
        start = time.monotonic() - seconds_spent_compiling()
        changed = vault.apply(changes, progress=bar)
        seconds = time.monotonic() - seconds_spent_compiling() - start
        vault.publish(files[1], force=True, progress=bar)
        diff = vault.diff(1, 2)
    verdicts = [shoal.verify(file, schema, k) for file in files]
    smallest = min(verdict.k for verdict in verdicts)
    return Day(changed, seconds, diff, diff.classes_after, smallest, all(verdict.ok for verdict in verdicts), files)


def show_day(day: Day) -> None:
    changed, diff = day.changed, day.diff
    screen.print(f"[bold]And when the data change?[/] A vault keeps up: a made-up town of {number(PEOPLE)} people.")
    screen.print(
        f"In a day {plural(changed.inserted, 'person', 'people')} came, {number(changed.deleted)} left, of "
        f"{number(changed.updated)} something changed. Following them took {day.seconds:.2f} s: "
        f"{number(diff.classes_kept)} of {number(diff.classes_after)} classes are what they were, "
        f"{number(diff.moved)} of the {number(diff.stayed)} who stayed look different now."
    )
    answer = "[bold green]ok[/]" if day.ok else "[bold red]not ok[/]"
    screen.print(f"Both releases, verified from the files: {answer}, the smallest class has {day.smallest} rows.")
    for file in day.files:
        screen.print(f"  {file}", markup=False, soft_wrap=True)
