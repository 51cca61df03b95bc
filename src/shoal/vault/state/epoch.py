"""An epoch: what records are held to, and what is frozen as long as it is; a row of the table `epochs`."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import sqlalchemy as sa

from shoal.maintain.live import Settings
from shoal.privacy.requirements import Requirements
from shoal.privacy.sensitive import Distribution
from shoal.schema import Schema
from shoal.vault.state.schema_json import schema_facts, schema_from
from shoal.vault.store import tables
from shoal.vault.store.damage import damaged
from shoal.vault.store.queries import row_of
from shoal.vault.store.rows import as_json, digest

PARTS = ("schema", "settings", "layout", "frozen")


@dataclass(frozen=True)
class Epoch:
    """What records are held to, and what is frozen as long as it is."""

    number: int
    version: int
    schema: Schema
    requirements: Requirements
    measure: str
    maintainer: str
    method: str | None
    seed: int | None
    order: list[str]  # of the published columns
    passthrough: pa.Schema  # types of the columns that are published as they are
    domains: Mapping[str, tuple[float, float]]  # of quasi-identifiers that are numbers or days
    reference: dict[str, Distribution] | None
    files: Sequence[str] = ()  # that the schema came from: no release is written over them
    key_type: pa.DataType | None = None  # of the keys as they came; None: nobody has come yet, or it is not known

    @property
    def k(self) -> int:
        return self.requirements.k

    def settings(self, version: int = 0) -> Settings:
        """For a live partition. `version`: a seed makes the same choices only once."""
        seed = None if self.seed is None else self.seed + version
        return Settings(self.k, self.requirements.rules(self.schema), self.measure, self.maintainer, self.method, seed)

    def layout(self) -> dict[str, Any]:
        """The order of the published columns, and the types of the passthrough columns."""
        layout = {"order": self.order, "carried": _as_text(self.passthrough)}
        return layout if self.key_type is None else {**layout, "key": _as_text(pa.schema([("key", self.key_type)]))}

    def row(self) -> dict[str, Any]:
        """The row of the table `epochs`."""
        reference = None
        if self.reference is not None:
            reference = {
                name: [[value, share] for value, share in known.items()] for name, known in self.reference.items()
            }
        parts: dict[str, object] = {
            "schema": schema_facts(self.schema),
            "settings": {
                "k": self.k,
                "asked": self.requirements.options(),
                "measure": self.measure,
                "maintainer": self.maintainer,
                "method": self.method,
                "seed": self.seed,
                "files": list(self.files),
            },
            "layout": self.layout(),
            "frozen": {"domains": {name: list(ends) for name, ends in self.domains.items()}, "reference": reference},
        }
        row = {"number": self.number, "version": self.version, **{name: as_json(part) for name, part in parts.items()}}
        return {**row, "sha256": digest(row)}

    @classmethod
    def from_row(cls, row: Mapping[str, Any], where: str) -> Epoch:
        if row["sha256"] != digest(row):
            raise damaged(where, "its settings are not what was stored")
        parts = {name: json.loads(row[name]) for name in PARTS}
        settings, frozen = parts["settings"], parts["frozen"]
        requirements = Requirements(settings.pop("k"), **settings.pop("asked"))
        order, passthrough = layout_from(row["layout"])
        reference = frozen["reference"]
        if reference is not None:
            reference = {name: dict(known) for name, known in reference.items()}
        return cls(
            row["number"],
            row["version"],
            schema_from(parts["schema"]),
            requirements,
            **settings,
            order=order,
            passthrough=passthrough,
            domains={name: (low, high) for name, (low, high) in frozen["domains"].items()},
            reference=reference,
            key_type=_key_type(row["layout"]),
        )


def _as_text(types: pa.Schema) -> str:
    return base64.b64encode(types.serialize().to_pybytes()).decode()


def _from_text(text: str) -> pa.Schema:
    return pa.ipc.read_schema(pa.py_buffer(base64.b64decode(text)))


def _key_type(layout: str) -> pa.DataType | None:
    known = json.loads(layout).get("key")
    return None if known is None else _from_text(known).field("key").type


def layout_from(text: str) -> tuple[list[str], pa.Schema]:
    layout = json.loads(text)
    return layout["order"], _from_text(layout["carried"])


def read_epoch(connection: sa.Connection, number: int, where: str) -> Epoch:
    row = row_of(connection, sa.select(tables.epochs).where(tables.epochs.c.number == number))
    if row is None:
        raise damaged(where, "its settings are lost")
    return Epoch.from_row(row, where)
