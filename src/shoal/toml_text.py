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
    """A text, number, truth, date or list of them."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(value_in_toml, value))}]"
    return text_in_toml(value) if isinstance(value, str) else repr(value)


def tables_in_toml(path: tuple[str, ...], table: Mapping[str, object]) -> list[str]:
    """A table and those inside it, values before tables."""
    lines = [f"[{'.'.join(map(key_in_toml, path))}]"]
    lines += [f"{key_in_toml(k)} = {value_in_toml(v)}" for k, v in table.items() if not isinstance(v, Mapping)]
    for name, inside in table.items():
        if isinstance(inside, Mapping):
            lines += tables_in_toml((*path, name), inside)
    return lines
