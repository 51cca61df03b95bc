"""Damage: what is stored is not what was stored. It is never served, and always said in the same words."""

from __future__ import annotations

from shoal.errors import VaultError


class Damaged(VaultError):
    """What is stored is not what was stored."""


def damaged(where: str, what: str) -> Damaged:
    return Damaged(f"the vault is damaged: {what}.", hint="Restore a backup: shoal restore BACKUP VAULT.", file=where)
