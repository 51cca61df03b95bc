"""Schemas and settings as JSON, and back: what an epoch is made of."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import date
from typing import Any

import pyarrow as pa

from shoal.errors import InternalError
from shoal.hierarchies import FlatValues, Hierarchy, IntervalLevels
from shoal.hierarchies.computed import PrefixLevels
from shoal.hierarchies.declared import DeclaredTree
from shoal.maintain.live import Settings
from shoal.privacy.requirements import Requirements
from shoal.privacy.sensitive import Distribution
from shoal.schema import Column, ColumnType, Schema
from shoal.vault.damage import damaged

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
    carried: pa.Schema  # types of the columns that are published as they are
    domains: Mapping[str, tuple[float, float]]  # of quasi-identifiers that are numbers or days
    reference: dict[str, Distribution] | None
    files: Sequence[str] = ()  # that the schema came from: no release is written over them

    @property
    def k(self) -> int:
        return self.requirements.k

    def settings(self, version: int = 0) -> Settings:
        """For a live partition. `version`: a seed makes the same choices only once."""
        seed = None if self.seed is None else self.seed + version
        return Settings(self.k, self.requirements.rules(self.schema), self.measure, self.maintainer, self.method, seed)

    def layout(self) -> dict[str, Any]:
        """The order of the published columns, and the types of the carried ones."""
        types = base64.b64encode(self.carried.serialize().to_pybytes()).decode()
        return {"order": self.order, "carried": types}

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
        order, carried = layout_from(row["layout"])
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
            carried=carried,
            domains={name: (low, high) for name, (low, high) in frozen["domains"].items()},
            reference=reference,
        )


def layout_from(text: str) -> tuple[list[str], pa.Schema]:
    layout = json.loads(text)
    return layout["order"], pa.ipc.read_schema(pa.py_buffer(base64.b64decode(layout["carried"])))


def as_json(facts: object) -> str:
    return json.dumps(facts, ensure_ascii=False, separators=(",", ":"), default=_plain)


def _plain(number: Any) -> object:
    """A number of numpy's is a number."""
    return number.item()


def digest(row: Mapping[str, Any]) -> str:
    """The SHA-256 of a row, but for the column that keeps it."""
    return hashlib.sha256(as_json({name: row[name] for name in sorted(row) if name != "sha256"}).encode()).hexdigest()


def schema_facts(schema: Schema) -> dict[str, Any]:
    return {
        "missing": list(schema.missing),
        "header": schema.header,
        "columns": {name: _column_facts(column) for name, column in schema.columns.items()},
    }


def schema_from(facts: Mapping[str, Any]) -> Schema:
    columns = {}
    for name, given in facts["columns"].items():
        described = dict(given)
        if "hierarchy" in described:
            described["hierarchy"] = _hierarchy(described["hierarchy"])
        columns[name] = Column(**described)
    return Schema(columns, missing=facts["missing"], header=facts["header"])


def _column_facts(column: Column) -> dict[str, Any]:
    """What differs from the default; a hierarchy as what it says, not as the file that it came from."""
    facts: dict[str, Any] = {}
    for known in fields(Column):
        value = getattr(column, known.name)
        if not known.init or known.name == "hierarchy" or value == known.default:
            continue
        if isinstance(value, list | tuple):
            value = [str(item) if isinstance(item, date) else item for item in value]
        facts[known.name] = str(value) if known.name in ("role", "type") else value
    made_from_fields = column.type == ColumnType.PREFIX or column.levels is not None
    if column.grower is not None and not made_from_fields:
        facts["hierarchy"] = _hierarchy_facts(column.grower)
    return facts


def _hierarchy_facts(hierarchy: Hierarchy) -> dict[str, Any]:
    rule = hierarchy.rule
    if isinstance(rule, FlatValues):
        return {"flat": None if rule.values is None else list(rule.values)}
    if isinstance(rule, DeclaredTree):
        return {"tree": [list(path) for path in rule.paths]}
    if isinstance(rule, PrefixLevels):
        return {"prefix": True}
    if isinstance(rule, IntervalLevels):
        return {"intervals": [list(rule.widths), rule.origin]}
    return {"dates": list(rule.levels)}


def _hierarchy(facts: Mapping[str, Any]) -> Hierarchy:
    ((kind, given),) = facts.items()
    match kind:
        case "flat":
            return Hierarchy.flat(given)
        case "tree":
            return Hierarchy(DeclaredTree(tuple(tuple(path) for path in given)))
        case "prefix":
            return Hierarchy.prefix()
        case "intervals":
            return Hierarchy.intervals(*given)
        case "dates":
            return Hierarchy.dates(given)
    raise InternalError(f"a hierarchy of the unknown kind {kind!r} is stored.")
