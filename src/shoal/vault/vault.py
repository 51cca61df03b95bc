"""Vault: the facade. It holds the originals, the groups, every change and every release of one table.

Readers (`status`, `groups`, `releases`, …) look into the store, and are never in a writer's way. Writers take turns.
Both keep what they have read of the records: what has been changed meanwhile is read, and nothing else.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import sqlalchemy as sa

from shoal.addresses import A_PATH, may_be_address
from shoal.audit import Audit
from shoal.cohorts.vacancies import VACANCIES
from shoal.errors import (
    BatchError,
    Doubtful,
    ParameterError,
    ShoalError,
    Unchanged,
    VaultBusy,
    VaultError,
    VerificationError,
)
from shoal.maintain import DEFAULT_MAINTAINER
from shoal.maintain.change import Change, changes_values
from shoal.maintain.extracts import changes_of
from shoal.optimize import DEFAULT_OPTIMIZER, check_optimizer, check_seconds
from shoal.privacy.requirements import PerColumn, Requirements
from shoal.progress import SILENT, Progress
from shoal.records.changes import ChangeBatch, read_keys
from shoal.records.extracts import MAX_DELETED, read_extract, too_many_deleted
from shoal.release import Release
from shoal.release.write import check_target
from shoal.schema import WINSORIZED, Role, Schema
from shoal.sources.normalize import as_text
from shoal.vault.facts import (
    Changed,
    Checked,
    Compacted,
    Diff,
    Entry,
    Erased,
    Logged,
    Optimized,
    Rebased,
    Replaced,
    SchemaChanged,
    Status,
)
from shoal.vault.lifecycle.backup import back_up, restore_vault
from shoal.vault.lifecycle.check import check_vault
from shoal.vault.lifecycle.commit import commit_batch
from shoal.vault.lifecycle.compact import compact_vault
from shoal.vault.lifecycle.create import HeldTo, create_vault
from shoal.vault.lifecycle.erase import any_ghost, receipt, unfinished
from shoal.vault.lifecycle.open import Opened, open_vault
from shoal.vault.lifecycle.rebase import rebase_vault
from shoal.vault.lifecycle.schema_change import NewColumns, change_schema
from shoal.vault.private_files import check_private, write_private
from shoal.vault.releases import history
from shoal.vault.releases.audited import audit_vault
from shoal.vault.releases.diff import difference
from shoal.vault.releases.gate import hold_against_history, refuse_leaving_safe
from shoal.vault.releases.log import BACKUP, PUBLISH, log_of
from shoal.vault.releases.prepare import Publication, prepare
from shoal.vault.releases.publish import recover, store_and_write, store_release
from shoal.vault.releases.status import look_at_everything, status_of
from shoal.vault.state.epoch import read_epoch
from shoal.vault.state.follow import follow
from shoal.vault.state.load import load as load_state
from shoal.vault.state.origin import ERASE, Origin, checked_origin, is_text, refuse_known_content, refuse_known_id
from shoal.vault.state.originals import originals
from shoal.vault.state.record_cache import RecordCache
from shoal.vault.state.republication import AUDIT, DEFAULT_MODE, NONE, SAFE, Republication, new_republication
from shoal.vault.state.schema_json import schema_facts
from shoal.vault.state.state import State
from shoal.vault.store.damage import readable
from shoal.vault.store.drafts import noted_draft
from shoal.vault.store.events import note_event, sum_events
from shoal.vault.store.vault_row import vault_row

WAIT = 10.0  # seconds for another writer


class Vault:
    """A durable home for a table that changes, and for its releases.

    >>> schema = Schema(columns={"id": {"role": "key"}, "age": {"role": "quasi-identifier", "type": "numeric"}})
    >>> people = [{"id": f"p{age}", "age": age} for age in range(20, 30)]
    >>> with Vault.create(":memory:", schema, k=3, data=people) as vault:
    ...     vault.insert([{"id": "p30", "age": 30}]).inserted
    ...     vault.publish().number
    1
    1
    """

    def __init__(self, opened: Opened, wait: float) -> None:
        """Use `Vault.create` or `Vault.open`."""
        self._store, self._epoch, self._hashing = opened.store, opened.epoch, opened.hashing
        self._state: State | None = opened.state
        self._keys_hashed, self._wait = opened.keys_hashed, wait
        self._turn = threading.RLock()  # of threads; processes take theirs in the store
        self._read_in_turn = threading.Lock()
        self._groups, self._originals = RecordCache("keys", "groups"), RecordCache("keys", "values")
        self._looked_at = -1  # the version of the records that `status` has held against their checksums
        self._closed = False

    # Making and opening

    @classmethod
    def create(
        cls,
        where: str | Path,
        schema: Schema | str | Path | Mapping[str, object],
        *,
        k: int,
        data: object = None,
        l: PerColumn | None = None,  # noqa: E741  # the interface's name
        t: PerColumn | None = None,
        diversity: str | Sequence[str] | Mapping[str, str | Sequence[str]] | None = None,
        c: float | None = None,
        alpha: float | Mapping[str, float | Mapping[str, float]] | None = None,
        method: str | None = None,
        measure: str = "il",
        maintainer: str = DEFAULT_MAINTAINER,
        republication: str = DEFAULT_MODE,
        max_hold: int | str | None = None,
        vacancies: str = VACANCIES[0],
        seed: int | None = None,
        key_secret: str | bytes | None = None,
        strict: bool = False,
        wait: float = WAIT,
        progress: Progress = SILENT,
        dry_run: bool = False,
    ) -> Vault:
        """Make a vault from a table (or an empty one), in a file, in memory or in PostgreSQL.

        `where`: a path, ":memory:" or "postgresql://user@host/database?schema=NAME". `method`: the static method for
        the first groups (the maintainer's own if unsaid). `key_secret`: keys are stored as keyed hashes, and whoever
        changes records needs it again. The rest is as for `shoal.anonymize`. `dry_run`: everything is tried in memory.

        `republication`: what is made of releases that follow others (`docs/safe.md`). "audit" refuses one that would
        say, together with those before, what none of them says alone. "safe" makes releases that never do: newcomers
        wait for company, at most `max_hold` releases (or days, as "30d"), and may take the places of people who have
        left (`vacancies`: "single", "pairs" or "off"). "none" looks at each release alone.

        Guarantee: the vault is there with all records, or an error is raised and nothing is.
        """
        _check_wait(wait)
        requirements = Requirements(k, l, t, diversity, c, alpha)
        choice = new_republication(republication, max_hold, vacancies)
        held_to = HeldTo(requirements, measure, maintainer, method, seed, choice)
        described = schema if isinstance(schema, Schema) else Schema.load(schema)
        rows = None if data is None else _given(data)
        made = create_vault(where, described, held_to, rows, key_secret, progress, dry_run=dry_run, strict=strict)
        return cls(made, wait)

    @classmethod
    def open(
        cls,
        where: str | Path,
        *,
        key_secret: str | bytes | None = None,
        wait: float = WAIT,
        schema: Schema | str | Path | Mapping[str, object] | None = None,
        k: int | None = None,
    ) -> Vault:
        """Open a vault. `schema` and `k`, if given, must be what it is held to: only `rebase` changes that."""
        _check_wait(wait)
        vault = cls(open_vault(where, key_secret, wait), wait)
        try:
            vault._refuse_other(schema, k)
        except BaseException:
            vault.close()
            raise
        return vault

    def _refuse_other(self, schema: Schema | str | Path | Mapping[str, object] | None, k: int | None) -> None:
        if k is not None and k != self.k:
            raise ParameterError(
                f"the vault keeps k = {self.k}, not {k}.", hint="Only shoal rebase changes that.", file=self.where
            )
        if schema is not None:
            given = schema if isinstance(schema, Schema) else Schema.load(schema)
            if schema_facts(given)["columns"] != schema_facts(self.schema)["columns"]:
                raise ParameterError(
                    "the vault has another schema: roles, types or hierarchies differ.",
                    hint="Only shoal rebase changes that.",
                    file=self.where,
                )

    @classmethod
    def restore(
        cls,
        backup: str | Path,
        where: str | Path,
        *,
        wait: float = WAIT,
        progress: Progress = SILENT,
        dry_run: bool = False,
    ) -> Vault:
        """Make a vault of a backup, in any store. It is checked as a whole before anybody can open it.

        `dry_run`: everything is tried, and the vault is in memory.
        """
        _check_wait(wait)
        return cls(restore_vault(backup, where, progress, dry_run=dry_run), wait)

    def close(self) -> None:
        """Let go of files and connections."""
        self._closed, self._state = True, None
        self._groups, self._originals = RecordCache("keys", "groups"), RecordCache("keys", "values")
        self._store.close()

    def __enter__(self) -> Vault:
        return self

    def __exit__(self, *problem: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Vault {self.where}, k = {self.k}>"

    def __getstate__(self) -> Any:
        raise VaultError("a vault does not travel: open it where it is needed.", file=self.where)

    # What it is

    @property
    def where(self) -> str:
        """Where it is; a password is never shown."""
        return self._store.where

    @property
    def schema(self) -> Schema:
        return self._epoch.schema

    @property
    def k(self) -> int:
        return self._epoch.k

    @property
    def source_position(self) -> str | None:
        """How far a source has been followed, as the last batch said."""
        with self._reading() as connection:
            found: str | None = vault_row(connection, self.where)["source_position"]
        return found

    def hashed(self, key: object) -> str:
        """The hash of a key, as `groups()` and `export()` show it."""
        if self._hashing is None:
            raise ParameterError("the vault was opened without a key secret.", hint="Open it with key_secret=….")
        (text,) = as_text("", pa.array([key]), ()).to_pylist()  # as a batch reads it: 1.0 is 1
        return self._hashing.of(text, Role.KEY)

    def status(self, *, drift: bool = False, progress: Progress = SILENT) -> Status:
        """How the vault stands. Raises VaultError if what it holds is damaged: nothing could be published of it.

        Whoever has the records in memory at this version has held them against their checksums; for others everything
        is, once for a version. `drift`: estimate, too, how much more is lost than if it were started again; for that
        all records are read.
        """
        if drift:
            self._refuse_closed()
            with self._turn:
                self._catch_up(progress)
                assert self._state is not None
                estimate = self._state.live.drift()
            return replace(self.status(), drift=estimate)
        with self._reading() as connection:
            version = vault_row(connection, self.where)["version"]
            if version not in (self._looked_at, -1 if self._state is None else self._state.version):
                look_at_everything(connection, self.where)
                self._looked_at = version
            return status_of(connection, self._store, keys_hashed=self._keys_hashed)

    def groups(self, output: str | Path | None = None, *, force: bool = False) -> pa.Table:
        """The group of every record: columns `key` and `group`. Stays with the holder.

        `output`: a .csv or .parquet file that is written as well, for its owner's eyes alone.
        """

        def made() -> pa.Table:
            with self._read_in_turn, self._reading() as connection:
                records = self._groups.now(connection, self.where)
                return pa.table({"key": records["key"], "group": records["group_id"]})

        return self._for_holder(made, output, force=force)

    def export(self, output: str | Path | None = None, *, force: bool = False) -> pa.Table:
        """Every record as it came, but for identifiers. Stays with the holder. `output` is as for `groups`."""

        def made() -> pa.Table:
            with self._read_in_turn, self._reading() as connection:
                epoch = read_epoch(connection, vault_row(connection, self.where)["epoch"], self.where)
                return originals(connection, epoch, self._originals.now(connection, self.where), self.where)

        return self._for_holder(made, output, force=force)

    def _sources(self) -> list[str]:
        """The files that releases are made from: none is written over them."""
        file = self._store.backend.file
        return [*([] if file is None else [str(file)]), *self._epoch.files]

    def _for_holder(self, make: Callable[[], pa.Table], output: str | Path | None, *, force: bool) -> pa.Table:
        """A table that nobody else may see; written, if asked for, so that only its owner can read it."""
        path = None if output is None else _path(output)
        if path is not None:
            check_private(path, force=force, sources=self._sources(), own=self._store.backend.file)
        table = make()
        if path is not None:
            write_private(self._store, table, path, force=force)
        return table

    def releases(self) -> list[Entry]:
        """The history, oldest first."""
        with self._reading() as connection:
            return history.entries(connection, self.where)

    def release(
        self,
        number: int,
        output: str | Path | None = None,
        *,
        force: bool = False,
        neutralize_formulas: bool = False,
    ) -> Release:
        """A release as it was published: the same rows in the same order.

        `output`: where to write it, as for `publish`.

        Guarantee: as for every `Release`, it has passed the verifier. A release that shows people who have been deleted
        since is refused with VaultError: `release_rows` has what is left of it.
        """
        with self._reading() as connection:
            again = history.released_again(connection, number, self.where, self._sources())
        if output is not None:
            again._write(
                output,
                force=force,
                neutralize_formulas=neutralize_formulas,
                drafts=partial(noted_draft, self._store),
            )
        return again

    def release_rows(self, number: int, output: str | Path | None = None, *, force: bool = False) -> pa.Table:
        """What is left of a release: its rows in their order, but for those of people who have been deleted since.

        Stays with the holder: it need not be k-anonymous, and beside the published file it shows who was deleted.
        `output` is as for `groups`.
        """

        def made() -> pa.Table:
            with self._reading() as connection:
                return history.rebuild(connection, number, self.where).table

        return self._for_holder(made, output, force=force)

    def log(self) -> list[Logged]:
        """Every batch, release, epoch, backup and erasure, oldest first: who and when; no values."""
        with self._reading() as connection:
            return log_of(connection, self.where)

    def diff(self, before: int, after: int) -> Diff:
        """What has become of one release in another."""
        with self._reading() as connection:
            return difference(connection, before, after, self.where)

    def audit(
        self,
        output: str | Path | None = None,
        *,
        including_next: bool = False,
        force: bool = False,
        progress: Progress = SILENT,
    ) -> Audit:
        """What the releases so far say together, and none of them alone.

        `including_next`: and what they would with one more, of the vault as it is now. `people_found` of what this
        returns says who comes out, by key and attack. It stays with the holder; `output` is as for `groups`.
        """
        found: list[Audit] = []

        def made() -> pa.Table:
            candidate = None
            if including_next:
                with self._writing(progress) as state:
                    with self._reading() as connection:
                        choice = Republication.from_row(vault_row(connection, self.where))
                    candidate = prepare(self._store, state, choice, progress, even_if_unchanged=True, strict=False)
            with self._reading() as connection:
                found.append(audit_vault(connection, self.where, progress, candidate))
            return found[0].people_found

        self._for_holder(made, output, force=force)
        return found[0]

    def check(self, progress: Progress = SILENT) -> Checked:
        """Look at everything that is stored."""
        self._refuse_closed()
        return check_vault(self._store, progress)

    # How it changes

    def insert(
        self,
        rows: object,
        *,
        upsert: bool = False,
        dry_run: bool = False,
        batch_id: str | None = None,
        again: bool = False,
        source_position: str | None = None,
        progress: Progress = SILENT,
    ) -> Changed:
        """Insert records: a file, a table, a frame, or a list of dicts. `upsert`: or update those whose key is there.

        `batch_id` and `again` are those of `apply`.
        """
        given = _given(rows)
        batch = ChangeBatch.of(self._schema_now(), inserts=None if upsert else given, upserts=given if upsert else None)
        origin = Origin("apply", batch_id, None, source_position, again)
        return self._change(batch, origin, dry_run=dry_run, progress=progress)

    def update(
        self,
        rows: object,
        *,
        dry_run: bool = False,
        batch_id: str | None = None,
        again: bool = False,
        source_position: str | None = None,
        progress: Progress = SILENT,
    ) -> Changed:
        """Replace records by what they are now, by their key. Columns that the rows do not have stay as they are."""
        origin = Origin("apply", batch_id, None, source_position, again)
        batch = ChangeBatch.of(self._schema_now(), updates=_given(rows))
        return self._change(batch, origin, dry_run=dry_run, progress=progress)

    def delete(
        self,
        keys: object,
        *,
        ignore_unknown: bool = False,
        dry_run: bool = False,
        batch_id: str | None = None,
        again: bool = False,
        source_position: str | None = None,
        progress: Progress = SILENT,
    ) -> Changed:
        """Delete records, and erase what they ever were: a list of keys, or a file or table with the key column.

        `ignore_unknown`: keys that no record has are counted, not refused.
        """
        origin = Origin("apply", batch_id, None, source_position, again)
        batch = ChangeBatch.of(self._schema_now(), deletes=self._keys(keys))
        batch = replace(batch, ignore_unknown=ignore_unknown)
        return self._change(batch, origin, dry_run=dry_run, progress=progress)

    def apply(
        self,
        changes: object,
        *,
        ignore_unknown: bool = False,
        dry_run: bool = False,
        batch_id: str | None = None,
        again: bool = False,
        source_position: str | None = None,
        progress: Progress = SILENT,
    ) -> Changed:
        """Apply a batch: a ChangeBatch, or a file or table with a column `op` (insert, update, upsert, delete).

        `batch_id`: a name for the batch; one that was applied before is refused with Doubtful, as is the same content
        where it would fail or change nothing. `again`: apply it all the same. `ignore_unknown`: deletes of keys that no
        record has are counted, not refused. `source_position` is kept with the batch: whoever follows a source finds
        there how far he has come.

        Guarantee: when this returns, all of the batch lasts, through a crash of the machine too. If it raises, nothing
        of it does (or, where the connection was lost at the last moment, all of it: `status().version` tells).
        """
        if not isinstance(changes, ChangeBatch):
            changes = ChangeBatch.from_table(_given(changes), self._schema_now())
        elif schema_facts(changes.schema) != schema_facts(self._schema_now()):
            raise ParameterError("the batch was made for another schema.")
        batch = replace(changes, ignore_unknown=ignore_unknown or changes.ignore_unknown)
        origin = Origin("apply", batch_id, None, source_position, again)
        return self._change(batch, origin, dry_run=dry_run, progress=progress)

    def replace(
        self,
        table: object,
        *,
        max_deleted: float = MAX_DELETED,
        dry_run: bool = False,
        batch_id: str | None = None,
        again: bool = False,
        source_position: str | None = None,
        progress: Progress = SILENT,
    ) -> Replaced:
        """Make the records those of a full extract: what is new is inserted, what differs updated, the rest deleted.

        `max_deleted`: an extract that would delete a larger share of the records is refused with Doubtful; it may not
        be complete. The rest is as for `apply`: one batch, all or nothing.
        """
        if isinstance(max_deleted, bool) or not isinstance(max_deleted, int | float) or not 0 <= max_deleted <= 1:
            raise ParameterError(f"max_deleted must be a share from 0 to 1. Got {max_deleted!r} instead.")
        progress.stage("reading")
        schema = self._schema_now()
        extract = read_extract(schema, _given(table))
        if self._hashing is not None:
            extract = self._hashing.table(extract, schema)
        origin = Origin("replace", batch_id, None, source_position, again)
        self._refuse_without_secret()
        with self._writing(progress) as state:
            self._refuse_other_columns(schema, state)
            progress.stage("comparing")
            rules = state.live.settings.rules
            found = changes_of(extract, state.live.table, {rule.column for rule in rules})
            most = found.deleted <= max_deleted * len(state.live)
            if not most and not dry_run:
                raise too_many_deleted(found.deleted, len(state.live), max_deleted, self.where)
            changed = self._changed(state, found.batch, origin, dry_run=dry_run, progress=progress)
            return Replaced(**changed.facts(), rows=found.rows, unchanged=found.unchanged, too_many_deleted=not most)

    def erase(
        self,
        keys: object,
        *,
        ignore_unknown: bool = False,
        batch_id: str | None = None,
        again: bool = False,
        dry_run: bool = False,
        progress: Progress = SILENT,
    ) -> Erased:
        """Delete records for good: as `delete`, then as `compact`; and a receipt that says what is left where.

        Guarantee: when this returns, neither the vault nor old copies of its pages hold anything of them but what the
        receipt says. If it raises, nothing has changed; but for Unfinished: the records are deleted, all of them, and
        what could not be done is compacting. Erasing them once more (`ignore_unknown`) does the rest.
        """
        batch = replace(ChangeBatch.of(self._schema_now(), deletes=self._keys(keys)), ignore_unknown=ignore_unknown)
        before = self.releases()
        origin = Origin(ERASE, batch_id, again=again)
        changed = self._change(batch, origin, dry_run=dry_run, progress=progress)
        if dry_run:
            return self._receipt(changed, before, compacted=False)
        try:
            self.compact()
            return self._receipt(changed, before, compacted=True)
        except ShoalError as problem:
            failed = problem
        found = None
        with suppress(ShoalError):
            found = self._receipt(changed, before, compacted=False)
        raise unfinished(changed, failed, found, self.where)

    def _receipt(self, changed: Changed, before: Sequence[Entry], *, compacted: bool) -> Erased:
        """`before`: the history before the erasure."""
        stands = self.status()
        declared = {n for n, column in self.schema.columns.items() if column.domain not in (None, WINSORIZED)}
        domains = {name: ends for name, ends in self._epoch.domains.items() if name not in declared}
        with self._reading() as connection:
            has_ghosts = any_ghost(connection)
        return receipt(
            changed,
            before,
            self.releases(),
            self.log(),
            domains,
            stands.records,
            keeps_places=stands.republication != NONE,
            has_ghosts=has_ghosts,
            compacted=compacted,
        )

    def optimize(
        self,
        how: str = DEFAULT_OPTIMIZER,
        *,
        max_seconds: float | None = None,
        dry_run: bool = False,
        progress: Progress = SILENT,
    ) -> Optimized:
        """Lower the loss of the groups; what is asked of them still holds.

        They are made anew where that loses clearly less than refining them.

        `max_seconds`: the time that there is for it. It is used up unless nothing is left to gain, and what comes of it
        depends on the machine.
        """
        check_optimizer(how, needed=True)
        check_seconds("max_seconds", max_seconds)
        with self._writing(progress) as state:
            before = state.live.loss()
            with state.live.optimizing(how, progress, max_seconds) as change:
                after = state.live.loss()
                if not dry_run and len(change.applied.moved):
                    self._keep(state, change, Origin("optimize"))
            return Optimized(state.version, before, after, dry_run)

    def _change(self, batch: ChangeBatch, origin: Origin, *, dry_run: bool, progress: Progress) -> Changed:
        self._refuse_without_secret()
        with self._writing(progress) as state:
            self._refuse_other_columns(batch.schema, state)
            batch = replace(batch, schema=state.live.schema)  # another may have rebased the vault meanwhile
            if self._hashing is not None:
                batch = self._hashing.batch(batch)
            return self._changed(state, batch, origin, dry_run=dry_run, progress=progress)

    def _schema_now(self) -> Schema:
        """The schema that whatever is given now is read with: another may have changed it."""
        with self._reading() as connection:
            number = vault_row(connection, self.where)["epoch"]
            if number != self._epoch.number:
                self._epoch = read_epoch(connection, number, self.where)
        return self._epoch.schema

    def _refuse_other_columns(self, read_with: Schema, state: State) -> None:
        """Another has changed the schema while a table was read: a column of it may have been passed over."""
        if read_with.columns.keys() != state.live.schema.columns.keys():
            raise VaultBusy("another process has changed the schema meanwhile.", hint="Do it again.", file=self.where)

    def _refuse_without_secret(self) -> None:
        if self._hashing is None and self._keys_hashed:
            raise VaultError(
                "this vault stores hashes of keys: changes need its key secret.",
                hint="Give it with --key-secret-file (in Python, Vault.open(…, key_secret=…)).",
                file=self.where,
            )

    def _changed(
        self, state: State, batch: ChangeBatch, origin: Origin, *, dry_run: bool, progress: Progress
    ) -> Changed:
        """A batch whose keys are as they are stored, applied."""
        origin = checked_origin(origin, batch)
        version = state.version
        with self._store.read() as connection:
            refuse_known_id(connection, origin, self.where)
        try:
            with state.live.changing(batch, progress) as change:
                if origin.kind != ERASE and not changes_values(state.live.table, change.applied):
                    self._refuse_known_content(origin)
                if not dry_run:
                    self._keep(state, change, origin)
        except BatchError:
            self._refuse_known_content(origin)
            raise
        applied = change.applied
        counts = applied.inserted, applied.updated, applied.deleted
        version = version + 1 if dry_run else state.version
        ignored = applied.arrivals.ignored
        return Changed(version, *counts, len(applied.groups), len(applied.moved), dry_run, ignored)

    def _refuse_known_content(self, origin: Origin) -> None:
        with self._store.read() as connection:
            refuse_known_content(connection, origin, self.where)

    def _keep(self, state: State, change: Change, origin: Origin) -> None:
        """Make a change last: in the store first, then in memory."""
        commit_batch(self._store, state, change.applied, origin)
        self._epoch = state.epoch
        change.accept()

    def publish(
        self,
        output: str | Path | None = None,
        *,
        republication: str | None = None,
        max_hold: int | str | None = None,
        vacancies: str | None = None,
        accept_findings: bool = False,
        even_if_unchanged: bool = False,
        strict: bool = False,
        neutralize_formulas: bool = False,
        force: bool = False,
        dry_run: bool = False,
        progress: Progress = SILENT,
    ) -> Release:
        """Recode, verify, audit, store, and write to `output` (.csv or .parquet, with its manifest) if one is given.

        `republication`, `max_hold`, `vacancies`: another choice for the vault, from this release on: see `create`.
        `accept_findings`: publish although the audit finds somebody; history and manifest say so.
        `strict` refuses columns that would act as keys; `neutralize_formulas` is that of `Release.write`.

        Guarantee: the release has passed `shoal.verify` (where releases are safe together, closeness is that of each
        cohort to the table when it began), and is in the history when this returns; together with those
        before it says of nobody what it does not say alone, as far as `republication` asks for that. If it raises,
        neither the history nor the disk has anything of it. (Should the file not get its name at the last moment,
        because it is taken or the disk fails, the release is in the history, and the error says so.)
        """
        path = None if output is None else _path(output)
        if path is not None:
            check_target(path, force=force, sources=self._sources())
        with self._writing(progress) as state:
            publication = self._prepared(
                state,
                progress,
                (republication, max_hold, vacancies),
                even_if_unchanged=even_if_unchanged,
                strict=strict,
                accept_findings=accept_findings,
            )
            if not dry_run and path is None:
                store_release(self._store, publication, progress)
            elif not dry_run and path is not None:
                store_and_write(
                    self._store, publication, path, progress, force=force, neutralize_formulas=neutralize_formulas
                )
            if not dry_run:
                note_event(self._store, PUBLISH, in_turn=True, release=publication.release.number)
            return publication.release

    def _prepared(
        self,
        state: State,
        progress: Progress,
        other: tuple[str | None, int | str | None, str | None],
        *,
        even_if_unchanged: bool,
        strict: bool,
        accept_findings: bool,
    ) -> Publication:
        """The next release, and nothing stands in its way. `other`: another choice for the vault."""
        with self._reading() as connection:
            before = Republication.from_row(vault_row(connection, self.where))
            choice = before.changed(*other)
            if before.mode == SAFE != choice.mode:
                refuse_leaving_safe(connection, self.where)
        publication = prepare(
            self._store,
            state,
            choice,
            progress,
            even_if_unchanged=even_if_unchanged,
            strict=strict,
            switching=choice.mode != before.mode,
        )
        placement = publication.placement
        forgotten = placement is not None and placement.unknown_past
        if choice.mode == AUDIT or (choice.mode == SAFE and before.mode != SAFE and forgotten):
            with self._reading() as connection:
                hold_against_history(connection, self.where, publication, progress, accept=accept_findings)
        return publication

    def rebase(
        self,
        *,
        k: int | None = None,
        schema: Schema | str | Path | Mapping[str, object] | None = None,
        l: PerColumn | None = None,  # noqa: E741  # the interface's name
        t: PerColumn | None = None,
        diversity: str | Sequence[str] | Mapping[str, str | Sequence[str]] | None = None,
        c: float | None = None,
        alpha: float | Mapping[str, float | Mapping[str, float]] | None = None,
        clear_rules: bool = False,
        method: str | None = None,
        measure: str | None = None,
        maintainer: str | None = None,
        seed: int | None = None,
        break_guarantee: bool = False,
        dry_run: bool = False,
        progress: Progress = SILENT,
    ) -> Rebased:
        """Begin a new epoch: groups from scratch, domains and frequencies from the records as they are now.

        Where releases are safe together ("safe"), those of the new epoch are not with those before: that wants
        `break_guarantee`.

        What is not given stays as it was; of l, t, diversity, c and alpha, if one is given all are replaced, and
        `clear_rules` drops them.
        """
        requirements = Requirements(self.k, l, t, diversity, c, alpha)  # k is that of the epoch, if none is given
        if clear_rules and requirements.more_than_k:
            raise ParameterError("clear_rules drops all rules: give new ones or drop them, not both.")
        schema = None if schema is None else _schema(schema)
        changes = {
            "k": k,
            "schema": schema,
            "requirements": requirements if clear_rules or requirements.more_than_k else None,
            "method": method,
            "measure": measure,
            "maintainer": maintainer,
            "seed": seed,
        }
        with self._writing(progress, load=False):
            state, rebased = rebase_vault(
                self._store, changes, progress, break_guarantee=break_guarantee, dry_run=dry_run
            )
            if not dry_run:
                self._state, self._epoch = state, state.epoch
            return rebased

    def change_schema(
        self,
        schema: Schema | str | Path | Mapping[str, object],
        *,
        data: object = None,
        defaults: Mapping[str, object] | None = None,
        renamed: Mapping[str, str] | None = None,
        dry_run: bool = False,
        progress: Progress = SILENT,
    ) -> SchemaChanged:
        """Another schema for the same records. What each change needs is said, and done: nothing, re-measuring (groups
        stay, losses are measured anew, groups that do not have what is asked now are mended), or a new epoch.

        `data`: a file, table or frame with the key and the new columns; `defaults`: the value of a new column for
        records that `data` says nothing of. `renamed`: new names by old ones.

        Guarantee: all of it lasts when this returns, or nothing has changed. Every release can be rebuilt as before.
        """
        described = _schema(schema)
        new_names = dict(_by_name("renamed", renamed))
        if not all(isinstance(name, str) for name in new_names.values()):
            raise ParameterError("renamed gives new names by old ones: both are texts.")
        given = NewColumns(_given(data), _by_name("defaults", defaults), new_names)
        if data is not None:
            self._refuse_without_secret()
        with self._writing(progress) as state:
            new, changed = change_schema(self._store, state, described, given, self._hashing, progress, dry_run=dry_run)
            self._state, self._epoch = new, new.epoch
            return changed

    def compact(self, *, dry_run: bool = False) -> Compacted:
        """Give back room, and forget what was deleted for good: see `docs/vault.md` for what that means where."""
        if dry_run:
            with self._reading() as connection:
                return Compacted(self._store.backend.size(connection), None, dry_run=True)
        with self._writing(SILENT, load=False):
            return compact_vault(self._store)

    def backup(self, path: str | Path, *, force: bool = False, progress: Progress = SILENT) -> Path:
        """A copy of one moment as a vault file of its own, while others read and write."""
        self._refuse_closed()
        path = _path(path)
        back_up(self._store, path, progress, sources=self._sources(), force=force)
        note_event(self._store, BACKUP, in_turn=False, file=str(path.absolute()))
        return path

    # Turns

    @contextmanager
    def _reading(self) -> Iterator[sa.Connection]:
        self._refuse_closed()
        with readable(self.where), self._store.read() as connection:
            yield connection

    @contextmanager
    def _writing(self, progress: Progress, *, load: bool = True) -> Iterator[Any]:
        """The writer's turn, with the records in memory as they are now."""
        self._refuse_closed()
        with self._turn, self._store.writer(self._wait):
            with readable(self.where):
                recover(self._store)
                sum_events(self._store)
            try:
                if load:
                    self._catch_up(progress)
                yield self._state
            except (
                BatchError,
                Doubtful,
                ParameterError,
                Unchanged,
                VerificationError,
            ):  # refused before anything was done
                raise
            except BaseException:
                self._state = None  # whether it lasts is for the store to say
                raise

    def _catch_up(self, progress: Progress) -> None:
        with readable(self.where), self._store.read() as connection:
            if self._state is None:
                self._state = load_state(connection, self.where, progress)
            else:
                self._state = follow(connection, self._state, self.where)
            self._epoch = self._state.epoch

    def _refuse_closed(self) -> None:
        if self._closed:
            raise VaultError("the vault has been closed.", hint="Open it again.", file=self.where)

    def _keys(self, given: object) -> Iterable[object]:
        """Keys from a list, or from the key column of a file or table."""
        if isinstance(given, pa.Array | pa.ChunkedArray):
            return given
        if isinstance(given, str | Path) or hasattr(given, "__arrow_c_stream__"):
            return read_keys(self._schema_now(), given)
        if not isinstance(given, Iterable):
            raise ParameterError("delete takes a list of keys, or a file or table with the key column.")
        return given


def _check_wait(given: object) -> None:
    if isinstance(given, bool) or not isinstance(given, int | float) or not given >= 0:
        raise ParameterError(f"wait must be a number of seconds. Got {given!r} instead.")


def _schema(given: Schema | str | Path | Mapping[str, object]) -> Schema:
    if isinstance(given, Schema):
        return given
    return Schema.load(given if isinstance(given, Mapping) else _path(given))


def _path(given: object) -> Path:
    if not isinstance(given, str | Path) or "\0" in str(given) or not is_text(str(given)):
        raise ParameterError(f"this must be the path of a file. Got {type(given).__name__} instead.")
    if may_be_address(given):
        raise ParameterError("a file is wanted here, and this looks like the URL of a database.", hint=A_PATH)
    return Path(given)


def _by_name(what: str, given: object) -> Mapping[str, Any]:
    """Something for each of some columns; nothing, if nothing is given."""
    if given is None:
        return {}
    if not isinstance(given, Mapping) or not all(isinstance(name, str) for name in given):
        raise ParameterError(f"{what} must be a dict by the names of columns. Got {type(given).__name__} instead.")
    return given


def _given(rows: object) -> object:
    """No rows at all are nothing to read."""
    return None if isinstance(rows, list | tuple) and not rows else rows
