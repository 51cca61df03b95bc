"""All that a vault tells, or the errors that it gives instead."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import shoal


class Failed(NamedTuple):
    """An error instead of an answer."""

    kind: str
    ours: bool

    @classmethod
    def of(cls, error: Exception) -> Failed:
        return cls(f"{type(error).__module__}.{type(error).__name__}", isinstance(error, shoal.ShoalError))


def everything(where: Path) -> dict[str, Any]:
    """All that a vault tells."""
    found: dict[str, Any] = {}

    def ask(what: str, question: Callable[[], object]) -> None:
        try:
            found[what] = question()
        except Exception as error:
            found[what] = Failed.of(error)

    try:
        vault = shoal.Vault.open(where)
    except Exception as error:
        return {"open()": Failed.of(error)}
    with vault:
        ask("status()", lambda: {**vault.status().facts(), "size": None})
        ask("groups()", lambda: vault.groups().to_pydict())
        ask("export()", lambda: vault.export().to_pydict())
        ask("releases()", lambda: [entry.facts() for entry in vault.releases()])
        ask("diff(1, 4)", lambda: vault.diff(1, 4).facts())
        for number in range(1, 5):
            ask(f"release({number})", partial(release, vault, number))
        ask("check()", lambda: vault.check().ok)
    return found


def release(vault: shoal.Vault, number: int) -> object:
    rows = vault.release_rows(number).to_pydict()
    if vault.releases()[number - 1].erased:
        return rows
    found = vault.release(number)
    return rows, dict(found.manifest), found.k
