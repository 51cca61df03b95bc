"""Every record as it came, from what is stored: for the holder, and for a new epoch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import sqlalchemy as sa

from shoal.records.changes import key_of
from shoal.schema import Role
from shoal.vault.state.codebooks import typed
from shoal.vault.state.epoch import Epoch
from shoal.vault.state.load import load_dictionary, unpacked
from shoal.vault.state.passthrough import from_texts
from shoal.vault.store.integrity import stored_sums
from shoal.vault.store.vault_row import vault_row


def originals(connection: sa.Connection, epoch: Epoch, records: pa.Table, where: str) -> pa.Table:
    """Every record as it came, but for identifiers: the holder's secret. `records`: keys and values, as stored."""
    sums = stored_sums(vault_row(connection, where))
    texts: dict[str, dict[int, str | None]] = {name: {0: None} for name in epoch.schema.quasi_identifiers}
    for value in load_dictionary(connection, sums, where):
        texts[value.name][value.id] = value.value
    columns: dict[str, Any] = {key_of(epoch.schema): as_they_came(records["key"], epoch.key_type)}
    columns |= dict.fromkeys(epoch.schema.names(Role.PERSON), records["person"])
    cells = unpacked(tuple(records["cells"].to_pylist()), len(texts), where)
    for j, name in enumerate(epoch.schema.quasi_identifiers):
        ids = np.array(sorted(texts[name]))  # leaves without a name among them, which nobody has
        values = typed(epoch.schema.columns[name], [texts[name][i] for i in ids.tolist()]).combine_chunks()
        columns[name] = values.take(pa.array(np.searchsorted(ids, cells[:, j])))
    passthrough = from_texts(records["carried"].to_pylist(), epoch.passthrough, where)
    columns |= {name: passthrough[name] for name in passthrough.column_names}
    order = [name for name in columns if name not in epoch.order]
    return pa.table({name: columns[name] for name in [*order, *epoch.order]})


def as_they_came(keys: pa.ChunkedArray, kind: pa.DataType | None) -> pa.ChunkedArray:
    """Keys with the type that they had, where all of them can have it and are the same then: else as texts."""
    if kind is None or not pa.types.is_primitive(kind):
        return keys
    try:
        typed_keys = keys.cast(kind)
        return typed_keys if typed_keys.cast(pa.string()).equals(keys) else keys
    except pa.ArrowException:
        return keys
