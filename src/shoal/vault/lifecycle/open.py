"""Opening a vault that is there: brought up to date, and tidied up."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from shoal.errors import VaultError
from shoal.vault.keys import KeyHash, right_secret
from shoal.vault.lifecycle.migrations import migrate
from shoal.vault.releases import publish
from shoal.vault.state.epoch import Epoch, read_epoch
from shoal.vault.state.state import State
from shoal.vault.store.backend import open_backend
from shoal.vault.store.damage import readable
from shoal.vault.store.drafts import sweep_noted
from shoal.vault.store.head import refuse_lost, stored_head
from shoal.vault.store.store import Store
from shoal.vault.store.vault_row import vault_row


class Opened(NamedTuple):
    """What the facade needs."""

    store: Store
    epoch: Epoch
    hashing: KeyHash | None  # where keys are hashed, and the secret was given
    keys_hashed: bool
    state: State | None = None  # if the records are in memory already


def open_vault(where: str | Path, key_secret: str | bytes | None, wait: float) -> Opened:
    """Open a vault that is there: brought up to date, and tidied up."""
    store = Store(open_backend(where))
    try:
        with readable(store.where), store.explaining():
            there = store.backend.exists()
        if not there:
            hint = "Make one with: shoal init."
            raise VaultError("there is no vault here, or it was never finished.", hint=hint, file=store.where)
        with readable(store.where):
            migrate(store, wait)
        found = described(store, key_secret)
        _tidy(store)
        return found
    except BaseException:
        store.close()
        raise


def described(store: Store, key_secret: str | bytes | None) -> Opened:
    """A vault of which nothing is lost, as it says that it is."""
    acknowledged = store.backend.acknowledged()
    with readable(store.where), store.read() as connection:
        row = vault_row(connection, store.where)
        refuse_lost(acknowledged, stored_head(connection), store.where)
        epoch = read_epoch(connection, row["epoch"], store.where)
    hashing = right_secret(key_secret, row["key_check"], store.where)
    return Opened(store, epoch, hashing, row["key_check"] is not None)


def _tidy(store: Store) -> None:
    """Finish or undo what a publisher has left behind who is no more; if one is at work, leave it to him."""
    with readable(store.where):
        left_behind = publish.unfinished(store)
        sweep_noted(store)
    if left_behind:
        with store.explaining(), store.backend.try_to_be_writer() as worked:
            if worked:
                publish.recover(store)
