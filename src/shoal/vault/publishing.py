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
import pyarrow as pa
import sqlalchemy as sa
from numpy.typing import NDArray

from shoal.errors import OutputError, Unchanged, VaultError, VerificationError
from shoal.files import new_mark, sweep
from shoal.fit import warn_of_keys
from shoal.progress import Progress
from shoal.release import Release
from shoal.release.making import released
from shoal.release.manifest import Manifest
from shoal.release.shuffle import new_shuffle_key
from shoal.release.spreadsheets import for_spreadsheets
from shoal.release.write import complete_parts, digest_of, discard_parts, has_parts, place_parts, write_parts
from shoal.vault import tables
from shoal.vault.history import last_release
from shoal.vault.loading import State, stands
from shoal.vault.parts import seal_of_part
from shoal.vault.saving import Sums, now, refuse_newer, restand
from shoal.vault.seals import content_seal, seal_rows
from shoal.vault.settings import as_json
from shoal.vault.sheets import Looks, next_sheet
from shoal.vault.store import Store, rows_of


class Publication:
    """A release on its way."""

    def __init__(self, release: Release, row: dict[str, Any], looks: Looks) -> None:
        self.release, self.row, self.looks = release, row, looks


def prepare(store: Store, state: State, progress: Progress, *, even_if_unchanged: bool, strict: bool) -> Publication:
    """Recode and verify; nothing is stored yet."""
    with store.read() as connection:
        last = last_release(connection)
        log = tables.batches.c
        loss = float(connection.scalar(sa.select(log.loss).where(log.version == state.version)) or 0.0)
        highest = connection.scalar(sa.select(sa.func.max(tables.releases.c.number)))  # another machine's, too
    if last is not None and last["version"] == state.version and not even_if_unchanged:
        raise Unchanged(
            f"nothing has changed since release {last['number']}.",
            hint="Publish it again all the same with --even-if-unchanged (in Python, even_if_unchanged=True).",
            file=store.where,
        )
    live, epoch = state.live, state.epoch
    records = live.records()
    warn_of_keys(records, strict=strict)
    partition = live.partition(records)
    obstacles = partition.obstacles()
    if obstacles:
        raise VerificationError(
            f"the vault cannot be published now: {'; '.join(obstacles)}.",
            hint="Bring more records, or ask for less with shoal rebase.",
            file=store.where,
        )
    number = 1 if highest is None else int(highest) + 1
    published, key = now(), new_shuffle_key()
    release = released(
        records,
        partition,
        epoch.requirements,
        method=f"{live.settings.static_method}, then {epoch.maintainer}",
        measure=epoch.measure,
        progress=progress,
        shuffle_key=key,
        facts={
            "release": number,
            "published": published,
            "created": published,
            "previous": None if last is None else {"release": last["number"], "sha256": last["sha256"]},
        },
    )
    release.number, manifest = number, Manifest.from_json(release.manifest)
    row = {
        "number": number,
        "version": state.version,
        "epoch": epoch.number,
        "done": True,
        "published": published,
        "shuffle_key": key,
        "manifest": as_json(release.manifest),
        "layout": as_json(epoch.layout()),
        "sha256": "",
        "content": content_seal(release.table),
        "rows": release.table.num_rows,
        "classes": manifest.equivalence_classes,
        "smallest_class": manifest.smallest_class,
        "k": manifest.k,
        "loss": loss,
        "erased": 0,
        "file": None,
        "host": None,
        "part": None,
        "overwrites": False,
    }
    groups = np.unique(live.labels[live.alive()])
    return Publication(release, row, _looks(release, groups.astype(np.int64), epoch.schema.quasi_identifiers))


def _looks(release: Release, groups: NDArray[np.int64], names: list[str]) -> Looks:
    """What each group looks like in the release: as any of its rows does."""
    place = np.empty(len(groups), np.int64)
    place[release.groups_of_rows()] = np.arange(release.table.num_rows)
    shown = release.table.select(names).take(pa.array(place)).combine_chunks()
    return Looks(groups, pa.table({name: shown[name].combine_chunks().dictionary_encode() for name in names}))


def keep(store: Store, publication: Publication, progress: Progress) -> None:
    """A release that goes to no file: one transaction."""
    progress.stage("storing")
    publication.row["sha256"] = digest_of(publication.release.table)
    try:
        with store.write() as connection:
            _enter(store, connection, publication)
    except BaseException:
        if not _happened(store, publication):
            raise


def keep_and_write(
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
        refuse_newer(stands(connection, store.where), row["version"], store.where)
        connection.execute(sa.insert(tables.releases), [{**row, "done": False}])
    try:
        progress.stage("writing")
        table, facts = for_spreadsheets(release.table, release.manifest, path, neutralize=neutralize_formulas)
        row |= {"sha256": write_parts(table, facts, path, mark), "manifest": as_json(facts)}
        release.manifest = dict(facts)
        progress.stage("storing")
        with store.write() as connection:
            connection.execute(sa.delete(tables.releases).where(tables.releases.c.number == number))
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
    this = tables.releases.c.number == number
    with store.write() as connection:
        connection.execute(sa.update(tables.releases).where(this).values(file=None, part=None))
        sums = Sums(stands(connection, store.where)["sums"])
        sums.set("releases", seal_of_part(connection, "releases", store.where))
        restand(connection, store.where, sums=sums.text())


def _enter(store: Store, connection: sa.Connection, publication: Publication) -> None:
    """The release becomes part of the history, with the classes that have changed since the last one."""
    stand = stands(connection, store.where)
    refuse_newer(stand, publication.row["version"], store.where)
    sums = Sums(stand["sums"])
    last = last_release(connection)
    new = next_sheet(
        connection,
        publication.row["version"],
        publication.looks,
        store.where,
        new_epoch=last is None or last["epoch"] != publication.row["epoch"],
    )
    if new is not None:
        store.insert(connection, tables.classes, tables.CLASSES, [new])
        sums.add("classes", seal_rows([new]))
    connection.execute(sa.insert(tables.releases), [publication.row])
    sums.add("releases", seal_rows([tuple(publication.row[name] for name in tables.RELEASE)]))
    restand(connection, store.where, sums=sums.text())


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
        connection.execute(
            sa.delete(releases).where(releases.c.number == number, releases.c.part == mark, releases.c.done.is_(False))
        )


def _forget_mark(store: Store, number: int) -> None:
    with store.write() as connection:
        connection.execute(sa.update(tables.releases).where(tables.releases.c.number == number).values(part=None))
