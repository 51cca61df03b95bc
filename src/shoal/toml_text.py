"""TOML as people write it: a table per column, nested tables for hierarchies. Python itself only reads it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from datetime import date


def key_in_toml(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else text_in_toml(name)


def text_in_toml(text: str) -> str:
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def value_in_toml(value: object) -> str:
    """A text, number, truth or date, a list or a table of them in one line."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, Mapping):
        return f"{{ {', '.join(f'{key_in_toml(name)} = {value_in_toml(inside)}' for name, inside in value.items())} }}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(value_in_toml, value))}]"
    return text_in_toml(value) if isinstance(value, str) else repr(value)


def tables_in_toml(path: tuple[str, ...], table: Mapping[str, object]) -> list[str]:
    """A table and those inside it, in their order: what TOML would have elsewhere is written in one line."""
    apart = {name for name, inside in table.items() if isinstance(inside, Mapping) and _keeps_order(inside)}
    lines = [f"[{'.'.join(map(key_in_toml, path))}]"]
    lines += [f"{key_in_toml(name)} = {value_in_toml(value)}" for name, value in table.items() if name not in apart]
    for name, inside in table.items():
        if name in apart and isinstance(inside, Mapping):
            lines += tables_in_toml((*path, name), inside)
    return lines


def _keeps_order(table: Mapping[str, object]) -> bool:
    """TOML has the values of a table before the tables in it: whether that is how they come, here and further in."""
    tables = [isinstance(inside, Mapping) for inside in table.values()]
    return tables == sorted(tables) and all(
        _keeps_order(inside) for inside in table.values() if isinstance(inside, Mapping)
    )
