"""What must hold of a vault when something outside it fails."""

from __future__ import annotations

from collections.abc import Callable

import shoal
from tests.support.vault_worker import Moment, exported, plain, sizes


def holds(vault: shoal.Vault, moment: Moment) -> None:
    """The vault is what it must be after a step of the script."""
    assert exported(vault.export()) == plain(moment.records)
    groups = vault.groups()
    assert sorted(groups["key"].to_pylist()) == sorted(moment.records)
    assert min(sizes(groups)) >= moment.k
    assert (vault.status().version, len(vault.releases())) == (moment.version, len(moment.releases))
    checked = vault.check()
    assert (checked.ok, checked.problems) == (True, [])


def refused(do: Callable[[], object], *words: str) -> bool:
    """Do it. If it cannot be done, the error says why in one of these words."""
    try:
        do()
    except (shoal.VaultError, shoal.OutputError) as error:
        if not any(word in error.message for word in words):
            raise
        return True
    return False
