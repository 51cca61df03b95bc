"""Damage: what is stored is not what was stored. It is never served, and always said in the same words."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pyarrow as pa

from shoal.errors import VaultError


class Damaged(VaultError):
    """What is stored is not what was stored."""


def damaged(where: str, what: str) -> Damaged:
    return Damaged(f"the vault is damaged: {what}.", hint="Restore a backup: shoal restore BACKUP VAULT.", file=where)


@contextmanager
def readable(where: str) -> Iterator[None]:
    """Around reading: what has no sense any more is damage as well, before any seal has been looked at."""
    try:
        yield
        return
    except (ValueError, LookupError, TypeError, ArithmeticError, pa.ArrowException):  # their texts may quote a value
        pass
    raise damaged(where, "what is stored cannot be read") from None
