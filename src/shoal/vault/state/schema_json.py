"""Schemas as JSON, and back: a schema that is read again is equal to the one that was stored."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from datetime import date
from typing import Any

from shoal.errors import InternalError
from shoal.hierarchies import FlatValues, Hierarchy, IntervalLevels
from shoal.hierarchies.computed import PrefixLevels
from shoal.hierarchies.declared import DeclaredTree
from shoal.schema import Column, ColumnType, Schema

READING = ("encoding", "sheet")  # of the files that batches come in; kept where they are said


def schema_facts(schema: Schema) -> dict[str, Any]:
    return {
        "missing": list(schema.missing),
        "header": schema.header,
        **{name: value for name in READING if (value := getattr(schema, name)) is not None},
        "columns": {name: _column_facts(column) for name, column in schema.columns.items()},
    }


def schema_from(facts: Mapping[str, Any]) -> Schema:
    columns = {}
    for name, given in facts["columns"].items():
        described = dict(given)
        if "hierarchy" in described:
            described["hierarchy"] = _hierarchy(described["hierarchy"])
        columns[name] = Column(**described)
    reading = {name: facts[name] for name in READING if name in facts}
    return Schema(columns, missing=facts["missing"], header=facts["header"], **reading)


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
