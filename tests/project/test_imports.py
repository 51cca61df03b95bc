"""Tests stand alone: what two of them need is in `tests/support`."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

TESTS = Path(__file__).parents[1]


def imported(path: Path) -> Iterator[str]:
    """The modules that a file imports, and what it takes from them, anywhere in it."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{'.' * node.level}{node.module or ''}.{alias.name}" for alias in node.names)


def is_a_test(name: str) -> bool:
    return name.startswith(("tests.", ".")) and any(part.startswith("test_") for part in name.split("."))


def test_no_test_imports_another() -> None:
    found = [(path.relative_to(TESTS), name) for path in TESTS.rglob("*.py") for name in imported(path)]
    assert found
    assert [f"{path} imports {name}" for path, name in found if is_a_test(name)] == []
