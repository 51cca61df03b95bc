"""Committing a batch: what it has done in memory lasts, in one transaction. The caller has the writer's turn."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from shoal.maintain.change import Applied
from shoal.vault.releases.unused_labels import forget_unused
from shoal.vault.state.erased_values import erased
from shoal.vault.state.frozen import frozen, with_key_type, with_types
from shoal.vault.state.origin import Origin
from shoal.vault.state.passthrough import check_types
from shoal.vault.state.save import Saving, save_changes
from shoal.vault.state.state import State
from shoal.vault.store.rows import as_json
from shoal.vault.store.store import Store
from shoal.vault.store.vault_row import refuse_newer, update_vault_row, vault_row


def commit_batch(store: Store, state: State, applied: Applied, origin: Origin) -> None:
    """What a batch has done to the live partition of a state; afterwards the state is of the version that lasts."""
    live = state.live
    if not len(applied.moved) and not len(applied.gone):
        if origin.source_position is not None:
            with store.write() as connection:
                refuse_newer(vault_row(connection, store.where), state.version, store.where)
                update_vault_row(connection, store.where, source_position=origin.source_position)
        return
    check_types(applied.arrivals.passthrough)
    slots = live.alive()
    with store.write() as connection:
        row = vault_row(connection, store.where)
        refuse_newer(row, state.version, store.where)
        saving = Saving(store, connection, row, origin)
        turnovers = save_changes(saving, state, applied, origin.kind)
        forget_unused(saving, lambda groups: live.ids[slots[np.isin(live.labels[slots], groups)]])
        epoch = with_types(state.epoch, applied.arrivals.passthrough)
        epoch = with_key_type(epoch, applied.arrivals.key_type)
        if live.epoch != state.epochs_begun:  # there were too few records before: domains and frequencies are new
            epoch = frozen(epoch, live, saving.version)
            saving.rewrite_dictionary(live.books, turnovers, state.dictionary)
        elif (reference := erased(epoch, live, saving.gone)) is not epoch.reference:
            epoch = replace(epoch, reference=reference)
        if epoch is not state.epoch:
            saving.save_epoch(epoch)
        changed: dict[str, object] = {
            "next_id": live.table.next_id,
            "next_values": as_json(state.dictionary.next_ids(turnovers)),
        }
        if origin.source_position is not None:
            changed["source_position"] = origin.source_position
        saving.finish(**changed)
    state.dictionary.take(turnovers)
    state.version, state.epoch, state.epochs_begun = saving.version, epoch, live.epoch
