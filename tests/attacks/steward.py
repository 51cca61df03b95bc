"""The only look into a vault: in which class of its last release each record is.

Where boxes overlap, a file does not say in whose class somebody is. The attacker is given that all the same: no vault
gets credit for it.
"""

from __future__ import annotations

from typing import NamedTuple

import sqlalchemy as sa

import shoal
from shoal.vault.releases.snapshots import labels_at  # no public function tells the class of a record
from shoal.vault.store import tables
from tests.attacks.files import Cells


class Row(NamedTuple):
    """A published row, as the steward knows it."""

    cells: Cells  # of its class
    record: str | None  # the key of the record that it shows; None: of nobody who is in the table
    # What stays when holders come and go, where a vault has that: two rows of one place have the same value. None: the
    # row goes with its record.
    place: str | None = None


def classes_of(vault: shoal.Vault) -> list[Row]:
    """The rows of the last release. To be asked before the vault changes again: what is deleted is forgotten."""
    version = vault.releases()[-1].version
    with vault._reading() as connection:
        labels = labels_at(connection, version, vault.where)
    looks = labels.cells.select(vault.schema.quasi_identifiers).to_pylist()
    cells = {
        group: tuple("" if cell is None else str(cell) for cell in look.values())
        for group, look in zip(labels.groups.tolist(), looks, strict=True)
    }
    if vault.releases()[-1].republication == "safe":
        return _places_of(vault, cells)
    groups = vault.groups()
    return [
        Row(cells[group], key)
        for key, group in zip(groups["key"].to_pylist(), groups["group"].to_pylist(), strict=True)
    ]


def _places_of(vault: shoal.Vault, cells: dict[int, Cells]) -> list[Row]:
    with vault._reading() as connection:
        places = connection.execute(sa.select(tables.places).where(tables.places.c.until.is_(None))).mappings().all()
        keys = dict(tuple(row) for row in connection.execute(sa.select(tables.records.c.id, tables.records.c.key)))
    return [Row(cells[place["cohort"]], keys.get(place["holder"]), f"place {place['id']}") for place in places]
