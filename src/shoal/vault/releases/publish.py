"""Publishing: recode → verify → store → write.

A file and a database cannot commit together, so a release that goes to a file takes four steps, each of which leaves
something that the next one to come can finish or undo:

1. a row in `releases` says what is intended, and the mark of the temporary files (committed);
2. the temporary files are written and brought to disk;
3. the row becomes part of the history, with the hash of the file, and the classes are stored (committed);
4. the files get their names, and the row forgets the mark.

Whoever finds a mark of his machine, and holds the writer's turn, knows that its publisher is no more: before step 3 the
temporary files and the row are removed, after it the files get their names. No file is ever outside the history.
"""

from __future__ import annotations

import platform
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import sqlalchemy as sa

from shoal.errors import OutputError, VaultError
from shoal.files import new_mark, sweep
from shoal.progress import Progress
from shoal.release.spreadsheets import for_spreadsheets
from shoal.release.write import complete_parts, digest_of, discard_parts, has_parts, place_parts, write_parts
from shoal.vault.releases.history import last_release
from shoal.vault.releases.prepare import Publication
from shoal.vault.releases.republish import enter_placement, forget_places
from shoal.vault.releases.snapshots import Snapshot, joined, next_snapshot
from shoal.vault.state.republication import SAFE
from shoal.vault.store import tables
from shoal.vault.store.queries import rows_of
from shoal.vault.store.rows import as_json
from shoal.vault.store.store import Store
from shoal.vault.store.vault_row import refuse_newer, update_vault_row, vault_row


def store_release(store: Store, publication: Publication, progress: Progress) -> None:
    """A release that goes to no file: one transaction."""
    progress.stage("storing")
    publication.row["sha256"] = digest_of(publication.release.table)
    try:
        with store.write() as connection:
            _enter(store, connection, publication)
    except BaseException:
        if not _happened(store, publication):
            raise


def store_and_write(
    store: Store, publication: Publication, path: Path, progress: Progress, *, force: bool, neutralize_formulas: bool
) -> None:
    """A release that goes to a file as well: the four steps.

    Guarantee: if this raises before the third step is done, nothing is left of it. From then on the release has
    happened: either this returns, or an error says that the release is in the history and its file is not.
    """
    path = path.absolute()
    sweep(path.parent)
    mark = new_mark()
    row, release = publication.row, publication.release
    number = row["number"]
    row |= {"file": str(path), "host": platform.node(), "part": mark, "overwrites": force}
    with store.write() as connection:
        refuse_newer(vault_row(connection, store.where), row["version"], store.where)
        _insert(store, connection, {**row, "done": False})
    try:
        progress.stage("writing")
        table, facts = for_spreadsheets(release.table, release.manifest, path, neutralize=neutralize_formulas)
        row |= {"sha256": write_parts(table, facts, path, mark), "manifest": as_json(facts)}
        release.manifest = dict(facts)
        progress.stage("storing")
        with store.write() as connection:
            store.delete(connection, tables.releases, "number", np.array([number]))
            _enter(store, connection, publication)
    except BaseException:
        if not _happened(store, publication):
            with suppress(VaultError):  # if it does not work now, the next one to come does it
                _withdraw(store, number, path, mark)
            raise
    _place(store, number, path, mark, force=force)


def _happened(store: Store, publication: Publication) -> bool:
    """Whether the commit has worked, and only word of it was lost. If that cannot be told either, the error stands."""
    releases, row = tables.releases, publication.row
    this = releases.c.number == row["number"], releases.c.published == row["published"]
    try:
        with store.read() as connection:
            key = connection.scalar(sa.select(releases.c.shuffle_key).where(*this, releases.c.done.is_(True)))
            return key is not None and bytes(key) == row["shuffle_key"]
    except VaultError:
        return False


def _place(store: Store, number: int, path: Path, mark: str, *, force: bool) -> None:
    """The last step. If it is interrupted, the next one to come takes it again."""
    try:
        place_parts(path, mark, force=force)
    except OutputError as refused:
        what = f"{refused.message.rstrip('.')}; release {number} is in the history,"
        try:
            _forget_file(store, number)
        except VaultError:  # its parts stay: the next one to come tries again to give them their names
            hint = "Open it when the cause is mended, as with: shoal status VAULT."
            raise OutputError(
                f"{what} and gets its file when the vault is next opened.", hint=hint, file=refused.file
            ) from None
        discard_parts(path, mark)
        hint = f"Write it elsewhere: shoal release VAULT {number} -o FILE."
        raise OutputError(f"{what} but not in this file.", hint=hint, file=refused.file) from None
    discard_parts(path, mark)
    with suppress(VaultError):  # it has happened; the next one to come finds that nothing is left to do
        _forget_mark(store, number)


def _forget_file(store: Store, number: int) -> None:
    """The release is in the history, and in no file."""
    with store.write() as connection:
        store.update(connection, tables.releases, ("number", "file", "part"), [(number, None, None)])


def _enter(store: Store, connection: sa.Connection, publication: Publication) -> None:
    """The release becomes part of the history, with the classes that have changed since the last one."""
    row = publication.row
    refuse_newer(vault_row(connection, store.where), row["version"], store.where)
    last = last_release(connection)
    new_epoch = last is None or last["epoch"] != row["epoch"]
    new = next_snapshot(connection, row["version"], publication.labels, store.where, new_epoch=new_epoch)
    if new is not None:
        same = store.delete(connection, tables.classes, "version", np.array([new.version]))
        snapshot = new if not same else joined(Snapshot(*same[0]), new, store.where)
        store.insert(connection, tables.classes, tables.CLASSES, [snapshot])
    placement = publication.placement
    choice = publication.choice
    if placement is not None:
        safe = row["republication"] == SAFE
        choice = enter_placement(store, connection, placement, row["number"], row["published"], safe=safe)
    else:
        forget_places(store, connection)
    _insert(store, connection, row)
    update_vault_row(connection, store.where, republication=choice.stored())


def _insert(store: Store, connection: sa.Connection, row: dict[str, Any]) -> None:
    store.insert(connection, tables.releases, tuple(row), [tuple(row.values())])


def recover(store: Store) -> None:
    """Finish or undo what somebody has left behind who published and is no more. The caller has the writer's turn."""
    for row in unfinished(store):
        path = Path(row["file"])
        if not path.parent.is_dir():  # not mounted, maybe: it is looked at again when the vault is next opened
            continue
        if not row["done"]:
            _withdraw(store, row["number"], path, row["part"])
            continue
        try:
            placed = complete_parts(path, row["part"], force=row["overwrites"])
        except OSError:
            continue
        if placed:
            _forget_mark(store, row["number"])
        else:
            _forget_file(store, row["number"])


def unfinished(store: Store) -> list[dict[str, Any]]:
    """Releases that somebody has begun to publish on this machine, or where its temporary files can be seen."""
    releases = tables.releases
    with store.read() as connection:
        rows = rows_of(connection, sa.select(releases).where(releases.c.part.is_not(None)))
    return [row for row in rows if row["host"] == platform.node() or has_parts(Path(row["file"]), row["part"])]


def _withdraw(store: Store, number: int, path: Path, mark: str) -> None:
    """Nothing is left of a release that was only intended."""
    releases = tables.releases
    discard_parts(path, mark)  # first: it may be room that is lacking
    with store.write() as connection:
        intended = releases.c.part == mark, releases.c.done.is_(False)
        store.delete(connection, releases, "number", np.array([number]), *intended)


def _forget_mark(store: Store, number: int) -> None:
    with store.write() as connection:
        store.update(connection, tables.releases, ("number", "part"), [(number, None)])
