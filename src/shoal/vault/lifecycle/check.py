"""Checking a vault: everything that is stored, and the files of its releases."""

from __future__ import annotations

import hashlib
import json
from contextlib import suppress
from pathlib import Path

import sqlalchemy as sa

from shoal.errors import ShoalError, VaultError, VerificationError
from shoal.progress import Progress
from shoal.release.write import manifest_content, manifest_path
from shoal.vault.facts import Checked, Entry
from shoal.vault.releases.history import counted_erased, entries, rebuild, released_again
from shoal.vault.state.epoch import Epoch, read_epoch
from shoal.vault.state.load import load
from shoal.vault.state.republication import SAFE
from shoal.vault.store import tables
from shoal.vault.store.damage import SENSELESS, damaged
from shoal.vault.store.drafts import sweep_noted
from shoal.vault.store.events import events_of
from shoal.vault.store.head import refuse_lost, stored_head
from shoal.vault.store.integrity import check_part
from shoal.vault.store.parts import PARTS
from shoal.vault.store.queries import rows_of
from shoal.vault.store.store import Store
from shoal.vault.store.vault_row import vault_row
from shoal.verify import verify

LOADED = ("keys", "values", "groups", "dictionary", "events")  # parts that are checked when they are loaded


def check_vault(store: Store, progress: Progress, *, files: bool = True) -> Checked:
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
    with suppress_damage(problems):
        acknowledged = store.backend.acknowledged()
        with store.read() as connection:
            refuse_lost(acknowledged, stored_head(connection), store.where)
    if store.backend.head_is_damaged():
        problems.append("the head beside the vault cannot be read: commits that are lost would not be noticed")
    with suppress_damage(problems), store.read() as connection:
        state = load(connection, store.where, progress)
        records = len(state.live)
        state.live.partition().check()
        looked_at += ["settings", "dictionary", "records", "groups"]
        if len(state.live.keys) != len(state.live.alive()):
            problems.append("two records have the same key")
    with suppress_damage(problems), store.read() as connection:
        _check_epochs(connection, store.where)
    for part in (part for part in PARTS.values() if part.name not in LOADED):
        with suppress_damage(problems), store.read() as connection:
            check_part(connection, part.name, store.where)
            looked_at.append(part.what)
    with suppress_damage(problems), store.read() as connection:
        events_of(connection, store.where)
    with suppress_damage(problems), store.read() as connection:
        known = entries(connection, store.where)
        releases = len(known)
        progress.stage("checking releases", releases)
        for entry in known:
            if counted_erased(connection, entry) != entry.erased:
                problems.append(f"release {entry.number}: not as many rows are erased as it says")
            problems += _check_release(connection, store, entry)
            progress.advance(1)
        if files:
            last = {entry.file: entry for entry in known}  # a file may have been overwritten by a later release
            for entry in last.values():
                problems += _check_files(connection, entry)
    with suppress_damage(problems):
        left = sweep_noted(store) if files else []
        problems += [f"a file with originals that was never finished is left in {folder}" for folder in left]
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
        if isinstance(error, SENSELESS):
            self._problems.append("stored rows cannot be read")
            return True
        return False


def _check_epochs(connection: sa.Connection, where: str) -> None:
    """Raise Damaged unless all epochs are there, each as it was stored, and no other: no release may be of one."""
    rows = rows_of(connection, sa.select(tables.epochs).order_by(tables.epochs.c.number))
    if [row["number"] for row in rows] != list(range(1, vault_row(connection, where)["epoch"] + 1)):
        raise damaged(where, "its settings are not what was stored")
    for row in rows:
        Epoch.from_row(row, where)


def _check_release(connection: sa.Connection, store: Store, entry: Entry) -> list[str]:
    """Can it be rebuilt, and is it what it promises?"""
    if entry.erased:  # what is left is nobody's release: it was one when it was published
        rebuild(connection, entry.number, store.where)
        return []
    try:
        release = released_again(connection, entry.number, store.where)
    except VerificationError as error:
        return [error.message]
    if release.manifest.get("hidden"):  # it has been verified as what it is now
        return []
    held = read_epoch(connection, entry.epoch, store.where)
    by_people = release.manifest["counted"] == "people"  # who is whose is not published, nor kept for the past
    rules = held.requirements.options() if release.rules and not by_people else {}
    if entry.republication == SAFE:
        rules = {**rules, "t": None}  # cohorts were close to the table when they began
    verdict = verify(release.table, held.schema, release.k, **rules)
    return [] if verdict.ok else [f"release {entry.number} does not verify: {'; '.join(verdict.reasons)}"]


def _check_files(connection: sa.Connection, entry: Entry) -> list[str]:
    """Files that have been moved elsewhere are nobody's fault; ones that have been changed are."""
    if entry.file is None:
        return []
    path, problems = Path(entry.file), []
    with suppress(OSError):
        with path.open("rb") as content:
            digest = hashlib.file_digest(content, "sha256").hexdigest()
        if digest != entry.sha256:
            problems.append(f"release {entry.number}: the file {path} is not as it was published")
    with suppress(OSError):
        text = manifest_path(path).read_bytes()
        known = json.loads(_manifest_of(connection, entry.number))
        if not _says(text, known, path, entry.sha256, erased=bool(entry.erased)):
            problems.append(f"release {entry.number}: the manifest {manifest_path(path)} is not as it was published")
    return problems


def _manifest_of(connection: sa.Connection, number: int) -> str:
    releases = tables.releases
    return str(connection.scalar(sa.select(releases.c.manifest).where(releases.c.number == number)))


def _says(text: bytes, facts: dict[str, object], path: Path, digest: str, *, erased: bool) -> bool:
    """Whether a manifest says what was published.

    Of columns that are identifiers now the vault does not know it, nor the domains where somebody is erased.
    """
    try:
        found = json.loads(text)
    except ValueError:
        return False
    if not isinstance(found, dict):
        return False
    columns = found.get("columns")
    if erased and isinstance(columns, dict) and all(isinstance(column, dict) for column in columns.values()):
        found["columns"] = {
            name: {fact: value for fact, value in column.items() if fact != "domain"}
            for name, column in columns.items()
        }
    wanted = manifest_content(facts, path, digest)
    unknown = {"hidden", "rules", "columns"} if "hidden" in facts else set()
    unknown |= set() if "created" in facts else {"created"}  # of a release of format 1
    names = (found.keys() | wanted.keys()) - unknown
    return all(name in found and name in wanted and found[name] == wanted[name] for name in names)


def refuse_damaged(store: Store, progress: Progress) -> None:
    """Raise VaultError if a vault is not what it should be."""
    checked = check_vault(store, progress, files=False)  # where releases were written to is not the backup's business
    if not checked.ok:
        problems = "; ".join(problem.rstrip(".") for problem in checked.problems)
        raise VaultError(f"cannot be restored: {problems}.", hint="Take an earlier backup.", file=store.where)
