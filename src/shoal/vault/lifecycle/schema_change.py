"""Another schema for the same records, groups and history: only what a change needs is done.

Columns come, go and get other names, hierarchies grow and are corrected, domains widen; the groups stay. Where more is
asked than before (a new sensitive column), groups that do not have it are mended, and only those. What releases show
stays as it was: their rows are rebuilt by the names and types that they had. Where a published cell would change, or
a role or type does, a new epoch is needed, as with `rebase`: groups from scratch.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import sqlalchemy as sa

from shoal.boxes.geometry import group_boxes, without_gaps
from shoal.maintain.live import LivePartition
from shoal.privacy.requirements import Requirements
from shoal.progress import Progress
from shoal.records.cells import cell_texts
from shoal.records.codebook import CodeBook, Codes, make_codebook
from shoal.records.growing import restart
from shoal.schema import PUBLISHED, Role, Schema
from shoal.vault.facts import SchemaChanged, SchemaStep
from shoal.vault.keys import KeyHash
from shoal.vault.lifecycle.new_values import values_for
from shoal.vault.lifecycle.rebase import end_places, replace_all, settings_changed, thaw
from shoal.vault.lifecycle.schema_places import refuse_unsafe, rename_in_past, renamed
from shoal.vault.lifecycle.schema_plan import NEW_EPOCH, REMEASURING, most_needed, new_columns, plan_of
from shoal.vault.lifecycle.schema_shown import refuse_taken, shown_with
from shoal.vault.state.codebooks import typed
from shoal.vault.state.dictionary import Dictionary, Value
from shoal.vault.state.epoch import Epoch
from shoal.vault.state.frozen import outside
from shoal.vault.state.load import load, load_records
from shoal.vault.state.origin import Origin
from shoal.vault.state.originals import originals
from shoal.vault.state.passthrough import check_types, encode
from shoal.vault.state.record_cache import RecordCache
from shoal.vault.state.save import Saving, save_changes
from shoal.vault.state.start import save_all, started
from shoal.vault.state.state import State
from shoal.vault.store import tables
from shoal.vault.store.integrity import stored_sums
from shoal.vault.store.queries import chunks
from shoal.vault.store.rows import as_json
from shoal.vault.store.store import Store
from shoal.vault.store.vault_row import refuse_newer, update_vault_row, vault_row

KIND = "schema-change"


class NewColumns(NamedTuple):
    """What is said of the columns beside the schema."""

    data: object  # a file, table or frame with the key and new columns; None: there is none
    defaults: Mapping[str, object]  # of new columns
    renamed: Mapping[str, str]  # new names by old ones


class _Undone(Exception):
    """Tried, and taken back."""


def change_schema(
    store: Store,
    state: State,
    schema: Schema,
    given: NewColumns,
    hashing: KeyHash | None,
    progress: Progress,
    *,
    dry_run: bool,
) -> tuple[State, SchemaChanged]:
    """The vault with another schema; the caller has the writer's turn.

    Guarantee: all of it lasts when this returns, or an error is raised and nothing has changed.
    """
    steps = plan_of(state.epoch.schema, schema, given.renamed)
    new = settings_changed(state.epoch, {"schema": schema})
    new = replace(new, requirements=_renamed_requirements(state.epoch.requirements, given.renamed))
    new.settings()  # says what is wrong with it
    keys = pa.array(list(state.live.keys), pa.string())
    added = values_for(new_columns(steps, schema), schema, keys, given.data, given.defaults, hashing)
    slots = np.fromiter(state.live.keys.values(), np.int64, len(keys))
    order = pa.array(np.argsort(slots, kind="stable"))  # of the slots, which is that of the stored records
    added = {name: column.take(order) for name, column in added.items()}
    check_types(pa.table(added))
    change = _Change(store, state, new, given.renamed, added)
    steps = change.judged(steps)
    before, needs = state.live.loss(), most_needed(steps)
    if not steps:
        return state, _facts(state, state, steps, needs, before, 0, dry_run=dry_run)
    with store.read() as connection:
        if needs == NEW_EPOCH or change.new_passthrough:
            refuse_unsafe(connection, store.where)
        change.refuse_taken(connection)
    progress.stage("storing")
    done = state
    moved = 0
    try:
        with store.write() as connection:
            refuse_newer(vault_row(connection, store.where), state.version, store.where)
            if needs == NEW_EPOCH:
                done, moved = change.group_anew(connection, progress), len(state.live)
            else:
                done, moved = change.keep_groups(connection, progress)
            if dry_run:
                raise _Undone
    except _Undone:
        pass
    return (state if dry_run else done), _facts(state, done, steps, needs, before, moved, dry_run=dry_run)


def _facts(
    old: State, new: State, steps: list[SchemaStep], needs: str, before: float, moved: int, *, dry_run: bool
) -> SchemaChanged:
    standing = new.live.standing()
    return SchemaChanged(
        version=new.version,
        epoch=new.epoch.number,
        steps=steps,
        needs=needs,
        records=len(new.live),
        groups=standing.groups,
        moved=moved,
        loss_before=before,
        loss=standing.loss,
        dry_run=dry_run,
    )


def _renamed_requirements(asked: Requirements, renamed: Mapping[str, str]) -> Requirements:
    """What is asked of columns that have other names now."""
    options: dict[str, Any] = {
        name: {renamed.get(column, column): value for column, value in given.items()}
        for name, given in asked.options().items()
        if isinstance(given, Mapping)
    }
    return replace(asked, **options)


class _Change:
    """One change of a schema. `added`: the new columns, in the order of the stored records."""

    def __init__(
        self, store: Store, state: State, epoch: Epoch, renamed: Mapping[str, str], added: Mapping[str, pa.Array]
    ) -> None:
        self.store, self.state, self.epoch, self.added = store, state, epoch, dict(added)
        self.old, self.new = state.epoch.schema, epoch.schema
        self.renamed = dict(renamed)
        self.before = {renamed.get(name, name): name for name in self.old.columns}  # the old name of each new one
        self.new_passthrough = any(name in self.added for name in self._carried())

        self.copied = {new: old for old, new in self.renamed.items() if new in self._carried()}

    # What it needs

    def refuse_taken(self, connection: sa.Connection) -> None:
        """Raise SchemaError if a column would get a name that releases show another one by."""
        before = {new: old for old, new in self.renamed.items()}
        refuse_taken(connection, [*self.added, *before], before, self.new.source)

    def judged(self, steps: list[SchemaStep]) -> list[SchemaStep]:
        """Where a hierarchy is another one: does any published cell change?"""
        live = self.state.live
        found = []
        for step in steps:
            name = step.column
            if step.needs == REMEASURING and "hierarchy" in step.change and name in self.new.quasi_identifiers:
                j = self.old.quasi_identifiers.index(self.before[name])
                if not self._same_cells(live, j, *self._book(name)):
                    step = replace(step, change=f"{step.change}: published cells change", needs=NEW_EPOCH)
            found.append(step)
        return found

    def _same_cells(self, live: LivePartition, j: int, book: CodeBook, codes: Codes) -> bool:
        """Whether every group is published as before in a column that has another book."""
        alive = live.alive()
        if not len(alive):
            return True
        labels = without_gaps(live.labels[alive])
        shown = []
        for known, values in ((live.books[j], live.codes[alive, j]), (book, codes)):
            lo, hi, _ = group_boxes(values[:, None], labels, int(labels.max()) + 1)
            texts, cells = cell_texts(known, lo[:, 0], hi[:, 0], values, labels)
            shown.append([texts[cell] for cell in cells.tolist()])
        return shown[0] == shown[1]

    def _book(self, name: str) -> tuple[CodeBook, Codes]:
        """The book of a quasi-identifier in the new schema, measured now, and the codes of the stored records."""
        column, live = self.new.columns[name], self.state.live
        if name in self.added:
            return make_codebook(name, column, pa.chunked_array([self.added[name]]), self.new.missing)
        j, alive = self.old.quasi_identifiers.index(self.before[name]), live.alive()
        old, codes = live.books[j], live.codes[alive, j]
        if old.column.grower == column.grower:
            return restart(replace(old, name=name, column=column), codes), codes
        texts = pa.array([None, *old.texts], pa.string()).take(pa.array(codes))
        return make_codebook(name, column, typed(column, texts.to_pylist()), self.new.missing)

    def _measured_anew(self) -> list[str]:
        """Quasi-identifiers whose values are stored anew."""
        return [
            name
            for name in self.new.quasi_identifiers
            if name in self.added
            or self.old.columns[self.before[name]].grower != self.new.columns[name].grower
            or self.old.columns[self.before[name]].domain != self.new.columns[name].domain
        ]

    # The groups stay

    def keep_groups(self, connection: sa.Connection, progress: Progress) -> tuple[State, int]:
        """Write what has changed; mend groups that do not have what is asked now. How many records have moved."""
        store, where = self.store, self.store.where
        row = vault_row(connection, where)
        saving = Saving(store, connection, row, Origin(KIND))
        if self.new_passthrough:
            end_places(saving)  # nobody says what those who have left would have in a new column
        stored = load_records(connection, self.state.epoch, stored_sums(row), where, progress)
        anew = {name: self._book(name) for name in self._measured_anew()}
        next_values = json.loads(row["next_values"])
        cells = np.zeros((len(stored.ids), len(self.new.quasi_identifiers)), np.int32)
        values: list[Value] = []
        for j, name in enumerate(self.new.quasi_identifiers):
            if name not in anew:
                cells[:, j] = stored.cells[:, self.old.quasi_identifiers.index(self.before[name])]
                continue
            book, codes = anew[name]
            column = Dictionary(self.new)
            column.columns = [column.columns[j]]
            column.continue_at({name: next_values.get(self.before.get(name, name), 1)})  # no number is used again
            (turnover,) = column.turnover([book], codes[:, None], codes[:0, None])
            cells[:, j] = turnover.come_ids
            values += column.frequencies([book], [turnover])
            next_values[name] = column.next_ids([turnover])[name]
        self._write_dictionary(saving, values, set(anew))
        self._write_records(saving, cells, stored.passthrough)
        epoch = self._epoch(anew, saving.version, stored.passthrough)
        thaw(saving)
        saving.save_epoch(epoch)
        kept = {
            name: next_values[name if name in anew else self.before[name]] for name in epoch.schema.quasi_identifiers
        }
        update_vault_row(connection, where, epoch=epoch.number, next_values=as_json(kept))
        state = load(connection, where, progress)
        live = state.live
        if len(live) and self.state.live.partition().publishable:
            live.refuse_infeasible()
        saving.log(KIND, (0, 0, 0), live, outside(live), None)
        saving.finish()
        state.version = saving.version
        return state, self._mended(connection, state, progress)

    def _mended(self, connection: sa.Connection, state: State, progress: Progress) -> int:
        """Groups that do not have what is asked now take in others."""
        live = state.live
        if not len(live) or live.partition().publishable:
            return 0
        with live.mending(progress) as change:
            if len(change.applied.moved):
                saving = Saving(self.store, connection, vault_row(connection, self.store.where), Origin(KIND))
                turnovers = save_changes(saving, state, change.applied, KIND)
                saving.finish()
                state.dictionary.take(turnovers)
                state.version = saving.version
            change.accept()
        return len(change.applied.moved)

    def _write_dictionary(self, saving: Saving, values: list[Value], anew: set[str]) -> None:
        """Values of columns that are measured anew, or have gone, are replaced; others keep their numbers."""
        table = tables.dictionary
        staying = {self.before[name]: name for name in self.new.quasi_identifiers if name not in anew}
        kept = [
            value._replace(name=staying[value.name])
            for columns in chunks(saving.connection, table, tables.VALUE)
            for value in map(Value._make, zip(*columns, strict=True))
            if value.name in staying
        ]
        saving.store.clear(saving.connection, table)
        saving.store.insert(saving.connection, table, tables.VALUE, [*kept, *values])

    def _write_records(self, saving: Saving, cells: Codes, passthrough: pa.Table) -> None:
        """Cells by the new quasi-identifiers; passthrough columns by their new names.

        What a release shows of a record that is as it was is rebuilt from its row: under the old names, too. Of what is
        dropped, and no release has shown of a record, nothing stays.
        """
        connection, table = saving.connection, tables.records
        shown = shown_with(connection, self._dropped())
        rename_in_past(saving, self.copied, shown)
        width = 4 * cells.shape[1]
        packed = np.ascontiguousarray(cells, "<i4").tobytes()
        news = {name: self.added[name].cast(pa.string()).to_pylist() for name in self._carried() if name in self.added}
        changed, at = [], 0
        for ids, texts in chunks(connection, table, ["id", "carried"]):
            for number, text in zip(ids, texts, strict=True):
                gone = [name for name, one in shown.items() if number not in one.records]
                values = json.loads(renamed(text, self.copied, gone)) | {name: news[name][at] for name in news}
                changed.append((number, packed[at * width : (at + 1) * width], encode(values)))
                at += 1
        saving.store.update(connection, table, ("id", "cells", "carried"), changed)

    def _dropped(self) -> list[str]:
        """Names that passthrough columns have had until now, and do not have any more."""
        names = self.old.names(Role.SENSITIVE, Role.INSENSITIVE)
        return [name for name in names if name in self.renamed or name not in self._carried()]

    def _carried(self) -> list[str]:
        return self.new.names(Role.SENSITIVE, Role.INSENSITIVE)

    def _epoch(self, anew: Mapping[str, tuple[CodeBook, Codes]], version: int, passthrough: pa.Table) -> Epoch:
        old = self.state.epoch
        types = {field.name: field.type for field in passthrough.schema}
        known = {name: types[self.before[name]] for name in self._carried() if self.before.get(name) in types}
        known |= {name: self.added[name].type for name in self._carried() if name in self.added}
        domains = {
            name: old.domains[self.before[name]]
            for name in self.new.quasi_identifiers
            if self.before.get(name) in old.domains and name not in anew
        }
        domains |= {name: book.domain for name, (book, _) in anew.items() if book.domain is not None}
        order = [self.renamed.get(name, name) for name in old.order]
        order = [name for name in order if name in self.new.published]
        order += [name for name in self.new.published if name not in order]
        return replace(
            self.epoch,
            version=version,
            passthrough=pa.schema([(name, known[name]) for name in self._carried()]),
            order=order,
            domains=domains,
            reference=None,
        )

    # Groups from scratch

    def group_anew(self, connection: sa.Connection, progress: Progress) -> State:
        """A new epoch, as `rebase` begins one, with the columns that there are now."""
        store, where = self.store, self.store.where
        row = vault_row(connection, where)
        records = RecordCache("keys", "values").now(connection, where)
        table = originals(connection, self.state.epoch, records, where)
        table = table.rename_columns([self.renamed.get(name, name) for name in table.column_names])
        kept = [name for name in table.column_names if name in self.new.names(*PUBLISHED, Role.KEY, Role.PERSON)]
        table = table.select(kept)
        for name, column in self.added.items():
            table = table.append_column(name, column)
        state = started(self.epoch, table, row["version"], progress)
        if len(state.live):
            state.live.refuse_infeasible()
        saving = Saving(store, connection, row, Origin(KIND))
        end_places(saving)
        replace_all(saving, state.epoch.schema)
        rename_in_past(saving, self.copied, shown_with(connection, self._dropped()))
        numbers = save_all(saving, state, row["next_id"], KIND)
        saving.finish(epoch=state.epoch.number, **numbers)
        return state
