"""Making it last: what has been done in memory, in one transaction. The caller has the writer's turn."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from shoal.maintain.change import Applied
from shoal.progress import Progress
from shoal.vault.carried import check_types
from shoal.vault.erasing import erased
from shoal.vault.facts import Rebased
from shoal.vault.labels import forget_unused
from shoal.vault.loading import State, current_epoch, stands
from shoal.vault.reading import Followed
from shoal.vault.rebasing import check_columns, originals, replace_all, save_all, settings_changed, started
from shoal.vault.saving import Saving, frozen, refuse_newer, restand, save_changes, with_types
from shoal.vault.settings import as_json
from shoal.vault.store import Store


def keep(store: Store, state: State, applied: Applied, kind: str, source_position: str | None) -> None:
    """What a batch has done to the live partition of a state; afterwards the state is of the version that lasts."""
    live = state.live
    if not len(applied.moved) and not len(applied.gone):
        if source_position is not None:
            with store.write() as connection:
                refuse_newer(stands(connection, store.where), state.version, store.where)
                restand(connection, store.where, source_position=source_position)
        return
    check_types(applied.arrivals.carried)
    slots = live.alive()
    with store.write() as connection:
        stand = stands(connection, store.where)
        refuse_newer(stand, state.version, store.where)
        saving = Saving(store, connection, stand)
        turnovers = save_changes(saving, state, applied, kind)
        forget_unused(saving, lambda groups: live.ids[slots[np.isin(live.labels[slots], groups)]])
        epoch = with_types(state.epoch, applied.arrivals.carried)
        if live.epoch != state.epochs_begun:  # there were too few records before: domains and frequencies are new
            epoch = frozen(epoch, live, saving.version)
            saving.rewrite_dictionary(live.books, turnovers, state.dictionary)
        elif (reference := erased(epoch, live, saving.gone)) is not epoch.reference:
            epoch = replace(epoch, reference=reference)
        if epoch is not state.epoch:
            saving.save_epoch(epoch)
        changed: dict[str, object] = {
            "version": saving.version,
            "next_id": live.table.next_id,
            "next_values": as_json(state.dictionary.next_ids(turnovers)),
        }
        if source_position is not None:
            changed["source_position"] = source_position
        saving.stand(**changed)
    state.dictionary.take(turnovers)
    state.version, state.epoch, state.epochs_begun = saving.version, epoch, live.epoch


def rebase(store: Store, changes: Mapping[str, Any], progress: Progress, *, dry_run: bool) -> tuple[State, Rebased]:
    """A new epoch of the vault."""
    with store.read() as connection:
        stand = stands(connection, store.where)
        old = current_epoch(connection, stand["epoch"], store.where)
        epoch = settings_changed(old, changes)
        check_columns(old.schema, epoch.schema)
        epoch.settings()  # says what is wrong with it
        progress.stage("reading")
        table = originals(connection, old, Followed("keys", "values").now(connection, store.where), store.where)
    state = started(epoch, table, stand["version"], progress)
    if len(state.live):
        state.live.refuse_infeasible()
    standing = state.live.standing()
    if not dry_run:
        progress.stage("storing")
        with store.write() as connection:
            stand = stands(connection, store.where)
            refuse_newer(stand, state.version, store.where)
            saving = Saving(store, connection, stand)
            replace_all(saving, state.epoch.schema)
            numbers = save_all(saving, state, stand["next_id"], "rebase")
            saving.stand(version=saving.version, epoch=state.epoch.number, **numbers)
    facts = Rebased(state.version, state.epoch.number, len(state.live), standing.groups, standing.loss, dry_run)
    return state, facts
