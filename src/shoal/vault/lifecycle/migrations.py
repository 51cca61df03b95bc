"""Older formats of the tables, brought up to date: one step per format, all of them in one transaction.

A step from format n is `STEPS[n]`: it changes the tables through the connection that it is given. If one fails, the
vault is as it was.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from contextlib import suppress
from pathlib import Path

import sqlalchemy as sa

from shoal.errors import VaultError
from shoal.files import prefix
from shoal.vault.releases.unused_labels import forget_all_unused
from shoal.vault.state.erased_values import without_domains
from shoal.vault.state.republication import new_republication
from shoal.vault.store import tables
from shoal.vault.store.damage import damaged
from shoal.vault.store.head import new_uid
from shoal.vault.store.integrity import part_checksum, stored_sums, sum_of_part
from shoal.vault.store.parts import PARTS, changes_of
from shoal.vault.store.rows import digest
from shoal.vault.store.store import Store
from shoal.vault.store.vault_row import update_vault_row, vault_row


def _count_commits(store: Store, connection: sa.Connection) -> None:
    """Format 2: commits are counted, drafts noted, and labels of classes that nobody is in any more forgotten."""
    _widen_vault_row(store, connection, uid=new_uid(), commits=0)
    _keep_places_and_log(store, connection)  # what follows reads and writes tables as they are now
    tables.drafts.create(connection)
    for index in tables.memberships.indexes:
        index.create(connection)
    for step in (forget_all_unused, _forget_domains):  # each counts as a commit
        step(store, connection)
        update_vault_row(connection, store.where)
    for file, mark in _unfinished(connection):
        for part in file.parent.glob(f".{mark}.*"):  # drafts have another name now
            with suppress(OSError):
                part.rename(part.with_name(part.name.replace(f".{mark}.", prefix(mark), 1)))


def _widen_vault_row(store: Store, connection: sa.Connection, **added: object) -> None:
    """Columns more in the vault's row, which is checked as it was before."""
    table = _name(connection, tables.vault)
    row = dict(connection.exec_driver_sql(f"SELECT * FROM {table}").mappings().one())  # noqa: S608  # our own name
    if row["sha256"] != digest(row):
        raise damaged(store.where, "it does not say where it stands")
    for name in added:
        _add_column(connection, tables.vault, name)
    row |= added
    connection.execute(sa.update(tables.vault).values({**row, "sha256": digest(row)}))


def _add_column(connection: sa.Connection, table: sa.Table, name: str) -> None:
    kind = table.c[name].type.compile(connection.dialect)
    connection.exec_driver_sql(f"ALTER TABLE {_name(connection, table)} ADD COLUMN {name} {kind}")


def _forget_domains(store: Store, connection: sa.Connection) -> None:
    """Of releases that show people who are erased."""
    releases = tables.releases
    found = connection.execute(sa.select(releases.c.number, releases.c.manifest).where(releases.c.erased > 0)).all()
    changed = [(number, without_domains(manifest)) for number, manifest in found]
    store.update(connection, releases, ("number", "manifest"), changed)


def _unfinished(connection: sa.Connection) -> list[tuple[Path, str]]:
    releases = tables.releases
    rows = connection.execute(sa.select(releases.c.file, releases.c.part).where(releases.c.part.is_not(None))).all()
    return [(Path(file), mark) for file, mark in rows]


def _name(connection: sa.Connection, table: sa.Table) -> str:
    """A table in a statement of our own, in the schema that the vault has."""
    schema = (connection.get_execution_options().get("schema_translate_map") or {}).get(None)
    return f'"{schema}"."{table.name}"' if schema else f'"{table.name}"'


def _keep_places_and_log(store: Store, connection: sa.Connection) -> None:
    """Format 3: what is made of releases that follow others, and places (releases so far were looked at alone); the log
    says who, and which batch, and backups are in it.
    """
    if "republication" in _columns(connection, tables.vault):  # on the way from format 1
        return
    added = {"releases": ("republication",), "batches": ("who", "batch_id", "content")}
    found = {part: _sum_without(connection, part, names, store.where) for part, names in added.items()}
    _widen_vault_row(store, connection, republication=new_republication().stored())
    sums = stored_sums(vault_row(connection, store.where))
    for part, names in added.items():
        if sums.get(part, 0) != found[part]:
            raise damaged(store.where, f"{PARTS[part].what}: not what was stored")
        for name in names:
            _add_column(connection, PARTS[part].table, name)
        changes_of(connection).add(part, part_checksum(connection, part, store.where))
        changes_of(connection).remove(part, found[part])
    for table in (tables.places, tables.waiting, tables.formers, tables.events):
        table.create(connection)
    update_vault_row(connection, store.where)


def _sum_without(connection: sa.Connection, part: str, names: Collection[str], where: str) -> int:
    """The checksum of a part as it was before it had columns of these names."""
    now = PARTS[part]
    return sum_of_part(connection, now._replace(columns=tuple(one for one in now.columns if one not in names)), where)


def _columns(connection: sa.Connection, table: sa.Table) -> set[str]:
    found = connection.exec_driver_sql(f"SELECT * FROM {_name(connection, table)} WHERE 1 = 0")  # noqa: S608
    return set(found.keys())


STEPS: dict[int, Callable[[Store, sa.Connection], None]] = {1: _count_commits, 2: _keep_places_and_log}


def format_of(store: Store) -> int:
    """The format of a vault; raises VaultError if it was made by a newer shoal, or is none."""
    with store.read() as connection:
        found = connection.scalar(sa.select(tables.vault.c.format))
    if not isinstance(found, int) or found < 1:
        raise VaultError("is not a vault, or is damaged: it has no format.", file=store.where)
    if found > tables.FORMAT:
        raise VaultError(
            f"was made by a newer shoal: its format is {found}, and this one knows formats up to {tables.FORMAT}.",
            hint="Update shoal.",
            file=store.where,
        )
    return found


def migrate(store: Store, wait: float) -> None:
    """Bring a vault up to date, if it is not."""
    if format_of(store) == tables.FORMAT:
        return
    with store.writer(wait), store.write() as connection:
        found = connection.scalar(sa.select(tables.vault.c.format)) or 0  # another may have been faster
        for number in range(found, tables.FORMAT):
            if number not in STEPS:
                raise VaultError(
                    f"has the format {number}, which this shoal cannot bring up to date.", file=store.where
                )
            STEPS[number](store, connection)
        update_vault_row(connection, store.where, format=tables.FORMAT)
