"""The first state of an epoch: a live partition of all records, in groups made from scratch."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa

from shoal.maintain.live import LivePartition
from shoal.progress import Progress
from shoal.records.changes import key_of
from shoal.vault.state.dictionary import Dictionary
from shoal.vault.state.epoch import Epoch
from shoal.vault.state.frozen import frozen, outside, with_key_type
from shoal.vault.state.passthrough import check_types
from shoal.vault.state.save import Saving
from shoal.vault.state.state import State
from shoal.vault.store.rows import as_json


def started(epoch: Epoch, table: pa.Table, version: int, progress: Progress) -> State:
    """A live partition of all records, with numbers that nobody has had."""
    live = LivePartition.start(table, epoch.schema, epoch.settings(version), progress)
    passthrough = live.records().passthrough
    check_types(passthrough)
    epoch = replace(epoch, passthrough=passthrough.schema.remove_metadata(), order=live.order)
    if len(live):
        epoch = with_key_type(epoch, table.schema.field(key_of(epoch.schema)).type)
    epoch = frozen(epoch, live, version + 1)
    return State(version, epoch, live, Dictionary(epoch.schema))


def save_all(saving: Saving, state: State, next_id: int, kind: str) -> dict[str, object]:
    """Write every record of a live partition, as new ones; the first numbers that are free then."""
    live = state.live
    alive = live.alive()
    live.ids[: len(alive)] = np.arange(next_id, next_id + len(alive))
    live.table.next_id = next_id + len(alive)
    nobody = live.codes[:0]
    turnovers = state.dictionary.turnover(live.books, live.codes[alive], nobody)
    cells = np.stack([turnover.come_ids for turnover in turnovers], axis=1)
    records = live.records()
    keys = sorted(live.keys, key=live.keys.__getitem__)
    saving.add(live.ids[alive], keys, live.table.people(), cells, records.passthrough, live.labels[alive])
    saving.rewrite_dictionary(live.books, turnovers, state.dictionary)
    numbers = {"next_id": live.table.next_id, "next_values": as_json(state.dictionary.next_ids(turnovers))}
    state.dictionary.take(turnovers)
    saving.save_epoch(state.epoch)
    saving.log(kind, (len(alive) if kind == "create" else 0, 0, 0), live, outside(live), None)
    state.version, state.epochs_begun = saving.version, live.epoch
    return numbers
