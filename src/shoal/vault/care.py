"""Looking after a vault: check everything, give back room, copy it elsewhere."""

from __future__ import annotations

import hashlib
from pathlib import Path

import sqlalchemy as sa

from shoal.errors import ShoalError, VaultError
from shoal.progress import Progress
from shoal.vault import tables
from shoal.vault.facts import Checked, Compacted
from shoal.vault.history import counted_erased, entries, rebuilt
from shoal.vault.loading import current_epoch, load, stands
from shoal.vault.parts import PARTS, check_part
from shoal.vault.saving import Sums, restand
from shoal.vault.store import Store, chunks, rows_of
from shoal.verify import verify


def check(store: Store, progress: Progress, *, files: bool = True) -> Checked:
    """Look at everything that is stored, at one moment.

    Guarantee: `ok` means that every row is what was stored, that the groups hold what is asked or say why they cannot
    be published, and that every release can be rebuilt and verifies (but for rows of people who were erased).
    """
    problems: list[str] = []
    looked_at: list[str] = []
    records, releases = 0, 0
    progress.stage("checking the database")
    with suppress_damage(problems):
        problems += store.integrity()
    looked_at.append("database")
    with suppress_damage(problems), store.read() as connection:
        state = load(connection, store.where, progress)
        records = len(state.live)
        state.live.partition().check()
        looked_at += ["settings", "dictionary", "records", "groups"]
        if len(state.live.keys) != len(state.live.alive()):
            problems.append("two records have the same key")
    for part in PARTS:
        with suppress_damage(problems), store.read() as connection:
            check_part(connection, part, store.where)
            looked_at.append(PARTS[part].what)
    with suppress_damage(problems), store.read() as connection:
        known = entries(connection, store.where)
        releases = len(known)
        progress.stage("checking releases", releases)
        for entry in known:
            if counted_erased(connection, entry.version) != entry.erased:
                problems.append(f"release {entry.number}: not as many rows are erased as it says")
            problems += _check_release(connection, store, entry.number, entry.epoch, entry.erased)
            progress.advance(1)
        if files:
            last = {entry.file: entry for entry in known}  # a file may have been overwritten by a later release
            for entry in last.values():
                problems += _check_file(entry.file, entry.sha256, entry.number)
    return Checked(not problems, problems, records, releases, looked_at)


class suppress_damage:  # reads as suppress() does
    """Damage becomes a line of the report; everything else is raised."""

    def __init__(self, problems: list[str]) -> None:
        self._problems = problems

    def __enter__(self) -> None: ...

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> bool:
        if isinstance(error, ShoalError):
            if error.message not in self._problems:
                self._problems.append(error.message)
            return True
        if isinstance(error, ValueError | KeyError | TypeError | IndexError | OverflowError):
            self._problems.append("stored rows cannot be read")
            return True
        return False


def _check_release(connection: sa.Connection, store: Store, number: int, epoch: int, erased: int) -> list[str]:
    """Can it be rebuilt, and is it what it promises?"""
    release = rebuilt(connection, number, store.where)
    if erased:  # classes without the rows of the erased may be smaller than k: they were not when they were published
        return []
    if release.manifest.get("hidden"):  # columns that are identifiers now: what is left need not hold what all did
        return []
    held = current_epoch(connection, epoch, store.where)
    by_people = release.manifest["counted"] == "people"  # who is whose is not published, nor kept for the past
    rules = held.asked if release.rules and not by_people else {}
    verdict = verify(release.table, held.schema, release.k, **rules)
    return [] if verdict.ok else [f"release {number} does not verify: {'; '.join(verdict.reasons)}"]


def _check_file(file: str | None, sha256: str, number: int) -> list[str]:
    """A file that has been moved elsewhere is nobody's fault; one that has been changed is."""
    if file is None or not Path(file).is_file():
        return []
    try:
        with Path(file).open("rb") as content:
            digest = hashlib.file_digest(content, "sha256").hexdigest()
    except OSError:
        return []
    return [] if digest == sha256 else [f"release {number}: the file {file} is not as it was published"]


def compact(store: Store) -> Compacted:
    """Give back room, and forget what was overwritten. The caller has the writer's turn."""
    with store.write() as connection:
        before = store.backend.size(connection)
        connection.execute(sa.delete(tables.touches))
        sums = Sums(stands(connection, store.where)["sums"])
        sums.set("touches", 0)
        restand(connection, store.where, sums=sums.text())
    store.compact()
    with store.read() as connection:
        return Compacted(before, store.backend.size(connection))


def copy(source: Store, target: Store, writing: sa.Connection, progress: Progress) -> None:
    """All rows of one moment, into tables that are there and empty."""
    with source.read() as reading:
        for table in (table for table in tables.ALL if table is not tables.releases):
            names = [column.name for column in table.columns]
            several = reading.scalar(sa.select(sa.func.count()).select_from(table)) or 0
            progress.stage(f"copying {table.name.replace('_', ' ')}", several)
            for columns in chunks(reading, table, names):
                target.insert(writing, table, names, list(zip(*columns, strict=True)))
                progress.advance(len(columns[0]))
        # What somebody is publishing at this moment is not in the copy's history.
        history = rows_of(reading, sa.select(tables.releases).where(tables.releases.c.done.is_(True)))
        if history:
            writing.execute(sa.insert(tables.releases), [{**row, "part": None} for row in history])


def refuse_damaged(store: Store, progress: Progress) -> None:
    """Raise VaultError if a vault is not what it should be."""
    checked = check(store, progress, files=False)  # where releases were written to is not the backup's business
    if not checked.ok:
        raise VaultError(f"is damaged: {'; '.join(checked.problems)}.", file=store.where)
