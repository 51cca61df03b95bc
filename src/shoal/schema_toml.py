"""A schema as TOML: what is read from it is the same schema, hierarchies included."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import fields
from datetime import date

from shoal.hierarchies import DateLevels, FlatValues, IntervalLevels
from shoal.hierarchies.declared import DeclaredTree
from shoal.schema import Column, Schema


def schema_toml(schema: Schema) -> str:
    """The text of a schema file that needs no other file."""
    lines = [] if schema.missing == ("",) else [f"missing = {_value(list(schema.missing[1:]))}"]
    lines += [] if schema.header is None else [f"header = {_value(schema.header)}"]
    read = {"encoding": schema.encoding, "sheet": schema.sheet}
    lines += [f"{name} = {_value(value)}" for name, value in read.items() if value is not None]
    for name, column in schema.columns.items():
        lines += [""] if lines else []
        lines += [f"[columns.{_key(name)}]", *(f"{key} = {text}" for key, text in _fields(column).items())]
    return "\n".join(lines) + "\n"


def _fields(column: Column) -> dict[str, str]:
    """What differs from the default."""
    said: dict[str, object] = {}
    for known in fields(Column):
        value = getattr(column, known.name)
        if known.init and known.name != "hierarchy" and value != known.default:
            said[known.name] = str(value) if known.name in ("role", "type") else value
    rule = column.grower.rule if column.grower is not None and column.hierarchy is not None else None
    if isinstance(rule, IntervalLevels):
        said |= {"levels": list(rule.widths), "origin": rule.origin}
    elif isinstance(rule, DateLevels):
        said["levels"] = list(rule.levels)
    texts = {name: _value(value) for name, value in said.items()}
    if isinstance(rule, DeclaredTree):
        texts["hierarchy"] = _tree(rule.paths)
    elif isinstance(rule, FlatValues):
        texts["hierarchy"] = _value("flat") if rule.values is None else _tree([("*", value) for value in rule.values])
    return texts


class _Node(dict[str, "_Node"]):
    """A label's labels."""


def _tree(paths: Iterable[Sequence[str]]) -> str:
    """Nested tables on one line: their order is that of the values."""
    top = _Node()
    for path in paths:
        node = top
        for label in path:
            node = node.setdefault(label, _Node())
    return _said(top)


def _said(node: _Node) -> str:
    if not any(node.values()):
        return _value(list(node))
    return "{ " + ", ".join(f"{_key(label)} = {_said(below)}" for label, below in node.items()) + " }"


def _value(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_value, value))}]"
    if isinstance(value, int | float):
        return repr(value)
    return json.dumps(str(value), ensure_ascii=False).replace("\x7f", "\\u007f")


def _key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else _value(name)
